import { describe, expect, it } from 'vitest';
import { easeOf, easeTolls } from '../../../../../shared/core/disruption/search/ease.ts';
import { slackLeft } from '../../../../../shared/core/disruption/search/improve.ts';
import { mayEaseIn } from '../../../../../shared/core/disruption/search/tolls.ts';
import { DEFAULT_DISRUPTION } from '../../../../../shared/core/model/disruption-input.ts';
import type { Arena, Place } from '../../../../../shared/core/disruption/search/arena.ts';

const TOLLS = [100, 200, 900];

/** The first two have gone, the third is there: tolls of 300 are asked for. */
function arena(): Pick<Arena, 'places'> {
  const states: ReadonlyArray<Place['state']> = ['gone', 'gone', 'there'];
  return {
    places: states.map((state, index) => ({ state, index, toll: 0, pool: index === 2 ? 'own' : 'general' }) as Place),
  };
}

describe('the share of its toll that a move is asked for', () => {
  it('is all of it where moves save four times their tolls or more', () => {
    expect(easeOf(arena(), TOLLS, 1200)).toBe(1);
    expect(easeOf(arena(), TOLLS, 5000)).toBe(1);
  });

  it('falls with what moves save, counting the tolls of those alone that have gone', () => {
    expect(easeOf(arena(), TOLLS, 900)).toBe(0.75);
  });

  it('is never less than half', () => {
    expect(easeOf(arena(), TOLLS, 301)).toBe(0.5);
  });

  it('is all of it where only crumbs are left, which save no more than their tolls', () => {
    expect(easeOf(arena(), TOLLS, 300)).toBe(1);
    expect(easeOf(arena(), TOLLS, 0)).toBe(1);
  });

  it('is that of its pool', () => {
    const eased = arena();
    easeTolls(eased, TOLLS, (pool) => (pool === 'own' ? 1 : 0.5));
    expect(eased.places.map(({ toll }) => toll)).toEqual([50, 100, 900]);
  });

  it('is all of it in a pool that names its own share and in a Balanced one', () => {
    const policy = { ...DEFAULT_DISRUPTION, moveCostOf: new Map([['own', 0.5]]) };
    const mayEase = mayEaseIn(policy, { allowed: () => 1, isBalanced: (pool: string) => pool === 'balanced' } as never);
    expect(['own', 'balanced', 'general'].map(mayEase)).toEqual([false, false, true]);
  });
});

describe('the slack of a search', () => {
  it('falls from all to none with its patience', () => {
    expect([0, 0.5, 1].map((used) => slackLeft(used, 0))).toEqual([1, 0.25, 0]);
  });

  it('is used up with the work allowed, however much patience is left', () => {
    expect([0, 0.5, 1].map((used) => slackLeft(0, used))).toEqual([1, 0.25, 0]);
    expect(slackLeft(0.75, 0.5)).toBe(0.0625);
  });
});
