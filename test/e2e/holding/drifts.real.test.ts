import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { driftCases } from './drift-cases.ts';
import { driftPlan, renderDrifted } from './drift-plan.ts';
import { startHoldsPlane, type HoldsPlane } from './holds-plane.ts';

/**
 * Does a plan to replace nodes that have drifted hold, with the real scheduler choosing where the pods go? The
 * scheduler has placed them; the product plans, marks, judges again, removes and drains, and lets pods in to what has
 * come. All must run on what the decisions made, and nothing be made beside it.
 */
const assets = process.env['KUBEBUILDER_ASSETS'];

describe.skipIf(assets === undefined)('drift in the hands of the real scheduler', () => {
  const folder = mkdtempSync(join(tmpdir(), 'nodewright-drifts-'));
  let plane: HoldsPlane | null = null;

  beforeAll(async () => {
    plane = await startHoldsPlane(assets ?? '', folder, () => 'reserve');
  });

  afterAll(async () => {
    await plane?.close();
    rmSync(folder, { recursive: true, force: true });
  });

  test.each(driftCases)('all pods come to what replaces their nodes: $name', async (one) => {
    if (plane === null) throw new Error('the control plane has not started');
    const found = await driftPlan(plane.parts, one);
    process.stdout.write(`${renderDrifted(found)}\n`);
    await plane.clear();
    expect(found).toMatchObject({ left: 0, waiting: 0, elsewhere: 0, bought: 0, refused: [] });
    if (one.oneForOne) expect(found.made).toBeLessThanOrEqual(found.before);
  });
});
