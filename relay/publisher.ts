import type { SnapshotHeader } from '../shared/contract/snapshot/encode.ts';
import { createBackoff } from './backoff.ts';
import type { Hint, Urgency } from './hints.ts';
import { reasonOf, type Log } from './log.ts';
import type { Outbox } from './outbox.ts';
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

/** Publishing takes at most this share of the time, one in so many, so that a huge cluster's relay still watches. */
const shareOfTime = 5;

const firstRetryMs = 500;
const longestRetryMs = 10_000;

/** Decides when the cluster's image is published, and sends hints when what they speak of can be read. */
export interface Publisher {
  /** Something that decisions read changed. */
  readonly changed: (urgency: Urgency) => void;
  readonly hint: (hint: Hint) => void;
  /** Whether we may publish: leading, and seeing everything. Call after either may have changed. */
  readonly reconsider: () => void;
  /** The version published last in this term; null before. */
  readonly version: () => string | null;
  readonly stop: () => Promise<void>;
}

interface PublisherOptions {
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
  readonly onPublished: (outcome: 'published' | 'superseded' | 'failed', bytes: number) => void;
  readonly onBeat: (outcome: 'written' | 'failed') => void;
}

interface Waiting {
  readonly hint: Exclude<Hint, { kind: 'signal' }>;
  readonly dueMs: number;
}

