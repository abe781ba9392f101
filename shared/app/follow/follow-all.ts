import { CLOCK_SKEW_MS } from '../facts/clock-skew.ts';
import type { FollowedObject } from '../../contract/messages/messages.ts';
import { RefusedError } from '../../ports/errors.ts';
import { hintObjects } from '../ports/hint-objects.ts';
import type { Ports } from '../ports/ports.ts';
import { tellDenied } from '../tell/tell-denied.ts';
import { follow } from './follow.ts';
import type { FollowOutcome } from '../ports/follow-outcome.ts';

/** What became of one of the objects: where it stands now, or what kept it from being moved. */
export interface Followed {
  readonly object: FollowedObject;
  readonly outcome: FollowOutcome | { readonly kind: 'failed'; readonly error: unknown };
}

/**
 * Moves objects along beside each other; none is kept from it by the failure of another, and in one process nobody else
 * moves the same one meanwhile. What the API server refuses to have written is told on the objects that it is about. In
 * another that may happen: each write depends on what was read, so that one of them looks again. Objects that must be
 * looked at again at one time are asked for together. Throws RetryableError when that cannot be asked.
 */
export async function followAll(
  ports: Ports,
  objects: ReadonlyArray<FollowedObject>,
): Promise<ReadonlyArray<Followed>> {
  const followed = await Promise.all(
    objects.map(async (object): Promise<Followed> => {
      try {
        return { object, outcome: await ports.turns.take(object, (one) => follow(ports, one)) };
      } catch (error) {
        const outcome = error instanceof RefusedError ? await denied(ports, object, error) : null;
        return { object, outcome: outcome ?? { kind: 'failed', error } };
      }
    }),
  );
  await lookAgain(ports, followed);
  return followed;
}

/** Between looks at what may not be written: a claim's may be about pods that have a deadline. */
const DENIED_CLAIM_LOOK_MS = 10_000;
const DENIED_LOOK_MS = 60_000;

/**
 * Tells of it, and looks again at a known time, as for all else that is waited for: put off as a fault, each hint about
 * the object, one a minute by the sweep, would begin a chain of its own that never ends.
 */
async function denied(ports: Ports, { kind, name }: FollowedObject, { refusal }: RefusedError): Promise<FollowOutcome> {
  await tellDenied(ports, refusal, [{ kind, key: { name, namespace: null } }]);
  const afterMs = kind === 'NodeClaim' ? DENIED_CLAIM_LOOK_MS : DENIED_LOOK_MS;
  return {
    kind: 'wait',
    for: `${refusal.policy ?? 'the API server'} to let it be written`,
    lookAgainMs: ports.now() + afterMs,
  };
}

async function lookAgain(ports: Ports, followed: ReadonlyArray<Followed>): Promise<void> {
  const now = ports.now();
  const due = followed.flatMap(({ object: { kind, name }, outcome }) => {
    if (outcome.kind !== 'wait' || outcome.lookAgainMs === null) return [];
    return [{ object: { kind, name }, second: lookSecond(now, outcome.lookAgainMs) }];
  });
  const bySecond = Map.groupBy(due, ({ second }) => second);
  await Promise.all(
    [...bySecond].map(([second, group]) =>
      hintObjects(
        ports,
        group.map(({ object }) => object),
        { reason: 'look-again', occasion: `look/${second}`, atMs: second * 1000 },
      ),
    ),
  );
}

/** Seconds between the moments at which looks happen; a look that is due in between is put off to the next. */
const LOOK_GRID_S = [900, 60, 30, 10, 5, 1] as const;

/**
 * The second of the epoch to look at. Every hint about an object ends in a look, and every look in the next: on a grid
 * as coarse as the pause they meet, and the queue drops all but one that name the same. Else each hint would begin a
 * chain of its own.
 */
function lookSecond(nowMs: number, atMs: number): number {
  const stepMs = 1000 * (LOOK_GRID_S.find((step) => step * 1000 <= atMs - nowMs) ?? 1);
  // A quarter of a step early is near enough, so that a look that takes its time does not skip every second one.
  const next = Math.ceil((atMs - stepMs / 4) / stepMs);
  // This look may have come a little early by our clock: its own second is over all the same.
  return (Math.max(next, Math.floor((nowMs + CLOCK_SKEW_MS) / stepMs) + 1) * stepMs) / 1000;
}
