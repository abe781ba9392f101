import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { rngFrom } from '../../sandbox/world/rng.ts';
import { drawPods, type Mixture } from './holds.ts';
import { startHoldsPlane, type HoldsPlane } from './holds-plane.ts';

/**
 * Does a plan hold: does every pod find room on the nodes that were planned, with the real scheduler choosing among them?
 * Each seed draws a workload, plans it with the product, lets the nodes join and be registered by the product, and prints
 * what the scheduler made of it. Pods that are left are planned again, as in production.
 */
const assets = process.env['KUBEBUILDER_ASSETS'];
const seeds: ReadonlyArray<readonly [string, Mixture]> = [
  ['holds-1', 'plain'],
  ['holds-2', 'plain'],
  ['holds-3', 'plain'],
  ['holds-4', 'spread'],
  ['holds-5', 'spread'],
];
const PODS = 150;
const KINDS = 12;

/**
 * Least share of all pods that find room on the nodes of the first plan. Measured on two busy cores with 200 pods a seed:
 * 99.3 to 99.8 % of plain ones. Of workloads of which a third of the kinds spread over zones or avoid their like, 96 to 98 %:
 * while the first nodes join there is one zone, so the scheduler piles spread pods up in it, on room meant for others.
 */
const LEAST_SHARE: Readonly<Record<Mixture, number>> = { plain: 0.98, spread: 0.9 };

/** Plans after the first: each has room for all that the one before left. */
const REPLANS_MAX = 5;

interface Held {
  readonly mixture: Mixture;
  readonly left: number;
}

describe.skipIf(assets === undefined)('a plan in the hands of the real scheduler', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-holds-'));
  const held: Array<Held> = [];
  let plane: HoldsPlane | null = null;

  beforeAll(async () => {
    plane = await startHoldsPlane(assets ?? '', folder);
  });

  afterAll(async () => {
    await plane?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(seeds)('every pod is bound after planning again at the most (SEED=%s, %s)', async (seed, mixture) => {
    if (plane === null) throw new Error('the control plane has not started');
    const rng = rngFrom(seed);
    await plane.create(drawPods(rng.split('pods'), PODS, KINDS, mixture));
    const first = await plane.plan();
    expect(first?.plan.left).toEqual([]);
    if (first === null) throw new Error('nothing was planned');
    await plane.join(first, rng.split('order'));
    const bindings = await plane.bindings();
    const planned = new Map(
      first.plan.claims.flatMap((claim, index) =>
        claim.pods.map(({ name }) => [name.replace('default/', ''), `aks-${first.claimNames[index] ?? ''}`] as const),
      ),
    );
    const left = [...bindings.values()].filter((node) => node === null).length;
    const asPlanned = [...bindings].filter(([pod, node]) => planned.get(pod) === node).length;
    let extra = 0;
    let still = left;
    for (let round = 0; still > 0 && round < REPLANS_MAX; round++) {
      const again = await plane.plan();
      if (again !== null) await plane.join(again, rng.split(`order-${round}`));
      extra += again?.plan.cost ?? 0;
      still = [...(await plane.bindings()).values()].filter((node) => node === null).length;
    }
    held.push({ mixture, left });
    const cost = first.plan.cost;
    process.stdout.write(
      `${seed} ${mixture}: ${PODS} pods on ${first.plan.claims.length} nodes; left without a node ${left}, where planned ` +
        `${asPlanned}; planning again cost ${((100 * extra) / cost).toFixed(2)} % more; still left ${still}\n`,
    );
    expect(still).toBe(0);
    await plane.clear();
  });

  test.each(['plain', 'spread'] as const)(
    'nearly every pod of a %s workload finds room on the planned nodes',
    (mixture) => {
      const own = held.filter((one) => one.mixture === mixture);
      const left = own.reduce((sum, one) => sum + one.left, 0);
      const holding = own.filter((one) => one.left === 0).length;
      process.stdout.write(
        `${mixture}: ${holding} of ${own.length} plans hold; ${left} of ${own.length * PODS} pods were left\n`,
      );
      expect(own.length).toBe(seeds.filter(([, one]) => one === mixture).length);
      expect(1 - left / (own.length * PODS)).toBeGreaterThanOrEqual(LEAST_SHARE[mixture]);
    },
  );
});
