import { oneToANode } from '../e2e/kit/manifests.ts';

/** A Deployment of the soak: `web` spreads over zones, `shy` keeps to one per node, and so on. */
export interface App {
  readonly name: string;
  readonly cpu: string;
  readonly memory: string;
  readonly replicas: { readonly first: number; readonly most: number };
  /** False where no machine is large enough. */
  readonly canRun: boolean;
  /** True: its pods say `karpenter.sh/do-not-disrupt`. */
  readonly isProtected: boolean;
  /** True: a PodDisruptionBudget lets one of its pods go at a time. */
  readonly hasBudget: boolean;
  /** Further fields of the pod's spec. */
  readonly pod: object;
}

/** A Job of the soak. */
export interface Job {
  readonly name: string;
  readonly pods: number;
  readonly cpu: string;
  readonly seconds: number;
  readonly isBatch: boolean;
  readonly isProtected: boolean;
}

/** The pool that a test adds and removes. */
export interface ExtraPool {
  readonly name: string;
  readonly weight: number;
  readonly capacityTypes: ReadonlyArray<'spot' | 'on-demand'>;
  /** In whole cores; null: none. */
  readonly limitCpu: number | null;
}

const plain = { canRun: true, isProtected: false, hasBudget: false, pod: {} } as const;

/** Spot comes first by its pool's weight: without these the pool on demand would stay empty. */
const onDemand = { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } } as const;

const batchPod = {
  nodeSelector: { 'soak.test/batch': 'true' },
  tolerations: [{ key: 'soak.test/batch', operator: 'Exists', effect: 'NoSchedule' }],
} as const;

/** All Deployments, in the order in which they are applied. */
export const apps: ReadonlyArray<App> = [
  {
    ...plain,
    name: 'web',
    cpu: '500m',
    memory: '1Gi',
    replicas: { first: 6, most: 12 },
    hasBudget: true,
    pod: {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
    },
  },
  { ...plain, name: 'shy', cpu: '250m', memory: '256Mi', replicas: { first: 3, most: 6 }, pod: oneToANode('shy') },
  {
    ...plain,
    name: 'api',
    cpu: '1',
    memory: '2Gi',
    replicas: { first: 3, most: 8 },
    hasBudget: true,
    pod: { ...onDemand, priorityClassName: 'soak-high' },
  },
  {
    ...plain,
    name: 'low',
    cpu: '700m',
    memory: '1Gi',
    replicas: { first: 4, most: 12 },
    pod: { priorityClassName: 'soak-low' },
  },
  { ...plain, name: 'steady', cpu: '500m', memory: '512Mi', replicas: { first: 2, most: 4 }, isProtected: true },
  { ...plain, name: 'big', cpu: '3', memory: '6Gi', replicas: { first: 1, most: 4 }, pod: onDemand },
  { ...plain, name: 'small', cpu: '100m', memory: '128Mi', replicas: { first: 15, most: 40 } },
  { ...plain, name: 'memory', cpu: '250m', memory: '4Gi', replicas: { first: 2, most: 8 } },
  { ...plain, name: 'batch', cpu: '500m', memory: '1Gi', replicas: { first: 1, most: 6 }, pod: batchPod },
  { ...plain, name: 'never', cpu: '900', memory: '1Gi', replicas: { first: 0, most: 2 }, canRun: false },
];

/** The label by which a pod is known to be the soak's: the name of its app, or of its Job. */
export const APP_LABEL = 'app';

/** How many nodes of each pool may be removed at once by our own choice. */
export const POOL_BUDGET = 3;

const budgets = [{ nodes: String(POOL_BUDGET) }];

function pool(name: string, spec: object, requirements: ReadonlyArray<object>, template: object = {}): object {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '15s', budgets },
      ...spec,
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          expireAfter: 'Never',
          ...template,
          requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }, ...requirements],
        },
      },
    },
  };
}

const capacity = (values: ReadonlyArray<string>): object => ({
  key: 'karpenter.sh/capacity-type',
  operator: 'In',
  values,
});
const family = (values: ReadonlyArray<string>): object => ({
  key: 'karpenter.azure.com/sku-family',
  operator: 'In',
  values,
});

/**
 * What is there from the start: spot first by its weight, on demand whose nodes grow old, and a tainted one for
 * batches.
 */
export const pools: ReadonlyArray<object> = [
  pool('spot', { weight: 50 }, [capacity(['spot']), family(['D', 'E', 'F'])]),
  pool('general', {}, [capacity(['on-demand']), family(['D', 'E'])], { expireAfter: '6m' }),
  withLabels(
    pool('batch', {}, [capacity(['spot', 'on-demand']), family(['D', 'F'])], {
      taints: [{ key: 'soak.test/batch', value: 'true', effect: 'NoSchedule' }],
    }),
    { 'soak.test/batch': 'true' },
  ),
];

function withLabels(manifest: object, labels: Readonly<Record<string, string>>): object {
  const { spec } = manifest as { readonly spec: { readonly template: object } };
  return { ...manifest, spec: { ...spec, template: { metadata: { labels }, ...spec.template } } };
}

/** The manifest of a pool that comes and goes. */
export function extraPool({ name, weight, capacityTypes, limitCpu }: ExtraPool): object {
  const limits = limitCpu === null ? {} : { limits: { cpu: String(limitCpu) } };
  return pool(name, { weight, ...limits }, [capacity(capacityTypes), family(['D'])]);
}

/** Priorities: pods of the one make room by taking it from pods of the other. */
export const priorities: ReadonlyArray<object> = [['soak-high', 1_000] as const, ['soak-low', -10] as const].map(
  ([name, value]) => ({
    apiVersion: 'scheduling.k8s.io/v1',
    kind: 'PriorityClass',
    metadata: { name },
    value,
    globalDefault: false,
  }),
);

/** The manifests of an app: its Deployment, and its budget where it has one. */
export function appManifests(app: App, replicas: number): ReadonlyArray<object> {
  const { name } = app;
  const selector = { matchLabels: { [APP_LABEL]: name } };
  const deployment = {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: { replicas, selector, template: podTemplate(app) },
  };
  const budget = {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name, namespace: 'default' },
    spec: { maxUnavailable: 1, selector },
  };
  return app.hasBudget ? [deployment, budget] : [deployment];
}

/** The manifest of a Job, all of whose pods run at once. It is gone soon after its end. */
export function jobManifest(job: Job): object {
  const template = podTemplate({
    name: job.name,
    cpu: job.cpu,
    memory: '512Mi',
    isProtected: job.isProtected,
    pod: { restartPolicy: 'Never', ...(job.isBatch ? batchPod : {}) },
    annotations: { 'nodewright.dev/run-seconds': String(job.seconds) },
  });
  return {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: job.name, namespace: 'default' },
    spec: { parallelism: job.pods, completions: job.pods, backoffLimit: 20, ttlSecondsAfterFinished: 20, template },
  };
}

function podTemplate(
  of: Pick<App, 'name' | 'cpu' | 'memory' | 'isProtected' | 'pod'> & {
    readonly annotations?: Readonly<Record<string, string>>;
  },
): object {
  const held = of.isProtected ? { 'karpenter.sh/do-not-disrupt': 'true' } : {};
  return {
    metadata: { labels: { [APP_LABEL]: of.name }, annotations: { ...of.annotations, ...held } },
    spec: {
      terminationGracePeriodSeconds: 2,
      containers: [
        {
          name: 'pause',
          image: 'mcr.microsoft.com/oss/kubernetes/pause:3.9',
          resources: { requests: { cpu: of.cpu, memory: of.memory } },
        },
      ],
      ...of.pod,
    },
  };
}
