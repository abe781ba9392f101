import { markKey } from '../../../kubernetes/marks.ts';
import type { NodePool } from '../../../kubernetes/manifest.ts';
import type { Brake } from '../../model/disruption-input.ts';
import { parseTimestamp, renderTimestamp } from '../../quantity/utc-time.ts';

/** What somebody says about pausing the disruption of a NodePool. */
export type Pause =
  | { readonly kind: 'none' }
  /** `untilMs`: since the epoch; null for ever. */
  | { readonly kind: 'paused'; readonly untilMs: number | null }
  /** It cannot be read, and so holds: who wrote it wanted nodes to stay. */
  | { readonly kind: 'unreadable'; readonly given: string };

/** The NodePools whose disruption somebody has paused by annotation, by name. */
export function pauses(nodePools: ReadonlyArray<NodePool>, nowMs: number): ReadonlyMap<string, Brake> {
  return new Map(
    nodePools.flatMap(({ metadata }): ReadonlyArray<readonly [string, Brake]> => {
      const pause = readPause(metadata, nowMs);
      if (pause.kind === 'none') return [];
      if (pause.kind === 'unreadable') return [[metadata.name, { kind: 'pause-unread', given: pause.given }]];
      const until = pause.untilMs === null ? null : renderTimestamp(pause.untilMs);
      return [[metadata.name, { kind: 'paused', until }]];
    }),
  );
}

/** Reads the annotation that pauses the disruption of a NodePool: `true`, or a time until which. Never throws. */
export function readPause(metadata: { readonly annotations?: Readonly<Record<string, string>> }, nowMs: number): Pause {
  const given = metadata.annotations?.[markKey.pauseDisruption];
  if (given === undefined || given === 'false') return { kind: 'none' };
  if (given === 'true') return { kind: 'paused', untilMs: null };
  const untilMs = parseTime(given);
  if (untilMs === null) return { kind: 'unreadable', given };
  return untilMs > nowMs ? { kind: 'paused', untilMs } : { kind: 'none' };
}

const DATE = /\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])/;
const CLOCK = /(?:[01]\d|2[0-3]):[0-5]\d/;

/** A time as Kubernetes writes them, with or without seconds and their fractions, and with any offset. */
const TIME = new RegExp(`^(${DATE.source}T${CLOCK.source})(:[0-5]\\d(?:\\.\\d{1,9})?)?(Z|[+-]${CLOCK.source})$`);

function parseTime(text: string): number | null {
  const [, minutes, seconds = ':00', zone] = TIME.exec(text) ?? [];
  return minutes === undefined ? null : parseTimestamp(`${minutes}${seconds}${zone}`);
}
