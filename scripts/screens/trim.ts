import { annotation, label } from '../../shared/contract/names.ts';
import type { Labels } from '../../shared/kubernetes/manifest.ts';
import type { KubernetesObject, Node, Pod } from '../../sandbox/kubernetes/client/objects.ts';
import type { NodeClaim } from '../../sandbox/start/view/cluster-objects.ts';
import type { Observed } from '../../sandbox/start/view/observe-cluster.ts';
import type { View } from '../../sandbox/start/view/view.ts';
import type { Recording } from './recording.ts';

/** Labels and annotations that the screen reads. */
const LABELS = new Set<string>([label.instanceType, label.zone, label.capacityType, 'app']);
const ANNOTATIONS = new Set<string>([
  annotation.decision,
  annotation.plannedOffering,
  annotation.interruption,
  annotation.doNotDisrupt,
]);

/** The cluster with those fields only that the screen reads. Events: those whose reason the view gives. */
export function trim(
  { pods, nodes, claims, budgets, events }: Pick<Observed, 'pods' | 'nodes' | 'claims' | 'budgets' | 'events'>,
  view: View | null,
): Pick<Recording, 'pods' | 'nodes' | 'claims' | 'budgets' | 'events'> {
  const reasons = (view?.waiting ?? []).map(({ reason }) => reason);
  return {
    pods: [...pods.values()].flatMap(trimPod),
    nodes: [...nodes.values()].map(trimNode),
    claims: [...claims.values()].map(trimClaim),
    budgets: [...budgets.values()].map(({ metadata, spec, status }) => ({
      metadata: trimMetadata(metadata),
      ...(spec?.selector === undefined ? {} : { spec: { selector: spec.selector } }),
      status: { disruptionsAllowed: status?.disruptionsAllowed ?? 0 },
    })),
    events: [...events.values()]
      .filter(({ message = '' }) => reasons.some((reason) => message.endsWith(reason)))
      .map(({ metadata, involvedObject: { kind = '', uid = '' }, reason = '', message = '' }) => {
        return { metadata: trimMetadata(metadata), involvedObject: { kind, uid }, reason, message };
      }),
  };
}

/** Pods of the cluster itself are not on the screen. */
function trimPod({ metadata, spec, status }: Pod): ReadonlyArray<Pod> {
  if (metadata.namespace === 'kube-system') return [];
  const containers = spec.containers.map(({ name, resources }) => ({
    name,
    ...(resources === undefined ? {} : { resources }),
  }));
  const where = spec.nodeName === undefined ? {} : { nodeName: spec.nodeName };
  return [
    {
      metadata: trimMetadata(metadata),
      spec: { ...where, containers },
      ...(status?.phase === undefined ? {} : { status: { phase: status.phase } }),
    },
  ];
}

function trimNode({ metadata, spec, status }: Node): Node {
  return {
    metadata: trimMetadata(metadata),
    ...(spec?.taints === undefined ? {} : { spec: { taints: spec.taints } }),
    status: {
      allocatable: status?.allocatable ?? {},
      conditions: (status?.conditions ?? [])
        .filter(({ type }) => type === 'Ready')
        .map(({ type, status: is }) => ({ type, status: is })),
    },
  };
}

function trimClaim({ metadata, spec, status }: NodeClaim): NodeClaim {
  const { nodeName, conditions = [] } = status ?? {};
  return {
    metadata: trimMetadata(metadata),
    ...(spec?.startupTaints === undefined ? {} : { spec: { startupTaints: spec.startupTaints } }),
    status: {
      ...(nodeName === undefined ? {} : { nodeName }),
      conditions: conditions
        .filter(({ type }) => type === 'Launched' || type === 'Registered')
        .map(({ type, status: is }) => ({ type, status: is })),
    },
  };
}

function trimMetadata(metadata: KubernetesObject['metadata']): KubernetesObject['metadata'] {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp } = metadata;
  const [labels, annotations] = [only(metadata.labels, LABELS), only(metadata.annotations, ANNOTATIONS)];
  return {
    name,
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
    creationTimestamp,
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(Object.keys(labels).length === 0 ? {} : { labels }),
    ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
  };
}

function only(map: Labels = {}, wanted: ReadonlySet<string>): Labels {
  return Object.fromEntries(Object.entries(map).filter(([key]) => wanted.has(key)));
}
