import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Change, StoredMessage } from '../../sandbox/servicebus/queue/message.ts';
import { type Delivered, Queue, type ReceiveRequest } from '../../sandbox/servicebus/queue/queue.ts';
import type { QueueSettings } from '../../shared/contract/messages/queues.ts';
import { drawsOf } from '../setup/draws.ts';

const LOCK_MS = 100;
const WINDOW_MS = 600;
const MAX_DELIVERIES = 2;

/** Small pools, so that duplicates, ties and busy sessions happen in most runs. */
type Step =
  | { readonly kind: 'send'; readonly id: number; readonly session: string; readonly delayMs: number }
  | { readonly kind: 'receive' | 'accept' | 'releaseSession' | 'renewSession'; readonly session: string }
  | { readonly kind: 'complete' | 'abandon' | 'release' | 'defer' | 'deadLetter' | 'renew'; readonly pick: number }
  | { readonly kind: 'receiveDeferred' | 'cancel'; readonly pick: number }
  | { readonly kind: 'wait'; readonly ms: number }
  | { readonly kind: 'restart' };

const anySession = fc.constantFrom('a', 'b', 'c');
const anyPick = fc.nat(20);
const anyStep: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('send' as const),
      id: fc.nat(30),
      session: anySession,
      delayMs: fc.constantFrom(0, 0, 0, 50, 150),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constantFrom('receive', 'receive', 'accept', 'releaseSession', 'renewSession'),
      session: anySession,
    }),
  },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('complete', 'abandon', 'release', 'defer', 'deadLetter', 'renew'),
      pick: anyPick,
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constantFrom('receiveDeferred', 'cancel'), pick: anyPick }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('wait' as const), ms: fc.constantFrom(1, 40, 100, 600) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('restart' as const) }) },
);

/** What the model knows of a message, by what identifies it for good: the sequence number it was first given. */
interface Known {
  readonly session: string;
  readonly notBefore: number;
  failures: number;
  place: 'queued' | 'scheduled' | 'locked' | 'deferred' | 'deferredLocked' | 'deadLettered' | 'gone';
}

interface Held {
  readonly delivered: Delivered;
  readonly known: Known;
  until: number;
}

/** Drives a queue and a naive model side by side; every answer of the queue is compared with the model's. */
class Bench {
  readonly settings: QueueSettings;
  readonly known = new Map<number, Known>();
  readonly journal: Array<Change> = [];
  readonly seen = new Map<number, number>();
  readonly holders = new Map<string, { readonly holder: string; until: number }>();
  held: Array<Held> = [];
  queue: Queue;
  now = 1_000_000;
  tokens = 0;
  holderCount = 0;

  constructor(requiresSession: boolean) {
    this.settings = {
      name: 'q',
      requiresSession,
      lockDurationMs: LOCK_MS,
      maxDeliveryCount: MAX_DELIVERIES,
      duplicateDetectionWindowMs: WINDOW_MS,
    };
    this.queue = this.newQueue();
  }

  newQueue(): Queue {
    return new Queue(this.settings, () => `token-${this.tokens++}`);
  }

  run(step: Step): void {
    this.expire();
    if (step.kind === 'send') this.send(step);
    else if ('session' in step) this[step.kind](step.session);
    else if (step.kind === 'receiveDeferred' || step.kind === 'cancel') this[step.kind](step.pick);
    else if ('pick' in step) this.settle(step.kind, step.pick);
    else if (step.kind === 'wait') this.now += step.ms;
    else this.restart();
    this.journal.push(...this.queue.takeChanges());
  }

  send({ id, session, delayMs }: Extract<Step, { kind: 'send' }>): void {
    const scheduledFor = delayMs === 0 ? null : this.now + delayMs;
    const sessionId = this.settings.requiresSession ? session : null;
    const incoming = { messageId: String(id), sessionId, partitionKey: null, scheduledFor, payload: new Uint8Array() };
    const outcome = this.queue.send(this.now, incoming);
    const isRepeated = (this.seen.get(id) ?? 0) > this.now;
    expect(outcome.kind).toBe(isRepeated ? 'duplicate' : 'accepted');
    if (outcome.kind !== 'accepted') return;
    this.seen.set(id, this.now + WINDOW_MS);
    const place = delayMs === 0 ? 'queued' : 'scheduled';
    this.known.set(outcome.sequence, { session, notBefore: scheduledFor ?? 0, failures: 0, place });
  }

