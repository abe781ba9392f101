import { deny, lift } from './deny.ts';
import type { World } from './world.ts';

const NODES = '/api/v1/nodes';
const POOL_LABEL = 'nodes-name-their-pool';
const CLOSING = 'nobody-closes-this-node';
const nodes = { group: '', version: 'v1', resource: 'nodes' } as const;

/** Refuses nodes that are created without the label of their pool; resolves once the API server does. */
export async function demandPoolLabel(world: World): Promise<void> {
  const bare = { apiVersion: 'v1', kind: 'Node', metadata: { name: 'bare' } };
  const allowed = "has(object.metadata.labels) && 'karpenter.sh/nodepool' in object.metadata.labels";
  await deny(world, { ...nodes, name: POOL_LABEL, operation: 'CREATE', allowed }, () =>
    world.api.create(`${NODES}?dryRun=All`, bare),
  );
}

/** Takes the policy away again. */
export async function allowAnyNode(world: World): Promise<void> {
  await lift(world, POOL_LABEL);
}

/**
 * Refuses the taint of a disruption on one node; resolves once the API server does. Answers how to take that away
 * again.
 */
export async function forbidClosing(world: World, node: string): Promise<() => Promise<void>> {
  const closed = { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } };
  const allowed = `object.metadata.name != '${node}' || !has(object.spec.taints) || !object.spec.taints.exists(t, t.key == 'karpenter.sh/disrupted')`;
  return deny(world, { ...nodes, name: CLOSING, operation: 'UPDATE', allowed }, () =>
    world.api.patch(`${NODES}/${node}?dryRun=All`, 'merge', closed),
  );
}
