import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import type { InFlightClaim, ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';

/** The input once the plan's claims exist, none of their nodes does, and pods are nominated to the nodes there were. */
export function committed(given: ProvisioningInput, plan: Plan): ProvisioningInput {
  const nodeClaims = plan.claims.map((claim, index): NodeClaim => ({
    metadata: { name: nameOf(index), labels: claim.labels, annotations: claim.annotations },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: claim.requirements,
      taints: claim.taints,
      startupTaints: claim.startupTaints,
      resources: { requests: claim.requests },
    },
  }));
  const inFlight = plan.claims.map(({ offering, pods }, index): [string, InFlightClaim] => {
    const { instanceType, zone, capacityType } = offering;
    const held = plan.buffers.flatMap(({ claims }) => claims).filter(({ claim }) => claim === index);
    const uids = [...pods, ...held.flatMap((one) => one.pods)].map(({ uid }) => uid);
    return [nameOf(index), { pods: uids, instanceType, zone, capacityType }];
  });
  const nominated = new Map(plan.nominations.flatMap(({ target, pods }) => pods.map(({ uid }) => [uid, target.name])));
  const pods = given.cluster.pods.map((pod) => ({ ...pod, nominatedNodeName: nominated.get(pod.uid) ?? null }));
  return { ...given, cluster: { ...given.cluster, nodeClaims, pods }, inFlight: new Map(inFlight) };
}

function nameOf(index: number): string {
  return `claim-${String(index).padStart(3, '0')}`;
}
