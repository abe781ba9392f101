import type { Clock } from '../../base/clock.ts';
import { renderCloudEvent, renderEventGrid, type GridEvent } from './event-grid-events.ts';
import { textAt } from '../arm/json.ts';
import type { EventSubscription } from '../state/options.ts';
import { openQueueDestination, type QueueDestination } from './queue-destination.ts';

/**
 * Event Grid's waits between attempts, in seconds; the last one repeats. Learn "Event Grid message delivery and retry".
 */
const RETRY_SECONDS = [10, 30, 60, 300, 600, 1_800, 3_600, 10_800, 21_600, 43_200] as const;

/** Event Grid's defaults: at most 30 attempts, at most a day. */
const MAX_ATTEMPTS = 30;
const TIME_TO_LIVE_MS = 86_400_000;

/** A subscriber has 30 s to answer. */
const ANSWER_MS = 30_000;

/** Answers after which a webhook is not asked again. */
const FINAL_REFUSALS = new Set([400, 401, 403, 413]);

/** What became of one event for one subscription. */
export interface Delivery {
  readonly subscription: string;
  readonly eventId: string;
  readonly type: string;
  readonly attempts: number;
  readonly state: 'pending' | 'delivered' | 'dead-lettered';
}

/** Delivers events to webhooks, after a handshake, and to queues as Event Grid does: at least once, in no order. */
export class EventGrid {
  readonly #clock: Clock;
  readonly #topic: string;
  readonly #isDoubled: () => boolean;
  readonly #subscriptions = new Map<string, EventSubscription>();
  readonly #queues = new Map<string, QueueDestination>();
  readonly #deliveries = new Map<string, Delivery>();
  readonly #listeners = new Set<(event: GridEvent) => void>();

  /** `isDoubled` decides, event by event, whether it is delivered twice: Event Grid promises at least once. */
  constructor(clock: Clock, topic: string, isDoubled: () => boolean) {
    this.#clock = clock;
    this.#topic = topic;
    this.#isDoubled = isDoubled;
  }

