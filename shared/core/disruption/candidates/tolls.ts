import type { DisruptionPolicy } from '../../model/disruption-input.ts';
import type { JudgedNode } from './judge-nodes.ts';
import type { Pools } from './pools.ts';

/** What a Balanced pool asks for at least, by its score. */
const BALANCED_SHARE = 0.5;

/** A restart costs no less where the node is spot: such a node counts as at least this share of what it is on demand. */
const SPOT_COUNTS_AS = Number((globalThis as unknown as { SPOTF: string }).SPOTF);

/**
 * By name of node: what disrupting it counts as, in micro-USD per hour: a share of what the pool pays on average per node and pod,
 * for the node and each of its pods. Nothing for empty nodes.
 */
export function tollsOf(
  nodes: ReadonlyArray<JudgedNode>,
  { moveCost, moveCostOf }: DisruptionPolicy,
  pools: Pools,
): ReadonlyMap<string, number> {
  const totals = new Map<string, { readonly cost: number; readonly disruption: number }>();
  for (const { nodePool, price, disruption } of nodes) {
    const name = nodePool?.metadata.name;
    if (name === undefined) continue;
    const known = totals.get(name) ?? { cost: 0, disruption: 0 };
    totals.set(name, {
      cost: known.cost + (price === null ? 0 : Math.max(price.plain, SPOT_COUNTS_AS * price.onDemand)),
      disruption: known.disruption + disruption,
    });
  }
  const owned = nodes.filter(({ nodePool }) => nodePool !== null).length;
  return new Map(
    nodes.map(({ name, nodePool, disruption }) => {
      const pool = nodePool?.metadata.name ?? '';
      const { cost, disruption: all } = totals.get(pool) ?? { cost: 0, disruption: 1 };
      const own = moveCostOf.get(pool) ?? moveCost * Math.sqrt(owned);
      const share = pools.isBalanced(pool) ? Math.max(own, BALANCED_SHARE) : own;
      return [name, disruption <= 1 ? 0 : (share * disruption * cost) / all];
    }),
  );
}
