import type { Cluster, Pod } from '../model/cluster.ts';
import type { Plan } from '../plan/plan.ts';
import type { Instant } from '../quantity/units.ts';
import { isPlaceable } from './pending-pods.ts';
import { planProvisioning } from './plan-provisioning.ts';
import type { ProvisioningInput } from './provisioning-input.ts';

/**
 * The plan that keeps pods running when the nodes or claims called `names` disappear: as if these were gone and their
 * pods were pending, beside all that are. Unknown names are ignored. Audit it against `withoutNodes(input, names)`.
 */
export function planReplacement(input: ProvisioningInput, names: ReadonlyArray<string>, now: Instant): Plan {
  return planProvisioning(withoutNodes(input, names), now);
}

/**
 * The input as it will be when the nodes or claims called `names` have gone: their pods wait, whatever would protect them
 * from a voluntary disruption, since nothing asks them. Daemons and pods that end with their node are gone too.
 */
export function withoutNodes(input: ProvisioningInput, names: ReadonlyArray<string>): ProvisioningInput {
  const { cluster } = input;
  const gone = withCounterparts(cluster, names);
  const moves = (pod: Pod): boolean =>
    isPlaceable(cluster, pod) && (!pod.deleting || cluster.shapes[pod.shape]?.owner?.kind === 'StatefulSet');
  const pods = cluster.pods.flatMap((pod): ReadonlyArray<Pod> => {
    if (pod.nodeName === null || !gone.has(pod.nodeName)) return [pod];
    if (!moves(pod)) return [];
    return [{ ...pod, nodeName: null, nominatedNodeName: null, unschedulable: true, deleting: false, running: false }];
  });
  return {
    ...input,
    cluster: {
      ...cluster,
      pods,
      nodes: cluster.nodes.filter(({ metadata }) => !gone.has(metadata.name)),
      nodeClaims: cluster.nodeClaims.filter(({ metadata }) => !gone.has(metadata.name)),
    },
    inFlight: new Map([...input.inFlight].filter(([name]) => !gone.has(name))),
  };
}

/** A claim goes with its node and a node with its claim. */
function withCounterparts({ nodeClaims, nodes }: Cluster, names: ReadonlyArray<string>): ReadonlySet<string> {
  const gone = new Set(names);
  for (const { metadata, status } of nodeClaims) {
    const node = nodes.find(({ spec }) => spec?.providerID !== undefined && spec.providerID === status?.providerID);
    const nodeName = status?.nodeName ?? node?.metadata.name;
    if (nodeName === undefined) continue;
    if (gone.has(metadata.name)) gone.add(nodeName);
    if (gone.has(nodeName)) gone.add(metadata.name);
  }
  return gone;
}
