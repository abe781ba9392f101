import { describe, expect, it } from 'vitest';
import {
  discountCosts,
  discountOf,
  mayDiscountIn,
  moveShares,
  settleDisruptionCosts,
} from '../../../../../shared/core/disruption/search/disruption-costs.ts';
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

describe('what a move costs, as a share of what its pool pays per node and pod', () => {
  const pools = { isBalanced: (pool: string) => pool === 'balanced' } as never;
  const shareOf = moveShares({ ...DEFAULT_DISRUPTION, moveCost: 0.1, moveCostOf: new Map([['own', 0.3]]) }, pools);

  it('grows with the cluster, up to five quarters', () => {
    expect([shareOf('general', 4), shareOf('general', 25), shareOf('general', 10_000)]).toEqual([0.2, 0.5, 1.25]);
  });

  it('is what the pool says, however large the cluster, and half at least in a Balanced one', () => {
    expect([shareOf('own', 4), shareOf('own', 10_000)]).toEqual([0.3, 0.3]);
    expect([shareOf('balanced', 4), shareOf('balanced', 100)]).toEqual([0.5, 1]);
  });
});

describe('what it counts as to disrupt a node', () => {
  const node = (disruption: number, plain: number, onDemand = plain) => ({ disruption, price: { plain, onDemand } });
  const slot = (parts: object): Slot =>
    ({ state: 'there', pool: 'general', offering: null, receivedCost: 0, disruptionCost: 0, ...parts }) as never;
  const settled = (...slots: ReadonlyArray<Slot>): ReadonlyArray<number> => {
    settleDisruptionCosts({ slots } as unknown as Arena, (_, nodes) => nodes);
    return slots.map(({ disruptionCost }) => disruptionCost);
  };

  it('is its share of what the pool pays for the node and each of its pods, and nothing for an empty one', () => {
    // Two nodes: twice 3 of 4 parts of 200.
    expect(settled(slot({ node: node(3, 100) }), slot({ node: node(1, 100) }))).toEqual([300, 0]);
  });

  it('counts what is there alone, and nodes of nobody’s pool for nothing', () => {
    const there = slot({ node: node(2, 100) });
    expect(
      settled(there, slot({ node: node(2, 900), state: 'gone' }), slot({ node: node(2, 900), pool: null })),
    ).toEqual([100, expect.any(Number), 0]);
  });

  it('is no less for a spot node than three tenths of it on demand, as its pods start again like others', () => {
    expect(settled(slot({ node: node(2, 10, 100) }))).toEqual([30]);
  });

  it('counts a new node with what it costs and the pods that have come to it', () => {
    const fresh = slot({ node: null, offering: { price: 50 }, receivedCost: 5 });
    // Two nodes of 150 for 8 parts, of which two are those of the node.
    expect(settled(slot({ node: node(2, 100) }), fresh)[0]).toBe((2 * 2 * 150) / 8);
  });

  it('counts a node whose price is not known as one that costs nothing', () => {
    expect(settled(slot({ node: { disruption: 2, price: null } }), slot({ node: node(2, 100) }))).toEqual([100, 100]);
  });
});
