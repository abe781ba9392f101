import { createHash } from 'node:crypto';
import type { ServiceBusClient } from '@azure/service-bus';
import { poisonQueue } from '../../contract/messages/queues.ts';
import { once } from '../once.ts';

/** Service Bus refuses property values above this; the body stays whole. */
const REASON_MAX = 4_096;

/**
 * Keeps a message that no retry can help, with the reason and who refused it, in the poison queue for people to read.
 * Keeping what one function refuses twice within the queue's window is keeping it once: whatever is delivered again is
 * the same.
 */
export function createPoison(
  connect: () => Promise<ServiceBusClient>,
): (message: unknown, reason: string, from: string) => Promise<void> {
  const sender = once(async () => (await connect()).createSender(poisonQueue.name));
  return async (message, reason, from) => {
    await (
      await sender()
    ).sendMessages({
      body: message ?? null,
      messageId: idOf(message, from),
      subject: from,
      applicationProperties: { reason: reason.slice(0, REASON_MAX), function: from },
    });
  };
}

function idOf(message: unknown, from: string): string {
  const hash = createHash('sha256').update(JSON.stringify([from, message ?? null]));
  return hash.digest('base64url');
}
