import { label } from '../../../contract/names.ts';
import type { NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import { type ConditionChange, conditionOf, sameConditions, setConditions } from '../../facts/conditions.ts';
import type { Ports } from '../../ports/ports.ts';
import { statusIfPossible } from '../../tell/tell-unwritten.ts';
import type { WriteOutcome } from '../../../ports/kubernetes.ts';

const TYPE = 'NodeRegistrationHealthy';

/** Karpenter remembers so many results of a pool, and calls it unhealthy from half of them failed (§3.6). */
const REMEMBERED = 4;
const FAILED_MAX = 1;

/** How it went with one node of a pool. */
export type Registration = { readonly kind: 'registered' } | { readonly kind: 'failed'; readonly reason: string };

/** The conditions whose conjunction is a NodePool's `Ready`. */
export const POOL_DEPENDENTS = ['ValidationSucceeded', 'NodeClassReady'] as const;

/**
 * Keeps a pool's `NodeRegistrationHealthy`, which people read; nothing is decided by it. While all goes well there is
 * one write, at the first node. When another wrote at the same time, or it cannot be written, the result is lost, and
 * the next one tells.
 */
export async function noteRegistration(ports: Ports, claim: NodeClaim, result: Registration): Promise<void> {
  const about = { kind: 'NodePool', name: claim.metadata.labels?.[label.nodePool] ?? '' } as const;
  await statusIfPossible(ports, about, () => note(ports, claim, result));
}

async function note(ports: Ports, claim: NodeClaim, result: Registration): Promise<WriteOutcome<unknown> | null> {
  const name = claim.metadata.labels?.[label.nodePool];
  const pool = name === undefined ? null : await ports.definitions.nodePool(name);
  if (pool === null) return null;
  const conditions = setConditions(pool.status?.conditions, [judgeHealth(pool, result)], {
    dependents: POOL_DEPENDENTS,
    generation: pool.metadata.generation ?? 1,
    nowMs: ports.now(),
    createdAt: pool.metadata.creationTimestamp ?? '',
  });
  if (sameConditions(pool.status?.conditions, conditions)) return null;
  const { resourceVersion } = pool.metadata;
  const patch = { metadata: { resourceVersion }, status: { conditions } };
  return ports.kubernetes.patchStatus('NodePool', { name: pool.metadata.name, namespace: null }, patch);
}

/** The condition after one more result. What came before is read from its message, the only memory there is. */
export function judgeHealth(pool: NodePool, result: Registration): ConditionChange {
  const known = conditionOf(pool.status?.conditions, TYPE);
  // What nodes of an older spec did says nothing of those of this one.
  const isCurrent = known?.observedGeneration === pool.metadata.generation && known?.status !== 'Unknown';
  const results = [...(isCurrent ? parseResults(known?.message ?? '') : []), result.kind].slice(-REMEMBERED);
  const failed = results.filter((one) => one === 'failed').length;
  const message = failed === 0 ? '' : `${PREFIX}${results.join(', ')}`;
  if (failed <= FAILED_MAX) return { type: TYPE, status: 'True', reason: TYPE, message };
  const reason = result.kind === 'failed' ? result.reason : (known?.reason ?? 'RegistrationFailed');
  return { type: TYPE, status: 'False', reason, message };
}

const PREFIX = 'last nodes: ';

/** No failure is remembered where the message is empty: then what is forgotten were successes, and they add nothing. */
function parseResults(message: string): ReadonlyArray<Registration['kind']> {
  if (!message.startsWith(PREFIX)) return [];
  return message
    .slice(PREFIX.length)
    .split(', ')
    .map((word) => (word === 'failed' ? 'failed' : 'registered'));
}

/**
 * What a pool shows when its spec or its class has changed since the last result, or before the first. Null: it stays.
 */
export function resetHealth(pool: NodePool, classGeneration: number): ConditionChange | null {
  const known = conditionOf(pool.status?.conditions, TYPE);
  const status: Readonly<Record<string, unknown>> = { ...pool.status };
  const seenClass = status['nodeClassObservedGeneration'] ?? classGeneration;
  if (known?.observedGeneration === pool.metadata.generation && seenClass === classGeneration) return null;
  return { type: TYPE, status: 'Unknown', reason: 'AwaitingReconciliation', message: 'no node has registered yet' };
}
