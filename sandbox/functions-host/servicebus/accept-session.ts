import { isServiceBusError, type ServiceBusSessionReceiver } from '@azure/service-bus';
import type { ClientSource } from './client-source.ts';
import type { PumpContext } from './message-pump.ts';
import { untilAborted } from './until-aborted.ts';

/**
 * How long one accept may take: the client's try timeout, and a margin. When the service is killed while the client
 * makes its connection anew, the client waits a minute for an answer on the dead one, and every later call of its waits
 * behind it; seen with @azure/service-bus 7.9.5.
 */
const ACCEPT_MARGIN_MS = 3_000;

/**
 * Waits for a session that has messages and locks it; null when none came within the client's try timeout, which is
 * nothing to report, or when the host stops meanwhile. A client that gives no answer at all is replaced. `renewForMs`:
 * for how long the session's lock is renewed; 0 for never.
 */
export async function acceptSession(
  context: PumpContext,
  clients: ClientSource,
  queueName: string,
  renewForMs: number,
): Promise<ServiceBusSessionReceiver | null> {
  const { stopping } = context;
  const client = clients.current();
  const accepted = client.acceptNextSession(queueName, {
    skipParsingBodyAsJson: true,
    maxAutoLockRenewalDurationInMs: renewForMs,
    abortSignal: stopping,
  });
  const overdue = AbortSignal.timeout(clients.tryTimeoutMs + ACCEPT_MARGIN_MS);
  try {
    const first = await untilAborted(accepted, AbortSignal.any([stopping, overdue]));
    if (first !== null) return first;
    // The client heeds its signal only when the service has answered, which may take a minute; a session that comes so
    // late must be let go for others.
    accepted.then((session) => session.close()).catch(() => undefined);
    if (!stopping.aborted) clients.replace(client);
    return null;
  } catch (error) {
    if (isServiceBusError(error) && error.code === 'ServiceTimeout') return null;
    throw error;
  }
}
