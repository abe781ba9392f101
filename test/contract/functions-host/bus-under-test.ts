import { ServiceBusClient, type ServiceBusMessage } from '@azure/service-bus';
import { onTestFinished } from 'vitest';
import { startBroker, type Broker } from '../../../sandbox/servicebus/broker.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../sandbox/base/rng.ts';
import type { QueueSettings } from '../../../shared/contract/messages/queues.ts';
import { copyApp, startTestHost, type HostUnderTest, type Said } from './host-under-test.ts';

const queue = (name: string, requiresSession: boolean): QueueSettings => ({
  name,
  requiresSession,
  lockDurationMs: 60_000,
  maxDeliveryCount: 3,
  duplicateDetectionWindowMs: null,
});

/** A host of the bus fixture, listening to a broker. */
export interface Bus extends HostUnderTest {
  readonly broker: Broker;
  /** Sends all in one call, bodies as JSON. */
  send(queueName: string, ...messages: ReadonlyArray<ServiceBusMessage>): Promise<void>;
  /** Sends one message whose body is an AMQP value. */
  sendValue(queueName: string, value: unknown): Promise<void>;
  /** What arrived with each invocation, in order. */
  began(): ReadonlyArray<Invocation>;
  /** Ends the broker; the answer starts one that is empty at the same port. */
  takeAway(): Promise<() => Promise<void>>;
}

/** One invocation as the app saw it; a single message makes a list of one. */
export interface Invocation {
  readonly messages: ReadonlyArray<{ readonly n: number }>;
  readonly metadata: Readonly<Record<string, unknown>>;
}

const isInvocation = (said: Said): said is Said & Invocation => said['event'] === 'began';

/** The session of an invocation, in either cardinality. */
export const sessionOf = ({ metadata }: Invocation): unknown => {
  const { sessionId, sessionIdArray } = metadata;
  return Array.isArray(sessionIdArray) ? sessionIdArray[0] : sessionId;
};

/** How many messages each invocation had. */
export const sizesOf = (invocations: ReadonlyArray<Invocation>): ReadonlyArray<number> =>
  invocations.map(({ messages }) => messages.length);

/** What a test of the bus sets; host.json's `extensions.serviceBus` and its other members among it. */
export interface BusOptions {
  readonly serviceBus?: object;
  readonly deliverTwice?: boolean;
  /** The one group of functions that listen. */
  readonly group?: string;
  /** So many drains are answered too late. */
  readonly slowDrains?: number;
  /** Sent before the host listens, so that they make one batch. */
  readonly waiting?: Readonly<Record<string, ReadonlyArray<ServiceBusMessage>>>;
  readonly host?: object;
}

/**
 * Starts a broker and a host with these functions of the bus fixture (names joined by commas); both end with the test.
 */
export async function startBus(functions: string, options: BusOptions = {}): Promise<Bus> {
  const queues = [queue('plain', false), queue('sessions', true)];
  const faults = { rng: rngFrom('bus'), duplicatePercent: 0, dropPercent: 0, slowDrains: options.slowDrains ?? 0 };
  const startOne = (port: number): Promise<Broker> =>
    startBroker({ port, queues, dataFolder: null, clock: systemClock, faults });
  const broker = await startOne(0);
  onTestFinished(() => broker.close());
  const send: Bus['send'] = async (queueName, ...messages) => {
    // A client of its own for each call: one whose connection was just cut would wait a minute to find out.
    const client = new ServiceBusClient(broker.connectionString);
    const sender = client.createSender(queueName);
    await sender.sendMessages(messages.map(({ body, ...rest }) => ({ ...rest, body: toBytes(body) })));
    await client.close();
  };
  const sendValue: Bus['sendValue'] = async (queueName, value) => {
    const client = new ServiceBusClient(broker.connectionString);
    await client.createSender(queueName).sendMessages({ body: value, bodyType: 'value' });
    await client.close();
  };
  for (const [queueName, messages] of Object.entries(options.waiting ?? {})) await send(queueName, ...messages);
  const serviceBus = { sessionIdleTimeout: '00:00:00.3', ...options.serviceBus };
  const hostJson = JSON.stringify({ version: '2.0', ...options.host, extensions: { serviceBus } });
  const folder = await copyApp('bus', { 'host.json': hostJson });
  const environment = { Bus: broker.connectionString, BUS_FUNCTIONS: functions, SESSION_QUEUE: 'sessions' };
  const { deliverTwice = false, group = null } = options;
  const host = await startTestHost(folder, { environment, deliverTwice, group });
  const began = (): ReadonlyArray<Invocation> => host.said().filter(isInvocation);
  const takeAway: Bus['takeAway'] = async () => {
    await broker.close();
    return async () => {
      const next = await startOne(broker.port);
      onTestFinished(() => next.close());
    };
  };
  return { ...host, broker, send, sendValue, began, takeAway };
}

/** Bodies cross the wire as bytes, as senders in other languages write them. */
function toBytes(body: unknown): Buffer {
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

/** Messages with bodies and ids that count from 0. */
export const numbered = (count: number, rest: object = {}): Array<ServiceBusMessage> =>
  Array.from({ length: count }, (_, n) => ({ body: { n }, messageId: `m${n}`, ...rest }));

/** The queue holds nothing more, neither waiting nor locked. */
export const isEmpty = (bus: Bus, queueName: string): boolean => {
  const { active, locked, deadLettered } = bus.broker.stats(queueName);
  return active === 0 && locked === 0 && deadLettered === 0;
};

/** How many invocations, at most, ran at the same time, by the log. */
export function mostAtOnce(bus: Bus): number {
  let running = 0;
  let most = 0;
  for (const { message } of bus.entries) {
    if (message.startsWith("Executing '")) running += 1;
    if (message.startsWith("Executed '")) running -= 1;
    most = Math.max(most, running);
  }
  return most;
}
