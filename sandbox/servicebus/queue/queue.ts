import type { QueueSettings } from '../../../shared/contract/messages/queues.ts';
import { DueHeap } from './due-heap.ts';
import type { Change, IncomingMessage, PropertyOverlay, StoredMessage, SubQueue } from './message.ts';
import { MessageStore } from './message-store.ts';
import { type SessionLock, SessionLocks } from './session-locks.ts';

/** What became of a message that somebody sent. */
export type SendOutcome =
  | { readonly kind: 'accepted'; readonly sequence: number }
  | { readonly kind: 'duplicate' }
  | { readonly kind: 'sessionIdMissing' };

/** A message in the hands of a receiver. `lockedUntil` is null when it was deleted on receipt. */
export interface Delivered {
  readonly sub: SubQueue;
  readonly message: StoredMessage;
  readonly lockToken: string;
  readonly lockedUntil: number | null;
}

/** Whether a lock still held when its owner used it. */
export type LockOutcome = 'done' | 'lockLost';

/** Who receives, from where, and whether the message is locked or deleted on receipt. */
export interface ReceiveRequest {
  readonly sub: SubQueue;
  /** Null on queues without sessions and on dead-letter queues. */
  readonly session: { readonly sessionId: string; readonly holder: string } | null;
  readonly mode: 'peekLock' | 'receiveAndDelete';
}

/** Where a look without taking starts: a sequence number, how many, and in which session (null: in all). */
export interface PeekRequest {
  readonly sub: SubQueue;
  readonly from: number;
  readonly count: number;
  readonly sessionId: string | null;
}

/** Counts of a queue's messages; locked ones are counted apart from the active ones that are free. */
export interface QueueStats {
  readonly active: number;
  readonly locked: number;
  readonly scheduled: number;
  readonly deferred: number;
  readonly deadLettered: number;
  readonly lockedSessions: number;
}

interface MessageLock {
  readonly sub: SubQueue;
  readonly sequence: number;
  /** Null: the session's lock decides. */
  readonly until: number | null;
  readonly sessionId: string | null;
}

type Due =
  | { readonly kind: 'message'; readonly token: string }
  | { readonly kind: 'session'; readonly sessionId: string }
  | { readonly kind: 'activation'; readonly sequence: number };

/**
 * One Service Bus queue as a deterministic state machine: commands carry the time, answers say what happened, and
 * `takeChanges` hands out what a journal has to keep. Locks are not durable: after a restart every message is free
 * again and no delivery is counted for it. Time to live is not modelled. test/property/servicebus-queue.test.ts holds
 * its laws.
 */
export class Queue {
  readonly settings: QueueSettings;
  readonly #newToken: () => string;
  readonly #store: MessageStore;
  readonly #locks = new Map<string, MessageLock>();
  readonly #sessions = new SessionLocks();
  readonly #due: DueHeap<Due>;
  /** Sequence numbers that were handed out a second time after their completion, for the fault of that name. */
  readonly #doubled = new Set<number>();
  #lostSessions: Array<SessionLock> = [];

  /** `newToken` gives a fresh lock token, unique for ever. */
  constructor(settings: QueueSettings, newToken: () => string) {
    this.settings = settings;
    this.#newToken = newToken;
    this.#store = new MessageStore(settings.requiresSession);
    this.#due = new DueHeap((due, at) => this.#isLive(due, at));
  }

  /** Replays durable changes; call it before any command. */
  restore(changes: ReadonlyArray<Change>): void {
    for (const change of changes) this.#store.apply(change);
    for (const message of this.#store.all('main')) {
      if (message.state === 'scheduled')
        this.#dueAt(message.scheduledFor ?? 0, { kind: 'activation', sequence: message.sequence });
    }
  }

  takeChanges(): ReadonlyArray<Change> {
    return this.#store.takeChanges();
  }

  snapshot(): ReadonlyArray<Change> {
    return this.#store.snapshot();
  }

  /** Session locks that ran out since the last call; their holders must be told. */
  takeLostSessions(): ReadonlyArray<SessionLock> {
    const lost = this.#lostSessions;
    this.#lostSessions = [];
    return lost;
  }

  /** When `advance` has something to do next; null when nothing is pending. */
  nextDueAt(): number | null {
    return this.#due.nextAt();
  }

