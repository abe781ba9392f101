import type { DisruptionPolicy } from '../../model/disruption-input.ts';
import type { Pools } from '../candidates/pools.ts';
import type { Arena, Place } from './arena.ts';

/** What moving one pod costs in a pool, as a share of what the pool pays on average per node and pod. */
export type MoveShare = (pool: string, nodes: number) => number;

/** What a Balanced pool asks for at least, by its score. */
const BALANCED_SHARE = 0.5;

/** No move is asked for more than what a pod costs on average, however large the cluster. */
const MOST_SHARE = 1.25;

/** A pool's own share where it says one; else one that grows with the cluster, as there is more to go wrong in a larger plan. */
export function moveShares({ moveCost, moveCostOf }: DisruptionPolicy, pools: Pools): MoveShare {
  return (pool, nodes) => {
    const own = moveCostOf.get(pool) ?? Math.min(MOST_SHARE, moveCost * Math.sqrt(nodes));
    return pools.isBalanced(pool) ? Math.max(own, BALANCED_SHARE) : own;
  };
}

/** May moves in the pool be asked for less? Not where it names its own share, nor where its score would refuse them. */
export function mayEaseIn({ moveCostOf }: DisruptionPolicy, pools: Pools): (pool: string) => boolean {
  return (pool) => !moveCostOf.has(pool) && !pools.isBalanced(pool);
}

/**
 * Says of every node that is there what disrupting it counts as, as the arena stands: for the node and each of its pods that share
 * of what the pool pays per node and pod. Nothing for empty nodes.
 */
export function settleTolls({ places }: Arena, shareOf: MoveShare): void {
  const totals = new Map<string, { cost: number; disruption: number }>();
  let nodes = 0;
  for (const place of places) {
    if (place.state !== 'there' || place.pool === null) continue;
    nodes++;
    const total = totals.get(place.pool) ?? { cost: 0, disruption: 0 };
    total.cost += countedPrice(place);
    total.disruption += (place.node?.disruption ?? 1) + place.receivedCost;
    totals.set(place.pool, total);
  }
  for (const place of places) {
    const { cost, disruption: all } = totals.get(place.pool ?? '') ?? { cost: 0, disruption: 1 };
    const { disruption = 1 } = place.node ?? {};
    place.toll = disruption <= 1 || place.pool === null ? 0 : (shareOf(place.pool, nodes) * disruption * cost) / all;
  }
}

/** A restart costs no less where the node is spot: such a node counts as at least this share of what it is on demand. */
const SPOT_COUNTS_AS = 0.3;

function countedPrice({ node, offer }: Place): number {
  if (offer !== null) return offer.price;
  return node?.price === null || node === null ? 0 : Math.max(node.price.plain, SPOT_COUNTS_AS * node.price.onDemand);
}
