import { labelKey } from '../../../kubernetes/labels.ts';
import type { Node } from '../../../kubernetes/manifest.ts';
import type { Instant } from '../../quantity/units.ts';
import type { DisruptionInput } from '../../model/disruption-input.ts';
import type { KeptReason } from '../plan/kept-reason.ts';
import { parsePast } from '../../quantity/told-time.ts';
import { parseTimestamp } from '../../quantity/utc-time.ts';

/** What is to be done about a sick node; null for one that is well, or has not been sick for long enough. */
export type RepairVerdict =
  | { readonly kind: 'repair'; readonly sinceMs: number }
  | { readonly kind: 'blocked'; readonly reason: KeptReason }
  | null;

/**
 * More sick nodes of a pool than this share, rounded up, are left alone: the cause is hardly each node's own.
 * Karpenter's.
 */
const MOST_UNHEALTHY = 0.2;

/** Judges nodes by the conditions that the policy calls sick. */
export function repairJudge({ provisioning, policy }: DisruptionInput, now: Instant): (node: string) => RepairVerdict {
  const { nodes } = provisioning.cluster;
  const sickSince = new Map<string, number>();
  if (policy.repairs.length === 0) return () => null;
  const byPool = Map.groupBy(nodes, poolOf);
  const sick = new Map<string, number>();
  for (const node of nodes) {
    const dueMs = dueOf(node, policy.repairs, now);
    if (dueMs === null) continue;
    sick.set(poolOf(node), (sick.get(poolOf(node)) ?? 0) + 1);
    if (dueMs <= now) sickSince.set(node.metadata.name, dueMs);
  }
  const pools = new Map(nodes.map((node) => [node.metadata.name, poolOf(node)]));
  return (name) => {
    const sinceMs = sickSince.get(name);
    if (sinceMs === undefined) return null;
    const nodePool = pools.get(name) ?? '';
    const [unhealthy, total] = [sick.get(nodePool) ?? 0, byPool.get(nodePool)?.length ?? 0];
    if (unhealthy <= Math.ceil(total * MOST_UNHEALTHY)) return { kind: 'repair', sinceMs };
    return { kind: 'blocked', reason: { kind: 'too-many-unhealthy', nodePool, unhealthy, nodes: total } };
  };
}

function poolOf({ metadata }: Node): string {
  return metadata.labels?.[labelKey.nodePool] ?? '';
}

/**
 * When the first of its sicknesses has lasted long enough; null for none. By the node's own clock: what one that is
 * ahead says counts from the node's creation. It is sick, and nobody knows since when; well again at the second look,
 * when its replacement has come, it stays.
 */
function dueOf({ metadata, status }: Node, repairs: DisruptionInput['policy']['repairs'], now: Instant): number | null {
  let due: number | null = null;
  for (const { conditionType, conditionStatus, tolerationMs } of repairs) {
    const found = status?.conditions?.find(
      ({ type, status: value }) => type === conditionType && value === conditionStatus,
    );
    if (found === undefined || parseTimestamp(found.lastTransitionTime) === null) continue;
    const sinceMs = parsePast(found.lastTransitionTime, now) ?? parsePast(metadata.creationTimestamp, now);
    if (sinceMs !== null) due = Math.min(due ?? Infinity, sinceMs + tolerationMs);
  }
  return due;
}
