import { expect } from 'vitest';
import type { Hint, Urgency } from '../../../relay/hint/hints.ts';
import { createOutbox } from '../../../relay/publish/outbox.ts';
import { Publisher, publishTiming } from '../../../relay/publish/publisher.ts';
import type { OutgoingMessage } from '../../../relay/azure/queue-sender.ts';
import type { Publication, PublishOutcome } from '../../../relay/publish/snapshot-store.ts';
import type { Log } from '../../../relay/process/log.ts';
import { silentLog } from '../../../relay/process/log.ts';

/** A hint that pods wait. */
export const pods = { kind: 'pods', reason: 'pods-unschedulable', delayMs: 0 } as const satisfies Hint;
/** A hint about a claim. */
export const claim = (name: string, delayMs = 0): Hint => ({
  kind: 'object',
  object: { kind: 'NodeClaim', name },
  reason: 'node-ready',
  delayMs,
});

/** A publisher with a store and a queue in memory, in a time that the test moves. */
export function openPublisher(onStart: ReadonlyArray<Hint> = []) {
  const seen: Array<string> = [];
  const state = {
    term: 1 as number | null,
    isComplete: true,
    outcome: (() => ({ kind: 'published' })) as (publication: Publication) => PublishOutcome,
    queueFails: false,
    /** How long the store takes for a snapshot. */
    storeTakesMs: 0,
    beatFails: false,
  };
  const outcomes: Array<string> = [];
  const warnings: Array<string> = [];
  const log: Log = { ...silentLog, warn: (what, fields) => void warnings.push(`${what}: ${fields?.['reason']}`) };
  const messages: Array<OutgoingMessage & { readonly queue: string }> = [];
  const outbox = createOutbox({
    cluster: 'c',
    log: silentLog,
    onSent() {},
    onFailed() {},
    sender: {
      async send(queue, batch) {
        if (state.queueFails) throw new Error('the queue is away');
        messages.push(...batch.map((message) => ({ queue, ...message })));
        seen.push(...batch.map(({ sessionId }) => `send ${queue} ${sessionId ?? '-'}`));
      },
      async close() {},
    },
  });
  const behindMs: Array<number> = [];
  const publisher = new Publisher({
    encode: () => new Uint8Array(3),
    store: {
      async publish(_, publication) {
        if (state.storeTakesMs > 0) await new Promise((resolve) => void setTimeout(resolve, state.storeTakesMs));
        const outcome = state.outcome(publication);
        seen.push(`${outcome.kind} ${publication.version}`);
        return outcome;
      },
      async beat({ version, term, atMs, holdsAtMs }) {
        if (state.beatFails) throw new Error('the storage account is away');
        expect([term, atMs]).toEqual([state.term, Date.now()]);
        seen.push(`beat ${version}`);
        behindMs.push(atMs - holdsAtMs);
      },
    },
    outbox,
    timing: publishTiming,
    log,
    term: () => state.term,
    isComplete: () => state.isComplete,
    hintsOnStart: () => onStart,
    async onSuperseded(term) {
      seen.push(`superseded by ${term}`);
    },
    onPublished: (outcome) => void outcomes.push(outcome),
    onBeat: (outcome) => void outcomes.push(`beat ${outcome}`),
  });
  return {
    publisher,
    state,
    messages,
    outcomes,
    warnings,
    /** What happened since the last call, heartbeats left out. */
    take: () => seen.splice(0).filter((line) => !line.startsWith('beat')),
    /** By how much each heartbeat is ahead of what its snapshot holds. */
    behindMs,
    beats: () => seen.filter((line) => line.startsWith('beat')).length,
    change(urgency: Urgency, hint?: Hint) {
      publisher.changed(urgency);
      if (hint !== undefined) publisher.hint(hint);
    },
  };
}
