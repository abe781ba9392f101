import type { DisruptionPolicy } from '../../model/disruption-input.ts';
import type { Pools } from '../candidates/pools.ts';
import type { Arena, Slot } from './arena.ts';
import { setDisruptionCost } from './slots.ts';

/** What moving one pod costs in a pool, as a share of what the pool pays on average per node and pod. */
export type MoveShare = (pool: string, nodes: number) => number;

/** What a Balanced pool asks for at least, by its score. */
const BALANCED_SHARE = 0.5;

/** No move is asked for more than what a pod costs on average, however large the cluster. */
const MOST_SHARE = 1.25;

/**
 * A pool's own share where it says one; else one that grows with the cluster, as there is more to go wrong in a larger
 * plan.
 */
export function moveShares({ moveCost, moveCostOf }: DisruptionPolicy, pools: Pools): MoveShare {
  return (pool, nodes) => {
    const own = moveCostOf.get(pool) ?? Math.min(MOST_SHARE, moveCost * Math.sqrt(nodes));
    return pools.isBalanced(pool) ? Math.max(own, BALANCED_SHARE) : own;
  };
}

/** May moves in the pool be asked for less? Not where it names its own share, nor where its score would refuse them. */
export function mayDiscountIn({ moveCostOf }: DisruptionPolicy, pools: Pools): (pool: string) => boolean {
  return (pool) => !moveCostOf.has(pool) && !pools.isBalanced(pool);
}

/**
 * Says of every node that is there what disrupting it counts as, as the arena stands: for the node and each of its pods
 * that share of what the pool pays per node and pod. Nothing for empty nodes.
 */
export function settleDisruptionCosts({ slots }: Arena, shareOf: MoveShare): void {
  const totals = new Map<string, { cost: number; disruption: number }>();
  let nodes = 0;
  for (const slot of slots) {
    if (slot.state !== 'there' || slot.pool === null) continue;
    nodes++;
    const total = totals.get(slot.pool) ?? { cost: 0, disruption: 0 };
    total.cost += countedPrice(slot);
    total.disruption += (slot.node?.disruption ?? 1) + slot.receivedCost;
    totals.set(slot.pool, total);
  }
  for (const slot of slots) {
    const { cost, disruption: all } = totals.get(slot.pool ?? '') ?? { cost: 0, disruption: 1 };
    const { disruption = 1 } = slot.node ?? {};
    const isFree = disruption <= 1 || slot.pool === null;
    setDisruptionCost(slot, isFree ? 0 : (shareOf(slot.pool, nodes) * disruption * cost) / all);
  }
}

/**
 * A restart costs no less where the node is spot: such a node counts as at least this share of what it is on demand.
 */
const SPOT_COUNTS_AS = 0.3;

function countedPrice({ node, offering }: Slot): number {
  if (offering !== null) return offering.price;
  return node?.price === null || node === null ? 0 : Math.max(node.price.plain, SPOT_COUNTS_AS * node.price.onDemand);
}

/**
 * Where a search that asks for no disruption costs saves so many times what they would have been, they stay as they
 * are.
 */
const RICH = 4;

/** Disruption costs are discounted to no less than this share. */
const LEAST_SHARE = 0.5;

/**
 * The share of its disruption cost that a move is asked for, 0.5 to 1. The arena stands as a search that asks for none
 * has left it, which has saved `saved`; `costs` are those of its slots otherwise; all in micro-USD per hour. Where it
 * saves no more than they are, what is left are crumbs, and nothing is discounted.
 */
export function discountOf({ slots }: Pick<Arena, 'slots'>, costs: ReadonlyArray<number>, saved: number): number {
  const asked = slots.reduce((sum, { state, index }) => sum + (state === 'gone' ? (costs[index] ?? 0) : 0), 0);
  if (saved <= asked) return 1;
  return Math.max(LEAST_SHARE, Math.min(1, saved / (RICH * asked)));
}

/** Gives every slot the share of its disruption cost that its pool asks for. */
export function discountCosts(
  { slots }: Pick<Arena, 'slots'>,
  costs: ReadonlyArray<number>,
  shareIn: (pool: string) => number,
): void {
  for (const slot of slots) setDisruptionCost(slot, (costs[slot.index] ?? 0) * shareIn(slot.pool ?? ''));
}