  /**
   * Adds a subscription: to a queue at once, to a webhook when it has proved that it wants the events. Throws when it
   * does not.
   */
  async subscribe(subscription: EventSubscription): Promise<void> {
    const { name, schema, destination } = subscription;
    if (typeof destination !== 'string') this.#queues.set(name, openQueueDestination(subscription, destination));
    else await (schema === 'EventGrid' ? this.#validate(name, destination) : this.#preflight(name, destination));
    this.#subscriptions.set(name, subscription);
  }

  async unsubscribe(name: string): Promise<void> {
    const queue = this.#queues.get(name);
    this.#subscriptions.delete(name);
    this.#queues.delete(name);
    await queue?.close();
  }

  /** Ends all subscriptions. */
  async close(): Promise<void> {
    await Promise.all([...this.#subscriptions.keys()].map((name) => this.unsubscribe(name)));
  }

  /** Calls the listener for every event from now on: for destinations that are no webhooks. The answer ends it. */
  on(listener: (event: GridEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => {
      this.#listeners.delete(listener);
    };
  }

  /** Sends an event to every subscription and every listener; some twice. */
  publish(event: GridEvent): void {
    const times = this.#isDoubled() ? 2 : 1;
    for (const listener of this.#listeners) for (let time = 0; time < times; time += 1) listener(event);
    for (const subscription of this.#subscriptions.values()) {
      const key = `${subscription.name}/${event.id}/${event.type}`;
      const delivery = { subscription: subscription.name, eventId: event.id, type: event.type };
      this.#deliveries.set(key, { ...delivery, attempts: 0, state: 'pending' });
      void this.#attempt(key, subscription, event, this.#clock.now());
      if (times > 1) void this.#deliver(subscription, event, 1);
    }
  }

  deliveries(): ReadonlyArray<Delivery> {
    return [...this.#deliveries.values()];
  }

  async #attempt(key: string, subscription: EventSubscription, event: GridEvent, since: number): Promise<void> {
    const delivery = this.#deliveries.get(key);
    if (delivery === undefined) return;
    const attempts = delivery.attempts + 1;
    const status = await this.#deliver(subscription, event, attempts);
    if (status >= 200 && status <= 204) {
      this.#deliveries.set(key, { ...delivery, attempts, state: 'delivered' });
      return;
    }
    const waitMs = (RETRY_SECONDS[attempts - 1] ?? RETRY_SECONDS[RETRY_SECONDS.length - 1] ?? 0) * 1_000;
    const expired = this.#clock.now() + waitMs - since > TIME_TO_LIVE_MS;
    if (FINAL_REFUSALS.has(status) || attempts >= MAX_ATTEMPTS || expired) {
      this.#deliveries.set(key, { ...delivery, attempts, state: 'dead-lettered' });
      return;
    }
    this.#deliveries.set(key, { ...delivery, attempts });
    this.#clock.after(waitMs, () => {
      void this.#attempt(key, subscription, event, since);
    });
  }

  /** The status of the answer; 0 when there was none. */
  async #deliver(subscription: EventSubscription, event: GridEvent, attempt: number): Promise<number> {
    const { name, destination } = subscription;
    if (typeof destination === 'string') return this.#post(destination, subscription, event, attempt);
    // Who has unsubscribed meanwhile is sent nothing more.
    return (await this.#queues.get(name)?.deliver(event, this.#topic, attempt)) ?? 0;
  }

  async #post(url: string, subscription: EventSubscription, event: GridEvent, attempt: number): Promise<number> {
    const cloudEvents = subscription.schema === 'CloudEvents';
    const body = cloudEvents ? renderCloudEvent(event) : renderEventGrid(event, this.#topic);
    const type = cloudEvents ? 'application/cloudevents+json; charset=utf-8' : 'application/json; charset=utf-8';
    const headers = {
      'Content-Type': type,
      'aeg-event-type': 'Notification',
      'aeg-subscription-name': subscription.name.toUpperCase(),
      'aeg-delivery-count': String(attempt - 1),
    };
    try {
      const answer = await send(url, { method: 'POST', headers, body: JSON.stringify(body) });
      return answer.status;
    } catch {
      return 0;
    }
  }

  async #validate(name: string, url: string): Promise<void> {
    const validationCode = `validate-${name}`;
    const event = {
      id: validationCode,
      type: 'Microsoft.EventGrid.SubscriptionValidationEvent',
      source: this.#topic,
      subject: '',
      at: this.#clock.now(),
      data: { validationCode, validationUrl: `${url}#validation-by-hand-is-not-doubled` },
    };
    const answer = await send(url, {
      method: 'POST',
      headers: {
        'Content-Type': 'application/json; charset=utf-8',
        'aeg-event-type': 'SubscriptionValidation',
        'aeg-subscription-name': name.toUpperCase(),
      },
      body: JSON.stringify(renderEventGrid(event, this.#topic)),
    });
    const echoed = textAt(await answer.json().catch(() => null), 'validationResponse');
    if (!answer.ok || echoed !== validationCode)
      throw new Error(`The endpoint of subscription '${name}' did not echo its validation code.`);
  }

  async #preflight(name: string, url: string): Promise<void> {
    const answer = await send(url, { method: 'OPTIONS', headers: { 'WebHook-Request-Origin': 'eventgrid.azure.net' } });
    const allowed = answer.headers.get('WebHook-Allowed-Origin');
    if (allowed !== '*' && allowed !== 'eventgrid.azure.net')
      throw new Error(`The endpoint of subscription '${name}' did not allow Event Grid's origin.`);
  }
}

async function send(
  url: string,
  request: { readonly method: string; readonly headers: { [name: string]: string }; readonly body?: string },
): Promise<Response> {
  return fetch(url, { ...request, signal: AbortSignal.timeout(ANSWER_MS) });
}
