import type { ServiceBusClient, ServiceBusMessage, ServiceBusSender } from '@azure/service-bus';
import { type QueueMessage, toQueueMessages } from '../../contract/messages/queue-messages.ts';
import { sendInBatches } from '../../contract/messages/send-in-batches.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Hints } from '../../ports/hints.ts';
import { once } from '../once.ts';

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
      const messages = hints.flatMap(({ hint, atMs, key }) =>
        toQueueMessages(hint, key).map((message) => ({ queue: message.queue, message: toMessage(message, atMs) })),
      );
      const byQueue = Map.groupBy(messages, ({ queue }) => queue);
      await Promise.all(
        [...byQueue].map(async ([queue, group]) => {
          try {
            await sendInBatches(
              await senderOf(queue),
              group.map(({ message }) => message),
            );
          } catch (cause) {
            throw new RetryableError(`sending to queue ${queue}`, { cause });
          }
        }),
      );
    },
  };
}

function toMessage({ id, sessionId, body }: QueueMessage, atMs: number | null): ServiceBusMessage {
  return {
    body,
    contentType: 'application/json',
    subject: body.kind,
    messageId: id,
    ...(sessionId === null ? {} : { sessionId }),
    ...(atMs === null ? {} : { scheduledEnqueueTimeUtc: new Date(atMs) }),
  };
}
