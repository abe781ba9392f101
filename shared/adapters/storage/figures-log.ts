import {
  DISRUPTION_BLOB,
  NO_DISRUPTION,
  parseDisruptionFigures,
  withLook,
} from '../../contract/figures/disruption-figures.ts';
import { FIGURES_BLOB, NO_FIGURES, parseFigures, withPlan } from '../../contract/figures/plan-figures.ts';
import type { Blobs } from '../../ports/blobs.ts';
import type { FiguresLog } from '../../ports/store.ts';

/** Losing to others more often in a row means that they write faster than we do: then one plan less is counted. */
const CONFLICTS_MAX = 5;

/**
 * Figures of plans as the blob `<cluster>/figures`, and those of disruption as one beside it. Written on condition that
 * nobody wrote since it was read, so that instances count beside each other; a write whose answer was lost is found by
 * the plan's id.
 */
export function createFiguresLog(blobs: Blobs, cluster: string): FiguresLog {
  return {
    add: (plan, fate) =>
      write(blobs, `${cluster}/${FIGURES_BLOB}`, (text) => {
        const known = (text === null ? null : parseFigures(text)) ?? NO_FIGURES;
        const next = withPlan(known, plan, fate);
        return next === known ? null : next;
      }),
    addLook: together((looks) =>
      write(blobs, `${cluster}/${DISRUPTION_BLOB}`, (text) => {
        const known = (text === null ? null : parseDisruptionFigures(text)) ?? NO_DISRUPTION;
        const next = looks.reduce(withLook, known);
        return next === known ? null : next;
      }),
    ),
  };
}

/**
 * What comes while a write is on its way is written by the next, as one: nodes drain beside each other, and would be in
 * each other's way.
 */
function together<T, Outcome>(writeAll: (all: ReadonlyArray<T>) => Promise<Outcome>): (one: T) => Promise<Outcome> {
  let waiting: Array<T> = [];
  let next: Promise<Outcome> | null = null;
  let last: Promise<unknown> = Promise.resolve();
  return (one) => {
    waiting.push(one);
    next ??= last.then(() => {
      const all = waiting;
      waiting = [];
      next = null;
      return writeAll(all);
    });
    last = next.catch(() => null);
    return next;
  };
}

/**
 * `change` gives the next record, or null where nothing is to be written. What cannot be read is begun again, as
 * counters may.
 */
async function write(
  blobs: Blobs,
  name: string,
  change: (text: string | null) => unknown,
): Promise<'added' | 'crowded'> {
  for (let attempt = 0; attempt < CONFLICTS_MAX; attempt++) {
    // Each write depends on what the last one lost to.
    const blob = await blobs.read(name);
    const next = change(blob === null ? null : new TextDecoder().decode(blob.bytes));
    if (next === null) return 'added';
    const bytes = new TextEncoder().encode(JSON.stringify(next));
    if (await blobs.write(name, bytes, blob === null ? 'absent' : { etag: blob.etag })) return 'added';
  }
  return 'crowded';
}
