import { parseGoDuration } from './text/go-duration.ts';
import { markKey } from './marks.ts';

/** Who wants to look at a new image for longer pauses disruption. */
const MOST_MS = 7 * 24 * 3_600_000;

/** How long the first node of a new image or Kubernetes version is to prove itself, in whole milliseconds above 0. */
export type BakeTime =
  | { readonly kind: 'none' }
  | { readonly kind: 'stated'; readonly bakeMs: number }
  /** It cannot be used; `why` as a sentence without its end. */
  | { readonly kind: 'wrong'; readonly why: string };

/** Reads what a NodePool says about its canaries. Never throws. */
export function parseBakeTime(metadata: { readonly annotations?: Readonly<Record<string, string>> }): BakeTime {
  const given = metadata.annotations?.[markKey.bakeTime];
  if (given === undefined) return { kind: 'none' };
  const bakeMs = parseGoDuration(given);
  if (bakeMs === null) return { kind: 'wrong', why: `${JSON.stringify(given)} is not a duration` };
  if (bakeMs <= 0) return { kind: 'wrong', why: `${given} is no time` };
  if (bakeMs > MOST_MS) return { kind: 'wrong', why: `${given} is more than a week` };
  return { kind: 'stated', bakeMs: Math.ceil(bakeMs) };
}

/** The same in milliseconds; null where nothing usable is said. */
export function bakeMsOf(metadata: { readonly annotations?: Readonly<Record<string, string>> }): number | null {
  const time = parseBakeTime(metadata);
  return time.kind === 'stated' ? time.bakeMs : null;
}
