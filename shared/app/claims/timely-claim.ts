import { isAhead } from '../../core/quantity/told-time.ts';
import { parseTimestamp } from '../../core/quantity/utc-time.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { toTimestamp } from '../facts/conditions.ts';
import { alone } from '../ports/in-parallel.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Does the claim's status say of something that it happened at a time that has not come yet? Our clocks say when it
 * did, and one was wrong.
 */
export function isUntimely({ status }: Pick<NodeClaim, 'status'>, nowMs: number): boolean {
  const times = [
    ...(status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime),
    status?.lastPodEventTime,
  ];
  return times.some((time) => isLate(time, nowMs));
}

/**
 * The claim with such times set to now, as they are written: all that counts from them begins again, and ends. Where
 * they may not be written they count as of the claim's creation, as there is nobody who would remember when it was
 * first looked at.
 */
export async function timelyClaim(ports: Ports, claim: NodeClaim): Promise<NodeClaim> {
  const nowMs = ports.now();
  if (!isUntimely(claim, nowMs)) return claim;
  const { name, resourceVersion, creationTimestamp } = claim.metadata;
  const status = timelyStatus(claim, nowMs, toTimestamp(nowMs));
  const patch = { metadata: { resourceVersion }, status };
  const outcome = await alone(() => ports.kubernetes.patchStatus('NodeClaim', { name, namespace: null }, patch));
  if (outcome.kind === 'done' && outcome.answer.kind === 'written') return outcome.answer.object;
  const since = creationTimestamp ?? toTimestamp(nowMs);
  return { ...claim, status: { ...claim.status, ...timelyStatus(claim, nowMs, since) } };
}

/** Those fields of the status that have times. */
function timelyStatus({ status }: NodeClaim, nowMs: number, time: string): Partial<NonNullable<NodeClaim['status']>> {
  const conditions = (status?.conditions ?? []).map((one) =>
    isLate(one.lastTransitionTime, nowMs) ? { ...one, lastTransitionTime: time } : one,
  );
  return { conditions, ...(isLate(status?.lastPodEventTime, nowMs) ? { lastPodEventTime: time } : {}) };
}

function isLate(time: string | undefined, nowMs: number): boolean {
  return isAhead(parseTimestamp(time) ?? 0, nowMs);
}
