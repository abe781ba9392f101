import type { Plan } from '../plan/plan.ts';
import type { Instant } from '../quantity/units.ts';
import { isPlaceable } from './pending-pods.ts';
import { planProvisioning } from './plan-provisioning.ts';
import type { ProvisioningInput } from './provisioning-input.ts';

/**
 * The plan that keeps pods running when the nodes or claims called `names` disappear: as if these were gone and their
 * pods were pending, beside all that are. Unknown names are ignored.
 */
export function planReplacement(input: ProvisioningInput, names: ReadonlyArray<string>, now: Instant): Plan {
  const { cluster } = input;
  const gone = new Set(names);
  for (const { metadata, status } of cluster.nodeClaims) {
    if (gone.has(metadata.name) && status?.nodeName !== undefined) gone.add(status.nodeName);
    if (status?.nodeName !== undefined && gone.has(status.nodeName)) gone.add(metadata.name);
  }
  const pods = cluster.pods.map((pod) => {
    if (pod.nodeName === null || !gone.has(pod.nodeName) || pod.deleting || !isPlaceable(cluster, pod)) return pod;
    return { ...pod, nodeName: null, nominatedNodeName: null, unschedulable: true };
  });
  return planProvisioning(
    {
      ...input,
      cluster: {
        ...cluster,
        pods: pods.filter(({ nodeName }) => nodeName === null || !gone.has(nodeName)),
        nodes: cluster.nodes.filter(({ metadata }) => !gone.has(metadata.name)),
        nodeClaims: cluster.nodeClaims.filter(({ metadata }) => !gone.has(metadata.name)),
      },
      inFlight: new Map([...input.inFlight].filter(([name]) => !gone.has(name))),
    },
    now,
  );
}
