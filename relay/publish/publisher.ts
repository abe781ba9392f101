import type { SnapshotHeader } from '../../shared/contract/snapshot/encode.ts';
import { createBackoff } from '../process/backoff.ts';
import type { Hint, Urgency } from '../hint/hints.ts';
import { reasonOf, type Log } from '../process/log.ts';
import type { Outbox } from './outbox.ts';
import type { PodEventHint } from '../watch/pod-events.ts';
import type { SnapshotStore } from './snapshot-store.ts';

/** Times of publishing, in milliseconds. */
export interface PublishTiming {
  /** Least time between two snapshots. A burst of pods arrives within it and makes one. */
  readonly leastMs: number;
  /** How long a change that nothing waits for may stay unpublished. */
  readonly lazyMs: number;
  readonly heartbeatMs: number;
}

export const publishTiming: PublishTiming = { leastMs: 200, lazyMs: 1_500, heartbeatMs: 10_000 };

/** Heartbeats that are asked for within so long are one: nodes that go together are marked one after the other. */
const BEATS_AS_ONE_MS = 250;

/** Publishing takes at most this share of the time, one in so many, so that a huge cluster's relay still watches. */
const SHARE_OF_TIME = 5;

const FIRST_RETRY_MS = 500;
/** Pods wait so long at most when the storage is back; a cluster that changes is published twelve times as often. */
const LONGEST_RETRY_MS = 2_500;

/** What a publisher works with. */
export interface PublisherOptions {
  readonly encode: (header: SnapshotHeader) => Uint8Array;
  readonly store: SnapshotStore;
  readonly outbox: Outbox;
  readonly timing: PublishTiming;
  readonly log: Log;
  /** The term we lead in; null when we must not publish. */
  readonly term: () => number | null;
  /** True when every resource is listed and watched. */
  readonly isComplete: () => boolean;
  /** The hints to begin a term with. */
  readonly hintsOnStart: () => Iterable<Hint>;
  readonly onSuperseded: (term: number) => Promise<void>;
  readonly onPublished: (outcome: 'published' | 'superseded' | 'failed') => void;
  readonly onBeat: (outcome: 'written' | 'failed') => void;
}

interface Waiting {
  readonly hint: Exclude<Hint, { kind: 'signal' }> | PodEventHint;
  readonly dueMs: number;
}

/** What changed and is not in a published snapshot: since when, in the process's monotonic milliseconds. */
interface Unpublished {
  readonly urgentSinceMs: number | null;
  readonly lazySinceMs: number | null;
}

const nothing: Unpublished = { urgentSinceMs: null, lazySinceMs: null };

/**
 * Decides when the cluster's image is published, and sends hints when what they speak of can be read. It does nothing
 * before the first `reconsider` that finds it may publish.
 */
export class Publisher {
  readonly #options: PublisherOptions;
  readonly #retry = createBackoff(FIRST_RETRY_MS, LONGEST_RETRY_MS);
  readonly #waiting = new Map<string, Waiting>();
  #unpublished = nothing;
  #earliestMs = 0;
  /** The term that `#sequence` counts in; null while we do not publish. */
  #term: number | null = null;
  #sinceMs: number | null = null;
  #sequence = 0;
  #stamps = 0;
  #version: string | null = null;
  #isFailing = false;
  /**
   * Why pods were hinted at while nobody could read of them: they are once more when somebody can. Null: they were not.
   */
  #owedHint: string | null = null;
  #isStopped = false;
  #isArming = false;
  #beatDueMs = 0;
  /** When heartbeats were asked for beside those that come anyway, earliest first. */
  #askedBeatsMs: ReadonlyArray<number> = [];
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;

  constructor(options: PublisherOptions) {
    this.#options = options;
  }

  /** Something that decisions read changed. */
  changed(urgency: Urgency): void {
    const { urgentSinceMs, lazySinceMs } = this.#unpublished;
    this.#unpublished =
      urgency === 'urgent'
        ? { urgentSinceMs: urgentSinceMs ?? now(), lazySinceMs }
        : { urgentSinceMs, lazySinceMs: lazySinceMs ?? now() };
    this.#schedule();
  }

