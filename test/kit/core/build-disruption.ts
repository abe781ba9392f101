import { expect } from 'vitest';
import { auditDisruption } from '../../../shared/core/disruption/audit/audit-disruption.ts';
import {
  DEFAULT_DISRUPTION,
  type DisruptionInput,
  type DisruptionPolicy,
} from '../../../shared/core/model/disruption-input.ts';
import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionPlan } from '../../../shared/core/disruption/plan/disruption-plan.ts';
import type { KeptReason } from '../../../shared/core/disruption/plan/kept-reason.ts';
import type { Pod, PodShape } from '../../../shared/core/model/cluster.ts';
import type { Condition, Node, NodeClaim, NodePool } from '../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { input, pool, pods, shape, size, spec } from './build.ts';

/** 2 January 1970, 12:00. */
export const NOW = 36 * 3_600_000;

export const types = [
  size('Standard_D2s_v5', 2, 8, 100_000),
  size('Standard_D4s_v5', 4, 16, 200_000),
  size('Standard_D8s_v5', 8, 32, 400_000),
];

export interface Machine {
  readonly node: Node;
  readonly claim: NodeClaim;
}

interface MachineParts {
  readonly cpu?: 2 | 4 | 8;
  readonly zone?: string;
  readonly capacityType?: string;
  readonly nodePool?: string;
  readonly conditions?: ReadonlyArray<Condition>;
  readonly nodeConditions?: ReadonlyArray<Condition>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly nodeParts?: Partial<Node['metadata']>;
  readonly claimSpec?: Partial<NodeClaim['spec']>;
  readonly lastPodEventTime?: string;
  readonly initialized?: boolean;
}

const READY: Condition = { type: 'Ready', status: 'True' };
export const CONSOLIDATABLE: Condition = { type: 'Consolidatable', status: 'True' };

/** A node of pool `general` that is complete, and ready to be consolidated unless `parts` say otherwise. */
export function machine(name: string, parts: MachineParts = {}): Machine {
  const {
    cpu = 4,
    zone = 'westeurope-1',
    capacityType = 'on-demand',
    nodePool = 'general',
    initialized = true,
  } = parts;
  const labels = {
    'kubernetes.io/hostname': name,
    'kubernetes.io/arch': 'amd64',
    'kubernetes.io/os': 'linux',
    'karpenter.azure.com/sku-family': 'D',
    'karpenter.azure.com/sku-cpu': String(cpu),
    'node.kubernetes.io/instance-type': `Standard_D${cpu}s_v5`,
    'topology.kubernetes.io/zone': zone,
    'karpenter.sh/capacity-type': capacityType,
    'karpenter.sh/nodepool': nodePool,
    'karpenter.sh/registered': 'true',
    ...(initialized ? { 'karpenter.sh/initialized': 'true' } : {}),
  };
  const allocatable = { cpu, memory: `${cpu * 4}Gi`, pods: 30 };
  const providerID = `azure:///${name}`;
  return {
    node: {
      metadata: { name, labels, annotations: parts.annotations ?? {}, ...parts.nodeParts },
      spec: { providerID, taints: [] },
      status: { allocatable, capacity: allocatable, conditions: parts.nodeConditions ?? [READY] },
    },
    claim: {
      metadata: { name: `claim-${name}`, labels },
      spec: { ...claimSpec, ...parts.claimSpec },
      status: {
        providerID,
        nodeName: name,
        conditions: parts.conditions ?? [CONSOLIDATABLE],
        ...(parts.lastPodEventTime === undefined ? {} : { lastPodEventTime: parts.lastPodEventTime }),
      },
    },
  };
}

const claimSpec = {
  nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
  requirements: [],
};

export type Disruption = NonNullable<NodePool['spec']['disruption']>;

/** A pool with a policy; all its nodes may go at once unless `disruption` has budgets. */
export function disruptable(
  name = 'general',
  disruption: Disruption = {},
  parts: Parameters<typeof pool>[1] = {},
): NodePool {
  const plain = pool(name, parts);
  return { ...plain, spec: { ...plain.spec, disruption: { budgets: [{ nodes: '100%' }], ...disruption } } };
}

/** A pod of `web`, whose pods are spread over zones evenly. */
export const evenOverZones = shape(
  spec('500m', '1Gi', {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: 'topology.kubernetes.io/zone',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ],
  }),
  { app: 'web' },
);

/** `count` running pods of shape `index` on a node. */
export function on(nodeName: string, index: number, count: number, parts: Partial<Pod> = {}): ReadonlyArray<Pod> {
  return pods(index, count, { nodeName, ...parts });
}

interface ClusterParts extends Omit<Parameters<typeof input>[0], 'nodes' | 'nodeClaims' | 'shapes' | 'pods'> {
  readonly machines: ReadonlyArray<Machine>;
  readonly shapes: ReadonlyArray<PodShape>;
  readonly pods: ReadonlyArray<Pod>;
  readonly disruption?: Partial<DisruptionPolicy>;
}

/** What a search may do here: clusters of a few nodes are looked through with less; what takes more says so. */
const SEARCH_STEPS = 100_000;

export function disruptionInput({ machines, disruption, ...parts }: ClusterParts): DisruptionInput {
  const provisioning = input({
    types,
    nodePools: [disruptable()],
    ...parts,
    nodes: machines.map(({ node }) => node),
    nodeClaims: machines.map(({ claim }) => claim),
  });
  return { provisioning, policy: { ...DEFAULT_DISRUPTION, searchSteps: SEARCH_STEPS, ...disruption } };
}

/** The plan, which passes its audit. */
export function plan(parts: ClusterParts): DisruptionPlan {
  return audited(disruptionInput(parts));
}

export function audited(given: DisruptionInput): DisruptionPlan {
  const made = planDisruption(given, instant(NOW));
  expect(auditDisruption(made, given, instant(NOW))).toEqual([]);
  return made;
}

/** What goes, by name. */
export function removed({ steps }: DisruptionPlan): ReadonlyArray<string> {
  return steps.flatMap(({ remove }) => remove).toSorted();
}

export function keptFor({ kept }: DisruptionPlan, name: string): KeptReason['kind'] | undefined {
  return kept.find(({ node }) => node === name)?.reason.kind;
}
