import { type Followed, followAll } from '../../shared/app/follow/follow-all.ts';
import { launchesHint } from '../../shared/app/ports/hint-objects.ts';
import { LAUNCHED_HERE_WITHIN_MS, provision } from '../../shared/app/provision/provision.ts';
import { type PodsHint, parsePodsHint } from '../../shared/contract/messages/messages.ts';
import { RetryableError } from '../../shared/ports/errors.ts';
import { type Invocation, deliverTo, logTo } from './deliver.ts';
import { putRestOff, tellFollowed } from './deliver-objects.ts';
import { type Worker, theWorker, withinTime } from '../execution.ts';

/**
 * All hints that wait for one cluster arrive together and ask for one look, and one is what they get, whatever becomes
 * of it: where it fails for now, one hint is put off for all. An API server that does not answer costs a batch the time
 * of one look. Those that cannot be read are kept last: where a look can neither be had nor put off, the queue delivers
 * all of them again, and nothing of that delivery should have been kept already.
 */
export async function deliverPods(context: Invocation, messages: unknown): Promise<void> {
  await deliverPodsTo(theWorker(), context, messages);
}

/** `deliverPods` for a worker that is given, such as a simulated one. */
export async function deliverPodsTo(worker: Worker, context: Invocation, messages: unknown): Promise<void> {
  const batch: ReadonlyArray<unknown> = Array.isArray(messages) ? messages : [messages];
  await withinTime(worker, (inTime) => lookOnce(inTime, context, batch));
}

async function lookOnce(worker: Worker, context: Invocation, batch: ReadonlyArray<unknown>): Promise<void> {
  const unreadable: Array<unknown> = [];
  let one: PodsHint | null = null;
  for (const message of batch) {
    const hint = tryToRead(message);
    if (hint === null) unreadable.push(message);
    // The one that was tried most often: the pauses between tries go on growing.
    else if (one === null || (hint.attempt ?? 0) > (one.attempt ?? 0)) one = hint;
  }
  for (const message of [...(one === null ? [] : [one]), ...unreadable]) {
    // One after the other: what cannot be read waits until the look has been had or put off.
    await deliverTo(worker, context, message, parsePodsHint, async (ports) => {
      const outcome = await provision(ports, { mayLaunch: true });
      ports.log('looked', { messages: batch.length, outcome: outcome.kind });
      if (outcome.kind === 'provisioned') await launchHere(worker, context, outcome.toLaunch);
    });
  }
}

/**
 * What fails here, or is not done when `launch` hears of it, `launch` does: the cluster's other hints do not wait for
 * an Azure that does not answer. What Azure wants to be asked for later has a message of its own for then, as `launch`
 * would not ask earlier.
 */
async function launchHere(worker: Worker, context: Invocation, names: ReadonlyArray<string>): Promise<void> {
  if (names.length === 0) return;
  const message = launchesHint(worker.app.cluster, names);
  await withinTime(
    worker,
    async (inTime) => {
      const followed = await followAll(await inTime.app.ports(logTo(context)), message.objects);
      tellFollowed(context, message, followed);
      await putRestOff(inTime, context, message, followed.filter(isToldWhen));
    },
    LAUNCHED_HERE_WITHIN_MS,
  );
}

function isToldWhen({ outcome }: Followed): boolean {
  return outcome.kind === 'failed' && outcome.error instanceof RetryableError && outcome.error.retryAfterMs !== null;
}

function tryToRead(message: unknown): PodsHint | null {
  try {
    return parsePodsHint(message);
  } catch {
    return null;
  }
}
