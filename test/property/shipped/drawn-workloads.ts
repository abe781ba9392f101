import * as fc from 'fast-check';
import type { Node, PodSpec } from '../../../shared/kubernetes/manifest.ts';
import { apart, CHARTS, HOST, onNodes, spread, ZONE } from './charts.ts';
import { seldom } from './drawn-pools.ts';
import { traceRequests, type TraceRequest } from './trace-requests.ts';

/** A Deployment, as a manifest. */
export interface WorkloadManifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace: string };
  readonly spec: {
    readonly replicas: number;
    readonly selector: { readonly matchLabels: Readonly<Record<string, string>> };
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: PodSpec;
    };
  };
}

/** A Deployment of such pods. */
export function workload(name: string, replicas: number, spec: PodSpec): WorkloadManifest {
  const labels = { app: name };
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: { replicas, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  };
}

/** What somebody adds to a chart's rules, or sets in their place. */
const SELECTORS: ReadonlyArray<Readonly<Record<string, string>>> = [
  { 'karpenter.azure.com/sku-family': 'D' },
  { 'karpenter.azure.com/sku-family': 'E' },
  { 'karpenter.azure.com/sku-version': '5' },
  { 'node.kubernetes.io/instance-type': 'Standard_D8ds_v5' },
  { 'kubernetes.io/arch': 'arm64' },
  { 'beta.kubernetes.io/arch': 'amd64' },
  { 'karpenter.sh/capacity-type': 'spot' },
  { 'kubernetes.azure.com/scalesetpriority': 'spot' },
  { 'kubernetes.azure.com/mode': 'system' },
  { 'example.com/team': 'red' },
  { 'karpenter.k8s.aws/instance-category': 'c' },
  { workload: 'batch' },
];

function addedRules(region: string): fc.Arbitrary<Partial<PodSpec>> {
  const zone = `${region}-2`;
  const affinities = [
    onNodes('kubernetes.io/arch', true, 'amd64'),
    onNodes('karpenter.sh/capacity-type', true, 'on-demand'),
    onNodes('karpenter.azure.com/sku-family', false, 'D', 'E'),
    onNodes('karpenter.azure.com/sku-family', true, 'E', 'F'),
    onNodes('karpenter.k8s.aws/instance-category', true, 'm', 'r'),
    onNodes(ZONE, true, `${region}-1`, zone),
    onNodes(ZONE, false, zone),
  ];
  return fc.oneof(
    { weight: 5, arbitrary: fc.constant({}) },
    { weight: 2, arbitrary: fc.constantFrom(...SELECTORS).map((nodeSelector) => ({ nodeSelector })) },
    { weight: 1, arbitrary: fc.constant({ nodeSelector: { [ZONE]: zone } }) },
    { weight: 2, arbitrary: fc.constantFrom(...affinities).map((affinity) => ({ affinity })) },
    { weight: 1, arbitrary: fc.constant({ tolerations: [{ operator: 'Exists' }] }) },
    { weight: 1, arbitrary: fc.constant({ priority: 1_000_000 }) },
  );
}

const chartPods = fc.constantFrom(...CHARTS).map(({ replicas, spec }) => ({ replicas, spec }));

const spreads = fc.constantFrom(
  spread(ZONE, true),
  spread(ZONE, false),
  spread(ZONE, true, 2),
  spread(HOST, true),
  spread('karpenter.sh/capacity-type', true),
  spread('kubernetes.io/arch', false),
);

/** A task of the trace, alone or with a usual rule. */
function tracePods() {
  return fc
    .record({
      request: fc.constantFrom(...traceRequests()),
      isWithoutGpus: fc.boolean(),
      spreads: seldom(spreads, 4),
      isApart: seldom(fc.constantFrom([HOST, true] as const, [ZONE, true] as const, [HOST, false] as const), 6),
      replicas: fc.integer({ min: 1, max: 12 }),
    })
    .map(({ request, isWithoutGpus, replicas, ...rules }) => ({
      replicas,
      spec: (matchLabels: Readonly<Record<string, string>>): PodSpec => ({
        containers: [{ name: 'task', resources: resourcesOf(request, isWithoutGpus) }],
        topologySpreadConstraints: rules.spreads.map((constraint) => constraint({ matchLabels })),
        ...Object.assign(
          {},
          ...rules.isApart.map(([key, isHard]) => ({ affinity: apart(key, isHard)({ matchLabels }) })),
        ),
        tolerations: [{ key: 'nvidia.com/gpu', operator: 'Exists' }],
      }),
    }));
}

function resourcesOf({ cpuMilli, memoryMib, gpus }: TraceRequest, isWithoutGpus: boolean) {
  const requests = { cpu: `${cpuMilli}m`, memory: `${memoryMib}Mi` };
  return gpus === 0 || isWithoutGpus ? { requests } : { requests, limits: { 'nvidia.com/gpu': String(gpus) } };
}

/** Deployments of a few kinds: charts and tasks, some with a rule of the user's own. */
export function drawnWorkloads(region: string): fc.Arbitrary<ReadonlyArray<WorkloadManifest>> {
  const one = fc.tuple(
    fc.oneof({ weight: 3, arbitrary: chartPods }, { weight: 2, arbitrary: tracePods() }),
    addedRules(region),
    seldom(fc.integer({ min: 1, max: 9 }), 4),
  );
  return fc.array(one, { minLength: 1, maxLength: 4 }).map((drawn) =>
    drawn.map(([{ replicas, spec }, added, [other]], index) => {
      const name = `workload-${index}`;
      return workload(name, other ?? replicas, { ...spec({ app: name }), ...added });
    }),
  );
}

/** A node of the cluster, as a manifest. */
export type NodeManifest = Node & { readonly apiVersion: string; readonly kind: string };

/** A node that is there: of the region, of a drawn pool or of none, in a zone or without one. */
export function drawnNodes(region: string): fc.Arbitrary<ReadonlyArray<NodeManifest>> {
  const one = fc.record({
    cpu: fc.constantFrom(2, 4, 16),
    zone: fc.constantFrom('0', `${region}-1`, `${region}-2`, `${region}-3`),
    pool: fc.constantFrom(
      {},
      { 'kubernetes.azure.com/agentpool': 'system' },
      {
        'karpenter.sh/nodepool': 'pool-0',
        'karpenter.sh/registered': 'true',
        'karpenter.sh/initialized': 'true',
      },
    ),
    isSystem: fc.boolean(),
  });
  return fc.oneof(
    { weight: 3, arbitrary: fc.constant([]) },
    {
      weight: 1,
      arbitrary: fc.array(one, { minLength: 1, maxLength: 2 }).map((drawn) =>
        drawn.map(({ cpu, zone, pool, isSystem }, index): NodeManifest => {
          const name = `node-${index}`;
          const allocatable = { cpu: String(cpu), memory: `${cpu * 3}Gi`, pods: '110' };
          return {
            apiVersion: 'v1',
            kind: 'Node',
            metadata: {
              name,
              labels: {
                [HOST]: name,
                'kubernetes.io/arch': 'amd64',
                'kubernetes.io/os': 'linux',
                'karpenter.sh/capacity-type': 'on-demand',
                [ZONE]: zone,
                ...pool,
              },
            },
            spec: isSystem ? { taints: [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }] } : {},
            status: { allocatable, capacity: allocatable },
          };
        }),
      ),
    },
  );
}
