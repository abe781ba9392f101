import type { Condition, NodePool } from '../../../kubernetes/manifest.ts';
import { conditionOf, putConditions, type ConditionChange } from '../../facts/conditions.ts';
import type { Ports } from '../../ports/ports.ts';
import { tellDenied } from '../../tell/tell-denied.ts';

/** The NodePool as it is now, and the condition as it was before. */
export interface ToldPool {
  readonly pool: NodePool;
  readonly before: Condition | undefined;
}

/**
 * Puts a condition of ours on a NodePool, beside those that make it ready. Null where it is gone, or another wrote at
 * the same time: the next look tells it.
 */
export async function tellCondition(
  ports: Ports,
  { metadata }: Pick<NodePool, 'metadata'>,
  change: ConditionChange,
): Promise<ToldPool | null> {
  const key = { name: metadata.name, namespace: null };
  const pool = await ports.kubernetes.get('NodePool', key);
  if (pool === null) return null;
  const before = conditionOf(pool.status?.conditions, change.type);
  const conditions = putConditions(pool.status?.conditions, [change], {
    generation: pool.metadata.generation ?? 1,
    nowMs: ports.now(),
  });
  const patch = { metadata: { resourceVersion: pool.metadata.resourceVersion }, status: { conditions } };
  const outcome = await ports.kubernetes.patchStatus('NodePool', key, patch);
  if (outcome.kind === 'refused') await tellDenied(ports, outcome.refusal);
  return outcome.kind === 'written' ? { pool, before } : null;
}
