import type { SignalHint } from '../../shared/contract/messages/messages.ts';

/** What Azure has announced for a VM. */
export interface Notice {
  readonly event: SignalHint['event'];
  readonly notBeforeMs: number | null;
  readonly eventId: string | null;
}

const events = {
  Preempt: 'preempt',
  Terminate: 'terminate',
  Redeploy: 'redeploy',
  Reboot: 'reboot',
  Freeze: 'freeze',
} as const;

/**
 * A notice begins with what will happen and whether it has begun, and then says when: `Preempt Scheduled: <time>.`,
 * `Preempt Started: .`. Only the message tells: under the same condition and reason come mere advice to rebalance
 * (`SpotRebalanceRecommendation Advisory: …`), and events of reason PreemptScheduled that say only that the metadata
 * service did not answer. Observed on AKS, 2025-02 to 2026-08; Azure/AKS issue 4757 for the last.
 */
const notices = /\b(Preempt|Terminate|Redeploy|Reboot|Freeze) (?:Scheduled|Started):([^.]*)\./g;

const eventId = /\bEventId: *([0-9A-Za-z-]{8,64})/;

/** Reads the message of a node's condition: all that it announces, in its order. */
export function parseNotices(message: string): ReadonlyArray<Notice> {
  const found = [...message.matchAll(notices)];
  return found.map(({ 1: word = '', 2: time = '', index }, position) => {
    const notBeforeMs = Date.parse(time.trim());
    // What follows belongs to the notice before it.
    const text = message.slice(index, found[position + 1]?.index);
    return {
      event: events[word as keyof typeof events],
      notBeforeMs: Number.isNaN(notBeforeMs) || notBeforeMs < 0 ? null : notBeforeMs,
      eventId: eventId.exec(text)?.[1] ?? null,
    };
  });
}

/** The conditions that carry notices. The other conditions of the node-problem-detector are about the node itself. */
export const noticeConditions: ReadonlySet<string> = new Set(['PreemptionScheduled', 'VMEventScheduled']);