  receive(session: string): void {
    if (this.settings.requiresSession) {
      const claim = { sessionId: session, holder: 'a stranger' };
      const request: ReceiveRequest = { sub: 'main', session: claim, mode: 'peekLock' };
      expect(this.queue.receive(this.now, request), 'nobody receives from a session he does not hold').toBeNull();
    }
    const request = this.requestFor(session);
    if (request === null) return;
    const delivered = this.queue.receive(this.now, request);
    this.activate();
    const waiting = [...this.known.values()].filter(
      (known) => known.place === 'queued' && this.isReadable(known, session),
    );
    expect(delivered === null, 'a receiver gets nothing exactly when nothing waits').toBe(waiting.length === 0);
    if (delivered === null) return;
    const ready = this.peek(request.session?.sessionId ?? null);
    const earlier = ready.filter((message) => message.sequence < delivered.message.sequence);
    for (const { enqueuedSequence } of earlier) {
      expect(this.known.get(enqueuedSequence)?.place, 'what comes earlier is not free').not.toBe('queued');
    }
    this.hold(delivered, 'locked');
  }

  hold(delivered: Delivered, place: 'locked' | 'deferredLocked'): void {
    const known = this.known.get(delivered.message.enqueuedSequence);
    if (known === undefined) throw new Error('a message was delivered that nobody sent');
    expect(known.place).toBe(place === 'locked' ? 'queued' : 'deferred');
    expect(delivered.message.failedDeliveries, 'the count is that of failed deliveries').toBe(known.failures);
    expect(this.now, 'a scheduled message is not early').toBeGreaterThanOrEqual(known.notBefore);
    known.place = place;
    const until = this.settings.requiresSession ? Number.POSITIVE_INFINITY : this.now + LOCK_MS;
    this.held.push({ delivered, known, until });
  }

  accept(session: string): void {
    if (!this.settings.requiresSession) return;
    const holder = `holder-${this.holderCount++}`;
    const lock = this.queue.acceptSession(this.now, session, holder);
    expect(lock === 'busy', 'a session is busy exactly while somebody holds it').toBe(this.holders.has(session));
    if (typeof lock !== 'string') this.holders.set(session, { holder, until: this.now + LOCK_MS });
  }

  renewSession(session: string): void {
    const lock = this.holders.get(session);
    if (lock === undefined) return;
    expect(this.queue.renewSession(this.now, session, 'a stranger')).toBeNull();
    expect(this.queue.renewSession(this.now, session, lock.holder)).toBe(this.now + LOCK_MS);
    lock.until = this.now + LOCK_MS;
  }

  releaseSession(session: string): void {
    const lock = this.holders.get(session);
    if (lock === undefined) return;
    this.queue.releaseSession(this.now, session, lock.holder);
    this.holders.delete(session);
    for (const held of this.takeHeld(({ known }) => known.session === session)) this.giveBack(held);
  }

  settle(kind: 'complete' | 'abandon' | 'release' | 'defer' | 'deadLetter' | 'renew', pick: number): void {
    const held = this.held[pick % Math.max(1, this.held.length)];
    if (held === undefined) return;
    const token = held.delivered.lockToken;
    if (kind === 'renew') {
      expect(this.queue.renew(this.now, token)).not.toBeNull();
      if (!this.settings.requiresSession) held.until = this.now + LOCK_MS;
      return;
    }
    this.held = this.held.filter((other) => other !== held);
    if (kind === 'complete') expect(this.queue.complete(this.now, token)).toBe('done');
    else if (kind === 'release') expect(this.queue.release(this.now, token)).toBe('done');
    else expect(this.queue[kind](this.now, token, {})).toBe('done');
    if (kind === 'complete') held.known.place = 'gone';
    else if (kind === 'release') this.giveBack(held);
    else if (kind === 'defer') held.known.place = 'deferred';
    else if (kind === 'deadLetter') held.known.place = 'deadLettered';
    else this.fail(held);
    expect(this.queue.complete(this.now, token), 'a lock is good for one settlement').toBe('lockLost');
  }

