import type { CapacityType, InstanceType, Offering } from '../../../shared/core/model/catalog.ts';
import type { Cluster, Pod, PodShape } from '../../../shared/core/model/cluster.ts';
import type { DaemonSet, Node, NodePool, PodSpec, Requirement, Taint } from '../../../shared/kubernetes/manifest.ts';
import type { PlannedClaim, PlannedOffering } from '../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import {
  DEVICES_IGNORED,
  KARPENTER_POLICY,
  type ProvisioningInput,
} from '../../../shared/core/model/provisioning-input.ts';

/** What is frozen to the bottom already: fixtures share parts, and drawn inputs share nearly all. */
const done = new WeakSet<object>();

/** Fixtures for core tests. All are frozen to the bottom: code that changes its input fails the test that caught it. */
function frozen<T>(value: T): T {
  if (typeof value !== 'object' || value === null || done.has(value)) return value;
  if (!(value instanceof Map)) Object.values(value).forEach(frozen);
  done.add(value);
  return Object.freeze(value);
}

export const zones = ['westeurope-1', 'westeurope-2', 'westeurope-3'] as const;

/**
 * A size of `cpu` cores and `gib` GiB that costs `price` micro-USD on demand and a quarter of it as spot, everywhere.
 */
export function size(
  name: string,
  cpu: number,
  gib: number,
  price: number,
  overrides: Partial<InstanceType> = {},
): InstanceType {
  const family = /^Standard_([A-Z])/.exec(name)?.[1] ?? 'D';
  return frozen({
    name,
    labels: {
      'kubernetes.io/arch': ['amd64'],
      'kubernetes.io/os': ['linux'],
      'karpenter.azure.com/sku-family': [family],
      'karpenter.azure.com/sku-cpu': [String(cpu)],
    },
    capacity: { cpu, memory: `${gib}Gi`, pods: 30 },
    overhead: {},
    offerings: zones.flatMap((zone) => [
      offering(zone, 'on-demand', price),
      offering(zone, 'spot', Math.ceil(price / 4)),
    ]),
    ...overrides,
  });
}

export function offering(zone: string, capacityType: CapacityType, price: number, available = true): Offering {
  return frozen({ zone, capacityType, price: microUsdPerHour(price), available, labels: {} });
}

export function requirement(key: string, operator: string, ...values: ReadonlyArray<string>): Requirement {
  return frozen({ key, operator, values });
}

export const onDemand = requirement('karpenter.sh/capacity-type', 'In', 'on-demand');

interface PoolParts {
  readonly requirements?: ReadonlyArray<Requirement>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly taints?: ReadonlyArray<Taint>;
  readonly startupTaints?: ReadonlyArray<Taint>;
  readonly limits?: Readonly<Record<string, string>>;
  readonly weight?: number;
}

export function pool(name: string, parts: PoolParts = {}): NodePool {
  const { requirements = [onDemand], labels = {}, taints = [], startupTaints = [], limits, weight } = parts;
  return frozen({
    metadata: { name },
    spec: {
      template: {
        metadata: { labels },
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          requirements,
          taints,
          startupTaints,
        },
      },
      ...(limits === undefined ? {} : { limits }),
      ...(weight === undefined ? {} : { weight }),
    },
  });
}

/** A claim of pool `general` as a plan has it: any node of that offering, for no pod unless `parts` say so. */
export function plannedClaim(planned: PlannedOffering, parts: Partial<PlannedClaim> = {}): PlannedClaim {
  return {
    nodePool: 'general',
    offering: planned,
    fallbacks: [],
    runnerUp: null,
    cheaper: [],
    requirements: [],
    labels: {},
    annotations: {},
    taints: [],
    startupTaints: [],
    requests: {},
    pods: [],
    ...parts,
  };
}

/** A pod spec that requests `cpu` (a quantity) and `memory`. */
export function spec(cpu: string, memory: string, more: Partial<PodSpec> = {}): PodSpec {
  return frozen({ containers: [{ resources: { requests: { cpu, memory } } }], ...more });
}

