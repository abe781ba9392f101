import { toNodeClaim, withPoolStamps } from '../../../shared/app/claims/to-node-claim.ts';
import type { PlannedClaim } from '../../../shared/core/model/plan.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import type { NodeClaim, NodePool, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import type { NodeLabels } from './own-reading.ts';
import type { ReadWorld } from './read-world.ts';
import { labelsOf } from './single-nodes.ts';

/** The pool of a planned claim. */
export function poolOf({ nodePool }: PlannedClaim, { input }: ReadWorld): NodePool {
  const found = input.cluster.nodePools.find(({ metadata }) => metadata.name === nodePool);
  if (found === undefined) throw new Error(`there is no pool ${nodePool}`);
  return found;
}

/** What the pod asks for. */
export function specOf({ cluster }: Pick<ProvisioningInput, 'cluster'>, uid: string): PodSpec {
  const found = cluster.shapes[cluster.pods.find((pod) => pod.uid === uid)?.shape ?? -1];
  if (found === undefined) throw new Error(`there is no pod ${uid}`);
  return found.spec;
}

/** The same of all pods on a planned claim. */
export function specsOn({ pods }: PlannedClaim, { input }: ReadWorld): ReadonlyArray<PodSpec> {
  return pods.map(({ uid }) => specOf(input, uid));
}

/** The NodeClaim that the planned one becomes. */
export function claimOf(planned: PlannedClaim, read: ReadWorld): NodeClaim {
  const { nodeClass, types } = read;
  const pool = poolOf(planned, read);
  const stamped = withPoolStamps(planned, [pool]);
  return toNodeClaim('laws-1', stamped, { name: 'pool-0-abcde', currency: 'USD', pool, nodeClass, types });
}

/** What the claim's node would be labelled, launched as that. */
export function launchedLabels(
  planned: PlannedClaim,
  pool: NodePool,
  { instanceType, zone, capacityType }: PlannedClaim['offering'],
  { types }: ReadWorld,
): NodeLabels {
  const type = types.find(({ name }) => name === instanceType);
  const offering = type?.offerings.find((one) => one.zone === zone && one.capacityType === capacityType);
  const labels = type === undefined || offering === undefined ? null : labelsOf(pool, type, offering);
  if (labels === null) throw new Error(`${pool.metadata.name} allows no ${instanceType} ${zone} ${capacityType}`);
  return new Map([...labels, ...Object.entries(planned.labels).map(([key, value]) => [key, [value]] as const)]);
}
