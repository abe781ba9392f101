import * as fc from 'fast-check';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { drawsOf } from '../../setup/draws.ts';
import { readWorld, type ReadWorld } from './read-world.ts';
import { worlds } from './worlds.ts';

/** A law is a hundred plans over a thousand sizes each; with more effort it may take an hour. */
export const slow = { timeout: 3_600_000 };

export const runs = { numRuns: drawsOf(100, 6) };

/** Checks a law on the plans of drawn worlds. */
export function everyPlan(law: (plan: Plan, read: ReadWorld) => void): Promise<void> {
  const property = fc.asyncProperty(worlds, async (world) => {
    const read = await readWorld(world);
    law(planProvisioning(read.input, instant(0)), read);
  });
  return fc.assert(property, runs);
}
