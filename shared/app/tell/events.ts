import type { Key, Kubernetes } from '../../ports/kubernetes.ts';
import { toTimestamp } from '../facts/conditions.ts';
import { digest } from '../../contract/digest.ts';
import { harmless } from '../../contract/harmless.ts';

/** What an Event is about. */
export interface Regarding {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string | null;
  readonly uid: string;
}

/** Shown by `kubectl describe`, under Karpenter's reasons. */
export interface EventNote {
  readonly regarding: Regarding;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** Told once per key and period, counted from the epoch, whatever the text: for texts that change with every look. */
  readonly dedupe?: { readonly key: string; readonly periodMs: number };
  /**
   * After this time the event that exists is counted up and moved to now, so that the newest line of `kubectl describe`
   * holds.
   */
  readonly againMs?: number;
}

/** How long the API server keeps an event, as clusters are set up. */
export const EVENT_LIVES_MS: number = 60 * 60_000;

/**
 * Of one second `kubectl describe` sorts by name: what comes first in the life of a pod and a NodeClaim has the smaller
 * one.
 */
const FIRST_TO_LAST: ReadonlyArray<string> = ['FailedScheduling', 'Launched', 'Nominated', 'Registered', 'Initialized'];

/** Kubernetes cuts messages of events here. */
const MESSAGE_MAX = 1024;

/**
 * Publishes `note` once per object, reason and text while the event lives (an hour, as clusters are set up): its name
 * is derived from them, so repeating it is refused by the API server and costs one call, or counts it up (`againMs`).
 * Never throws: an event is news, not state.
 */
export async function publish(kubernetes: Kubernetes, note: EventNote, nowMs: number): Promise<void> {
  const { regarding, type, reason, dedupe } = note;
  const message = harmless(note.message).slice(0, MESSAGE_MAX);
  const namespace = regarding.namespace ?? 'default';
  const at = toTimestamp(nowMs);
  const told = dedupe === undefined ? [message] : [dedupe.key, String(Math.floor(nowMs / dedupe.periodMs))];
  const event = {
    apiVersion: 'v1',
    kind: 'Event',
    metadata: {
      name: `${regarding.name.slice(0, 200)}.${placeInSecond(reason)}${digest(regarding.uid, reason, ...told)}`,
      namespace,
    },
    involvedObject: { ...regarding, namespace: regarding.namespace ?? undefined },
    type,
    reason,
    message,
    source: { component: 'karpenter' },
    reportingComponent: 'karpenter',
    firstTimestamp: at,
    lastTimestamp: at,
    count: 1,
  };
  try {
    const { kind } = await kubernetes.create('Event', event);
    if (kind === 'exists' && note.againMs !== undefined) await countUp(kubernetes, event.metadata, nowMs, note.againMs);
  } catch {
    // The API server is in trouble; whatever we were doing will find out by itself.
  }
}

function placeInSecond(reason: string): number {
  const index = FIRST_TO_LAST.indexOf(reason);
  return index === -1 ? FIRST_TO_LAST.length : index;
}

/** As client-go's recorder has it: one event, with how often and when it happened last. */
async function countUp(kubernetes: Kubernetes, key: Key, nowMs: number, againMs: number): Promise<void> {
  const event = await kubernetes.get('Event', key);
  if (event === null || nowMs - Date.parse(event.lastTimestamp ?? '') < againMs) return;
  await kubernetes.patch('Event', key, { count: (event.count ?? 1) + 1, lastTimestamp: toTimestamp(nowMs) });
}