/** Makes a publisher. It does nothing before the first `reconsider` that finds it may publish. */
export function createPublisher(options: PublisherOptions): Publisher {
  const { store, outbox, timing, log } = options;
  const retry = createBackoff(firstRetryMs, longestRetryMs);
  const waiting = new Map<string, Waiting>();
  let urgentSinceMs: number | null = null;
  let lazySinceMs: number | null = null;
  let earliestMs = 0;
  /** The term that `sequence` counts in; null while we do not publish. */
  let term: number | null = null;
  let sequence = 0;
  let stampNumber = 0;
  let version: string | null = null;
  let isFailing = false;
  let isStopped = false;
  let beatDueMs = 0;
  let timer: NodeJS.Timeout | undefined;
  let isArming = false;
  let running: Promise<void> | null = null;

  const now = (): number => performance.now();

  function publishDueMs(): number {
    if (urgentSinceMs !== null) return Math.max(urgentSinceMs, earliestMs);
    return lazySinceMs === null ? Number.POSITIVE_INFINITY : Math.max(lazySinceMs + timing.lazyMs, earliestMs);
  }

  /** A hint about pods waits for the snapshot that holds what it speaks of; unless snapshots cannot be written now. */
  function isHeld({ hint }: Waiting): boolean {
    if (isFailing) return false;
    return hint.kind === 'pods' ? urgentSinceMs !== null || lazySinceMs !== null : urgentSinceMs !== null;
  }

  function nextDueMs(): number {
    let due = Math.min(publishDueMs(), beatDueMs);
    for (const one of waiting.values()) if (!isHeld(one)) due = Math.min(due, one.dueMs);
    return due;
  }

  /** Sets the timer anew, once however many changes come in this turn of the event loop. */
  function schedule(): void {
    if (isArming) return;
    isArming = true;
    queueMicrotask(() => {
      isArming = false;
      clearTimeout(timer);
      // While we may not publish nothing is due: whoever changes that calls `reconsider`.
      if (isStopped || running !== null || !mayPublish()) return;
      timer = setTimeout(wake, Math.max(0, nextDueMs() - now()));
    });
  }

  function wake(): void {
    running = turn()
      .catch((error: unknown) => log.error('publishing failed unexpectedly', { reason: reasonOf(error) }))
      .then(() => {
        running = null;
        reconsider();
      });
  }

  async function turn(): Promise<void> {
    if (!mayPublish()) return;
    if (publishDueMs() <= now()) await publish();
    sendDue();
    if (beatDueMs <= now()) await beat();
  }

  function mayPublish(): boolean {
    return term !== null && options.term() === term && options.isComplete();
  }

  async function publish(): Promise<void> {
    const publishing = term;
    if (publishing === null) return;
    const since = { urgentSinceMs, lazySinceMs };
    urgentSinceMs = null;
    lazySinceMs = null;
    const startedMs = now();
    sequence += 1;
    const header: SnapshotHeader = { version: `${publishing}-${sequence}`, takenAtMs: Date.now(), source: 'relay' };
    const bytes = options.encode(header);
    try {
      const outcome = await store.publish(bytes, { ...header, term: publishing });
      options.onPublished(outcome.kind, bytes.length);
      if (outcome.kind === 'superseded') {
        log.warn('a later term has published', { term: publishing, later: outcome.term });
        restore(since);
        earliestMs = now() + retry.next(null);
        return await options.onSuperseded(outcome.term);
      }
      retry.reset();
      isFailing = false;
      ({ version } = header);
      earliestMs = Math.max(startedMs + timing.leastMs, now() + (now() - startedMs) * (shareOfTime - 1));
    } catch (error) {
      log.warn('snapshot not published', { version: header.version, reason: reasonOf(error) });
      options.onPublished('failed', bytes.length);
      isFailing = true;
      restore(since);
      earliestMs = now() + retry.next(null);
    }
  }

  function restore(since: { readonly urgentSinceMs: number | null; readonly lazySinceMs: number | null }): void {
    urgentSinceMs ??= since.urgentSinceMs;
    lazySinceMs ??= since.lazySinceMs;
  }

  function sendDue(): void {
    if (!mayPublish()) return;
    stampNumber += 1;
    const stamp = `${term}-${stampNumber}`;
    for (const [key, one] of waiting) {
      if (one.dueMs > now() || isHeld(one)) continue;
      waiting.delete(key);
      if (one.hint.kind === 'pods') outbox.addPods(one.hint.reason, isFailing ? null : version, stamp);
      else outbox.addObject(one.hint.object, one.hint.reason, stamp);
    }
  }

  async function beat(): Promise<void> {
    beatDueMs = now() + timing.heartbeatMs;
    if (!mayPublish() || term === null || version === null) return;
    try {
      await store.beat({ term, version, atMs: Date.now() });
      options.onBeat('written');
    } catch (error) {
      options.onBeat('failed');
      log.warn('heartbeat not written', { reason: reasonOf(error) });
    }
  }

  function hint(given: Hint): void {
    if (term === null) return;
    if (given.kind === 'signal') return outbox.addSignal(given.signal);
    const key = given.kind === 'pods' ? 'pods' : `${given.object.kind}/${given.object.name}`;
    const dueMs = now() + given.delayMs;
    const known = waiting.get(key);
    // The first to be due keeps its time, else a steady stream of changes would put the hint off for ever.
    waiting.set(key, {
      hint: known !== undefined && known.dueMs <= dueMs ? known.hint : given,
      dueMs: Math.min(dueMs, known?.dueMs ?? dueMs),
    });
    if (given.kind === 'pods' && given.delayMs === 0 && lazySinceMs !== null) urgentSinceMs ??= now();
    schedule();
  }

  function endTerm(): void {
    if (term === null) return;
    term = null;
    version = null;
    waiting.clear();
    outbox.clear();
    clearTimeout(timer);
  }

  function reconsider(): void {
    const current = options.term();
    if (current !== term) endTerm();
    if (term === null && current !== null && options.isComplete() && !isStopped) {
      term = current;
      sequence = 0;
      urgentSinceMs = now();
      beatDueMs = now();
      for (const one of options.hintsOnStart()) hint(one);
    }
    schedule();
  }

  return {
    changed(urgency) {
      if (urgency === 'urgent') urgentSinceMs ??= now();
      else lazySinceMs ??= now();
      schedule();
    },
    hint,
    reconsider,
    version: () => version,
    async stop() {
      isStopped = true;
      clearTimeout(timer);
      await running;
    },
  };
}
