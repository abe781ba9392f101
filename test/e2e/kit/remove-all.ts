import { expectConsistent } from './consistent.ts';
import { type Definition, isRunning } from './state.ts';
import type { World } from './world.ts';

const OBJECTS = [
  '/apis/apps/v1/namespaces/default/deployments',
  '/apis/policy/v1/namespaces/default/poddisruptionbudgets',
  '/apis/karpenter.sh/v1/nodepools',
];

/**
 * Leaves the world as it was found, by the means a person has: workloads, budgets and pools are deleted, Azure is
 * healed.
 */
export async function removeAll(world: World, withinMs?: number): Promise<void> {
  for (const path of OBJECTS) {
    const { items } = await world.api.get<{ readonly items: ReadonlyArray<Definition> }>(path);
    for (const { metadata } of items) {
      await world.api.remove(`${path}/${metadata.name}`, { propagationPolicy: 'Background' });
    }
  }
  world.sandbox.azure.heal();
  await world.until(
    'everything is gone',
    ({ pods, claims, nodes, vms }) => pods.filter(isRunning).length + claims.length + nodes.length + vms.length === 0,
    withinMs,
  );
  await expectConsistent(world, { pods: 0 });
}
