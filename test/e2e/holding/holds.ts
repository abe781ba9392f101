import { nodeLabels } from '../../../shared/core/launch/node-labels.ts';
import type { CapacityType, InstanceType } from '../../../shared/core/model/catalog.ts';
import type { NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import { allocatableOf } from '../../../shared/core/model/allocatable.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import type { Rng } from '../../../sandbox/base/rng.ts';
import { annotation, taint } from '../../../shared/contract/names.ts';

const ZONES = ['westeurope-1', 'westeurope-2', 'westeurope-3'] as const;

/** The sizes that nodes are planned from: three shapes of memory, four to thirty-two cores, priced as Azure's are. */
export const sizes: ReadonlyArray<InstanceType> = [4, 8, 16, 32].flatMap((cpu) => [
  size(`Standard_D${cpu}ls_v5`, cpu, cpu * 2, cpu * 48_500),
  size(`Standard_D${cpu}s_v5`, cpu, cpu * 4, cpu * 57_500),
  size(`Standard_E${cpu}s_v5`, cpu, cpu * 8, cpu * 76_000),
]);

function size(name: string, cpu: number, gib: number, price: number): InstanceType {
  const offering = { capacityType: 'on-demand', price: microUsdPerHour(price), available: true, labels: {} } as const;
  return {
    name,
    labels: {
      'kubernetes.io/arch': ['amd64'],
      'kubernetes.io/os': ['linux'],
      'node.kubernetes.io/instance-type': [name],
    },
    capacity: { cpu: String(cpu), memory: `${gib}Gi`, pods: '110', 'ephemeral-storage': '100Gi' },
    overhead: { cpu: '140m', memory: '1Gi' },
    offerings: ZONES.map((zone) => ({ zone, ...offering })),
  };
}

/** What kinds of rules pods of a workload have. */
export type Mixture = 'plain' | 'spread';

/**
 * Pods of `kinds` random shapes, `count` in all. Of the mixture `spread` a third spread over zones or avoid their like.
 */
export function drawPods(rng: Rng, count: number, kinds: number, mixture: Mixture): ReadonlyArray<object> {
  const shapes = Array.from({ length: kinds }, (_, kind) => {
    const cpu = pick(rng, [100, 250, 500, 750, 1_000, 1_500, 2_000, 3_500]);
    const memory = Math.round((cpu * pick(rng, [1, 2, 4, 6])) / 128) * 128 + 128;
    return { kind, cpu, memory, rules: mixture === 'plain' ? {} : rulesOf(rng, kind) };
  });
  return Array.from({ length: count }, (_, index) => {
    const { kind, cpu, memory, rules } = shapes[rng.below(kinds)] ?? { kind: 0, cpu: 100, memory: 128, rules: {} };
    return {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: `p-${kind}-${index}`, namespace: 'default', labels: { app: `a-${kind}` } },
      spec: {
        ...rules,
        containers: [
          { name: 'main', image: 'pause', resources: { requests: { cpu: `${cpu}m`, memory: `${memory}Mi` } } },
        ],
      },
    };
  });
}

function pick(rng: Rng, values: ReadonlyArray<number>): number {
  return values[rng.below(values.length)] ?? 0;
}

function rulesOf(rng: Rng, kind: number): object {
  const labelSelector = { matchLabels: { app: `a-${kind}` } };
  const draw = rng.below(6);
  if (draw === 0) {
    const term = { topologyKey: 'kubernetes.io/hostname', labelSelector };
    return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
  }
  if (draw > 1) return {};
  const topologyKey = 'topology.kubernetes.io/zone';
  return {
    topologySpreadConstraints: [{ maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector }],
  };
}

/** The Node as the kubelet of the claim's machine registers it, and what it then writes to its status. */
export function nodeFor(claim: NodeClaim, name: string): { readonly node: object; readonly status: object } {
  const [instanceType, zone = '', capacityType] =
    claim.metadata.annotations?.[annotation.plannedOffering]?.split('/') ?? [];
  const type = sizes.find((one) => one.name === instanceType);
  if (type === undefined)
    throw new Error(`${claim.metadata.name} was planned as ${instanceType}, which is no size here`);
  const labels = nodeLabels(type, { zone, capacityType: capacityType as CapacityType });
  return {
    node: {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name, labels: { ...labels, 'kubernetes.io/hostname': name } },
      spec: { providerID: `azure:///${name}`, taints: [taint.unregistered] },
    },
    status: {
      capacity: type.capacity,
      allocatable: allocatableOf(type),
      conditions: [
        { type: 'Ready', status: 'True', reason: 'KubeletReady', lastTransitionTime: new Date().toISOString() },
      ],
    },
  };
}