  /** Lets run out what is due at `now`: locks, session locks, schedules. Every command does this first. */
  advance(now: number): void {
    for (let due = this.#due.takeDue(now); due !== undefined; due = this.#due.takeDue(now)) {
      if (due.kind === 'activation') this.#activate(now, due.sequence);
      else if (due.kind === 'message') this.#fail(due.token, {});
      else this.#expireSession(due.sessionId);
    }
  }

  /** Accepts one message, or says why not. A duplicate is accepted and dropped, as in Azure. */
  send(now: number, incoming: IncomingMessage): SendOutcome {
    this.advance(now);
    if (this.settings.requiresSession && incoming.sessionId === null) return { kind: 'sessionIdMissing' };
    const window = this.settings.duplicateDetectionWindowMs;
    if (window !== null) {
      if (this.#store.isDuplicate(incoming.messageId, now)) return { kind: 'duplicate' };
      this.#store.record({ kind: 'seen', messageId: incoming.messageId, until: now + window });
    }
    const sequence = this.#store.nextSequence;
    const isLater = incoming.scheduledFor !== null && incoming.scheduledFor > now;
    const message: StoredMessage = {
      ...incoming,
      sequence,
      enqueuedSequence: sequence,
      enqueuedAt: now,
      state: isLater ? 'scheduled' : 'active',
      failedDeliveries: 0,
      overlay: {},
    };
    this.#store.record({ kind: 'stored', sub: 'main', message });
    if (isLater) this.#dueAt(incoming.scheduledFor, { kind: 'activation', sequence });
    return { kind: 'accepted', sequence };
  }

  /**
   * Removes scheduled messages before their time; the answer is false, and nothing changes, when one is not scheduled.
   */
  cancelScheduled(now: number, sequences: ReadonlyArray<number>): boolean {
    this.advance(now);
    if (!sequences.every((sequence) => this.#store.get('main', sequence)?.state === 'scheduled')) return false;
    for (const sequence of sequences) this.#store.record({ kind: 'removed', sub: 'main', sequence });
    return true;
  }

  /** Hands out the next message; null when there is none, or the session is not the asker's any more. */
  receive(now: number, request: ReceiveRequest): Delivered | null {
    this.advance(now);
    if (request.session !== null && !this.#sessions.isHeld(request.session)) return null;
    const message = this.#store.firstReady(request.sub, request.session?.sessionId ?? null);
    return message === undefined ? null : this.#deliver(now, request, message);
  }

  /** Hands out deferred messages by number; null when one of them is not deferred or is locked. */
  receiveDeferred(
    now: number,
    request: ReceiveRequest,
    sequences: ReadonlyArray<number>,
  ): ReadonlyArray<Delivered> | null {
    this.advance(now);
    const locked = new Set(
      [...this.#locks.values()].filter(({ sub }) => sub === request.sub).map((lock) => lock.sequence),
    );
    const found = sequences.map((sequence) => this.#store.get(request.sub, sequence));
    const messages = found.filter(
      (message) =>
        message?.state === 'deferred' &&
        !locked.has(message.sequence) &&
        (request.session === null || request.session.sessionId === message.sessionId),
    );
    if (messages.length !== sequences.length) return null;
    return messages.flatMap((message) => (message === undefined ? [] : [this.#deliver(now, request, message)]));
  }

  /** Messages from a sequence number on, locked, deferred and scheduled ones included; takes and locks nothing. */
  peek(now: number, { sub, from, count, sessionId }: PeekRequest): ReadonlyArray<StoredMessage> {
    this.advance(now);
    return [...this.#store.all(sub)]
      .filter((message) => message.sequence >= from && (sessionId === null || message.sessionId === sessionId))
      .toSorted((a, b) => a.sequence - b.sequence)
      .slice(0, count);
  }

  complete(now: number, token: string): LockOutcome {
    return this.#settle(now, token, (lock) =>
      this.#store.record({ kind: 'removed', sub: lock.sub, sequence: lock.sequence }),
    );
  }

  /** A completion that gets lost: the owner is told it succeeded, and the message comes once more. Once per message. */
  completeButRedeliver(now: number, token: string): LockOutcome {
    const lock = this.#locks.get(token);
    if (lock === undefined || this.#doubled.has(lock.sequence)) return this.complete(now, token);
    this.#doubled.add(lock.sequence);
    return this.release(now, token);
  }

  /** Gives a message back and counts a failed delivery; dead-letters it when that was the last one allowed. */
  abandon(now: number, token: string, overlay: PropertyOverlay): LockOutcome {
    return this.#settle(now, token, () => this.#fail(token, overlay));
  }

  /** Gives a message back without counting a delivery. */
  release(now: number, token: string): LockOutcome {
    return this.#settle(now, token, (lock) => this.#store.putBack(lock.sub, lock.sequence));
  }

  /** Sets a message aside: from now on it is received by its number only. */
  defer(now: number, token: string, overlay: PropertyOverlay): LockOutcome {
    return this.#settle(now, token, (lock) => this.#update(lock, 'deferred', 0, overlay));
  }

  /** Moves a message to the dead-letter queue. A message that lies there already goes back to its place. */
  deadLetter(now: number, token: string, overlay: PropertyOverlay): LockOutcome {
    return this.#settle(now, token, (lock) => this.#moveToDeadLetters(lock, 0, overlay));
  }

  /** Starts a message's lock anew; the answer is its end, or null when the lock is lost. */
  renew(now: number, token: string): number | null {
    this.advance(now);
    const lock = this.#locks.get(token);
    if (lock === undefined) return null;
    if (lock.sessionId !== null) return this.#sessions.get(lock.sessionId)?.until ?? null;
    const until = now + this.settings.lockDurationMs;
    this.#locks.set(token, { ...lock, until });
    this.#dueAt(until, { kind: 'message', token });
    return until;
  }

  /** Locks a session for a holder: the one named, or (null) the free one whose first message waits longest. */
  acceptSession(now: number, sessionId: string | null, holder: string): SessionLock | 'busy' | 'noneAvailable' {
    this.advance(now);
    const wanted = sessionId ?? this.#nextFreeSession();
    if (wanted === null) return 'noneAvailable';
    const lock = this.#sessions.acquire(wanted, holder, now + this.settings.lockDurationMs);
    if (lock === null) return 'busy';
    this.#dueAt(lock.until, { kind: 'session', sessionId: wanted });
    return lock;
  }

  /** Starts a session's lock anew; the answer is its end, or null when the holder does not have it. */
  renewSession(now: number, sessionId: string, holder: string): number | null {
    this.advance(now);
    const until = this.#sessions.extend({ sessionId, holder }, now + this.settings.lockDurationMs);
    if (until !== null) this.#dueAt(until, { kind: 'session', sessionId });
    return until;
  }

  /** Gives a session back with what was received and not settled; no delivery is counted. Harmless when not held. */
  releaseSession(now: number, sessionId: string, holder: string): void {
    this.advance(now);
    const lock = this.#sessions.release({ sessionId, holder });
    for (const token of lock?.tokens ?? []) this.release(now, token);
  }

  /** True while the holder has the session's lock. */
  holdsSession(now: number, sessionId: string, holder: string): boolean {
    this.advance(now);
    return this.#sessions.isHeld({ sessionId, holder });
  }

  sessionState(sessionId: string): Uint8Array | null {
    return this.#store.sessionState(sessionId);
  }

  /** Keeps a session's state until it is set again; null removes it. The caller checks who holds the session. */
  setSessionState(sessionId: string, state: Uint8Array | null): void {
    this.#store.record({ kind: 'sessionState', sessionId, state });
  }

  /** Sessions with messages that can be received, oldest message first. */
  sessionsWithMessages(): ReadonlyArray<string> {
    return [...this.#store.readySessions()].toSorted((a, b) => a.first - b.first).map(({ sessionId }) => sessionId);
  }

  stats(): QueueStats {
    const main = [...this.#store.all('main')];
    const count = (state: StoredMessage['state']): number => main.filter((message) => message.state === state).length;
    const locks = [...this.#locks.values()].filter(({ sub }) => sub === 'main');
    const lockedActive = locks.filter(({ sequence }) => this.#store.get('main', sequence)?.state === 'active').length;
    return {
      active: count('active') - lockedActive,
      locked: lockedActive,
      scheduled: count('scheduled'),
      deferred: count('deferred'),
      deadLettered: this.#store.size('deadLetter'),
      lockedSessions: this.#sessions.size,
    };
  }

  #deliver(now: number, request: ReceiveRequest, message: StoredMessage): Delivered {
    const { sub, session } = request;
    const token = this.#newToken();
    if (request.mode === 'receiveAndDelete') {
      this.#store.record({ kind: 'removed', sub, sequence: message.sequence });
      return { sub, message, lockToken: token, lockedUntil: null };
    }
    this.#store.take(sub, message);
    const until = now + this.settings.lockDurationMs;
    this.#locks.set(token, {
      sub,
      sequence: message.sequence,
      until: session === null ? until : null,
      sessionId: session?.sessionId ?? null,
    });
    if (session === null) this.#dueAt(until, { kind: 'message', token });
    else this.#sessions.addToken(session, token);
    const sessionUntil = session === null ? until : this.#sessions.get(session.sessionId)?.until;
    return { sub, message, lockToken: token, lockedUntil: sessionUntil ?? until };
  }

  #settle(now: number, token: string, act: (lock: MessageLock) => void): LockOutcome {
    this.advance(now);
    const lock = this.#locks.get(token);
    if (lock === undefined) return 'lockLost';
    act(lock);
    this.#unlock(token, lock);
    return 'done';
  }

  #unlock(token: string, lock: MessageLock): void {
    this.#locks.delete(token);
    if (lock.sessionId !== null) this.#sessions.removeToken(lock.sessionId, token);
  }

  #fail(token: string, overlay: PropertyOverlay): void {
    const lock = this.#locks.get(token);
    const message = lock === undefined ? undefined : this.#store.get(lock.sub, lock.sequence);
    if (lock === undefined || message === undefined) return;
    this.#unlock(token, lock);
    const failures = message.failedDeliveries + 1;
    if (lock.sub === 'deadLetter' || failures < this.settings.maxDeliveryCount) {
      this.#update(lock, message.state, 1, overlay);
      this.#store.putBack(lock.sub, lock.sequence);
      return;
    }
    this.#moveToDeadLetters(lock, 1, {
      ...overlay,
      DeadLetterReason: 'MaxDeliveryCountExceeded',
      DeadLetterErrorDescription: `No receiver completed the message in ${failures} deliveries, the most this queue allows.`,
    });
  }

  #update(lock: MessageLock, state: StoredMessage['state'], failures: number, overlay: PropertyOverlay): void {
    const message = this.#store.get(lock.sub, lock.sequence);
    if (message === undefined) return;
    this.#store.record({
      kind: 'updated',
      sub: lock.sub,
      sequence: lock.sequence,
      state,
      failedDeliveries: message.failedDeliveries + failures,
      overlay: { ...message.overlay, ...overlay },
    });
  }

  #moveToDeadLetters(lock: MessageLock, failures: number, overlay: PropertyOverlay): void {
    const message = this.#store.get(lock.sub, lock.sequence);
    if (message === undefined) return;
    this.#store.record({ kind: 'removed', sub: lock.sub, sequence: lock.sequence });
    const failedDeliveries = message.failedDeliveries + failures;
    this.#store.record({
      kind: 'stored',
      sub: 'deadLetter',
      message: { ...message, state: 'active', failedDeliveries, overlay: { ...message.overlay, ...overlay } },
    });
  }

