import { isApiError } from '../../client/connection.ts';
import { controllerOf, isFinished, keyOf, podPath, type Pod } from '../../client/objects.ts';
import { matchesSelector } from '../../matching.ts';
import { isSameJson, type ControllerContext, type Shared } from '../controller-context.ts';
import { availableInMs, inParallel, isActive, isReady, openPodControl, type PodControl } from '../pod-control.ts';
import type { ReplicaSet } from './workloads.ts';

/** Pods made or removed in one pass: the real controller's burst. */
const BURST = 500;
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/** Keeps each ReplicaSet at its number of pods: adopts, creates, removes the least useful first, reports status. */
export function runReplicaSets(context: ControllerContext): Shared<ReplicaSet> {
  const sets = context.watch<ReplicaSet>('/apis/apps/v1/replicasets');
  const control = openPodControl(context, 'apps/v1', 'ReplicaSet');
  const loop = context.loop('replicaset', (key) =>
    reconcile(context, control, sets.objects.get(key), loop.enqueueAfter),
  );
  sets.listen({
    onChange: (set) => {
      loop.enqueue(keyOf(set));
    },
    onDelete: () => undefined,
  });
  const onPod = (pod: Pod): void => {
    const owner = controllerOf(pod);
    if (owner?.kind === 'ReplicaSet') loop.enqueue(`${pod.metadata.namespace ?? ''}/${owner.name}`);
    if (owner !== undefined || !isActive(pod)) return;
    for (const set of sets.objects.values()) if (canAdopt(set, pod)) loop.enqueue(keyOf(set));
  };
  context.pods.listen({ onChange: onPod, onDelete: onPod });
  return sets;
}

function canAdopt({ metadata, spec }: ReplicaSet, pod: Pod): boolean {
  return metadata.namespace === pod.metadata.namespace && matchesSelector(spec.selector, pod.metadata.labels);
}

async function reconcile(
  context: ControllerContext,
  control: PodControl,
  set: ReplicaSet | undefined,
  enqueueAfter: (key: string, delayMs: number) => void,
): Promise<void> {
  if (set === undefined) return;
  if (set.metadata.deletionTimestamp === undefined) await claimPods(context, set);
  const pods = context.podsOf(set.metadata.uid).filter((pod) => !isFinished(pod));
  const active = pods.filter(isActive);
  if (set.metadata.deletionTimestamp === undefined && !control.isBehind(set)) {
    const missing = (set.spec.replicas ?? 1) - active.length;
    if (missing > 0) {
      await control.create(
        set,
        Array.from({ length: Math.min(missing, BURST) }, () => set.spec.template),
      );
    } else if (missing < 0) {
      await control.remove(set, leastUseful(active).slice(0, Math.min(-missing, BURST)));
    }
  }
  await reportStatus(context, set, active);
  const minReady = set.spec.minReadySeconds ?? 0;
  const waits = active.map((pod) => availableInMs(pod, minReady, context.clock.now()) ?? 0).filter((ms) => ms > 0);
  if (waits.length > 0) enqueueAfter(keyOf(set), Math.min(...waits) + 1);
}

/** Takes in orphans that match the selector, and lets go of own pods that do not. */
async function claimPods({ connection, pods, podsOf }: ControllerContext, set: ReplicaSet): Promise<void> {
  const { name, uid } = set.metadata;
  const strays = podsOf(uid).filter((pod) => isActive(pod) && !canAdopt(set, pod));
  await inParallel(strays, (pod) => patchOwners(pod, [{ $patch: 'delete', uid }]));
  // Looking through all pods for orphans is worth it only where there are fewer than wanted.
  if (podsOf(uid).filter(isActive).length >= (set.spec.replicas ?? 1)) return;
  const orphans = [...pods.objects.values()].filter(
    (pod) => controllerOf(pod) === undefined && isActive(pod) && canAdopt(set, pod),
  );
  const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid, controller: true, blockOwnerDeletion: true };
  await inParallel(orphans, (pod) => patchOwners(pod, [owner]));

  async function patchOwners(pod: Pod, ownerReferences: ReadonlyArray<object>): Promise<void> {
    try {
      await connection.patch(podPath(pod), 'strategic', { metadata: { uid: pod.metadata.uid, ownerReferences } });
    } catch (error) {
      if (!isApiError(error, 404) && !isApiError(error, 409)) throw error;
    }
  }
}

/**
 * In the order of the real controller: unbound, not running, not ready, cheap, crowded, newly ready, new ones first.
 */
function leastUseful(pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  const siblings = new Map<string, number>();
  for (const { spec } of pods) siblings.set(spec.nodeName ?? '', (siblings.get(spec.nodeName ?? '') ?? 0) + 1);
  const phaseRank: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };
  const rank = (pod: Pod): ReadonlyArray<number> => [
    pod.spec.nodeName === undefined ? 0 : 1,
    phaseRank[pod.status?.phase ?? 'Pending'] ?? 0,
    isReady(pod) ? 1 : 0,
    Number(pod.metadata.annotations?.[DELETION_COST] ?? 0) || 0,
    -(siblings.get(pod.spec.nodeName ?? '') ?? 0),
    -readySince(pod),
    -Date.parse(pod.metadata.creationTimestamp),
  ];
  const ranked = pods.map((pod) => ({ pod, rank: rank(pod) }));
  const order = ranked.toSorted((a, b) => {
    for (const [index, value] of a.rank.entries()) {
      const difference = value - (b.rank[index] ?? 0);
      if (difference !== 0) return difference;
    }
    return a.pod.metadata.uid < b.pod.metadata.uid ? -1 : 1;
  });
  return order.map(({ pod }) => pod);
}

function readySince(pod: Pod): number {
  const ready = pod.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready?.status === 'True' ? Date.parse(ready.lastTransitionTime ?? '') || 0 : 0;
}

async function reportStatus(
  { connection, clock }: ControllerContext,
  set: ReplicaSet,
  active: ReadonlyArray<Pod>,
): Promise<void> {
  const { namespace, name, generation } = set.metadata;
  const minReady = set.spec.minReadySeconds ?? 0;
  const labels = set.spec.template.metadata?.labels ?? {};
  const status = {
    replicas: active.length,
    fullyLabeledReplicas: active.filter((pod) => matchesSelector({ matchLabels: labels }, pod.metadata.labels)).length,
    readyReplicas: active.filter(isReady).length,
    availableReplicas: active.filter((pod) => availableInMs(pod, minReady, clock.now()) === 0).length,
    observedGeneration: generation,
  };
  const before = set.status ?? {};
  const shown = {
    replicas: before.replicas ?? 0,
    fullyLabeledReplicas: before.fullyLabeledReplicas ?? 0,
    readyReplicas: before.readyReplicas ?? 0,
    availableReplicas: before.availableReplicas ?? 0,
    observedGeneration: before.observedGeneration,
  };
  if (isSameJson(status, shown)) return;
  await connection.patch(`/apis/apps/v1/namespaces/${namespace ?? ''}/replicasets/${name}/status`, 'merge', { status });
}
