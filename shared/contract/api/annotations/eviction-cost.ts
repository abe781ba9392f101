import { parseGoDuration } from '../../../kubernetes/text/go-duration.ts';
import { annotation } from '../../names.ts';
import type { Problem } from '../schema/validation-error.ts';

/** Work that is done again for longer than a day belongs on machines that nobody evicts. */
const MOST_MS = 24 * 3_600_000;

/** What somebody says that an eviction costs, with what is wrong with it. */
export interface EvictionCost {
  /** In whole milliseconds, rounded up; null where nothing usable is said. */
  readonly costMs: number | null;
  readonly problems: ReadonlyArray<Problem>;
}

/** Reads the annotation about what an eviction costs, of a NodePool or of a NodeClaim made for one. Never throws. */
export function readEvictionCost(metadata: { readonly annotations?: Readonly<Record<string, string>> }): EvictionCost {
  const given = metadata.annotations?.[annotation.evictionCost];
  if (given === undefined) return { costMs: null, problems: [] };
  const path = `metadata.annotations[${annotation.evictionCost}]`;
  const fix = 'write a duration of up to 24h, such as 30m or 2h; 0s lets price alone decide';
  const wrong = (message: string): EvictionCost => ({
    costMs: null,
    problems: [{ path, message, fix, layer: 'runtime' }],
  });
  const costMs = parseGoDuration(given);
  if (costMs === null) return wrong(`${JSON.stringify(given)} is not a duration`);
  return costMs > MOST_MS ? wrong(`${given} is more than a day`) : { costMs: Math.ceil(costMs), problems: [] };
}
