import { randomUUID } from 'node:crypto';
import { digest } from '../../shared/contract/digest.ts';
import {
  REASON_MAX,
  sessionIdOf,
  type FollowedObject,
  type ObjectsHint,
  type PodsHint,
} from '../../shared/contract/messages/messages.ts';
import { inMessages, nameOf } from '../../shared/contract/messages/queue-messages.ts';
import { claimsQueue, podsQueue, signalsQueue } from '../../shared/contract/messages/queues.ts';
import { createBackoff, pause } from '../process/backoff.ts';
import { signalMessage, type Signal } from '../hint/signals.ts';
import { reasonOf, type Log } from '../process/log.ts';
import type { OutgoingMessage, QueueSender } from '../azure/queue-sender.ts';

/**
 * Messages that wait to be sent, at most one per object: a newer hint about the same takes the older one's place. So it
 * cannot grow beyond the number of objects, however long the queue is away.
 */
export interface Outbox {
  readonly addPods: (reason: string, snapshot: string | null, stamp: string) => void;
  readonly addObject: (object: FollowedObject, reason: string, stamp: string) => void;
  readonly addPodEvent: (claim: string, atMs: number, stamp: string) => void;
  readonly addSignal: (signal: Signal) => void;
  /** Forgets what was not sent: another relay leads now, and begins with hints about everything. */
  readonly clear: () => void;
  readonly size: () => number;
  /** Resolves when nothing waits any more, or after `limitMs`. */
  readonly settled: (limitMs: number) => Promise<void>;
  readonly stop: () => void;
}

/** An object to be looked at: a message once it is sent. `stamp` tells it from earlier ones about the same. */
interface NamedObject {
  readonly object: FollowedObject;
  readonly reason: string;
  readonly stamp: string;
}

interface OutboxOptions {
  readonly cluster: string;
  readonly sender: QueueSender;
  readonly log: Log;
  readonly onSent: (queue: string, count: number) => void;
  readonly onFailed: (queue: string) => void;
}

const FIRST_RETRY_MS = 200;
/** What waits does so long at most when the queue is back. */
const LONGEST_RETRY_MS = 5_000;

/** Makes an empty outbox that sends by itself. */
export function createOutbox({ cluster, sender, log, onSent, onFailed }: OutboxOptions): Outbox {
  const stopping = new AbortController();
  // A cluster and a storage account that were made anew count from one again; the queue may still know the old ids.
  const run = randomUUID().slice(0, 8);
  const queues = [podsQueue.name, claimsQueue.name, signalsQueue.name].map((name) => ({
    name,
    waiting: new Map<string, OutgoingMessage | NamedObject>(),
    isSending: false,
  }));

  async function flush(queue: (typeof queues)[number]): Promise<void> {
    const retry = createBackoff(FIRST_RETRY_MS, LONGEST_RETRY_MS);
    while (queue.waiting.size > 0 && !stopping.signal.aborted) {
      const batch = [...queue.waiting];
      try {
        const messages = toMessages(batch.map(([, one]) => one));
        await sender.send(queue.name, messages);
        retry.reset();
        onSent(queue.name, messages.length);
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

  /** What waits for the queue, as messages: objects travel together. */
  function toMessages(waiting: ReadonlyArray<OutgoingMessage | NamedObject>): ReadonlyArray<OutgoingMessage> {
    const named = waiting.filter((one) => 'object' in one);
    const byName = Map.groupBy(named, ({ object }) => nameOf(object));
    const groups = inMessages(named.map(({ object }) => object)).map((objects): OutgoingMessage => {
      const of = objects.flatMap((object) => byName.get(nameOf(object)) ?? []);
      const reason = [...new Set(of.map((one) => one.reason))].join(', ').slice(0, REASON_MAX);
      const body: ObjectsHint = { kind: 'objects', version: 1, cluster, objects, reason };
      // The same when it is sent again because no answer came, and another once any of it is newer.
      const what = of.map(({ object, stamp }) => `${nameOf(object)} ${stamp}`).join(' ');
      return { messageId: `${digest(cluster, what)}-${run}`, sessionId: null, body };
    });
    return [...waiting.flatMap((one) => ('object' in one ? [] : [one])), ...groups];
  }

  function add(queueName: string, key: string, message: OutgoingMessage | NamedObject): void {
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
      add(claimsQueue.name, nameOf(object), { object, reason, stamp });
    },
    addPodEvent(name, atMs, stamp) {
      const object = { kind: 'NodeClaim', name, podEventMs: atMs } as const;
      // Beside a hint about the claim itself, which would lose the time if it took this one's place.
      add(claimsQueue.name, `${nameOf(object)} pods`, { object, reason: 'pod-event', stamp });
    },
    addSignal(signal) {
      const body = signalMessage(cluster, signal, Date.now());
      add(signalsQueue.name, signal.key, { messageId: digest(cluster, signal.key), sessionId: null, body });
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
