import { ServiceBusClient, type ServiceBusReceivedMessage } from '@azure/service-bus';
import { poisonQueue } from '../../../shared/contract/messages/queues.ts';
import type { World } from './world.ts';

/** The queues as any program of a customer's would use them: through Azure's own client. */
export interface Queues {
  send(
    queue: string,
    body: unknown,
    options?: { readonly sessionId?: string; readonly messageId?: string },
  ): Promise<void>;
  /** What is in the poison queue now, oldest first; it stays there. */
  peekPoison(): Promise<ReadonlyArray<ServiceBusReceivedMessage>>;
  /** Takes everything out of the poison queue. */
  drainPoison(): Promise<ReadonlyArray<ServiceBusReceivedMessage>>;
  close(): Promise<void>;
}

const POISON_MAX = 200;
/** What is there is delivered at once; this is how long nothing more must come. */
const SILENCE_MS = 500;

export function openQueues({ sandbox }: World): Queues {
  const client = new ServiceBusClient(sandbox.serviceBusConnection);
  const poison = client.createReceiver(poisonQueue.name, { receiveMode: 'receiveAndDelete' });
  return {
    send: async (queue, body, options = {}) => {
      const sender = client.createSender(queue);
      await sender.sendMessages({ body, ...options });
      await sender.close();
    },
    peekPoison: () => poison.peekMessages(POISON_MAX),
    drainPoison: () => poison.receiveMessages(POISON_MAX, { maxWaitTimeInMs: SILENCE_MS }),
    close: () => client.close(),
  };
}
