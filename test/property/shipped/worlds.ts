import * as fc from 'fast-check';
import { stringify } from 'yaml';
import type { PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { drawnPools, plainPool, type PoolManifest } from './drawn-pools.ts';
import { drawnNodes, drawnWorkloads, type NodeManifest, type WorkloadManifest } from './drawn-workloads.ts';

/** A cluster as files would describe it. A counterexample prints them: they can be given to `nodewright plan`. */
export interface World {
  readonly region: string;
  readonly pools: ReadonlyArray<PoolManifest>;
  readonly workloads: ReadonlyArray<WorkloadManifest>;
  readonly nodes: ReadonlyArray<NodeManifest>;
  readonly daemons: ReadonlyArray<object>;
  readonly classSpec: Readonly<Record<string, unknown>>;
  /** Per size class of spot machines, as Azure states it: none, or some for all. */
  readonly evictionsPerHour: number;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  readonly [fc.toStringMethod]: () => string;
}

/** What AKS and monitoring run on every node. */
const DAEMONS = [
  daemon('kube-proxy', { containers: [{ name: 'proxy', resources: { requests: { cpu: '100m' } } }] }),
  daemon('csi-disk', { containers: [{ name: 'csi', resources: { requests: { cpu: '30m', memory: '60Mi' } } }] }),
  daemon('logs', { containers: [{ name: 'agent', resources: { requests: { cpu: '150m', memory: '750Mi' } } }] }),
  daemon('node-exporter', { containers: [{ name: 'exporter', ports: [{ hostPort: 9100 }] }] }),
  daemon('device-plugin', {
    containers: [{ name: 'plugin', resources: { requests: { cpu: '100m', memory: '100Mi' } } }],
    nodeSelector: { 'karpenter.azure.com/sku-gpu-manufacturer': 'nvidia' },
  }),
];

function daemon(name: string, spec: PodSpec): object {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'DaemonSet',
    metadata: { name, namespace: 'kube-system' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { tolerations: [{ operator: 'Exists' }], ...spec } },
    },
  };
}

/** As the product finds a class to be in order. */
const READY = {
  type: 'Ready',
  status: 'True',
  reason: 'Ready',
  message: '',
  lastTransitionTime: '2027-01-01T00:00:00Z',
};

/** All manifests of the world. */
export function manifestsOf({ pools, workloads, nodes, daemons, classSpec }: World): ReadonlyArray<object> {
  const nodeClass = {
    apiVersion: 'karpenter.azure.com/v1beta1',
    kind: 'AKSNodeClass',
    metadata: { name: 'default' },
    spec: classSpec,
    status: { conditions: [READY] },
  };
  return [nodeClass, ...pools, ...workloads, ...daemons, ...nodes];
}

/** The world with other pools or workloads. */
export function changed(world: World, parts: Partial<Pick<World, 'pools' | 'workloads'>>): World {
  return printable({ ...world, ...parts });
}

function printable(world: Omit<World, typeof fc.toStringMethod>): World {
  const whole: World = {
    ...world,
    [fc.toStringMethod]: () => {
      const { region, evictionsPerHour, minValuesPolicy } = world;
      const head = `# nodewright plan --region ${region}; evictions per hour ${evictionsPerHour}; minValues ${minValuesPolicy}`;
      return [
        `\n${head}`,
        ...manifestsOf(whole).map((one) => stringify(one, { aliasDuplicateObjects: false }).trim()),
      ].join('\n---\n');
    },
  };
  return whole;
}

const classSpecs = fc.constantFrom<Readonly<Record<string, unknown>>>(
  {},
  {},
  {},
  { imageFamily: 'AzureLinux' },
  { osDiskSizeGB: 64, maxPods: 30 },
  { security: { encryptionAtHost: true } },
);

/** One to five pools, of which now and then one takes anybody, and what runs and waits. */
export const worlds: fc.Arbitrary<World> = fc.constantFrom('westeurope', 'eastus').chain((region) =>
  fc
    .record({
      pools: fc.oneof(
        { weight: 3, arbitrary: fc.array(drawnPools(region), { minLength: 1, maxLength: 1 }) },
        { weight: 2, arbitrary: fc.array(drawnPools(region), { minLength: 1, maxLength: 5 }) },
        {
          weight: 1,
          arbitrary: fc.array(drawnPools(region), { maxLength: 2 }).map((few) => [...few, plainPool('plain')]),
        },
      ),
      workloads: drawnWorkloads(region),
      nodes: drawnNodes(region),
      daemons: fc.subarray(DAEMONS),
      classSpec: classSpecs,
      evictionsPerHour: fc.constantFrom(0, 0, 0.01, 0.2),
      minValuesPolicy: fc.constantFrom('Strict' as const, 'BestEffort' as const),
    })
    .map((draw) => {
      const pools = draw.pools.map((pool, index) => ({
        ...pool,
        metadata: { ...pool.metadata, name: `pool-${index}` },
      }));
      return printable({ region, ...draw, pools });
    }),
);
