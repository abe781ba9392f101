import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { InstanceType } from '../../shared/core/model/catalog.ts';
import type { Cluster, Pod, PodShape } from '../../shared/core/model/cluster.ts';
import type { NodePool, Requirement } from '../../shared/kubernetes/manifest.ts';
import { microUsdPerHour } from '../../shared/core/quantity/units.ts';
import {
  DEFAULT_WORK,
  DEVICES_IGNORED,
  KARPENTER_POLICY,
  type ProvisioningInput,
} from '../../shared/core/model/provisioning-input.ts';
import { EMPTY_CLUSTER } from '../unit/core/build.ts';

/** The workloads and real prices beside this repository, and what Karpenter's scheduler made of them. */

const folder = resolve(import.meta.dirname, '../..', process.env['NODEWRIGHT_BENCH'] ?? '../shared/bench');

interface Size {
  readonly name: string;
  readonly family: string;
  readonly arch: string;
  readonly vcpu: number;
  readonly memMiB: number;
  readonly pods: number;
  readonly allocCpuM: number;
  readonly allocMemMiB: number;
  readonly onDemand: number | null;
  readonly spot: number | null;
  readonly napExcluded: ReadonlyArray<string>;
}

/** Deployments to be planned for. */
export interface Workload {
  readonly name: string;
  readonly deployments: ReadonlyArray<{
    readonly name: string;
    readonly replicas: number;
    readonly cpuM: number;
    readonly memMiB: number;
    readonly zoneSpread: boolean;
    readonly hostAntiAffinity: boolean;
  }>;
}

const read = (file: string): string => readFileSync(join(folder, file), 'utf8');
const catalog = JSON.parse(read('catalog.json')) as { zones: ReadonlyArray<string>; types: ReadonlyArray<Size> };
const workloads = JSON.parse(read('workloads.json')) as ReadonlyArray<Workload>;

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

function toType(size: Size): InstanceType {
  const version = /_v(\d+)$/.exec(size.name)?.[1] ?? '1';
  return {
    name: process.env['ALLOW_RETIRED'] === undefined ? size.name : size.name.replace(/^Standard_/, 'Any_'),
    labels: {
      'karpenter.azure.com/sku-family': [size.family],
      'karpenter.azure.com/sku-version': [version],
      'karpenter.azure.com/sku-cpu': [String(size.vcpu)],
      'kubernetes.io/arch': [size.arch],
    },
    capacity: { cpu: `${size.allocCpuM}m`, memory: `${size.allocMemMiB}Mi`, pods: size.pods },
    overhead: {},
    offerings: catalog.zones.flatMap((zone) =>
      (
        [
          ['on-demand', size.onDemand],
          ['spot', size.spot],
        ] as const
      ).flatMap(([capacityType, price]) =>
        price === null
          ? []
          : [{ zone, capacityType, price: microUsdPerHour(Math.round(price * 1e6)), available: true, labels: {} }],
      ),
    ),
  };
}

function toShape({ name, cpuM, memMiB, zoneSpread, hostAntiAffinity }: Workload['deployments'][number]): PodShape {
  const labelSelector = { matchLabels: { app: name } };
  return {
    namespace: 'default',
    labels: { app: name },
    annotations: {},
    owner: null,
    spec: {
      containers: [{ resources: { requests: { cpu: `${cpuM}m`, memory: `${memMiB}Mi` } } }],
      ...(zoneSpread
        ? {
            topologySpreadConstraints: [
              {
                maxSkew: 1,
                topologyKey: 'topology.kubernetes.io/zone',
                whenUnsatisfiable: 'DoNotSchedule',
                labelSelector,
              },
            ],
          }
        : {}),
      ...(hostAntiAffinity
        ? {
            affinity: {
              podAntiAffinity: {
                requiredDuringSchedulingIgnoredDuringExecution: [
                  { topologyKey: 'kubernetes.io/hostname', labelSelector },
                ],
              },
            },
          }
        : {}),
    },
  };
}

/** The workload with all of its pods waiting, on one pool of priced sizes. */
export function toInput(workload: Workload, requirements: ReadonlyArray<Requirement>): ProvisioningInput {
  const pool: NodePool = {
    metadata: { name: 'default' },
    spec: {
      template: {
        spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements },
      },
    },
  };
  const pods = workload.deployments.flatMap(({ name, replicas }, shape) =>
    Array.from({ length: replicas }, (_, index): Pod => ({
      name: `${name}-${index}`,
      uid: `${name}-${index}`,
      shape,
      createdAtMs: 0,
      nodeName: null,
      nominatedNodeName: null,
      unschedulable: true,
      deleting: false,
      running: false,
      ready: false,
    })),
  );
  const cluster: Cluster = {
    ...EMPTY_CLUSTER,
    shapes: workload.deployments.map(toShape),
    pods,
    nodePools: [pool],
  };
  const types = catalog.types.filter(({ napExcluded }) => napExcluded.length === 0).map(toType);
  return {
    cluster,
    catalog: new Map([['default', types]]),
    inFlight: new Map(),
    policy: KARPENTER_POLICY,
    work: DEFAULT_WORK,
    devices: DEVICES_IGNORED,
    foreignPools: [],
    evictionCostMs: new Map(),
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
  const seen = new Set<string>();
  for (const row of read('karpenter-costs.csv').trim().split('\n').slice(1)) {
    const [name = '', of = '', pods = '', nodes = '', cost = '', , , , fluidBound = ''] = row.split(',');
    const found = workloads.find((one) => one.name === name);
    const requirements = variants[of];
    const wanted = name.includes(workload) && (variant === '' || of === variant);
    if (found === undefined || requirements === undefined || !wanted || seen.has(name + of)) continue;
    seen.add(name + of);
    const karpenter = { karpenterCost: Number(cost), karpenterNodes: Number(nodes) };
    yield { name, variant: of, pods, ...karpenter, fluidBound, input: toInput(found, requirements) };
  }
}
