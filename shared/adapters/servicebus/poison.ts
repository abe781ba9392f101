import type { ServiceBusClient, ServiceBusSender } from '@azure/service-bus';
import { poisonQueue } from '../../contract/queues.ts';

/** Service Bus refuses property values above this; the body stays whole. */
const REASON_MAX = 4_096;

/** Keeps a message that no retry can help, with the reason and who refused it, in the poison queue for people to read. */
export function createPoison(
  connect: () => Promise<ServiceBusClient>,
): (message: unknown, reason: string, from: string) => Promise<void> {
  let sender: Promise<ServiceBusSender> | undefined;
  return async (message, reason, from) => {
    sender ??= connect().then((client) => client.createSender(poisonQueue.name));
    await (
      await sender
    ).sendMessages({
      body: message ?? null,
      subject: from,
      applicationProperties: { reason: reason.slice(0, REASON_MAX), function: from },
    });
  };
}
