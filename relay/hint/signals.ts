import type { SignalHint } from '../../shared/contract/messages/messages.ts';
import type { ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { noticeConditions, parseNotices, type Notice } from './interruption.ts';

/** A notice about one machine. `key` is equal for the same notice however often, and by whichever path, it is seen. */
export interface Signal extends Notice {
  readonly vmId: string | null;
  readonly nodeName: string;
  readonly key: string;
}

/** The notices that a node's conditions hold now. */
export function signalsOf(node: ReducedObject<'nodes'> | null): ReadonlyArray<Signal> {
  if (node === null) return [];
  const conditions = node.status?.conditions ?? [];
  return conditions
    .filter(({ type, status }) => noticeConditions.has(type) && status === 'True')
    .flatMap(({ message }) => parseNotices(message ?? ''))
    .map((notice) => signalOf(notice, node.metadata.name, node.spec?.providerID ?? null));
}

/** A notice as a signal about one machine. */
export function signalOf(notice: Notice, nodeName: string, providerId: string | null): Signal {
  // Azure may move an event that it has announced: that is news.
  const which = `${notice.eventId ?? ''} ${notice.notBeforeMs ?? 'now'}`.trim();
  return { ...notice, nodeName, vmId: vmIdOf(providerId), key: `${nodeName} ${notice.event} ${which}` };
}

/** The Azure resource id in a node's providerID, `azure:///subscriptions/…`. */
function vmIdOf(providerId: string | null): string | null {
  return providerId?.startsWith('azure://') === true ? providerId.slice('azure://'.length) : null;
}

/** A signal as the message on the queue. `noticedMs`: when it was seen, milliseconds since the epoch. */
export function signalMessage(
  cluster: string,
  { vmId, nodeName, event, notBeforeMs, eventId }: Signal,
  noticedMs: number,
): SignalHint {
  const what = { vmId, nodeName, event, notBeforeMs, eventId } as const;
  return { kind: 'signal', version: 1, cluster, ...what, noticedMs, source: 'node-condition' };
}
