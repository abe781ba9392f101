import { parseUntil } from '../../../core/quantity/told-time.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { NAMED_PAUSE_MAX_MS, RetryableError } from '../../../ports/errors.ts';
import { conditionOf, toTimestamp } from '../../facts/conditions.ts';
import type { Ports } from '../../ports/ports.ts';
import { writeStatus } from '../../claims/node-claim.ts';

/** Karpenter cuts messages of launch conditions at this length. */
export const LAUNCH_MESSAGE_MAX = 300;

/**
 * A policy or a permission that somebody has to change: looked at again until the launch time-out removes the claim.
 */
export const REJECTED_RETRY_MS = 60_000;

const THROTTLED = 'RequestsThrottled';
const AT = 'asked again at ';

/** Says on a claim until when Azure wants to be left alone, or which right is missing. Gives what is thrown for it. */
export async function putOffLaunch(ports: Ports, claim: NodeClaim, error: RetryableError): Promise<RetryableError> {
  const isThrottled = error.because === 'throttled';
  const pauseMs = isThrottled ? error.retryAfterMs : REJECTED_RETRY_MS;
  const next =
    pauseMs === null
      ? 'asked again within a minute'
      : `${AT}${toTimestamp(ports.now() + Math.min(pauseMs, NAMED_PAUSE_MAX_MS))}`;
  const [reason, why] = isThrottled ? [THROTTLED, `Azure throttles requests: ${next}`] : ['AuthorizationFailed', next];
  const message = `${why}. ${error.message}`.slice(0, LAUNCH_MESSAGE_MAX);
  try {
    await writeStatus(ports, claim, { conditions: [{ type: 'Launched', status: 'Unknown', reason, message }] });
  } catch (failure) {
    // Somebody else wrote meanwhile. What Azure wants matters more, and the next look tells it.
    if (!(failure instanceof RetryableError)) throw failure;
  }
  return pauseMs === null ? error : new RetryableError(error.message, { cause: error.cause, retryAfterMs: pauseMs });
}

/**
 * Until when Azure wants to be left alone with a claim's machine, milliseconds since the epoch; null where nobody has
 * said. What people read is the only memory there is.
 */
export function putOffUntilMs({ status }: NodeClaim, nowMs: number): number | null {
  const launched = conditionOf(status?.conditions, 'Launched');
  if (launched?.reason !== THROTTLED) return null;
  const [, at = ''] = launched.message?.split(AT) ?? [];
  return parseUntil(at.slice(0, at.indexOf('Z') + 1), nowMs, NAMED_PAUSE_MAX_MS);
}
