import type { Cluster, PodShape } from '../model/cluster.ts';
import type { TopologySpreadConstraint } from '../../kubernetes/manifest.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/** How a pod's controller is written among its labels, so that a selector can name it. No label can have this key. */
const OWNER = 'metadata.ownerReferences/uid';

/** Controllers whose pods are spread by default: those whose selectors kube-scheduler reads for its own defaults. */
const SPREAD_OWNERS: ReadonlySet<string> = new Set(['ReplicaSet', 'StatefulSet', 'ReplicationController']);

/**
 * The input with the policy's default spread given to every pod that asks for no spread itself and has a controller,
 * over the pods of that controller: a ReplicaSet's are one revision. A pod without one keeps none.
 */
export function withDefaultSpread(input: ProvisioningInput): ProvisioningInput {
  const { cluster, policy } = input;
  if (policy.defaultSpread.length === 0) return input;
  return { ...input, cluster: { ...cluster, shapes: spreadByDefault(cluster, policy.defaultSpread) } };
}

function spreadByDefault(
  { shapes }: Cluster,
  defaults: ReadonlyArray<TopologySpreadConstraint>,
): ReadonlyArray<PodShape> {
  return shapes.map((shape) => {
    const { owner, labels, spec } = shape;
    if (owner === null || !SPREAD_OWNERS.has(owner.kind)) return shape;
    const labelled = { ...shape, labels: { ...labels, [OWNER]: owner.uid } };
    if ((spec.topologySpreadConstraints ?? []).length > 0) return labelled;
    const labelSelector = { matchLabels: { [OWNER]: owner.uid } };
    const topologySpreadConstraints = defaults.map((constraint) => ({ ...constraint, labelSelector }));
    return { ...labelled, spec: { ...spec, topologySpreadConstraints } };
  });
}
