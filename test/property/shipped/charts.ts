import type {
  Affinity,
  Container,
  PodSpec,
  ResourceList,
  TopologySpreadConstraint,
} from '../../../shared/kubernetes/manifest.ts';

/** What the pods of one workload are, but for their labels, which rules select by. */
export interface Chart {
  readonly name: string;
  readonly replicas: number;
  readonly spec: (labels: Readonly<Record<string, string>>) => PodSpec;
}

type Rules = Omit<PodSpec, 'containers'>;
type RulesOf = (selector: { readonly matchLabels: Readonly<Record<string, string>> }) => Rules;

export const ZONE = 'topology.kubernetes.io/zone';
export const HOST = 'kubernetes.io/hostname';

/** At most `maxSkew` apart over a label of nodes. */
export function spread(key: string, isHard: boolean, maxSkew = 1): (selector: object) => TopologySpreadConstraint {
  const whenUnsatisfiable = isHard ? 'DoNotSchedule' : 'ScheduleAnyway';
  return (labelSelector) => ({ maxSkew, topologyKey: key, whenUnsatisfiable, labelSelector });
}

/** Apart from its own kind. */
export function apart(key: string, isHard: boolean): (selector: object) => Affinity {
  return (labelSelector) => {
    const term = { topologyKey: key, labelSelector };
    return {
      podAntiAffinity: isHard
        ? { requiredDuringSchedulingIgnoredDuringExecution: [term] }
        : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: term }] },
    };
  };
}

/** On nodes with one of these values of a label. */
export function onNodes(key: string, isHard: boolean, ...values: ReadonlyArray<string>): Affinity {
  const term = { matchExpressions: [{ key, operator: 'In', values }] };
  return {
    nodeAffinity: isHard
      ? { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } }
      : { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 50, preference: term }] },
  };
}

function container(name: string, requests: ResourceList, limits?: ResourceList): Container {
  return { name, resources: { requests, ...(limits === undefined ? {} : { limits }) } };
}

const of = (cpu: string, memory: string, more: ResourceList = {}): ResourceList => ({ cpu, memory, ...more });
const none: RulesOf = () => ({});

function chart(name: string, replicas: number, containers: ReadonlyArray<Container>, rules: RulesOf = none): Chart {
  return { name, replicas, spec: (matchLabels) => ({ containers, ...rules({ matchLabels }) }) };
}

const gpuTaint = { key: 'nvidia.com/gpu', operator: 'Exists', effect: 'NoSchedule' };
const spotTaint = {
  key: 'kubernetes.azure.com/scalesetpriority',
  operator: 'Equal',
  value: 'spot',
  effect: 'NoSchedule',
};

/**
 * What charts that many install ask for, in their own defaults or as their guides say to set them: the shape of their
 * requests and the rules that come with them.
 */
export const CHARTS: ReadonlyArray<Chart> = [
  chart('ingress', 2, [container('controller', of('100m', '90Mi'))], (selector) => ({
    affinity: apart(HOST, false)(selector),
    nodeSelector: { 'kubernetes.io/os': 'linux' },
  })),
  chart('ingress-edge', 3, [
    { ...container('controller', of('500m', '512Mi')), ports: [{ hostPort: 80 }, { hostPort: 443 }] },
  ]),
  chart(
    'prometheus',
    2,
    [container('prometheus', of('500m', '2Gi')), container('reloader', of('10m', '50Mi'))],
    (selector) => ({
      affinity: apart(HOST, true)(selector),
    }),
  ),
  chart('kafka', 3, [container('broker', of('2', '8Gi'), of('4', '8Gi'))], (selector) => ({
    topologySpreadConstraints: [spread(ZONE, true)(selector)],
    affinity: apart(HOST, true)(selector),
  })),
  chart('elasticsearch', 3, [container('data', of('1', '4Gi'), of('2', '4Gi'))], (selector) => ({
    affinity: apart(HOST, true)(selector),
    initContainers: [container('settings', of('50m', '50Mi'))],
  })),
  chart(
    'redis',
    3,
    [container('redis', of('250m', '256Mi')), container('sentinel', of('100m', '64Mi'))],
    (selector) => ({
      affinity: apart(ZONE, false)(selector),
    }),
  ),
  chart('postgres', 3, [container('postgres', of('2', '4Gi'))], (selector) => ({
    affinity: apart(ZONE, true)(selector),
    priority: 1_000,
  })),
  chart('cert-manager', 1, [container('controller', of('10m', '32Mi'))], () => ({
    nodeSelector: { 'kubernetes.io/os': 'linux' },
  })),
  chart('argo-cd', 2, [container('server', of('100m', '256Mi'))], (selector) => ({
    affinity: { ...apart(HOST, false)(selector), ...onNodes('kubernetes.io/os', true, 'linux') },
  })),
  chart('mesh', 5, [container('app', of('250m', '256Mi'))], (selector) => ({
    initContainers: [{ ...container('proxy', of('100m', '128Mi')), restartPolicy: 'Always' }],
    topologySpreadConstraints: [spread(ZONE, false)(selector), spread(HOST, false)(selector)],
  })),
  chart('autoscaler', 2, [container('operator', of('100m', '100Mi'), of('1', '1000Mi'))], (selector) => ({
    topologySpreadConstraints: [spread(HOST, true)(selector)],
  })),
  chart('spark-executor', 8, [container('executor', of('4', '9011Mi', { 'ephemeral-storage': '20Gi' }))], () => ({
    tolerations: [spotTaint],
    affinity: onNodes('karpenter.sh/capacity-type', false, 'spot'),
  })),
  chart('inference', 2, [container('server', of('4', '16Gi'), { 'nvidia.com/gpu': '1' })], () => ({
    tolerations: [gpuTaint],
  })),
  chart('inference-pinned', 1, [container('server', of('8', '64Gi'), { 'nvidia.com/gpu': '1' })], () => ({
    tolerations: [gpuTaint],
    nodeSelector: { 'karpenter.azure.com/sku-gpu-name': 'A100' },
  })),
  chart('web', 6, [container('web', of('250m', '512Mi'))], (selector) => ({
    topologySpreadConstraints: [spread(ZONE, true)(selector)],
  })),
  chart('batch', 4, [container('job', of('1500m', '3Gi'))], () => ({
    tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    nodeSelector: { 'kubernetes.io/arch': 'amd64' },
  })),
  chart('arm', 3, [container('web', of('500m', '1Gi'))], () => ({
    affinity: onNodes('kubernetes.io/arch', false, 'arm64'),
  })),
  chart('idle', 2, [{ name: 'sleep' }]),
];
