import { isRecord } from '../../../shared/contract/api/schema/object-meta.ts';
import { textAt } from '../json-fields.ts';
import { groupOf } from './kinds.ts';
import type { InputObject } from '../objects.ts';

/** Kubernetes' own groups. All that makes pods in them is known to a plan. Source: Kubernetes API 1.36. */
const OWN_GROUPS: ReadonlySet<string> = new Set([
  '',
  'admissionregistration.k8s.io',
  'apiextensions.k8s.io',
  'apiregistration.k8s.io',
  'apps',
  'authentication.k8s.io',
  'authorization.k8s.io',
  'autoscaling',
  'batch',
  'certificates.k8s.io',
  'coordination.k8s.io',
  'discovery.k8s.io',
  'events.k8s.io',
  'flowcontrol.apiserver.k8s.io',
  'internal.apiserver.k8s.io',
  'networking.k8s.io',
  'node.k8s.io',
  'policy',
  'rbac.authorization.k8s.io',
  'resource.k8s.io',
  'scheduling.k8s.io',
  'storage.k8s.io',
  'storagemigration.k8s.io',
]);

/** Groups of others whose kinds are settings: none makes a pod. */
const GROUPS_WITHOUT_PODS: ReadonlySet<string> = new Set([
  'acme.cert-manager.io',
  'autoscaling.k8s.io',
  'bitnami.com',
  'cert-manager.io',
  'cilium.io',
  'config.gatekeeper.sh',
  'constraints.gatekeeper.sh',
  'crd.projectcalico.org',
  'external-secrets.io',
  'gateway.networking.k8s.io',
  'karpenter.k8s.aws',
  'kueue.x-k8s.io',
  'kustomize.config.k8s.io',
  'kyverno.io',
  'metrics.k8s.io',
  'networking.istio.io',
  'projectcalico.org',
  'secrets-store.csi.x-k8s.io',
  'security.istio.io',
  'snapshot.storage.k8s.io',
  'telemetry.istio.io',
  'templates.gatekeeper.sh',
  'traefik.containo.us',
  'traefik.io',
]);

/**
 * Kinds that make pods and need not show it in a template of them, by group; a group without a list makes them with
 * any.
 */
const MAKERS: ReadonlyMap<string, ReadonlySet<string> | 'all'> = new Map<string, ReadonlySet<string> | 'all'>([
  ['argoproj.io', new Set(['CronWorkflow', 'Rollout', 'Workflow'])],
  ['ceph.rook.io', 'all'],
  ['flink.apache.org', 'all'],
  ['jobset.x-k8s.io', 'all'],
  ['kafka.strimzi.io', new Set(['Kafka', 'KafkaBridge', 'KafkaConnect', 'KafkaMirrorMaker2', 'KafkaNodePool'])],
  ['keda.sh', new Set(['ScaledJob'])],
  ['kubeflow.org', 'all'],
  ['kubernetes.dask.org', 'all'],
  ['leaderworkerset.x-k8s.io', 'all'],
  ['monitoring.coreos.com', new Set(['Alertmanager', 'Prometheus', 'PrometheusAgent', 'ThanosRuler'])],
  ['ray.io', 'all'],
  ['serving.knative.dev', 'all'],
  ['serving.kserve.io', 'all'],
  ['sparkoperator.k8s.io', 'all'],
  ['temporal.io', 'all'],
]);

/** Of these groups, what is not a maker is a setting. */
const SETTINGS_BESIDE_MAKERS: ReadonlySet<string> = new Set(['kafka.strimzi.io', 'keda.sh', 'monitoring.coreos.com']);

/** Elastic has a group for each of its products. */
const ELASTIC = '.k8s.elastic.co';

/** Pods are described no deeper in any kind that is known. */
const DEEPEST = 10;

/** What a plan leaves aside, told by what that means for it: one line for each of three kinds of consequences. */
export function notesOnIgnored(given: ReadonlyArray<InputObject>): ReadonlyArray<string> {
  const by = Map.groupBy(given, consequenceOf);
  const line = (text: string, which: Consequence): ReadonlyArray<string> => {
    const own = by.get(which) ?? [];
    return own.length === 0 ? [] : [`${text}: ${countsOf(own)}`];
  };
  return [
    ...line('ignored, as no plan depends on it', 'none'),
    ...line('the pods that these make are not planned', 'pods'),
    ...line('of kinds that are not known: they may make pods, which are not planned', 'perhaps-pods'),
  ];
}

type Consequence = 'none' | 'pods' | 'perhaps-pods';

function consequenceOf({ apiVersion, kind, value }: InputObject): Consequence {
  const group = groupOf(apiVersion);
  // Of what was read from a cluster the pods are there, and are given or not by themselves.
  if (OWN_GROUPS.has(group) || textAt(value, 'metadata', 'uid') !== '') return 'none';
  const makers = group.endsWith(ELASTIC) ? 'all' : MAKERS.get(group);
  if (makers === 'all' || makers?.has(kind) === true) return 'pods';
  if (GROUPS_WITHOUT_PODS.has(group) || SETTINGS_BESIDE_MAKERS.has(group)) return 'none';
  return hasContainers(value, DEEPEST) ? 'pods' : 'perhaps-pods';
}

/** Does some part of it list containers with images, as a pod's spec does? */
function hasContainers(value: unknown, levels: number): boolean {
  if (levels === 0) return false;
  if (Array.isArray(value)) return value.some((one) => hasContainers(one, levels - 1));
  if (!isRecord(value)) return false;
  const { containers } = value;
  if (Array.isArray(containers) && containers.some((one) => textAt(one, 'image') !== '')) return true;
  return Object.values(value).some((one) => hasContainers(one, levels - 1));
}

function countsOf(given: ReadonlyArray<InputObject>): string {
  return [...Map.groupBy(given, titleOf)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([title, own]) => `${own.length} ${title}`)
    .join(', ');
}

/** Others use names of Kubernetes' own kinds, so theirs are named with their group. */
function titleOf({ apiVersion, kind }: InputObject): string {
  const group = groupOf(apiVersion);
  return OWN_GROUPS.has(group) ? kind : `${kind} (${group})`;
}
