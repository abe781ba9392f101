import { createHash, randomUUID } from 'node:crypto';
import {
  sessionIdOf,
  sessionOf,
  type ObjectHint,
  type PodsHint,
  type SignalHint,
} from '../shared/contract/messages.ts';
import { claimsQueue, podsQueue, signalsQueue } from '../shared/contract/queues.ts';
import { createBackoff, pause } from './backoff.ts';
import { signalMessage, type Signal } from './hints.ts';
import { reasonOf, type Log } from './log.ts';
import type { OutgoingMessage, QueueSender } from './queue-sender.ts';

/**
 * Messages that wait to be sent, at most one per object: a newer hint about the same takes the older one's place. So it
 * cannot grow beyond the number of objects, however long the queue is away.
 */
export interface Outbox {
  readonly addPods: (reason: string, snapshot: string | null, stamp: string) => void;
  readonly addObject: (object: ObjectHint['object'], reason: string, stamp: string) => void;
  readonly addPodEvent: (claim: string, atMs: number, stamp: string) => void;
  readonly addSignal: (signal: Signal) => void;
  /** Forgets what was not sent: another relay leads now, and begins with hints about everything. */
  readonly clear: () => void;
  readonly size: () => number;
  /** Resolves when nothing waits any more, or after `limitMs`. */
  readonly settled: (limitMs: number) => Promise<void>;
  readonly stop: () => void;
}

interface OutboxOptions {
  readonly cluster: string;
  readonly sender: QueueSender;
  readonly log: Log;
  readonly onSent: (queue: string, count: number) => void;
  readonly onFailed: (queue: string) => void;
}

const firstRetryMs = 200;
const longestRetryMs = 15_000;

/** A short fixed-length text for ids: names may be longer than a message id may be (128). */
function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}

/** Makes an empty outbox that sends by itself. */
export function createOutbox({ cluster, sender, log, onSent, onFailed }: OutboxOptions): Outbox {
  const stopping = new AbortController();
  // A cluster and a storage account that were made anew count from one again; the queue may still know the old ids.
  const run = randomUUID().slice(0, 8);
  const queues = [podsQueue.name, claimsQueue.name, signalsQueue.name].map((name) => ({
    name,
    waiting: new Map<string, OutgoingMessage>(),
    isSending: false,
  }));

  async function flush(queue: (typeof queues)[number]): Promise<void> {
    const retry = createBackoff(firstRetryMs, longestRetryMs);
    while (queue.waiting.size > 0 && !stopping.signal.aborted) {
      const batch = [...queue.waiting];
      try {
        const messages = batch.map(([, message]) => message);
        await sender.send(queue.name, messages);
        retry.reset();
        onSent(queue.name, batch.length);
        // What was replaced meanwhile is newer than what was sent, and stays.
        const sent = batch.filter(([key, message]) => queue.waiting.get(key) === message);
        for (const [key] of sent) queue.waiting.delete(key);
      } catch (error) {
        onFailed(queue.name);
        log.warn('hints not sent', { queue: queue.name, waiting: queue.waiting.size, reason: reasonOf(error) });
        await pause(retry.next(null), stopping.signal);
      }
    }
    queue.isSending = false;
  }

  function add(queueName: string, key: string, message: OutgoingMessage): void {
    const queue = queues.find(({ name }) => name === queueName);
    if (queue === undefined || stopping.signal.aborted) return;
    queue.waiting.set(key, message);
    if (queue.isSending) return;
    queue.isSending = true;
    // Begun a turn later, so that hints of one change travel in one batch.
    setImmediate(() => void flush(queue));
  }

  return {
    addPods(reason, snapshot, stamp) {
      const body: PodsHint = { kind: 'pods', version: 1, cluster, snapshot, reason };
      const messageId = `${digest(cluster)}-${run}-${snapshot ?? `without-${stamp}`}`;
      add(podsQueue.name, cluster, { messageId, sessionId: sessionIdOf(cluster), body });
    },
    addObject(object, reason, stamp) {
      const session = sessionOf(object);
      const body: ObjectHint = { kind: 'object', version: 1, cluster, object, reason };
      const messageId = `${digest(`${cluster} ${session}`)}-${run}-${stamp}`;
      add(claimsQueue.name, session, { messageId, sessionId: session, body });
    },
    addPodEvent(name, atMs, stamp) {
      const object = { kind: 'NodeClaim', name } as const;
      const session = sessionOf(object);
      const body: ObjectHint = { kind: 'object', version: 1, cluster, object, reason: 'pod-event', podEventMs: atMs };
      // Beside a hint about the claim itself, which would lose the time if it took this one's place.
      const messageId = `${digest(`${cluster} ${session} pods`)}-${run}-${stamp}`;
      add(claimsQueue.name, `${session} pods`, { messageId, sessionId: session, body });
    },
    addSignal(signal) {
      const body: SignalHint = signalMessage(cluster, signal);
      add(signalsQueue.name, signal.key, { messageId: digest(`${cluster} ${signal.key}`), sessionId: null, body });
    },
    clear() {
      for (const { waiting } of queues) waiting.clear();
    },
    size: () => queues.reduce((sum, { waiting }) => sum + waiting.size, 0),
    async settled(limitMs) {
      const untilMs = performance.now() + limitMs;
      while (queues.some(({ waiting, isSending }) => isSending || waiting.size > 0) && performance.now() < untilMs) {
        await pause(20, stopping.signal);
      }
    },
    stop: () => stopping.abort(),
  };
}