  #activate(now: number, sequence: number): void {
    const message = this.#store.get('main', sequence);
    if (message === undefined) return;
    this.#store.record({ kind: 'removed', sub: 'main', sequence });
    const next = this.#store.nextSequence;
    const active: StoredMessage = { ...message, sequence: next, enqueuedAt: now, state: 'active' };
    this.#store.record({ kind: 'stored', sub: 'main', message: active });
  }

  #expireSession(sessionId: string): void {
    const held = this.#sessions.get(sessionId);
    const lock = held === undefined ? null : this.#sessions.release(held);
    if (lock === null) return;
    for (const token of lock.tokens) this.#fail(token, {});
    this.#lostSessions.push(lock);
  }

  #nextFreeSession(): string | null {
    let best: { readonly sessionId: string; readonly first: number } | null = null;
    for (const session of this.#store.readySessions()) {
      if (this.#sessions.get(session.sessionId) !== undefined) continue;
      if (best === null || session.first < best.first) best = session;
    }
    return best === null ? null : best.sessionId;
  }

  #dueAt(at: number, due: Due): void {
    this.#due.add(at, due);
  }

  #isLive(due: Due, at: number): boolean {
    if (due.kind === 'message') return this.#locks.get(due.token)?.until === at;
    if (due.kind === 'session') return this.#sessions.get(due.sessionId)?.until === at;
    const message = this.#store.get('main', due.sequence);
    return message?.state === 'scheduled';
  }
}
