import { parseGoDuration } from '../duration.ts';
import { annotation } from '../names.ts';
import type { Problem } from './validation-error.ts';

/** Who wants to look at a new image for longer pauses disruption. */
const MOST_MS = 7 * 24 * 3_600_000;

/** How long somebody wants the first node of a new image or Kubernetes version to prove itself, with what is wrong with it. */
export interface BakeTime {
  /** In whole milliseconds, above 0; null where nothing usable is said. */
  readonly bakeMs: number | null;
  readonly problems: ReadonlyArray<Problem>;
}

/** Reads the annotation of a NodePool about its canaries. Never throws. */
export function readBakeTime(metadata: { readonly annotations?: Readonly<Record<string, string>> }): BakeTime {
  const given = metadata.annotations?.[annotation.bakeTime];
  if (given === undefined) return { bakeMs: null, problems: [] };
  const path = `metadata.annotations[${annotation.bakeTime}]`;
  const fix = 'write a duration of up to 168h, such as 30m or 4h, or remove it to replace nodes without a canary';
  const wrong = (message: string): BakeTime => ({
    bakeMs: null,
    problems: [{ path, message, fix, layer: 'runtime' }],
  });
  const bakeMs = parseGoDuration(given);
  if (bakeMs === null) return wrong(`${JSON.stringify(given)} is not a duration`);
  if (bakeMs <= 0) return wrong(`${given} is no time`);
  return bakeMs > MOST_MS ? wrong(`${given} is more than a week`) : { bakeMs: Math.ceil(bakeMs), problems: [] };
}
