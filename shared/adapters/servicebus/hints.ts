import type { ServiceBusClient, ServiceBusMessage, ServiceBusSender } from '@azure/service-bus';
import { sessionIdOf, sessionOf } from '../../contract/messages.ts';
import { claimsQueue, podsQueue, signalsQueue } from '../../contract/queues.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Hint, Hints } from '../../ports/hints.ts';
import { once } from '../once.ts';

/** Messages handed to the sender at once: a batch of this size stays far below the 256 KB that Standard allows. */
const BATCH_MAX = 200;

/** Sends hints to our own queues. The client is made on first use, and kept. */
export function createHints(connect: () => Promise<ServiceBusClient>): Hints {
  const senders = new Map<string, () => Promise<ServiceBusSender>>();
  const senderOf = (queue: string): Promise<ServiceBusSender> => {
    const known = senders.get(queue) ?? once(async () => (await connect()).createSender(queue));
    senders.set(queue, known);
    return known();
  };
  return {
    send: async (hints) => {
      const byQueue = Map.groupBy(hints, ({ hint }) => queueOf(hint));
      await Promise.all(
        [...byQueue].map(async ([queue, group]) => {
          try {
            const sender = await senderOf(queue);
            for (let start = 0; start < group.length; start += BATCH_MAX) {
              // In order: a batch is one message on the wire.
              // oxlint-disable-next-line no-await-in-loop
              await sender.sendMessages(group.slice(start, start + BATCH_MAX).map(toMessage));
            }
          } catch (cause) {
            throw new RetryableError(`sending to queue ${queue}`, { cause });
          }
        }),
      );
    },
  };
}

function queueOf(hint: Hint): string {
  switch (hint.kind) {
    case 'pods':
      return podsQueue.name;
    case 'object':
      return claimsQueue.name;
    case 'signal':
      return signalsQueue.name;
    default:
      return hint satisfies never;
  }
}

function toMessage({
  hint,
  atMs,
  key,
}: {
  readonly hint: Hint;
  readonly atMs: number | null;
  readonly key: string;
}): ServiceBusMessage {
  return {
    body: hint,
    contentType: 'application/json',
    subject: hint.kind,
    messageId: sessionIdOf(`${hint.cluster}/${key}`),
    ...(hint.kind === 'pods' ? { sessionId: sessionIdOf(hint.cluster) } : {}),
    ...(hint.kind === 'object' ? { sessionId: sessionOf(hint.object) } : {}),
    ...(atMs === null ? {} : { scheduledEnqueueTimeUtc: new Date(atMs) }),
  };
}
