import type { Connection } from '../client/connection.ts';
import { isFinished, type KubernetesObject, type Node, type Pod } from '../client/objects.ts';
import { watchObjects, type Watched } from '../client/watch-objects.ts';
import { toPodInfo } from './cluster-state.ts';
import { filterAlone } from './node/filter-node.ts';
import type { DisruptionBudget } from './plan-preemption.ts';
import { SCHEDULER_NAME, type Parts, type Watches } from './scheduler-parts.ts';
import type { PersistentVolume, StorageClass, VolumeClaim } from './node/volume-needs.ts';

/** Opens the scheduler's watches: what they show goes into its picture, and wakes the pods that it may help. */
export function openWatches(connection: Connection, parts: () => Parts): Watches {
  const watch = <T extends KubernetesObject>(
    path: string,
    onChange: (object: T, previous: T | null) => void,
    onDelete: (object: T) => void,
  ): Watched<T> => watchObjects<T>({ connection, path, query: '', onChange, onDelete });
  const wakeVolumes = (): void => {
    parts().queue.wake(({ info }) => (info.pod.spec.volumes ?? []).length > 0);
    parts().rouse();
  };
  const nothing = (): void => undefined;
  return {
    nodes: watch<Node>(
      '/api/v1/nodes',
      (node, previous) => {
        seeNode(parts(), node, previous);
      },
      ({ metadata }) => {
        parts().state.removeNode(metadata.name);
        parts().queue.wakeTopological();
        parts().rouse();
      },
    ),
    pods: watch<Pod>(
      '/api/v1/pods',
      (pod, previous) => {
        seePod(parts(), pod, previous);
      },
      (pod) => {
        seePodGone(parts(), pod);
      },
    ),
    namespaces: watch('/api/v1/namespaces', nothing, nothing),
    claims: watch<VolumeClaim>('/api/v1/persistentvolumeclaims', wakeVolumes, nothing),
    volumes: watch<PersistentVolume>('/api/v1/persistentvolumes', wakeVolumes, nothing),
    classes: watch<StorageClass>('/apis/storage.k8s.io/v1/storageclasses', wakeVolumes, nothing),
    budgets: watch<DisruptionBudget>('/apis/policy/v1/poddisruptionbudgets', nothing, nothing),
  };
}

/** Wakes the pods for which the node has become, by itself, a choice. */
function wakeForNode(parts: Parts, name: string): void {
  const info = parts.state.nodes.get(name);
  if (info === undefined) return;
  parts.queue.wakeTopological();
  parts.queue.wake((entry) => filterAlone(entry.info, info).reasons.length === 0);
  parts.rouse();
}

function seeNode(parts: Parts, node: Node, previous: Node | null): void {
  // Heartbeats and conditions change nothing: the taints they lead to do.
  if (previous !== null && schedulingPart(previous) === schedulingPart(node)) return;
  parts.state.setNode(node);
  wakeForNode(parts, node.metadata.name);
}

function schedulingPart({ spec, metadata, status }: Node): string {
  return JSON.stringify([spec, metadata.uid, metadata.labels, status?.allocatable]);
}

function seePod(parts: Parts, pod: Pod, previous: Pod | null): void {
  const { uid } = pod.metadata;
  if (previous !== null && previous.metadata.uid !== uid) seePodGone(parts, previous);
  if (pod.spec.nodeName !== undefined || isFinished(pod)) seeBound(parts, pod, previous);
  else seeWaiting(parts, pod, previous);
}

function seeBound(parts: Parts, pod: Pod, previous: Pod | null): void {
  const { state, queue } = parts;
  const { uid } = pod.metadata;
  dropWaiting(parts, uid);
  const heldBefore = state.placed.has(uid);
  // Readiness and the like change nothing of what a pod holds.
  if (!heldBefore || isFinished(pod) || previous === null || holdingPart(previous) !== holdingPart(pod)) {
    state.setPod(pod);
  }
  if (isFinished(pod) && heldBefore) wakeForNode(parts, pod.spec.nodeName ?? '');
  else if (previous?.spec.nodeName === undefined) queue.wakeTopological();
  parts.rouse();
}

function holdingPart({ metadata, spec }: Pod): string {
  return JSON.stringify([spec.nodeName, metadata.labels, metadata.deletionTimestamp, metadata.generation]);
}

function seeWaiting(parts: Parts, pod: Pod, previous: Pod | null): void {
  const { queue, nominations, binding } = parts;
  const { uid } = pod.metadata;
  if (pod.metadata.deletionTimestamp !== undefined || !isOurs(pod)) {
    dropWaiting(parts, uid);
    return;
  }
  if (binding.has(uid)) return;
  const info = toPodInfo(pod);
  nominations.set(info, pod.status?.nominatedNodeName ?? '');
  if (queue.find(uid) !== undefined && previous !== null && isSameWish(previous, pod)) queue.refresh(info);
  else queue.add(info);
  parts.rouse();
}

function seePodGone(parts: Parts, pod: Pod): void {
  const { uid } = pod.metadata;
  dropWaiting(parts, uid);
  const nodeName = parts.state.placed.get(uid);
  parts.state.removePod(uid);
  if (nodeName !== undefined) wakeForNode(parts, nodeName);
}

function dropWaiting({ queue, binding, nominations }: Parts, uid: string): void {
  queue.remove(uid);
  binding.delete(uid);
  nominations.remove(uid);
}

function isOurs({ spec }: Pod): boolean {
  return (spec.schedulerName ?? SCHEDULER_NAME) === SCHEDULER_NAME && (spec.schedulingGates ?? []).length === 0;
}

/** True unless the pod itself asks for something else now, a nomination included. */
function isSameWish(a: Pod, b: Pod): boolean {
  return (
    (a.status?.nominatedNodeName ?? '') === (b.status?.nominatedNodeName ?? '') &&
    JSON.stringify([a.spec, a.metadata.labels]) === JSON.stringify([b.spec, b.metadata.labels])
  );
}
