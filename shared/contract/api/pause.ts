import { annotation } from '../names.ts';

/** What somebody says about pausing the disruption of a NodePool. */
export type Pause =
  | { readonly kind: 'none' }
  /** `untilMs`: since the epoch; null for ever. */
  | { readonly kind: 'paused'; readonly untilMs: number | null }
  /** It cannot be read, and so holds: who wrote it wanted nodes to stay. */
  | { readonly kind: 'unreadable'; readonly given: string };

/** A time as Kubernetes writes them, with or without fractions and with any offset. */
const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d+)?)?(Z|[+-]\d{2}:\d{2})$/;

/** Reads the annotation that pauses the disruption of a NodePool: `true`, or a time until which. Never throws. */
export function readPause(metadata: { readonly annotations?: Readonly<Record<string, string>> }, nowMs: number): Pause {
  const given = metadata.annotations?.[annotation.pauseDisruption];
  if (given === undefined || given === 'false') return { kind: 'none' };
  if (given === 'true') return { kind: 'paused', untilMs: null };
  const untilMs = TIME.test(given) ? Date.parse(given) : Number.NaN;
  if (Number.isNaN(untilMs)) return { kind: 'unreadable', given };
  return untilMs > nowMs ? { kind: 'paused', untilMs } : { kind: 'none' };
}
