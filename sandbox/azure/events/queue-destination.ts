import { setTimeout as sleep } from 'node:timers/promises';
import { ServiceBusClient, type ServiceBusSender } from '@azure/service-bus';
import { renderCloudEvent, renderGridEvent, type GridEvent } from './event-grid-events.ts';
import type { EventSubscription } from '../state/options.ts';

/** A Service Bus queue that a subscription delivers to. */
export interface QueueDestination {
  /** Sends one event; the answer is as a webhook's status: 200 when the queue has it, 0 when nobody answered. */
  deliver(event: GridEvent, topic: string, attempt: number): Promise<number>;
  close(): Promise<void>;
}

/** One try of Event Grid's own; what it does not reach, it tries again by its schedule. */
const TRY_MS = 10_000;

/** A client whose service is gone waits a minute for its farewell to be answered. */
const CLOSE_MS = 2_000;

/**
 * Delivers as Event Grid does: the body is the event alone, what an HTTP delivery has as headers are application
 * properties, and the message has the same id however often it is sent (learn "Event Grid: Service Bus as an event
 * handler", 2025-11). Whether Azure gives one event of two subscriptions one id is not documented; here they have two.
 */
export function openQueueDestination(
  { name, schema }: Pick<EventSubscription, 'name' | 'schema'>,
  { connectionString, queue }: { readonly connectionString: string; readonly queue: string },
): QueueDestination {
  const retryOptions = { maxRetries: 0, timeoutInMs: TRY_MS };
  let client: ServiceBusClient | null = null;
  let sender: ServiceBusSender | null = null;
  const forget = async (): Promise<void> => {
    const closed = client?.close().catch(() => undefined);
    [client, sender] = [null, null];
    await Promise.race([closed, sleep(CLOSE_MS, undefined, { ref: false })]);
  };
  return {
    deliver: async (event, topic, attempt) => {
      client ??= new ServiceBusClient(connectionString, { retryOptions });
      sender ??= client.createSender(queue);
      const isCloudEvent = schema === 'CloudEvents';
      const body = isCloudEvent ? renderCloudEvent(event) : renderGridEvent(event, topic);
      const type = isCloudEvent ? 'application/cloudevents+json' : 'application/json';
      try {
        await sender.sendMessages({
          body: Buffer.from(JSON.stringify(body)),
          contentType: `${type}; charset=utf-8`,
          messageId: `${name}/${event.id}`,
          applicationProperties: {
            'aeg-subscription-name': name.toUpperCase(),
            'aeg-delivery-count': String(attempt - 1),
            'aeg-event-type': 'Notification',
            'aeg-metadata-version': isCloudEvent ? '1.0' : '1',
            ...(isCloudEvent ? {} : { 'aeg-data-version': '1' }),
            'aeg-output-event-id': event.id,
          },
        });
        return 200;
      } catch {
        // A connection that was cut is not mended by its client within one try.
        void forget();
        return 0;
      }
    },
    close: forget,
  };
}
