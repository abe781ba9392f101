import { ServiceBusClient, type ServiceBusSender } from '@azure/service-bus';
import { sendInBatches } from '../../shared/contract/messages/send-in-batches.ts';
import type { WorkloadIdentity } from './workload-identity.ts';

/** A message on its way to a queue. */
export interface OutgoingMessage {
  /** Messages with an id that the queue has seen lately are dropped by it. */
  readonly messageId: string;
  /** Null for queues without sessions. */
  readonly sessionId: string | null;
  readonly body: object;
}

/** Sends messages to queues. */
export interface QueueSender {
  /** Resolves when the queue has taken all of them. When it rejects, some may have been taken. */
  readonly send: (queue: string, messages: ReadonlyArray<OutgoingMessage>) => Promise<void>;
  readonly close: () => Promise<void>;
}

/** Where the Service Bus namespace is and how to be let in. */
export type ServiceBusSettings =
  | { readonly kind: 'connectionString'; readonly connectionString: string }
  | { readonly kind: 'identity'; readonly fullyQualifiedNamespace: string; readonly identity: WorkloadIdentity };

/** Opens a sender. Nothing is connected before the first message. */
export function openQueueSender(settings: ServiceBusSettings): QueueSender {
  const client = openClient(settings);
  const senders = new Map<string, ServiceBusSender>();

  function senderOf(queue: string): ServiceBusSender {
    const known = senders.get(queue);
    if (known !== undefined) return known;
    const made = client.createSender(queue);
    senders.set(queue, made);
    return made;
  }

  return {
    async send(queue, messages) {
      await sendInBatches(
        senderOf(queue),
        messages.map(({ messageId, sessionId, body }) => ({
          messageId,
          body,
          contentType: 'application/json',
          ...(sessionId === null ? {} : { sessionId }),
        })),
      );
    },
    close: () => client.close(),
  };
}

function openClient(settings: ServiceBusSettings): ServiceBusClient {
  // The outbox tries again by itself, with what is newest then.
  const options = { retryOptions: { maxRetries: 1, timeoutInMs: 15_000 } };
  if (settings.kind === 'connectionString') return new ServiceBusClient(settings.connectionString, options);
  return new ServiceBusClient(settings.fullyQualifiedNamespace, settings.identity, options);
}
