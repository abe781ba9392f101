import type { QueueSettings } from '../../../shared/contract/messages/queues.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import type { QueueFaults } from './faults.ts';
import type { Timeline } from './timeline.ts';

export interface Message {
  readonly id: string;
  readonly sessionId: string | null;
  readonly body: unknown;
  readonly sequence: number;
  deliveries: number;
}

/** What a receiver got: all messages of one session, or one message, under a lock. */
export interface Delivery {
  readonly messages: ReadonlyArray<Message>;
  readonly session: string;
  readonly isLocked: () => boolean;
  /** All used: they are gone. Does nothing when the lock is lost. */
  readonly complete: () => void;
  /** Given back, to be delivered again at once. */
  readonly abandon: () => void;
  /** The receiver is gone: given back when the lock runs out. */
  readonly forget: () => void;
}

/**
 * A Service Bus queue: sessions one receiver at a time, scheduled messages, duplicates dropped by id within the window,
 * at-least-once. What faults do to a message they do when it is sent.
 */
export class Queue {
  faults: QueueFaults;
  readonly dead: Array<Message> = [];
  readonly #settings: QueueSettings;
  readonly #timeline: Timeline;
  readonly #rng: Rng;
  readonly #onAvailable: () => void;
  readonly #ready: Array<Message> = [];
  readonly #locked = new Set<string>();
  readonly #scheduled = new Map<number, { readonly message: Message; readonly atMs: number }>();
  readonly #seen = new Map<string, number>();
  readonly #inFlight = new Set<Message>();
  #sequence = 0;

  constructor(
    settings: QueueSettings,
    parts: { timeline: Timeline; rng: Rng; faults: QueueFaults; onAvailable: () => void },
  ) {
    this.#settings = settings;
    this.#timeline = parts.timeline;
    this.#rng = parts.rng;
    this.faults = parts.faults;
    this.#onAvailable = parts.onAvailable;
  }

  /** Messages that wait to be read now, or are being read. */
  get active(): ReadonlyArray<Message> {
    return [...this.#ready, ...this.#inFlight];
  }

  scheduled(): ReadonlyArray<{ readonly message: Message; readonly atMs: number }> {
    return [...this.#scheduled.values()];
  }

  send(sent: {
    readonly id: string;
    readonly sessionId: string | null;
    readonly body: unknown;
    readonly atMs: number | null;
  }): void {
    const now = this.#timeline.now();
    const { duplicateDetectionWindowMs: window } = this.#settings;
    const seenAt = this.#seen.get(sent.id);
    if (window !== null && seenAt !== undefined && now - seenAt < window) return;
    this.#seen.set(sent.id, now);
    if (this.#rng.chance(this.faults.lose)) return;
    const copies = this.#rng.chance(this.faults.duplicate) ? 2 : 1;
    const body = JSON.parse(JSON.stringify(sent.body)) as unknown;
    for (let copy = 0; copy < copies; copy++) {
      const late = this.#rng.chance(this.faults.delay) ? this.#rng.below(30_000) : 0;
      const message = { id: sent.id, sessionId: sent.sessionId, body, sequence: this.#sequence++, deliveries: 0 };
      const atMs = Math.max(now + 2 + this.#rng.below(20), (sent.atMs ?? 0) - this.faults.aheadMs) + late;
      this.#scheduled.set(message.sequence, { message, atMs });
      this.#timeline.after(atMs - now, () => {
        this.#scheduled.delete(message.sequence);
        this.#ready.push(message);
        this.#onAvailable();
      });
    }
  }

  /** The next delivery that is not locked away; null when there is none. At most `limit` messages. */
  receive(limit: number): Delivery | null {
    const first = this.#ready.find((message) => !this.#locked.has(sessionOf(message)));
    if (first === undefined) return null;
    const session = sessionOf(first);
    const messages = this.#ready.filter((message) => sessionOf(message) === session).slice(0, limit);
    return this.#lock(session, messages);
  }

  #lock(session: string, messages: ReadonlyArray<Message>): Delivery {
    for (const message of messages) {
      this.#ready.splice(this.#ready.indexOf(message), 1);
      message.deliveries += 1;
    }
    this.#locked.add(session);
    for (const message of messages) this.#inFlight.add(message);
    let locked = true;
    const unlock = (giveBack: boolean): void => {
      if (!locked) return;
      locked = false;
      this.#locked.delete(session);
      for (const message of messages) this.#inFlight.delete(message);
      if (giveBack && !this.#rng.chance(this.faults.loseUnfinished)) {
        for (const message of messages.toReversed()) {
          if (message.deliveries >= this.#settings.maxDeliveryCount) this.dead.push(message);
          else this.#ready.unshift(message);
        }
      }
      this.#onAvailable();
    };
    const { lockDurationMs } = this.#settings;
    const expires = this.#rng.chance(this.faults.loseLock) ? this.#rng.below(4_000) : lockDurationMs;
    this.#timeline.after(expires, () => unlock(true));
    return {
      messages,
      session,
      isLocked: () => locked,
      complete: () => unlock(false),
      abandon: () => unlock(true),
      forget: () => this.#timeline.after(this.#rng.below(lockDurationMs), () => unlock(true)),
    };
  }
}

function sessionOf(message: Message): string {
  return message.sessionId ?? `message ${message.sequence}`;
}

/** The queues of the app. */
export interface Queues {
  readonly pods: Queue;
  readonly claims: Queue;
  readonly launches: Queue;
  readonly signals: Queue;
}
