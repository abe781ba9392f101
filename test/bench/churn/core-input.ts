import type { Cluster, Pod, PodShape } from '../../../shared/core/model/cluster.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import type { Node, NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import { scaledDownPool } from '../disruption/scaled-down-snapshot.ts';
import { toInput, variants } from '../kit/priced-workloads.ts';
import { TICK_S, type App } from './day.ts';
import { isReady, MAX_SKEW, type SimNode, type World } from './world.ts';

const EMPTY = toInput([], variants['general+nap'] ?? []);

/** A Tuesday in November. */
const START_MS = Date.UTC(2026, 10, 3);

export function timeOf(tick: number): number {
  return START_MS + tick * TICK_S * 1000;
}

const POOL = {
  ...scaledDownPool,
  spec: {
    ...scaledDownPool.spec,
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '1m',
      budgets: [{ nodes: '10%' }],
    },
  },
} as const;

/**
 * The cluster as our planners read it. `allReady`: nodes that start are told of as if they were there, with the pods
 * that wait for them, so that pods find the room that is left on them.
 */
export function coreInput(world: World, allReady: boolean): ProvisioningInput {
  const nodes = [...world.nodes.values()].filter((node) => allReady || isReady(world, node));
  const pods = [...world.pods.values()].map((pod): Pod => {
    const at = pod.node ?? (allReady ? pod.awaited : null);
    return {
      name: pod.uid,
      uid: pod.uid,
      shape: pod.app,
      createdAtMs: START_MS,
      startedAtMs: at === null ? null : START_MS,
      nodeName: at?.name ?? null,
      nominatedNodeName: null,
      unschedulable: at === null,
      deleting: false,
      running: at !== null,
      ready: at !== null,
    };
  });
  const cluster: Cluster = {
    ...EMPTY.cluster,
    shapes: world.apps.map(shapeOf),
    pods,
    nodes: nodes.map(nodeOf),
    nodeClaims: nodes.map((node) => claimOf(world, node)),
    nodePools: [POOL],
  };
  return { ...EMPTY, cluster };
}

function shapeOf({ name, cpuM, mib, isSpread, isProtected }: App): PodShape {
  const labelSelector = { matchLabels: { app: name } };
  const spread = {
    maxSkew: MAX_SKEW,
    topologyKey: 'topology.kubernetes.io/zone',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector,
  };
  return {
    namespace: 'default',
    labels: { app: name },
    annotations: isProtected ? { 'karpenter.sh/do-not-disrupt': 'true' } : {},
    owner: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: name, controller: true },
    spec: {
      containers: [{ name: 'main', resources: { requests: { cpu: `${cpuM}m`, memory: `${mib}Mi` } } }],
      ...(isSpread ? { topologySpreadConstraints: [spread] } : {}),
    },
  };
}

function labelsOf({ name, type: { type }, zone }: SimNode): Readonly<Record<string, string>> {
  const fixed = Object.entries(type.labels).map(([key, [value = '']]) => [key, value] as const);
  return {
    ...Object.fromEntries(fixed),
    'kubernetes.io/hostname': name,
    'kubernetes.io/os': 'linux',
    'node.kubernetes.io/instance-type': type.name,
    'topology.kubernetes.io/zone': zone,
    'karpenter.sh/capacity-type': 'on-demand',
    'karpenter.sh/nodepool': 'default',
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
  };
}

function nodeOf(node: SimNode): Node {
  const { cpuM, mib, pods } = node.type;
  const allocatable = { cpu: `${cpuM}m`, memory: `${mib}Mi`, pods: String(pods) };
  const taints = node.isLeaving ? [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' as const }] : [];
  return {
    metadata: { name: node.name, labels: labelsOf(node) },
    spec: { providerID: `azure:///${node.name}`, taints },
    status: { capacity: allocatable, allocatable, conditions: [{ type: 'Ready', status: 'True' }] },
  };
}

function claimOf(world: World, node: SimNode): NodeClaim {
  const at = new Date(timeOf(node.lastPodEvent)).toISOString();
  // Others than its own choice keep a node that is going from being looked at.
  const conditions = ['Launched', 'Registered', 'Initialized', 'Ready', ...(node.isLeaving ? [] : ['Consolidatable'])];
  return {
    metadata: { name: `claim-${node.name}`, labels: labelsOf(node) },
    spec: POOL.spec.template.spec,
    status: {
      providerID: `azure:///${node.name}`,
      nodeName: node.name,
      lastPodEventTime: at,
      conditions: conditions.map((type) => ({
        type,
        status: 'True' as const,
        lastTransitionTime: new Date(timeOf(Math.min(node.readyAt, world.tick))).toISOString(),
      })),
    },
  };
}
