import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { holdPlan, renderHeld } from './hold-plan.ts';
import type { Mixture } from './holds.ts';
import { startHoldsPlane, type HoldsPlane } from './holds-plane.ts';

/**
 * Does a plan hold: does every pod find room on the nodes that were planned, with the real scheduler choosing among
 * them? Each seed draws a workload, plans it with the product, lets the nodes join and be registered by the product,
 * and prints what the scheduler made of it. Pods that are left are planned again, as in production.
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

describe.skipIf(assets === undefined)('a plan in the hands of the real scheduler', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-holds-'));
  let plane: HoldsPlane | null = null;

  beforeAll(async () => {
    plane = await startHoldsPlane(assets ?? '', folder, () => 'reserve');
  });

  afterAll(async () => {
    await plane?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(seeds)('every pod finds room on the nodes that were planned (SEED=%s, %s)', async (seed, mixture) => {
    if (plane === null) throw new Error('the control plane has not started');
    const held = await holdPlan(plane, { seed, mixture, pods: PODS, betweenMs: 50 });
    process.stdout.write(`${renderHeld(held)}\n`);
    await plane.clear();
    expect(held).toMatchObject({ left: 0, extra: 0, stillLeft: 0, overcommitted: 0 });
  });
});
