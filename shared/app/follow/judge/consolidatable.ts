import { parseGoDuration } from '../../../kubernetes/text/go-duration.ts';
import type { NodeClaim, NodePool } from '../../../kubernetes/manifest.ts';
import { isTrue, toTimestamp } from '../../facts/conditions.ts';
import { transitionMs } from '../../claims/node-claim.ts';

/**
 * Whether a node may be considered for consolidation now. `since`: it may from then on, milliseconds since the epoch.
 */
export type Consolidatable =
  | { readonly kind: 'never' }
  | { readonly kind: 'since'; readonly atMs: number }
  | { readonly kind: 'from'; readonly atMs: number };

/** The schema's default. */
const DEFAULT_AFTER = '0s';

/**
 * Karpenter's rule (karpenter-core.md §3.12): `consolidateAfter` must have passed since a pod last came to or left an
 * initialized node. Never with `Never`, and for nodes of static pools or of no pool.
 */
export function judgeConsolidatable(
  claim: NodeClaim,
  pool: NodePool | null,
  lastPodEventMs: number | null,
  nowMs: number,
): Consolidatable {
  if (pool === null || pool.spec.replicas !== undefined) return { kind: 'never' };
  if (!isTrue(claim.status?.conditions, 'Initialized')) return { kind: 'never' };
  const afterMs = parseGoDuration(pool.spec.disruption?.consolidateAfter ?? DEFAULT_AFTER);
  if (afterMs === null) return { kind: 'never' };
  const atMs = (lastPodEventMs ?? transitionMs(claim, 'Initialized')) + afterMs;
  return { kind: atMs <= nowMs ? 'since' : 'from', atMs };
}

/** What a claim's status says of the last pod event; nothing when none is known. */
export function podEventFields(eventMs: number | null): { readonly lastPodEventTime?: string } {
  return eventMs === null ? {} : { lastPodEventTime: toTimestamp(eventMs) };
}

/** When a pod last came or went: what the claim says already, or what was just told if that is later. Null: never. */
export function lastPodEvent(claim: NodeClaim, toldMs: number | null, nowMs: number): number | null {
  const known = Date.parse(claim.status?.lastPodEventTime ?? '');
  // A sender whose clock is ahead must not keep a node for longer.
  const told = toldMs === null ? Number.NaN : Math.min(toldMs, nowMs);
  const times = [known, told].filter((time) => !Number.isNaN(time));
  return times.length === 0 ? null : Math.max(...times);
}
