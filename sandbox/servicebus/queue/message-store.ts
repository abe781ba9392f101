import type { Change, StoredMessage, SubQueue } from './message.ts';
import { SequenceList } from './sequence-list.ts';

/** The group of a queue without sessions, and of every dead-letter queue. */
const NO_SESSION = '';

/** The messages of one queue and its dead-letter queue, with what is ready to be received; remembers what changed. */
export class MessageStore {
  readonly #requiresSession: boolean;
  readonly #messages: Readonly<Record<SubQueue, Map<number, StoredMessage>>> = {
    main: new Map(),
    deadLetter: new Map(),
  };
  readonly #ready: Readonly<Record<SubQueue, Map<string, SequenceList>>> = { main: new Map(), deadLetter: new Map() };
  /** Message ids by the time until which they count as duplicates, oldest first. */
  readonly #seen = new Map<string, number>();
  readonly #sessionStates = new Map<string, Uint8Array>();
  #nextSequence = 1;
  #changes: Array<Change> = [];

  constructor(requiresSession: boolean) {
    this.#requiresSession = requiresSession;
  }

  get nextSequence(): number {
    return this.#nextSequence;
  }

  /** Makes a durable change and remembers it for the journal. */
  record(change: Change): void {
    this.apply(change);
    this.#changes.push(change);
  }

  /** The changes since the last call, in order. */
  takeChanges(): ReadonlyArray<Change> {
    const changes = this.#changes;
    this.#changes = [];
    return changes;
  }

  /** Makes a change without remembering it: how a restart replays the journal. */
  apply(change: Change): void {
    switch (change.kind) {
      case 'stored':
        this.#store(change.sub, change.message);
        return;
      case 'updated':
        this.#update(change);
        return;
      case 'removed': {
        const message = this.#messages[change.sub].get(change.sequence);
        if (message !== undefined) this.take(change.sub, message);
        this.#messages[change.sub].delete(change.sequence);
        return;
      }
      case 'seen':
        this.#seen.delete(change.messageId);
        this.#seen.set(change.messageId, change.until);
        return;
      case 'sessionState':
        if (change.state === null) this.#sessionStates.delete(change.sessionId);
        else this.#sessionStates.set(change.sessionId, change.state);
        return;
      case 'nextSequence':
        this.#nextSequence = Math.max(this.#nextSequence, change.value);
    }
  }

  /** The durable state as changes that rebuild it from nothing. */
  snapshot(): ReadonlyArray<Change> {
    const stored = (sub: SubQueue): ReadonlyArray<Change> =>
      [...this.#messages[sub].values()].map((message) => ({ kind: 'stored', sub, message }));
    return [
      { kind: 'nextSequence', value: this.#nextSequence },
      ...[...this.#seen].map(([messageId, until]): Change => ({ kind: 'seen', messageId, until })),
      ...[...this.#sessionStates].map(([sessionId, state]): Change => ({ kind: 'sessionState', sessionId, state })),
      ...stored('main'),
      ...stored('deadLetter'),
    ];
  }

  get(sub: SubQueue, sequence: number): StoredMessage | undefined {
    return this.#messages[sub].get(sequence);
  }

  /** Every message of the sub-queue, in no particular order. */
  all(sub: SubQueue): Iterable<StoredMessage> {
    return this.#messages[sub].values();
  }

  size(sub: SubQueue): number {
    return this.#messages[sub].size;
  }

  /** The first message that can be received, of the session when one is named. */
  firstReady(sub: SubQueue, sessionId: string | null): StoredMessage | undefined {
    const sequence = this.#ready[sub].get(sessionId ?? NO_SESSION)?.first();
    return sequence === undefined ? undefined : this.#messages[sub].get(sequence);
  }

  /** Sessions with something to receive, each with its first sequence number. */
  *readySessions(): Iterable<{ readonly sessionId: string; readonly first: number }> {
    for (const [sessionId, list] of this.#ready.main) {
      const first = list.first();
      if (first !== undefined) yield { sessionId, first };
    }
  }

  /** Takes a message out of what is ready: it is being received. */
  take(sub: SubQueue, message: StoredMessage): void {
    const group = this.#groupOf(sub, message);
    const list = this.#ready[sub].get(group);
    list?.remove(message.sequence);
    if (list?.size === 0) this.#ready[sub].delete(group);
  }

  /** Makes an active message ready again, in its old place. */
  putBack(sub: SubQueue, sequence: number): void {
    const message = this.#messages[sub].get(sequence);
    if (message === undefined || message.state !== 'active') return;
    const group = this.#groupOf(sub, message);
    const list = this.#ready[sub].get(group) ?? new SequenceList();
    this.#ready[sub].set(group, list);
    list.add(sequence);
  }

  /** True when the id was accepted before and its window is still open at `now`; forgets ids whose window closed. */
  isDuplicate(messageId: string, now: number): boolean {
    for (const [oldest, until] of this.#seen) {
      if (until > now) break;
      this.#seen.delete(oldest);
    }
    return (this.#seen.get(messageId) ?? Number.NEGATIVE_INFINITY) > now;
  }

  sessionState(sessionId: string): Uint8Array | null {
    return this.#sessionStates.get(sessionId) ?? null;
  }

  #store(sub: SubQueue, message: StoredMessage): void {
    this.#messages[sub].set(message.sequence, message);
    this.#nextSequence = Math.max(this.#nextSequence, message.sequence + 1);
    this.putBack(sub, message.sequence);
  }

  #update(change: Extract<Change, { kind: 'updated' }>): void {
    const message = this.#messages[change.sub].get(change.sequence);
    if (message === undefined) return;
    const { state, failedDeliveries, overlay } = change;
    if (state !== 'active') this.take(change.sub, message);
    this.#messages[change.sub].set(change.sequence, { ...message, state, failedDeliveries, overlay });
  }

  #groupOf(sub: SubQueue, message: StoredMessage): string {
    return sub === 'main' && this.#requiresSession ? (message.sessionId ?? NO_SESSION) : NO_SESSION;
  }
}
