import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { Cluster, Pod, PodShape } from '../../../shared/core/model/cluster.ts';
import type { NodePool, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import {
  DEFAULT_WORK,
  DEVICES_IGNORED,
  KARPENTER_POLICY,
  type ProvisioningInput,
} from '../../../shared/core/model/provisioning-input.ts';
import { EMPTY_CLUSTER } from '../../kit/core/build.ts';

/**
 * The inputs of Karpenter's own scheduling benchmark, built from its description: 400 sizes, one pool, and pods in five
 * equal parts, or pods that only prefer. The draws are ours, so single figures are not those of its runs.
 */

const ZONES = ['test-zone-1', 'test-zone-2', 'test-zone-3'] as const;
const ZONE = 'topology.kubernetes.io/zone';
const HOST = 'kubernetes.io/hostname';
const CPU = ['100m', '250m', '500m', '1000m', '1500m'];
const MEMORY = ['100Mi', '256Mi', '512Mi', '1024Mi', '2048Mi', '4096Mi'];
const LETTERS = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
const TYPES = 400;
const SEED = 42;

type Policy = ProvisioningInput['policy']['preferencePolicy'];
type Labels = Readonly<Record<string, string>>;

/**
 * `count` pods in five equal parts: plain, spread over zones, spread over hosts, near their like, away from their like.
 */
export function diversePods(count: number): ReadonlyArray<PodShape> {
  const random = randomFrom(SEED);
  const pick = (values: ReadonlyArray<string>): string => values[Math.floor(random() * values.length)] ?? '';
  const spec = (more: Partial<PodSpec> = {}): PodSpec => ({
    containers: [{ resources: { requests: { cpu: pick(CPU), memory: pick(MEMORY) } } }],
    ...more,
  });
  const letter = (key: string): Labels => ({ [key]: pick(LETTERS) });
  const part = Math.floor(count / 5);
  const several = (times: number, make: () => PodShape) => Array.from({ length: times }, make);
  const plain = (): PodShape => toShape(letter('my-label'), spec());
  const spread = (topologyKey: string) => (): PodShape => {
    const labels = letter('my-label');
    const labelSelector = { matchLabels: letter('my-label') };
    const constraint = { maxSkew: 1, topologyKey, whenUnsatisfiable: 'DoNotSchedule', labelSelector };
    return toShape(labels, spec({ topologySpreadConstraints: [constraint] }));
  };
  const near = (): PodShape => {
    const labels = letter('my-affininity');
    const terms = [{ topologyKey: ZONE, labelSelector: { matchLabels: labels } }];
    return toShape(labels, spec({ affinity: { podAffinity: required(terms) } }));
  };
  const away = (): PodShape => {
    const labels = { app: 'nginx' };
    const terms = [{ topologyKey: HOST, labelSelector: { matchLabels: labels } }];
    return toShape(labels, spec({ affinity: { podAntiAffinity: required(terms) } }));
  };
  return [
    ...several(part, plain),
    ...several(part, spread(ZONE)),
    ...several(part, spread(HOST)),
    ...several(part, near),
    ...several(part, away),
    ...several(count - 5 * part, plain),
  ];
}

/** `count` equal pods that would rather be in the first zone, and away from each other by zone and by host. */
export function preferringPods(count: number): ReadonlyArray<PodShape> {
  const random = randomFrom(SEED);
  const cpu = CPU[Math.floor(random() * CPU.length)] ?? '';
  const memory = MEMORY[Math.floor(random() * MEMORY.length)] ?? '';
  const labels = { app: 'nginx' };
  const away = (topologyKey: string) => ({ topologyKey, labelSelector: { matchLabels: labels } });
  const spec: PodSpec = {
    containers: [{ resources: { requests: { cpu, memory } } }],
    affinity: {
      nodeAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, preference: { matchExpressions: [{ key: ZONE, operator: 'In', values: [ZONES[0]] }] } },
        ],
      },
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 10, podAffinityTerm: away(ZONE) },
          { weight: 1, podAffinityTerm: away(HOST) },
        ],
      },
    },
  };
  return Array.from({ length: count }, () => toShape(labels, spec));
}

/**
 * The pods wait in an empty cluster with one pool of all sizes. Pods that are alike share a shape, as in a snapshot.
 */
export function benchmarkInput(pods: ReadonlyArray<PodShape>, preferencePolicy: Policy): ProvisioningInput {
  const shapes = new Map<string, { readonly shape: PodShape; readonly index: number }>();
  const waiting = pods.map((shape, at): Pod => {
    const id = JSON.stringify(shape);
    const known = shapes.get(id) ?? { shape, index: shapes.size };
    shapes.set(id, known);
    return waitingPod(at, known.index);
  });
  const cluster: Cluster = {
    ...EMPTY_CLUSTER,
    shapes: [...shapes.values()].map(({ shape }) => shape),
    pods: waiting,
    nodePools: [pool],
  };
  return {
    cluster,
    catalog: new Map([[pool.metadata.name, Array.from({ length: TYPES }, (_, index) => sizeOf(index + 1))]]),
    inFlight: new Map(),
    policy: { ...KARPENTER_POLICY, preferencePolicy },
    work: DEFAULT_WORK,
    devices: DEVICES_IGNORED,
    foreignPools: [],
    evictionCostMs: new Map(),
    held: [],
  };
}

const pool: NodePool = {
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: { nodeClassRef: { group: 'karpenter.test.sh', kind: 'TestNodeClass', name: 'default' }, requirements: [] },
    },
    limits: { cpu: '10000000', memory: '10000000Gi' },
  },
};

/** A dollar and more per core and gigabyte: price is proportional to size, and what is reserved favours large ones. */
function sizeOf(cores: number): InstanceType {
  const price = microUsdPerHour(Math.ceil(cores * (0.1 + (0.1 * 2 * 2 ** 30) / 1e9) * 1e6));
  const offered = [
    [ZONES[0], 'spot'],
    [ZONES[1], 'spot'],
    [ZONES[0], 'on-demand'],
    [ZONES[1], 'on-demand'],
    [ZONES[2], 'on-demand'],
  ] as const;
  return {
    name: `fake-it-${cores - 1}`,
    labels: { 'kubernetes.io/arch': ['amd64'], 'kubernetes.io/os': ['linux'] },
    capacity: { cpu: String(cores), memory: `${2 * cores}Gi`, pods: String(10 * cores) },
    overhead: { cpu: '100m', memory: '10Mi' },
    offerings: offered.map(([zone, capacityType]) => ({ zone, capacityType, price, available: true, labels: {} })),
  };
}

function waitingPod(at: number, shape: number): Pod {
  const name = `pod-${String(at).padStart(5, '0')}`;
  return {
    name,
    uid: name,
    shape,
    createdAtMs: 0,
    startedAtMs: null,
    nodeName: null,
    nominatedNodeName: null,
    unschedulable: true,
    deleting: false,
    running: false,
    ready: false,
  };
}

function toShape(labels: Labels, spec: PodSpec): PodShape {
  return { namespace: 'default', labels, annotations: {}, owner: null, spec };
}

function required<T>(terms: ReadonlyArray<T>): {
  readonly requiredDuringSchedulingIgnoredDuringExecution: ReadonlyArray<T>;
} {
  return { requiredDuringSchedulingIgnoredDuringExecution: terms };
}

/** Mulberry32: small, good enough for draws, the same everywhere. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
