import { needed, object, text } from '../shared/contract/snapshot/field.ts';
import { signalOf, type Signal } from './signals.ts';
import { noticeReasons, parseNotice } from './interruption.ts';

const event = object({
  involvedObject: needed(object({ kind: needed(text), name: needed(text) })),
  reason: needed(text),
  message: needed(text),
  lastTimestamp: text,
  eventTime: text,
  metadata: object({ creationTimestamp: text }),
});

/** Events live for an hour; a notice is for seconds or minutes. What is older than this is over. */
const oldestMs = 20 * 60_000;

/** Reads a raw Event; null unless it announces something for a node, now. */
export function readNodeEvent(
  raw: unknown,
  nowMs: number,
  providerIdOf: (node: string) => string | null,
): Signal | null {
  const read = event.read(raw);
  if (read === undefined || read.involvedObject.kind !== 'Node' || !noticeReasons.has(read.reason)) return null;
  const atMs = Date.parse(read.lastTimestamp ?? read.eventTime ?? read.metadata?.creationTimestamp ?? '');
  if (Number.isNaN(atMs) || nowMs - atMs > oldestMs) return null;
  const notice = parseNotice(read.message);
  if (notice === null) return null;
  const { name } = read.involvedObject;
  return signalOf(notice, name, providerIdOf(name));
}
