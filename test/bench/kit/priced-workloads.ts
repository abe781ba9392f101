import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { Cluster, Pod, PodShape } from '../../../shared/core/model/cluster.ts';
import type { NodePool, Requirement } from '../../../shared/kubernetes/manifest.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import {
  DEFAULT_WORK,
  DEVICES_IGNORED,
  KARPENTER_POLICY,
  type ProvisioningInput,
} from '../../../shared/core/model/provisioning-input.ts';
import { EMPTY_CLUSTER } from '../../kit/core/build.ts';

/** Workloads, real prices, and what Karpenter's scheduler made of them: see data/README.md. */

type Size = readonly [
  name: string,
  family: string,
  arch: string,
  vcpu: number,
  cpuM: number,
  memMiB: number,
  pods: number,
  onDemand: number | null,
  spot: number | null,
];

/** Pods to be planned for. */
export type Deployment = readonly [
  name: string,
  replicas: number,
  cpuM: number,
  memMiB: number,
  zoneSpread: 0 | 1,
  hostAntiAffinity: 0 | 1,
];

const read = (file: string): string => readFileSync(join(import.meta.dirname, '../data', file), 'utf8');
const { zones, sizes } = JSON.parse(read('sizes.json')) as {
  zones: ReadonlyArray<string>;
  sizes: ReadonlyArray<Size>;
};
const workloads = JSON.parse(read('workloads.json')) as Readonly<Record<string, ReadonlyArray<Deployment>>>;

const on = (key: string, operator: string, ...values: Array<string>): Requirement => ({ key, operator, values });
const family = (...values: Array<string>): Requirement => on('karpenter.azure.com/sku-family', 'In', ...values);
const onDemand = on('karpenter.sh/capacity-type', 'In', 'on-demand');
const amd64 = on('kubernetes.io/arch', 'In', 'amd64');
const atMost64 = on('karpenter.azure.com/sku-cpu', 'Lt', '65');
const general = [family('D', 'E', 'F'), on('karpenter.azure.com/sku-cpu', 'Lt', '33')];

/** Pools of sizes, by name: what their nodes must be. */
export const variants: Readonly<Record<string, ReadonlyArray<Requirement>>> = {
  'D+nap': [family('D'), onDemand, amd64],
  'D+nap+max64': [family('D'), onDemand, amd64, atMost64],
  'general+nap': [...general, onDemand, amd64],
  'general-spot+nap': [...general, on('karpenter.sh/capacity-type', 'In', 'spot', 'on-demand')],
  'open+nap': [onDemand, amd64],
  'open+nap+max64': [onDemand, amd64, atMost64],
};

function toType([name, letter, arch, vcpu, cpuM, memMiB, pods, regular, spot]: Size): InstanceType {
  const version = /_v(\d+)$/.exec(name)?.[1] ?? '1';
  return {
    name: process.env['ALLOW_RETIRED'] === undefined ? name : name.replace(/^Standard_/, 'Any_'),
    labels: {
      'karpenter.azure.com/sku-family': [letter],
      'karpenter.azure.com/sku-version': [version],
      'karpenter.azure.com/sku-cpu': [String(vcpu)],
      'kubernetes.io/arch': [arch],
    },
    capacity: { cpu: `${cpuM}m`, memory: `${memMiB}Mi`, pods },
    overhead: {},
    offerings: zones.flatMap((zone) =>
      (
        [
          ['on-demand', regular],
          ['spot', spot],
        ] as const
      ).flatMap(([capacityType, price]) =>
        price === null
          ? []
          : [{ zone, capacityType, price: microUsdPerHour(Math.round(price * 1e6)), available: true, labels: {} }],
      ),
    ),
  };
}

function toShape([name, , cpuM, memMiB, zoneSpread, hostAntiAffinity]: Deployment): PodShape {
  const labelSelector = { matchLabels: { app: name } };
  const spread = {
    maxSkew: 1,
    topologyKey: 'topology.kubernetes.io/zone',
    whenUnsatisfiable: 'DoNotSchedule',
  } as const;
  const shunned = { topologyKey: 'kubernetes.io/hostname', labelSelector };
  return {
    namespace: 'default',
    labels: { app: name },
    annotations: {},
    owner: null,
    spec: {
      containers: [{ resources: { requests: { cpu: `${cpuM}m`, memory: `${memMiB}Mi` } } }],
      ...(zoneSpread === 1 ? { topologySpreadConstraints: [{ ...spread, labelSelector }] } : {}),
      ...(hostAntiAffinity === 1
        ? { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [shunned] } } }
        : {}),
    },
  };
}

/** The Deployments with all of their pods waiting, on one pool of priced sizes. */
export function toInput(
  deployments: ReadonlyArray<Deployment>,
  requirements: ReadonlyArray<Requirement>,
): ProvisioningInput {
  const pool: NodePool = {
    metadata: { name: 'default' },
    spec: {
      template: {
        spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements },
      },
    },
  };
  const pods = deployments.flatMap(([name, replicas], shape) =>
    Array.from({ length: replicas }, (_, index): Pod => ({
      name: `${name}-${index}`,
      uid: `${name}-${index}`,
      shape,
      createdAtMs: 0,
      startedAtMs: null,
      nodeName: null,
      nominatedNodeName: null,
      unschedulable: true,
      deleting: false,
      running: false,
      ready: false,
    })),
  );
  const cluster: Cluster = { ...EMPTY_CLUSTER, shapes: deployments.map(toShape), pods, nodePools: [pool] };
  return {
    cluster,
    catalog: new Map([['default', sizes.map(toType)]]),
    inFlight: new Map(),
    policy: KARPENTER_POLICY,
    work: DEFAULT_WORK,
    devices: DEVICES_IGNORED,
    foreignPools: [],
    evictionCostMs: new Map(),
    held: [],
  };
}

/** One workload on one pool of sizes, with Karpenter's cost for it. */
export interface PricedWorkload {
  readonly name: string;
  readonly variant: string;
  readonly pods: string;
  /** Dollars per hour. */
  readonly karpenterCost: number;
  readonly karpenterNodes: number;
  readonly fluidBound: string;
  readonly input: ProvisioningInput;
}

/** All workloads whose name has `workload` in it, on the variants called `variant`, or on all when it is empty. */
export function* pricedWorkloads(workload: string, variant: string): Generator<PricedWorkload> {
  for (const row of read('karpenter-costs.csv').trim().split('\n').slice(1)) {
    const [name = '', of = '', pods = '', nodes = '', cost = '', fluidBound = ''] = row.split(',');
    const [found, requirements] = [workloads[name], variants[of]];
    const wanted = name.includes(workload) && (variant === '' || of === variant);
    if (found === undefined || requirements === undefined || !wanted) continue;
    const karpenter = { karpenterCost: Number(cost), karpenterNodes: Number(nodes) };
    yield { name, variant: of, pods, ...karpenter, fluidBound, input: toInput(found, requirements) };
  }
}
