import { annotation } from '../../../contract/names.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { isTrue } from '../../facts/conditions.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import type { Ports } from '../../ports/ports.ts';

/** So long after the deletion a decision that nobody has finished is not waited for: policies may deny its writes. */
const WITHIN_MS = 5 * 60_000;

/** Executing takes a few seconds, once somebody has begun. */
const EXECUTED_LOOK_MS = 5_000;

/**
 * So long after a decision was executed its requests are no longer under way, as a rule. An executor that was heard of
 * within four seconds does not ask whether others have finished, and it asks once a second; the request that it sends
 * then has half a minute for its answer, as our transports wait. Where the answer to that question stands still as well
 * a claim may come after this all the same: it is empty then, and goes.
 */
const REQUESTED_MS = 35_000;

/**
 * When a decision that others have followed was executed nobody knows: before those were committed, and as a rule less
 * than 25 s after it made a claim, as one whose executor is silent for 8 s is finished by others. So claims that are as
 * old as this do not wait for it, however fast decisions follow each other.
 */
const FOLLOWED_MS = REQUESTED_MS + 25_000;

/**
 * Waits while another process that executes the claim's decision may make what it does not find: a claim that was given
 * up would come again under its name, beside what has been decided for its pods by then, and a process that still
 * removes the machine of the first would remove that of the second. As long as the first is there, it is found. Null
 * once it may go.
 */
export async function awaitDecision(ports: Ports, { metadata, status }: NodeClaim): Promise<FollowOutcome | null> {
  const { creationTimestamp = '', deletionTimestamp = '', annotations = {} } = metadata;
  const decision = annotations[annotation.decision];
  if (decision === undefined || ports.now() > Date.parse(deletionTimestamp) + WITHIN_MS) return null;
  const ledger = await ports.ledger.read();
  const isLatest = ledger.decision === decision;
  if (isLatest && !ledger.executed) {
    return { kind: 'wait', for: 'its decision to be executed', lookAgainMs: ports.now() + EXECUTED_LOOK_MS };
  }
  // A VM takes longer to join than a request may stand still.
  if (isTrue(status?.conditions, 'Registered')) return null;
  const latestEndsMs = (ledger.heardAtMs ?? 0) + REQUESTED_MS;
  const lookAgainMs = isLatest ? latestEndsMs : Math.min(latestEndsMs, Date.parse(creationTimestamp) + FOLLOWED_MS);
  const leftMs = lookAgainMs - ports.now();
  // The executor's clock said when it was executed: of one that is ahead a claim would wait for as long.
  const isAwaited = leftMs > 0 && leftMs <= 2 * REQUESTED_MS;
  return isAwaited ? { kind: 'wait', for: 'the last requests of its decision', lookAgainMs } : null;
}
