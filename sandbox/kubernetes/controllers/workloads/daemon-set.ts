import type { Toleration } from '../../../../shared/kubernetes/manifest.ts';
import { controllerOf, isFinished, keyOf, type Node, type Pod } from '../../client/objects.ts';
import { matchesNodeAffinity, untolerated } from '../../matching.ts';
import { isSameJson, shortHash, type ControllerContext } from '../controller-context.ts';
import { availableInMs, isActive, isReady, openPodControl, type PodControl, type PodTemplate } from '../pod-control.ts';
import { resolveCount, type DaemonSet } from './workloads.ts';

const HASH_LABEL = 'controller-revision-hash';

/** What every daemon pod tolerates, so that a sick node keeps its daemons. */
const daemonTolerations: ReadonlyArray<Toleration> = [
  { key: 'node.kubernetes.io/not-ready', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/unreachable', operator: 'Exists', effect: 'NoExecute' },
  { key: 'node.kubernetes.io/disk-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/memory-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/pid-pressure', operator: 'Exists', effect: 'NoSchedule' },
  { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
];
const networkToleration: Toleration = {
  key: 'node.kubernetes.io/network-unavailable',
  operator: 'Exists',
  effect: 'NoSchedule',
};

/** Keeps one pod of each DaemonSet on every node that its template allows, whatever room there is. */
export function runDaemonSets(context: ControllerContext): void {
  const sets = context.watch<DaemonSet>('/apis/apps/v1/daemonsets');
  const control = openPodControl(context, 'apps/v1', 'DaemonSet');
  const loop = context.loop('daemonset', async (key) => {
    const set = sets.objects.get(key);
    if (set !== undefined) await reconcile(context, control, set);
  });
  const all = (): void => {
    for (const key of sets.objects.keys()) loop.enqueue(key);
  };
  sets.listen({
    onChange: (set) => {
      loop.enqueue(keyOf(set));
    },
    onDelete: () => undefined,
  });
  context.nodes.listen({
    onChange: (node, previous) => {
      const before = [previous?.spec, previous?.metadata.labels];
      if (!isSameJson(before, [node.spec, node.metadata.labels])) all();
    },
    onDelete: all,
  });
  const onPod = (pod: Pod): void => {
    const owner = controllerOf(pod);
    if (owner?.kind === 'DaemonSet') loop.enqueue(`${pod.metadata.namespace ?? ''}/${owner.name}`);
  };
  context.pods.listen({ onChange: onPod, onDelete: onPod });
}

interface Wanted {
  readonly create: ReadonlyArray<PodTemplate>;
  readonly remove: ReadonlyArray<Pod>;
}

async function reconcile(context: ControllerContext, control: PodControl, set: DaemonSet): Promise<void> {
  if (set.metadata.deletionTimestamp !== undefined) return;
  const template = daemonTemplate(set);
  const nodes = [...context.nodes.objects.values()];
  const pods = context.podsOf(set.metadata.uid);
  const byNode = new Map<string, Array<Pod>>();
  for (const pod of pods) {
    const name = nodeNameOf(pod);
    byNode.set(name, [...(byNode.get(name) ?? []), pod]);
  }
  if (!control.isBehind(set)) {
    const { create, remove } = wantedPods(set, template, nodes, byNode);
    await control.remove(set, remove);
    await control.create(set, create);
  }
  await reportStatus(context, set, { template, nodes, byNode });
}

/** The pod's node, bound or only meant: daemon pods are pinned by affinity and bound by the scheduler. */
function nodeNameOf({ spec }: Pod): string {
  if (spec.nodeName !== undefined) return spec.nodeName;
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  return terms?.[0]?.matchFields?.find(({ key }) => key === 'metadata.name')?.values?.[0] ?? '';
}

function wantedPods(
  set: DaemonSet,
  template: PodTemplate,
  nodes: ReadonlyArray<Node>,
  byNode: ReadonlyMap<string, ReadonlyArray<Pod>>,
): Wanted {
  const create: Array<PodTemplate> = [];
  const remove: Array<Pod> = [];
  const known = new Set(nodes.map(({ metadata }) => metadata.name));
  for (const node of nodes) {
    const own = byNode.get(node.metadata.name) ?? [];
    const { shouldRun, mayStay } = fitOf(template, node);
    const active = own.filter(isActive);
    remove.push(...own.filter((pod) => isFinished(pod) && pod.metadata.deletionTimestamp === undefined));
    if (!mayStay) remove.push(...active);
    else if (active.length > 1) remove.push(...oldestFirst(active).slice(1));
    else if (shouldRun && own.length === 0) create.push(pinned(template, node.metadata.name));
  }
  for (const [name, own] of byNode) if (!known.has(name)) remove.push(...own.filter(isActive));
  return { create, remove: [...remove, ...outdated(set, template, nodes, byNode)] };
}

function fitOf({ spec }: PodTemplate, node: Node): { readonly shouldRun: boolean; readonly mayStay: boolean } {
  const matches = matchesNodeAffinity({ spec, metadata: node.metadata }, node);
  const { tolerations } = spec;
  return {
    shouldRun: matches && untolerated(tolerations, node.spec?.taints, ['NoSchedule', 'NoExecute']) === undefined,
    mayStay: matches && untolerated(tolerations, node.spec?.taints, ['NoExecute']) === undefined,
  };
}

/** Pods of an earlier template that a rolling update may take now. */
function outdated(
  { spec }: DaemonSet,
  template: PodTemplate,
  nodes: ReadonlyArray<Node>,
  byNode: ReadonlyMap<string, ReadonlyArray<Pod>>,
): ReadonlyArray<Pod> {
  if (spec.updateStrategy?.type === 'OnDelete') return [];
  const hash = template.metadata?.labels?.[HASH_LABEL];
  let unavailable = 0;
  const old: Array<Pod> = [];
  for (const { metadata } of nodes) {
    const own = byNode.get(metadata.name) ?? [];
    const pod = own.find(isActive);
    if (own.length > 0 && (pod === undefined || !isReady(pod))) unavailable++;
    if (pod !== undefined && pod.metadata.labels?.[HASH_LABEL] !== hash) old.push(pod);
  }
  const allowed = mayBeUnavailable(spec, nodes.length);
  const notReady = old.filter((pod) => !isReady(pod));
  const ready = old.filter(isReady).slice(0, Math.max(0, allowed - unavailable));
  return [...notReady, ...ready];
}

function mayBeUnavailable({ updateStrategy }: DaemonSet['spec'], nodes: number): number {
  return Math.max(1, resolveCount(updateStrategy?.rollingUpdate?.maxUnavailable ?? 1, nodes, 'up'));
}

function oldestFirst(pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const rank = (pod: Pod): number => (pod.spec.nodeName === undefined ? 1 : 0);
  return pods.toSorted(
    (a, b) =>
      rank(a) - rank(b) ||
      Date.parse(a.metadata.creationTimestamp) - Date.parse(b.metadata.creationTimestamp) ||
      (a.metadata.uid < b.metadata.uid ? -1 : 1),
  );
}

function daemonTemplate({ spec }: DaemonSet): PodTemplate {
  const { template } = spec;
  const extra = template.spec.hostNetwork === true ? [...daemonTolerations, networkToleration] : daemonTolerations;
  const labels = { ...template.metadata?.labels, [HASH_LABEL]: shortHash(template) };
  return {
    ...template,
    metadata: { ...template.metadata, labels },
    spec: { ...template.spec, tolerations: [...(template.spec.tolerations ?? []), ...extra] },
  };
}

function pinned(template: PodTemplate, nodeName: string): PodTemplate {
  const nodeAffinity = template.spec.affinity?.nodeAffinity;
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [{}];
  const matchFields = [{ key: 'metadata.name', operator: 'In', values: [nodeName] }];
  const affinity = {
    ...template.spec.affinity,
    nodeAffinity: {
      ...nodeAffinity,
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: terms.map(() => ({ matchFields })).slice(0, 1),
      },
    },
  };
  return { ...template, spec: { ...template.spec, affinity } };
}

interface Observed {
  readonly template: PodTemplate;
  readonly nodes: ReadonlyArray<Node>;
  readonly byNode: ReadonlyMap<string, ReadonlyArray<Pod>>;
}

async function reportStatus(
  { connection, clock }: ControllerContext,
  set: DaemonSet,
  observed: Observed,
): Promise<void> {
  const { template, nodes, byNode } = observed;
  const count = { desired: 0, current: 0, misscheduled: 0, ready: 0, available: 0, updated: 0 };
  for (const node of nodes) {
    const [pod] = oldestFirst((byNode.get(node.metadata.name) ?? []).filter(isActive));
    const { shouldRun } = fitOf(template, node);
    if (shouldRun) count.desired++;
    if (pod === undefined) continue;
    if (!shouldRun) {
      count.misscheduled++;
      continue;
    }
    count.current++;
    if (isReady(pod)) count.ready++;
    if (availableInMs(pod, set.spec.minReadySeconds ?? 0, clock.now()) === 0) count.available++;
    if (pod.metadata.labels?.[HASH_LABEL] === template.metadata?.labels?.[HASH_LABEL]) count.updated++;
  }
  const status = {
    desiredNumberScheduled: count.desired,
    currentNumberScheduled: count.current,
    numberMisscheduled: count.misscheduled,
    numberReady: count.ready,
    numberAvailable: count.available,
    numberUnavailable: count.desired - count.available,
    updatedNumberScheduled: count.updated,
    observedGeneration: set.metadata.generation,
  };
  const shown = Object.fromEntries(Object.keys(status).map((key) => [key, set.status?.[key] ?? 0]));
  if (isSameJson(status, shown)) return;
  const { namespace, name } = set.metadata;
  await connection.patch(`/apis/apps/v1/namespaces/${namespace ?? ''}/daemonsets/${name}/status`, 'merge', { status });
}
