import type { FinalNode } from '../audit/seen/final-state.ts';
import { amountsOf } from '../audit/seen/requested.ts';
import type { HeldMachine } from '../model/provisioning-input.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';

/** What pools may still have, while nodes are added. */
export interface PoolLimits {
  /** Would a node of this capacity stay within the pool's limits? */
  readonly allow: (pool: NodePool, capacity: ReadonlyMap<string, number>) => boolean;
  /** Books a node. */
  readonly take: (pool: NodePool, capacity: ReadonlyMap<string, number>) => void;
}

/** Limits less what the pools' nodes have, those of the plan so far included, and what is held beside them. */
export function poolLimits(
  pools: ReadonlyArray<NodePool>,
  nodes: ReadonlyArray<FinalNode>,
  held: ReadonlyArray<HeldMachine>,
): PoolLimits {
  const remaining = new Map<string, Map<string, number>>();
  for (const { metadata, spec } of pools) remaining.set(metadata.name, amountsOf(spec.limits, 'down'));
  const take = (pool: string, capacity: ReadonlyMap<string, number>): void => {
    const own = remaining.get(pool);
    for (const [name, left] of own ?? []) own?.set(name, left - amountOf(capacity, name));
  };
  for (const { nodePool, counts, capacity } of nodes) if (nodePool !== null && counts) take(nodePool, capacity);
  for (const { nodePool, capacity } of held) take(nodePool, capacity);
  return {
    allow: ({ metadata }, capacity) =>
      [...(remaining.get(metadata.name) ?? [])].every(([name, left]) => {
        const amount = amountOf(capacity, name);
        return amount === 0 || amount <= left;
      }),
    take: ({ metadata }, capacity) => take(metadata.name, capacity),
  };
}

function amountOf(capacity: ReadonlyMap<string, number>, name: string): number {
  return name === 'nodes' ? 1 : (capacity.get(name) ?? 0);
}
