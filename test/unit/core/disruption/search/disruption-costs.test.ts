import { describe, expect, it } from 'vitest';
import {
  discountCosts,
  discountOf,
  mayDiscountIn,
} from '../../../../../shared/core/disruption/search/disruption-costs.ts';
import { slackLeft } from '../../../../../shared/core/disruption/search/improve.ts';
import { DEFAULT_DISRUPTION } from '../../../../../shared/core/model/disruption-input.ts';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';

const COSTS = [100, 200, 900];

/** The first two have gone, the third is there: disruption costs of 300 are asked for. */
function arena(): Pick<Arena, 'slots'> {
  const states: ReadonlyArray<Slot['state']> = ['gone', 'gone', 'there'];
  return {
    slots: states.map(
      (state, index) => ({ state, index, disruptionCost: 0, pool: index === 2 ? 'own' : 'general' }) as Slot,
    ),
  };
}

describe('the share of its disruption cost that a move is asked for', () => {
  it('is all of it where moves save four times their disruption costs or more', () => {
    expect(discountOf(arena(), COSTS, 1200)).toBe(1);
    expect(discountOf(arena(), COSTS, 5000)).toBe(1);
  });

  it('falls with what moves save, counting the disruption costs of those alone that have gone', () => {
    expect(discountOf(arena(), COSTS, 900)).toBe(0.75);
  });

  it('is never less than half', () => {
    expect(discountOf(arena(), COSTS, 301)).toBe(0.5);
  });

  it('is all of it where only crumbs are left, which save no more than their disruption costs', () => {
    expect(discountOf(arena(), COSTS, 300)).toBe(1);
    expect(discountOf(arena(), COSTS, 0)).toBe(1);
  });

  it('is that of its pool', () => {
    const discounted = arena();
    discountCosts(discounted, COSTS, (pool) => (pool === 'own' ? 1 : 0.5));
    expect(discounted.slots.map(({ disruptionCost }) => disruptionCost)).toEqual([50, 100, 900]);
  });

  it('is all of it in a pool that names its own share and in a Balanced one', () => {
    const policy = { ...DEFAULT_DISRUPTION, moveCostOf: new Map([['own', 0.5]]) };
    const mayDiscount = mayDiscountIn(policy, {
      allowed: () => 1,
      isBalanced: (pool: string) => pool === 'balanced',
    } as never);
    expect(['own', 'balanced', 'general'].map(mayDiscount)).toEqual([false, false, true]);
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
