import { provision } from '../shared/app/provision.ts';
import { theApp } from '../shared/composition.ts';
import { parsePodsHint } from '../shared/contract/messages.ts';
import { type Invocation, type Worker, deliverTo } from './deliver.ts';

/**
 * All hints that wait for one cluster arrive together and ask for one look: the first readable one is enough. Those that
 * cannot be read are kept last: where a look can neither be had nor put off, the queue delivers all of them again, and
 * nothing of that delivery should have been kept already.
 */
export async function deliverPods(context: Invocation, messages: unknown): Promise<void> {
  await deliverPodsTo({ app: theApp(), now: Date.now }, context, messages);
}

/** `deliverPods` for a worker that is given, such as a simulated one. */
export async function deliverPodsTo(worker: Worker, context: Invocation, messages: unknown): Promise<void> {
  const batch: ReadonlyArray<unknown> = Array.isArray(messages) ? messages : [messages];
  const { readable = [], unreadable = [] } = Object.groupBy(batch, (one) => (canRead(one) ? 'readable' : 'unreadable'));
  let looked = false;
  for (const message of [...readable, ...unreadable]) {
    // One after the other: a bad message must not keep the look from happening, nor make it happen twice.
    // oxlint-disable-next-line no-await-in-loop
    await deliverTo(worker, context, message, parsePodsHint, async (ports) => {
      if (looked) return;
      const outcome = await provision(ports);
      looked = true;
      ports.log('looked', { messages: batch.length, outcome: outcome.kind });
    });
  }
}

function canRead(message: unknown): boolean {
  try {
    parsePodsHint(message);
    return true;
  } catch {
    return false;
  }
}
