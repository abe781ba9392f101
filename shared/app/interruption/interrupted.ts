import { annotation } from '../../contract/names.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';

/** What was taken back this long ago says nothing of what there is now. Karpenter has no figure; new plans avoid its offering as long. */
export const EVICTION_COUNTS_MS = 10 * 60_000;

/** The claims of machines that Azure takes back and that are on their way out. */
export function interruptedAmong(claims: ReadonlyArray<NodeClaim>): ReadonlyArray<NodeClaim> {
  return claims.filter((claim) => claim.metadata.deletionTimestamp !== undefined && isInterrupted(claim));
}

/** Does the claim go because of a notice? */
export function isInterrupted({ metadata }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.interruption] !== undefined;
}

/** Those whose spot capacity was taken back a short while ago, whether they have been deleted by now or are about to be. */
export function evictedAmong(claims: ReadonlyArray<NodeClaim>, nowMs: number): ReadonlyArray<NodeClaim> {
  return claims.filter((claim) => isPreempted(claim) && nowMs - takenBackMs(claim, nowMs) < EVICTION_COUNTS_MS);
}

/** When the claim was given up, milliseconds since the epoch; the same for whoever asks. */
export function takenBackMs({ metadata }: NodeClaim, nowMs: number): number {
  const deletedMs = Date.parse(metadata.deletionTimestamp ?? '');
  return Number.isNaN(deletedMs) ? nowMs : deletedMs;
}

function isPreempted({ metadata }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.interruption]?.startsWith('preempt ') === true;
}
