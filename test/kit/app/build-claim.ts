import type { Condition, Node, NodeClaim, NodePool } from '../../../shared/kubernetes/manifest.ts';
import type { NodeClass } from '../../../shared/ports/kubernetes.ts';

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };

/** Stamps of one hash version, on pool, class and claim alike. */
const hashes = {
  'karpenter.sh/nodepool-hash': '1',
  'karpenter.sh/nodepool-hash-version': 'v3',
  'karpenter.azure.com/aksnodeclass-hash': '2',
  'karpenter.azure.com/aksnodeclass-hash-version': 'v3',
};

export const initializedAt = '2026-11-21T08:00:00Z';

export function condition(type: string, status = 'True', lastTransitionTime = initializedAt): Condition {
  return { type, status, reason: type, message: '', lastTransitionTime };
}

/** A claim at rest: a D2 on demand in zone 1, of pool `general`. */
export function claim(
  changes: {
    readonly annotations?: Readonly<Record<string, string>>;
    readonly labels?: Readonly<Record<string, string>>;
    readonly status?: NodeClaim['status'];
  } = {},
): NodeClaim {
  return {
    metadata: {
      name: 'general-1',
      labels: {
        'karpenter.sh/nodepool': 'general',
        'karpenter.sh/capacity-type': 'on-demand',
        'node.kubernetes.io/instance-type': 'Standard_D2s_v5',
        'topology.kubernetes.io/zone': 'westeurope-1',
        ...changes.labels,
      },
      annotations: { ...hashes, ...changes.annotations },
    },
    spec: { nodeClassRef, requirements: [] },
    status: { conditions: ['Launched', 'Registered', 'Initialized'].map((type) => condition(type)), ...changes.status },
  };
}

export function nodePool(
  spec: Partial<NodePool['spec']> = {},
  annotations: Readonly<Record<string, string>> = {},
  requirements: NodePool['spec']['template']['spec']['requirements'] = [],
): NodePool {
  return {
    metadata: { name: 'general', annotations: { ...hashes, ...annotations } },
    spec: { template: { spec: { nodeClassRef, requirements } }, ...spec },
  };
}

export function nodeClass(
  status: NodeClass['status'] = {},
  annotations: Readonly<Record<string, string>> = {},
): NodeClass {
  return {
    metadata: { name: 'default', annotations: { ...hashes, ...annotations } },
    spec: {},
    status: { conditions: [condition('Ready')], ...status },
  };
}

export function node(kubeletVersion = 'v1.36.3'): Node {
  return { metadata: { name: 'aks-general-1' }, status: { nodeInfo: { kubeletVersion } } };
}