  receiveDeferred(pick: number): void {
    const deferred = this.peek(null).filter(
      ({ enqueuedSequence }) => this.known.get(enqueuedSequence)?.place === 'deferred',
    );
    const message = deferred[pick % Math.max(1, deferred.length)];
    const request = message === undefined ? null : this.requestFor(message.sessionId ?? '');
    if (message === undefined || request === null) return;
    const [delivered] = this.queue.receiveDeferred(this.now, request, [message.sequence]) ?? [];
    if (delivered === undefined) throw new Error('a deferred message can be received by its number');
    this.hold(delivered, 'deferredLocked');
    expect(this.queue.receiveDeferred(this.now, request, [message.sequence])).toBeNull();
  }

  peek(sessionId: string | null): ReadonlyArray<StoredMessage> {
    return this.queue.peek(this.now, { sub: 'main', from: 0, count: 1_000, sessionId });
  }

  cancel(pick: number): void {
    const scheduled = [...this.known].filter(([, known]) => known.place === 'scheduled' && known.notBefore > this.now);
    const entry = scheduled[pick % Math.max(1, scheduled.length)];
    if (entry === undefined) return;
    expect(this.queue.cancelScheduled(this.now, [entry[0]])).toBe(true);
    entry[1].place = 'gone';
    expect(this.queue.cancelScheduled(this.now, [entry[0]])).toBe(false);
  }

  /** The process dies: locks are gone, everything that was acknowledged is there. */
  restart(): void {
    this.journal.push(...this.queue.takeChanges());
    this.queue = this.newQueue();
    this.queue.restore(this.journal);
    const again = this.newQueue();
    again.restore(this.queue.snapshot());
    expect(again.snapshot(), 'a snapshot of a snapshot is the same').toEqual(this.queue.snapshot());
    this.holders.clear();
    for (const held of this.takeHeld(() => true)) this.giveBack(held);
  }

  /** What time alone does, in the model. */
  expire(): void {
    for (const [session, lock] of this.holders) {
      if (lock.until > this.now) continue;
      this.holders.delete(session);
      for (const held of this.takeHeld(({ known }) => known.session === session)) this.fail(held);
    }
    for (const held of this.takeHeld(({ until }) => until <= this.now)) this.fail(held);
    this.activate();
  }

  activate(): void {
    for (const known of this.known.values()) {
      if (known.place === 'scheduled' && known.notBefore <= this.now) known.place = 'queued';
    }
  }

  checkCounts(): void {
    this.expire();
    this.queue.advance(this.now);
    const count = (place: Known['place']): number =>
      [...this.known.values()].filter((known) => known.place === place).length;
    expect(this.queue.stats()).toEqual({
      active: count('queued'),
      locked: count('locked'),
      scheduled: count('scheduled'),
      deferred: count('deferred') + count('deferredLocked'),
      deadLettered: count('deadLettered'),
      lockedSessions: this.holders.size,
    });
  }

  fail(held: Held): void {
    held.known.failures++;
    if (held.known.failures >= MAX_DELIVERIES) held.known.place = 'deadLettered';
    else this.giveBack(held);
  }

  giveBack({ known }: Held): void {
    known.place = known.place === 'deferredLocked' ? 'deferred' : 'queued';
  }

  takeHeld(isTaken: (held: Held) => boolean): ReadonlyArray<Held> {
    const taken = this.held.filter(isTaken);
    this.held = this.held.filter((held) => !isTaken(held));
    return taken;
  }

  isReadable(known: Known, session: string): boolean {
    return !this.settings.requiresSession || known.session === session;
  }

  requestFor(session: string): ReceiveRequest | null {
    if (!this.settings.requiresSession) return { sub: 'main', session: null, mode: 'peekLock' };
    const lock = this.holders.get(session);
    return lock === undefined
      ? null
      : { sub: 'main', session: { sessionId: session, holder: lock.holder }, mode: 'peekLock' };
  }
}

describe.each([
  { requiresSession: false, name: 'a queue without sessions' },
  { requiresSession: true, name: 'a queue with sessions' },
])('$name', ({ requiresSession }) => {
  test('loses no message, hands none out twice while it is locked, keeps the order and counts deliveries, through any restarts', () => {
    fc.assert(
      fc.property(fc.array(anyStep, { minLength: 10, maxLength: 120 }), (steps) => {
        const bench = new Bench(requiresSession);
        for (const one of steps) {
          bench.run(one);
          bench.checkCounts();
        }
      }),
      { numRuns: drawsOf(300) },
    );
  });
});
