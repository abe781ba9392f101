import { FIGURES_BLOB, NO_FIGURES, parseFigures, withPlan } from '../../contract/plan-figures.ts';
import type { Blobs } from '../../ports/blobs.ts';
import type { FiguresLog } from '../../ports/store.ts';

/** Losing to others more often in a row means that they write faster than we do: then one plan less is counted. */
const CONFLICTS_MAX = 5;

/**
 * Figures of plans as the blob `<cluster>/figures`. Written on condition that nobody wrote since it was read, so that
 * instances count beside each other; a write whose answer was lost is found by the plan's id.
 */
export function createFiguresLog(blobs: Blobs, cluster: string): FiguresLog {
  const name = `${cluster}/${FIGURES_BLOB}`;
  return {
    add: async (plan, fate) => {
      for (let attempt = 0; attempt < CONFLICTS_MAX; attempt++) {
        // Each write depends on what the last one lost to.
        // oxlint-disable-next-line no-await-in-loop
        const blob = await blobs.read(name);
        // What cannot be read is begun anew, as counters may.
        const known = (blob === null ? null : parseFigures(new TextDecoder().decode(blob.bytes))) ?? NO_FIGURES;
        const next = withPlan(known, plan, fate);
        if (next === known) return 'added';
        const bytes = new TextEncoder().encode(JSON.stringify(next));
        // oxlint-disable-next-line no-await-in-loop
        if (await blobs.write(name, bytes, blob === null ? 'absent' : { etag: blob.etag })) return 'added';
      }
      return 'crowded';
    },
  };
}
