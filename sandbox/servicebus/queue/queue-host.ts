import type { Clock } from '../../base/clock.ts';
import type { Journal } from './journal.ts';
import type { Delivered, Queue, ReceiveRequest } from './queue.ts';

/** A link that takes messages from a queue. */
export interface Consumer {
  /** Takes one message if the link has room for it; false when it took none. */
  takeOne(now: number): boolean;
}

/** A receiver that waits for any session of the queue. */
export interface SessionWaiter {
  /** Tries to lock a session; true ends the waiting. */
  tryAccept(now: number): boolean;
}

/** Runs one queue: gives it the time, journals what it changed, wakes those who wait for messages. */
export class QueueHost {
  readonly queue: Queue;
  readonly #clock: Clock;
  readonly #journal: Journal;
  readonly #consumers = new Set<Consumer>();
  readonly #waiters = new Set<SessionWaiter>();
  readonly #lossListeners = new Map<string, () => void>();
  #isPumpPlanned = false;
  #isClosed = false;
  #timer: { readonly at: number; readonly cancel: () => void } | null = null;

  constructor(queue: Queue, clock: Clock, journal: Journal) {
    this.queue = queue;
    this.#clock = clock;
    this.#journal = journal;
    this.#arm();
  }

  /** Runs a command; its durable changes are on their way to the journal when this returns. */
  run<T>(command: (queue: Queue, now: number) => T): T {
    const answer = command(this.queue, this.#clock.now());
    this.#settleAccounts();
    this.planPump();
    return answer;
  }

  /** Takes the next message for a consumer, at the time `takeOne` was given. */
  take(now: number, request: ReceiveRequest): Delivered | null {
    const delivered = this.queue.receive(now, request);
    this.#settleAccounts();
    return delivered;
  }

  /** Calls `task` once all changes made so far are kept. */
  afterWrite(task: () => void): void {
    this.#journal.afterWrite(task);
  }

  /** Offers messages to consumers soon, within this turn of the event loop. */
  planPump(): void {
    if (this.#isPumpPlanned || (this.#consumers.size === 0 && this.#waiters.size === 0)) return;
    this.#isPumpPlanned = true;
    process.nextTick(() => {
      this.#isPumpPlanned = false;
      this.pump();
    });
  }

  /**
   * Offers messages to consumers now, in turn, until nobody takes one. Ends because each round takes a message or is
   * the last.
   */
  pump(): void {
    const now = this.#clock.now();
    this.queue.advance(now);
    for (const waiter of this.#waiters) if (waiter.tryAccept(now)) this.#waiters.delete(waiter);
    let hasTaken = true;
    while (hasTaken) {
      hasTaken = false;
      for (const consumer of Array.from(this.#consumers)) {
        if (!consumer.takeOne(now)) continue;
        hasTaken = true;
        // Who took a message goes to the end of the row, so that the next one goes to another.
        this.#consumers.delete(consumer);
        this.#consumers.add(consumer);
      }
    }
    this.#settleAccounts();
  }

  /** Adds a consumer; the answer removes it. */
  addConsumer(consumer: Consumer): () => void {
    this.#consumers.add(consumer);
    this.planPump();
    return () => {
      this.#consumers.delete(consumer);
    };
  }

  /** Adds a waiter; the answer removes it. */
  addWaiter(waiter: SessionWaiter): () => void {
    this.#waiters.add(waiter);
    return () => {
      this.#waiters.delete(waiter);
    };
  }

  /** Calls `listener` when the holder's session lock runs out; the answer stops listening. */
  onSessionLost(holder: string, listener: () => void): () => void {
    this.#lossListeners.set(holder, listener);
    return () => {
      this.#lossListeners.delete(holder);
    };
  }

  /** Stops timer and journal. What links still do while they go down happens in memory only and is forgotten. */
  close(): void {
    this.#isClosed = true;
    this.#timer?.cancel();
    this.#timer = null;
    this.#consumers.clear();
    this.#waiters.clear();
  }

  #settleAccounts(): void {
    const changes = this.queue.takeChanges();
    if (this.#isClosed) return;
    if (changes.length > 0) this.#journal.append({ queue: this.queue.settings.name, changes });
    for (const lost of this.queue.takeLostSessions()) this.#lossListeners.get(lost.holder)?.();
    this.#arm();
  }

  #arm(): void {
    const at = this.queue.nextDueAt();
    if (at === null || (this.#timer !== null && this.#timer.at <= at)) return;
    this.#timer?.cancel();
    const cancel = this.#clock.after(Math.max(0, at - this.#clock.now()), () => {
      this.#timer = null;
      this.run((queue, now) => {
        queue.advance(now);
      });
    });
    this.#timer = { at, cancel };
  }
}
