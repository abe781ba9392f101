import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Held, holdPlan, renderHeld } from '../../e2e/holding/hold-plan.ts';
import type { Mixture } from '../../e2e/holding/holds.ts';
import { type Care, startHoldsPlane } from '../../e2e/holding/holds-plane.ts';

/**
 * Measures how many plans hold in the hands of the real scheduler, with new nodes kept for their planned pods and with
 * these only nominated, in turn on the same workloads:
 *
 *     KUBEBUILDER_ASSETS=… node test/bench/nodes/holds.ts [pods, default 150] [seeds, default 3] [ms between nodes, default 50]
 *         [plain,spread] [nominate,reserve]
 */
const [pods = '150', seeds = '3', betweenMs = '50', mixtures = 'plain,spread', cares = 'nominate,reserve'] =
  process.argv.slice(2);

interface Trial {
  readonly seed: string;
  readonly mixture: Mixture;
  readonly care: Care;
}

const trials: ReadonlyArray<Trial> = Array.from({ length: Number(seeds) }, (_, seed) => `holds-${seed + 1}`).flatMap(
  (seed) =>
    (mixtures.split(',') as ReadonlyArray<Mixture>).flatMap((mixture) =>
      (cares.split(',') as ReadonlyArray<Care>).map((care) => ({ seed, mixture, care })),
    ),
);

async function measure(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-holds-'));
  let current: Care = 'reserve';
  const plane = await startHoldsPlane(process.env['KUBEBUILDER_ASSETS'] ?? '', folder, () => current);
  const results = new Map<string, Array<Held>>();
  try {
    for (const { seed, mixture, care } of trials) {
      current = care;
      const held = await holdPlan(plane, { seed, mixture, pods: Number(pods), betweenMs: Number(betweenMs) });
      process.stdout.write(`${care.padEnd(8)} ${renderHeld(held)}\n`);
      results.set(`${care} ${mixture}`, [...(results.get(`${care} ${mixture}`) ?? []), held]);
      await plane.clear();
    }
  } finally {
    await plane.close();
    rmSync(folder, { recursive: true, force: true });
  }
  for (const [what, own] of results) process.stdout.write(`${what}: ${summarize(own)}\n`);
}

function summarize(own: ReadonlyArray<Held>): string {
  const total = (of: (held: Held) => number): number => own.reduce((sum, held) => sum + of(held), 0);
  const holding = own.filter(({ left }) => left === 0).length;
  const extra = (100 * total((held) => held.extra)) / own.length;
  return (
    `${holding} of ${own.length} plans hold; ${total(({ left }) => left)} of ${total(({ workload }) => workload.pods)} ` +
    `pods left; ${extra.toFixed(2)} % more cost`
  );
}

await measure();
