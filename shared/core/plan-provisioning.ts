import { lowerBounds } from './bound/lower-bound.ts';
import { withinQuota } from './finishing/within-quota.ts';
import { withStaticPools } from './finishing/static-pools.ts';
import type { Plan } from './model/plan.ts';
import type { ProvisioningInput } from './model/provisioning-input.ts';
import { offeredInput } from './offerings/offered-input.ts';
import { placeBuffers } from './placing/place-buffers.ts';
import { placePods } from './placing/place-pods.ts';
import { compileInput } from './placing/state/workspace.ts';
import { withBufferShapes } from './present/buffer-pods.ts';
import { pendingPods } from './present/pending-pods.ts';
import type { Instant } from './quantity/units.ts';
import { reasonsFor, tellPlan } from './telling/tell-plan.ts';

/**
 * Decides where every pending pod goes: capacity that exists or is on its way, or new claims at the lowest weighed
 * price found, or nowhere, with reasons; and which nodes static pools lack. Pure: the same input gives the same plan,
 * whatever the order of its lists.
 */
export function planProvisioning(given: ProvisioningInput, now: Instant): Plan {
  // 1. Read: who waits, what is there, and what can be had at which price.
  const input = offeredInput(given);
  const buffered = withBufferShapes(input);
  const ofBuffers = buffered.input.cluster.shapes.slice(input.cluster.shapes.length);
  const compiled = compileInput(input, pendingPods(input.cluster, input.inFlight, now), ofBuffers);

  // 2. Place: pods first, then the room that buffers keep, on what pods left free.
  const pods = placePods(compiled);
  const reasons = reasonsFor(pods.workspace, pods.left);
  const all = buffered.buffers.length === 0 ? { ...pods, left: [] } : placeBuffers(pods, compiled, buffered);
  const { workspace, solved, proof } = all;

  // 3. Bound: what no plan for the same pods can undercut.
  const bounds = lowerBounds(workspace, solved, proof);

  // 4. Tell: claims, nominations and reasons, as data.
  const { left } = pods;
  const plan = tellPlan({ workspace, left, reasons, buffers: buffered.buffers, leftOfBuffers: all.left }, bounds);

  // 5. Finish: what static pools lack, all within quota.
  return withinQuota(withStaticPools(plan, input), input);
}
