import { randomUUID } from 'node:crypto';
import { ServiceBusClient } from '@azure/service-bus';
import { type Broker, startBroker } from '../../../sandbox/servicebus/broker.ts';
import { VirtualClock } from '../../../sandbox/base/clock.ts';
import type { QueueSettings } from '../../../shared/contract/messages/queues.ts';

/** A namespace to run the contract on: the sandbox's broker, or a real one. */
export interface Namespace {
  readonly client: ServiceBusClient;
  /** Null on a real namespace. */
  readonly broker: Broker | null;
  /** A message or session id that no earlier run used. */
  fresh(prefix: string): string;
  /** Another client of the same namespace, closed with it. */
  connect(options?: { readonly timeoutMs: number }): ServiceBusClient;
  /**
   * The time by which the namespace schedules: on the double it stands still but for `pass`, while the machine's goes
   * on.
   */
  now(): number;
  /** Lets time pass for locks, schedules and windows: at once on the double, by waiting on the real thing. */
  pass(ms: number): Promise<void>;
  close(): Promise<void>;
}

/** Set it to run the suite on a real namespace (Standard tier) that has `contractQueues`; the key must allow Manage. */
const REAL = process.env['NODEWRIGHT_SERVICEBUS_CONNECTION_STRING'];

/** True when the suite runs on a real namespace. */
export const isReal = REAL !== undefined;

/** The shortest lock Azure allows. */
export const LOCK_MS = 5_000;

/** The shortest duplicate detection window Azure allows. */
export const WINDOW_MS = 20_000;

const base = { lockDurationMs: LOCK_MS, maxDeliveryCount: 3 };

/** The queues the contract needs; declare the same ones in a real namespace. */
export const contractQueues: ReadonlyArray<QueueSettings> = [
  { ...base, name: 'contract-plain', requiresSession: false, duplicateDetectionWindowMs: null },
  { ...base, name: 'contract-unique', requiresSession: false, duplicateDetectionWindowMs: WINDOW_MS },
  { ...base, name: 'contract-session', requiresSession: true, duplicateDetectionWindowMs: null },
];

/** Bounds each operation of a client, and how long accepting any session waits. Long enough for a slow machine. */
const TIMEOUT_MS = 20_000;

/** Opens a namespace with empty queues. */
export async function openNamespace(): Promise<Namespace> {
  const clock = new VirtualClock(Date.now());
  const broker =
    REAL === undefined ? await startBroker({ port: 0, queues: contractQueues, dataFolder: null, clock }) : null;
  const connectionString = REAL ?? broker?.connectionString ?? '';
  const clients: Array<ServiceBusClient> = [];
  const connect = ({ timeoutMs } = { timeoutMs: TIMEOUT_MS }): ServiceBusClient => {
    // No retries: a test wants to see the first answer.
    const client = new ServiceBusClient(connectionString, { retryOptions: { maxRetries: 0, timeoutInMs: timeoutMs } });
    clients.push(client);
    return client;
  };
  const namespace: Namespace = {
    client: connect(),
    broker,
    fresh: (prefix) => `${prefix}-${randomUUID().slice(0, 8)}`,
    connect,
    now: () => (broker === null ? Date.now() : clock.now()),
    async pass(ms) {
      if (broker !== null) clock.advance(ms);
      else await new Promise((resolve) => setTimeout(resolve, ms));
    },
    async close() {
      await Promise.all(clients.map((client) => client.close()));
      await broker?.close();
    },
  };
  if (isReal) await emptyQueues(namespace.client);
  return namespace;
}

/** On a real namespace, what earlier runs left is taken away. Sessions need none of it: their ids are fresh. */
async function emptyQueues(client: ServiceBusClient): Promise<void> {
  for (const { name } of contractQueues.filter(({ requiresSession }) => !requiresSession)) {
    for (const options of [{}, { subQueueType: 'deadLetter' as const }]) {
      const receiver = client.createReceiver(name, { receiveMode: 'receiveAndDelete', ...options });
      // Ends at the first empty answer; a queue of the contract never holds more than a few thousand messages.
      while ((await receiver.receiveMessages(500, { maxWaitTimeInMs: 1_000 })).length > 0);
      await receiver.close();
    }
  }
}
