import { isServiceBusError, type ServiceBusClient, type ServiceBusSessionReceiver } from '@azure/service-bus';
import type { PumpContext } from './message-pump.ts';

/**
 * Waits for a session that has messages and locks it; null when none came within the client's try timeout, which is
 * nothing to report. `renewForMs`: for how long its lock is renewed; 0 for never. Throws when the host stops meanwhile.
 */
export async function acceptSession(
  context: PumpContext,
  client: ServiceBusClient,
  queueName: string,
  renewForMs: number,
): Promise<ServiceBusSessionReceiver | null> {
  try {
    return await client.acceptNextSession(queueName, {
      skipParsingBodyAsJson: true,
      maxAutoLockRenewalDurationInMs: renewForMs,
      abortSignal: context.stopping,
    });
  } catch (error) {
    if (isServiceBusError(error) && error.code === 'ServiceTimeout') return null;
    throw error;
  }
}
