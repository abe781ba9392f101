import { type Followed, followAll } from '../../shared/app/follow/follow-all.ts';
import { type ObjectsHint, parseObjectsHint } from '../../shared/contract/messages/messages.ts';
import { nameOf } from '../../shared/contract/messages/queue-messages.ts';
import { RetryableError } from '../../shared/ports/errors.ts';
import { type Invocation, failed, logTo, pauseAfter } from './deliver.ts';
import { type Worker, theWorker, withinTime } from '../execution.ts';

/**
 * Moves along what a message names. As `deliverTo`, but each object by itself: those that fail for now are put off,
 * together where they wait equally long, those that fail for good are kept in the poison queue, and the rest is done.
 */
export async function deliverObjects(context: Invocation, raw: unknown): Promise<void> {
  await deliverObjectsTo(theWorker(), context, raw);
}

/** `deliverObjects` for a worker that is given, such as a simulated one. */
export async function deliverObjectsTo(worker: Worker, context: Invocation, raw: unknown): Promise<void> {
  await withinTime(worker, (inTime) => moveObjects(inTime, context, raw));
}

async function moveObjects(worker: Worker, context: Invocation, raw: unknown): Promise<void> {
  let message: ObjectsHint | null = null;
  let followed: ReadonlyArray<Followed>;
  try {
    message = parseObjectsHint(raw);
    followed = await followAll(await worker.app.ports(logTo(context)), message.objects);
  } catch (error) {
    await failed(worker, context, { raw, message, error });
    return;
  }
  tellFollowed(context, message, followed);
  await putRestOff(worker, context, message, followed);
}

/** Puts off what failed for now, those together that wait equally long, and keeps what failed for good. */
export async function putRestOff(
  worker: Worker,
  context: Invocation,
  message: ObjectsHint,
  followed: ReadonlyArray<Followed>,
): Promise<void> {
  const failures = followed.flatMap(({ object, outcome }) =>
    outcome.kind === 'failed' ? [{ object, error: outcome.error }] : [],
  );
  const alike = Map.groupBy(failures, ({ object, error }) =>
    error instanceof RetryableError
      ? `${error.retryAfterMs === null ? 'fault' : 'told'} ${pauseAfter(error, message.attempt ?? 0, 0)}`
      : nameOf(object),
  );
  for (const group of alike.values()) {
    const rest = { ...message, objects: group.map(({ object }) => object) };
    // One after the other: when one cannot be put off, the queue delivers all of them again.
    await failed(worker, context, { raw: rest, message: rest, error: group[0]?.error });
  }
}

/** What became of each object, for the log. */
export function tellFollowed(context: Invocation, { reason }: ObjectsHint, followed: ReadonlyArray<Followed>): void {
  const log = logTo(context);
  for (const { object, outcome } of followed) {
    log('followed', { kind: object.kind, name: object.name, step: outcome.kind, because: reason });
  }
}