  /** Something is worth a hint. Outside of a term it is forgotten: a term begins with hints about everything. */
  hint(given: Hint | PodEventHint): void {
    if (this.#term === null) return;
    if (given.kind === 'signal') {
      this.#options.outbox.addSignal(given.signal);
      return;
    }
    const key = keyOf(given);
    const dueMs = now() + given.delayMs;
    const known = this.#waiting.get(key);
    // The first to be due keeps its time, else a steady stream of changes would put the hint off for ever.
    if (known === undefined || dueMs < known.dueMs) this.#waiting.set(key, { hint: given, dueMs });
    else if (given.kind === 'pod-event') this.#waiting.set(key, { hint: given, dueMs: known.dueMs });
    if (given.kind === 'pods' && given.delayMs === 0 && this.#unpublished.lazySinceMs !== null) this.changed('urgent');
    this.#schedule();
  }

  /**
   * A heartbeat is wanted in so long, which says that nothing has changed until then. Another that was asked for a
   * moment before is put off until then.
   */
  beatIn(delayMs: number): void {
    const dueMs = now() + delayMs;
    this.#askedBeatsMs = [...this.#askedBeatsMs.filter((one) => one <= dueMs - BEATS_AS_ONE_MS), dueMs];
    this.#schedule();
  }

  /** Looks again whether we may publish: leading, and seeing everything. Call after either may have changed. */
  reconsider(): void {
    const current = this.#options.term();
    if (current !== this.#term) this.#endTerm();
    if (this.#term === null && current !== null && this.#options.isComplete() && !this.#isStopped) {
      this.#term = current;
      this.#sinceMs = Date.now();
      this.#sequence = 0;
      this.#beatDueMs = now();
      this.changed('urgent');
      for (const one of this.#options.hintsOnStart()) this.hint(one);
    }
    this.#schedule();
  }

  /** True from when we lead and have seen everything until we do not lead any more. */
  isPublishing(): boolean {
    return this.#term !== null;
  }

  /** When that was, in milliseconds since the epoch; null while we do not publish. */
  publishingSinceMs(): number | null {
    return this.#term === null ? null : this.#sinceMs;
  }

  /** Resolves when what was being published is. Nothing is published after. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #endTerm(): void {
    if (this.#term === null) return;
    this.#term = null;
    this.#version = null;
    this.#waiting.clear();
    this.#owedHint = null;
    this.#askedBeatsMs = [];
    this.#options.outbox.clear();
    clearTimeout(this.#timer);
  }

  #mayPublish(): boolean {
    return this.#term !== null && this.#options.term() === this.#term && this.#options.isComplete();
  }

  #publishDueMs(): number {
    const { urgentSinceMs, lazySinceMs } = this.#unpublished;
    if (urgentSinceMs !== null) return Math.max(urgentSinceMs, this.#earliestMs);
    if (lazySinceMs === null) return Number.POSITIVE_INFINITY;
    return Math.max(lazySinceMs + this.#options.timing.lazyMs, this.#earliestMs);
  }

  /**
   * A hint to provision waits for the snapshot that holds what it speaks of; unless snapshots cannot be written now.
   * Who looks at an object reads that itself.
   */
  #isHeld({ hint }: Waiting): boolean {
    if (this.#isFailing || hint.kind !== 'pods') return false;
    const { urgentSinceMs, lazySinceMs } = this.#unpublished;
    return urgentSinceMs !== null || lazySinceMs !== null;
  }

  #nextDueMs(): number {
    let due = Math.min(this.#publishDueMs(), this.#nextBeatMs());
    for (const one of this.#waiting.values()) if (!this.#isHeld(one)) due = Math.min(due, one.dueMs);
    return due;
  }

  #nextBeatMs(): number {
    return Math.min(this.#beatDueMs, ...this.#askedBeatsMs);
  }

  /** Sets the timer again, once however many changes come in this turn of the event loop. */
  #schedule(): void {
    if (this.#isArming) return;
    this.#isArming = true;
    queueMicrotask(() => {
      this.#isArming = false;
      clearTimeout(this.#timer);
      // While we may not publish nothing is due: whoever changes that calls `reconsider`.
      if (this.#isStopped || this.#running !== null || !this.#mayPublish()) return;
      this.#timer = setTimeout(() => this.#wake(), Math.max(0, this.#nextDueMs() - now()));
    });
  }

  #wake(): void {
    this.#running = this.#turn().finally(() => {
      this.#running = null;
      this.reconsider();
    });
  }

  async #turn(): Promise<void> {
    try {
      if (this.#mayPublish() && this.#publishDueMs() <= now()) await this.#publish();
      if (this.#mayPublish()) this.#sendDue();
      if (this.#mayPublish() && this.#nextBeatMs() <= now()) await this.#beat();
    } catch (error) {
      this.#options.log.error('publishing failed unexpectedly', { reason: reasonOf(error) });
      this.#earliestMs = now() + this.#retry.next(null);
    }
  }

  async #publish(): Promise<void> {
    const { encode, store, log, onPublished } = this.#options;
    const term = this.#term;
    if (term === null) return;
    const content = this.#unpublished;
    this.#unpublished = nothing;
    this.#sequence += 1;
    const startedMs = now();
    const header: SnapshotHeader = { version: `${term}-${this.#sequence}`, takenAtMs: Date.now(), source: 'relay' };
    try {
      const outcome = await store.publish(encode(header), { ...header, term });
      onPublished(outcome.kind);
      if (outcome.kind === 'published') {
        this.#published(header.version, startedMs);
        return;
      }
      log.warn('a later term has published', { term, later: outcome.term });
      this.#postpone(content);
      await this.#options.onSuperseded(outcome.term);
    } catch (error) {
      log.warn('snapshot not published', { version: header.version, reason: reasonOf(error) });
      onPublished('failed');
      this.#isFailing = true;
      this.#postpone(content);
    }
  }

  #published(version: string, startedMs: number): void {
    this.#retry.reset();
    this.#isFailing = false;
    this.#version = version;
    if (this.#owedHint !== null) this.hint({ kind: 'pods', reason: this.#owedHint, delayMs: 0 });
    this.#owedHint = null;
    const tookMs = now() - startedMs;
    this.#earliestMs = Math.max(startedMs + this.#options.timing.leastMs, now() + tookMs * (SHARE_OF_TIME - 1));
  }

  /** What was not published is still to be, after a while. */
  #postpone({ urgentSinceMs, lazySinceMs }: Unpublished): void {
    this.#unpublished = {
      urgentSinceMs: urgentSinceMs ?? this.#unpublished.urgentSinceMs,
      lazySinceMs: lazySinceMs ?? this.#unpublished.lazySinceMs,
    };
    this.#earliestMs = now() + this.#retry.next(null);
  }

  #sendDue(): void {
    const { outbox } = this.#options;
    this.#stamps += 1;
    const stamp = `${this.#term}-${this.#stamps}`;
    for (const [key, one] of this.#waiting) {
      if (one.dueMs > now() || this.#isHeld(one)) continue;
      this.#waiting.delete(key);
      const { hint } = one;
      if (hint.kind === 'pods' && this.#isFailing) this.#owedHint = hint.reason;
      if (hint.kind === 'pods') outbox.addPods(hint.reason, this.#isFailing ? null : this.#version, stamp);
      else if (hint.kind === 'pod-event') outbox.addPodEvent(hint.claim, hint.atMs, stamp);
      else outbox.addObject(hint.object, hint.reason, stamp);
    }
  }

  /** How long the first of the changes has waited that are in no published snapshot; 0 for none. */
  #unpublishedForMs(): number {
    const { urgentSinceMs, lazySinceMs } = this.#unpublished;
    const sinceMs = Math.min(urgentSinceMs ?? Infinity, lazySinceMs ?? Infinity);
    return sinceMs === Infinity ? 0 : Math.ceil(now() - sinceMs);
  }

  async #beat(): Promise<void> {
    const { store, timing, log, onBeat } = this.#options;
    this.#beatDueMs = now() + timing.heartbeatMs;
    this.#askedBeatsMs = this.#askedBeatsMs.filter((one) => one > now());
    if (this.#term === null || this.#version === null) return;
    try {
      const atMs = Date.now();
      await store.beat({ term: this.#term, version: this.#version, atMs, holdsAtMs: atMs - this.#unpublishedForMs() });
      onBeat('written');
    } catch (error) {
      onBeat('failed');
      log.warn('heartbeat not written', { reason: reasonOf(error) });
    }
  }
}

/** Hints of one key are one hint. */
function keyOf(hint: Waiting['hint']): string {
  if (hint.kind === 'pods') return 'pods';
  return hint.kind === 'pod-event' ? `pod-event/${hint.claim}` : `${hint.object.kind}/${hint.object.name}`;
}

function now(): number {
  return performance.now();
}
