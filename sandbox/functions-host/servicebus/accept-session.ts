import { isServiceBusError, type ServiceBusClient, type ServiceBusSessionReceiver } from '@azure/service-bus';
import type { PumpContext } from './message-pump.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * Waits for a session that has messages and locks it; null when none came within the client's try timeout, which is
 * nothing to report, or when the host stops meanwhile. `renewForMs`: for how long its lock is renewed; 0 for never.
 */
export async function acceptSession(
  context: PumpContext,
  client: ServiceBusClient,
  queueName: string,
  renewForMs: number,
): Promise<ServiceBusSessionReceiver | null> {
  const { stopping } = context;
  const accepted = client.acceptNextSession(queueName, {
    skipParsingBodyAsJson: true,
    maxAutoLockRenewalDurationInMs: renewForMs,
    abortSignal: stopping,
  });
  try {
    const first = await untilAborted(accepted, stopping);
    if (first !== null) return first;
    // The client heeds its signal only when the service has answered, which may take a minute; a session that comes so
    // late must be let go for others.
    accepted.then((session) => session.close()).catch(() => undefined);
    return null;
  } catch (error) {
    if (isServiceBusError(error) && error.code === 'ServiceTimeout') return null;
    throw error;
  }
}
