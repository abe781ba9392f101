/** Requirements of a pool as its manifest has them. */
interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values: ReadonlyArray<string>;
}

const D_FAMILY: Requirement = { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['D'] };

export const nodeClass = {
  apiVersion: 'karpenter.azure.com/v1beta1',
  kind: 'AKSNodeClass',
  metadata: { name: 'default' },
  spec: {},
} as const;

/** A pool of D sizes, on demand and without consolidation unless told. */
export function nodePool(
  name: string,
  options: {
    readonly capacityTypes?: ReadonlyArray<'spot' | 'on-demand'>;
    readonly requirements?: ReadonlyArray<Requirement>;
    readonly nodeClass?: string;
    readonly spec?: object;
    readonly labels?: Readonly<Record<string, string>>;
    readonly template?: object;
  } = {},
): object {
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      // Nodes stay until a test has them go: what is made can be counted.
      disruption: { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' },
      ...options.spec,
      template: {
        metadata: { labels: options.labels ?? {} },
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: options.nodeClass ?? 'default' },
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: options.capacityTypes ?? ['on-demand'] },
            { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
            ...(options.requirements ?? [D_FAMILY]),
          ],
          expireAfter: 'Never',
          ...options.template,
        },
      },
    },
  };
}

/** Pods that ask for room and do nothing. */
export function deployment(
  name: string,
  replicas: number,
  options: {
    readonly cpu?: string;
    readonly memory?: string;
    readonly pod?: object;
    readonly graceSeconds?: number;
  } = {},
): object {
  return {
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default' },
    spec: {
      replicas,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: {
          terminationGracePeriodSeconds: options.graceSeconds ?? 0,
          containers: [
            {
              name: 'pause',
              image: 'mcr.microsoft.com/oss/kubernetes/pause:3.9',
              resources: { requests: { cpu: options.cpu ?? '1', memory: options.memory ?? '1Gi' } },
            },
          ],
          ...options.pod,
        },
      },
    },
  };
}

/** At most one pod of `app` on a node. */
export function oneToANode(app: string): object {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } };
  return { affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } };
}

export function podDisruptionBudget(app: string, minAvailable: number): object {
  return {
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: app, namespace: 'default' },
    spec: { minAvailable, selector: { matchLabels: { app } } },
  };
}
