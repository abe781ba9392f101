import type { Cluster, Pod } from '../model/cluster.ts';
import { heldMachines } from './existing-capacity.ts';
import { isPlaceable } from './pending-pods.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/**
 * The input as it will be when the nodes or claims called `names` have gone: their pods wait, whatever would protect
 * them from a voluntary disruption, since nothing asks them; but for those that `staysWithNode` says end with it.
 * Daemons and pods that end with their node are gone too. Unknown names are ignored. A plan for it is audited against
 * it. Machines that are only marked to go still count against limits, and so do nodes in `held` that are not marked
 * yet.
 */
export function withoutNodes(
  input: ProvisioningInput,
  names: ReadonlyArray<string>,
  {
    held = new Set(),
    staysWithNode = () => false,
  }: { readonly held?: ReadonlySet<string>; readonly staysWithNode?: (pod: Pod) => boolean } = {},
): ProvisioningInput {
  if (names.length === 0) return input;
  const { cluster } = input;
  const gone = withCounterparts(cluster, names);
  const moves = (pod: Pod): boolean =>
    isPlaceable(cluster, pod) && (!pod.deleting || cluster.shapes[pod.shape]?.owner?.kind === 'StatefulSet');
  const pods = cluster.pods.flatMap((pod): ReadonlyArray<Pod> => {
    if (pod.nodeName === null || !gone.has(pod.nodeName)) return [pod];
    if (!moves(pod) || staysWithNode(pod)) return [];
    return [{ ...pod, nodeName: null, nominatedNodeName: null, unschedulable: true, deleting: false, running: false }];
  });
  const going = {
    ...cluster,
    nodes: cluster.nodes.filter(({ metadata }) => gone.has(metadata.name)),
    nodeClaims: cluster.nodeClaims.filter(({ metadata }) => gone.has(metadata.name)),
  };
  return {
    ...input,
    held: [...input.held, ...heldMachines({ ...input, cluster: going }, held)],
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
  const byProvider = new Map(nodes.map(({ metadata, spec }) => [spec?.providerID, metadata.name]));
  for (const { metadata, status } of nodeClaims) {
    const { providerID } = status ?? {};
    const nodeName = status?.nodeName ?? (providerID === undefined ? undefined : byProvider.get(providerID));
    if (nodeName === undefined) continue;
    if (gone.has(metadata.name)) gone.add(nodeName);
    if (gone.has(nodeName)) gone.add(metadata.name);
  }
  return gone;
}
