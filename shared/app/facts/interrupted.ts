import { annotation } from '../../contract/names.ts';
import { isAhead } from '../../core/quantity/told-time.ts';
import { parseGoDuration } from '../../kubernetes/text/go-duration.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';

/**
 * An eviction this long ago says nothing about capacity now. Karpenter has no figure; new plans avoid its offering as
 * long.
 */
export const EVICTION_COUNTS_MS = 10 * 60_000;

/**
 * How long pods wait to hear which machine is made for them. A plan takes seconds; one that has not come then may
 * never.
 */
export const NAMED_WITHIN_MS = 30_000;

/** The claims of machines that Azure evicts and that are on their way out. */
export function interruptedAmong(claims: ReadonlyArray<NodeClaim>): ReadonlyArray<NodeClaim> {
  return claims.filter((claim) => claim.metadata.deletionTimestamp !== undefined && isInterrupted(claim));
}

/**
 * When a notice of the claim's machine was acted on, milliseconds since the epoch; null where there is none. The last
 * of several.
 */
export function noticedAtMs({ metadata }: NodeClaim): number | null {
  const atMs = Date.parse(metadata.annotations?.[annotation.interruption]?.split(SINCE)[1] ?? '');
  return Number.isNaN(atMs) ? null : atMs;
}

/**
 * What a claim says of the notice that it goes for: what happens, by when, and since when we act on it, in milliseconds
 * since the epoch.
 */
export function renderInterruption(event: string, deadline: string, sinceMs: number): string {
  return `${event} by ${deadline}${SINCE}${new Date(sinceMs).toISOString()}`;
}

const SINCE = ' since ';

/** Does the claim go because of a notice? */
export function isInterrupted({ metadata }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.interruption] !== undefined;
}

/**
 * By when the claim's pods must have left, milliseconds since the epoch; null where nothing says so. Where no notice
 * says it, that is its own limit on its drain, counted from its deletion: what a clock that is far ahead has written of
 * it is not believed.
 */
export function deadlineOf(claim: NodeClaim): number | null {
  const { metadata, spec } = claim;
  const atMs = Date.parse(metadata.annotations?.[annotation.terminationTimestamp] ?? '');
  if (Number.isNaN(atMs)) return null;
  const deletedMs = Date.parse(metadata.deletionTimestamp ?? '');
  const ownMs = deletedMs + (parseGoDuration(spec.terminationGracePeriod ?? '') ?? Number.NaN);
  return isAhead(atMs, ownMs) && !isInterrupted(claim) ? ownMs : atMs;
}

/** What the pool of an interrupted machine asks for its pods. */
export function noticeOf({ metadata }: NodeClaim): { readonly allStay: boolean } {
  return { allStay: metadata.annotations?.[annotation.stayUntilDeadline] === 'true' };
}

/** Those that Azure evicted a short while ago, whether they have been deleted by now or are about to be. */
export function evictedAmong(claims: ReadonlyArray<NodeClaim>, nowMs: number): ReadonlyArray<NodeClaim> {
  return claims.filter((claim) => isPreempted(claim) && nowMs - takenBackMs(claim, nowMs) < EVICTION_COUNTS_MS);
}

/** When the claim was given up, milliseconds since the epoch; every caller gets the same. */
export function takenBackMs({ metadata }: NodeClaim, nowMs: number): number {
  const deletedMs = Date.parse(metadata.deletionTimestamp ?? '');
  return Number.isNaN(deletedMs) ? nowMs : deletedMs;
}

/** Is it removed in any case, because Azure evicts it? */
export function isPreempted({ metadata }: NodeClaim): boolean {
  return metadata.annotations?.[annotation.interruption]?.startsWith('preempt ') === true;
}