export function shape(
  podSpec: PodSpec,
  labels: Readonly<Record<string, string>> = {},
  namespace = 'default',
): PodShape {
  return frozen({ namespace, labels, annotations: {}, owner: null, spec: podSpec });
}

export function node(
  name: string,
  cpu: number,
  gib: number,
  overrides: Partial<Node['metadata']['labels']> = {},
): Node {
  const allocatable = { cpu, memory: `${gib}Gi`, pods: 30 };
  return frozen({
    metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/arch': 'amd64', ...overrides } },
    spec: { taints: [] },
    status: { allocatable, capacity: allocatable },
  });
}

export function daemonSet(name: string, podSpec: PodSpec): DaemonSet {
  return frozen({ metadata: { name, namespace: 'kube-system' }, spec: { template: { spec: podSpec } } });
}

/** `count` waiting pods of shape `index`, or running ones when `nodeName` is given. */
export function pods(index: number, count: number, parts: Partial<Pod> = {}): ReadonlyArray<Pod> {
  const running = parts.nodeName !== undefined && parts.nodeName !== null;
  return Array.from({ length: count }, (_, at) =>
    frozen({
      name: `s${index}-${running ? `${parts.nodeName}-` : ''}${String(at).padStart(4, '0')}`,
      uid: `s${index}-${running ? `${parts.nodeName}-` : ''}${String(at).padStart(4, '0')}`,
      shape: index,
      createdAtMs: 1_000,
      startedAtMs: running ? 1_000 : null,
      nodeName: null,
      nominatedNodeName: null,
      unschedulable: !running,
      deleting: false,
      running,
      ready: running,
      ...parts,
    }),
  );
}

/** A cluster in which there is nothing. */
export const EMPTY_CLUSTER: Cluster = frozen({
  shapes: [],
  pods: [],
  nodes: [],
  nodeClaims: [],
  nodePools: [],
  nodeOverlays: [],
  daemonSets: [],
  podDisruptionBudgets: [],
  persistentVolumeClaims: [],
  persistentVolumes: [],
  storageClasses: [],
  csiNodes: [],
  namespaces: [],
  limitRanges: [],
  resourceSlices: [],
  deviceClasses: [],
  resourceClaims: [],
  resourceClaimTemplates: [],
  capacityBuffers: [],
  podTemplates: [],
  deployments: [],
  replicaSets: [],
  statefulSets: [],
});

interface InputParts extends Partial<Cluster> {
  readonly types?: ReadonlyArray<InstanceType>;
  readonly inFlight?: ProvisioningInput['inFlight'];
  readonly policy?: Partial<ProvisioningInput['policy']>;
  readonly operations?: number;
  readonly devices?: ProvisioningInput['devices'];
  readonly evictionCostMs?: ProvisioningInput['evictionCostMs'];
  readonly foreignPools?: ProvisioningInput['foreignPools'];
  readonly held?: ProvisioningInput['held'];
}

/** The whole input; every pool may use all `types`. */
export function input(parts: InputParts): ProvisioningInput {
  const {
    types = [],
    inFlight = new Map(),
    policy = {},
    operations = 2_000_000,
    devices = DEVICES_IGNORED,
    evictionCostMs = new Map(),
    foreignPools = [],
    held = [],
    ...cluster
  } = parts;
  const whole: Cluster = { ...EMPTY_CLUSTER, ...cluster };
  return frozen({
    cluster: whole,
    foreignPools,
    catalog: new Map(whole.nodePools.map(({ metadata }) => [metadata.name, types])),
    inFlight,
    policy: {
      ...KARPENTER_POLICY,
      gates: { nodeOverlay: true, staticCapacity: true, capacityBuffer: true, reservedCapacity: true },
      ...policy,
    },
    work: { operations },
    devices,
    evictionCostMs,
    held,
  });
}
