import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Clock } from '../../world/clock.ts';
import type { Rng } from '../../world/rng.ts';
import { connect, isApiError, type Connection } from '../client/connection.ts';
import { isFinished, podPath, type KubernetesObject, type Node, type Pod } from '../client/objects.ts';
import { openEventRecorder, type EventRecorder } from '../client/record-event.ts';
import { watchObjects, type Watched } from '../client/watch-objects.ts';
import { canRetry, openWriteQueue, type WriteQueue } from '../client/write-queue.ts';
import { toTime } from '../timestamp.ts';
import { newClusterState, toPodInfo, type ClusterState, type PodInfo } from './cluster-state.ts';
import { filterAlone } from './filter-node.ts';
import { openNominations, type Nominations } from './nominations.ts';
import { placePod, type Placement } from './place-pod.ts';
import { planPreemption, type DisruptionBudget, type Preemption } from './plan-preemption.ts';
import { openSchedulingQueue, type QueuedPod, type SchedulingQueue } from './scheduling-queue.ts';
import { noNodesMessage, renderFailure } from './unschedulable-message.ts';
import type { PersistentVolume, StorageClass, VolumeClaim } from './volume-needs.ts';

const SCHEDULER_NAME = 'default-scheduler';
/** Bindings and status patches in flight at once. */
const WRITES = 12;
/** How long the scheduler works before it lets the process do something else. */
const SLICE_MS = 10;
/** How often pods that nothing has woken are looked at. */
const FLUSH_MS = 30_000;

/** How to run the scheduler. */
export interface SchedulerOptions {
  /** YAML text of a kubeconfig. */
  readonly kubeconfig: string;
  readonly clock: Clock;
  /** Draws among nodes with equal scores. */
  readonly rng: Rng;
  readonly log?: (line: string) => void;
}

/** A running scheduler. */
export interface Scheduler {
  close(): void;
}

interface Parts {
  readonly options: SchedulerOptions;
  readonly connection: Connection;
  readonly state: ClusterState;
  readonly queue: SchedulingQueue;
  readonly nominations: Nominations;
  readonly writes: WriteQueue;
  readonly events: EventRecorder;
  /** Pods whose binding is on its way, by uid. */
  readonly binding: Map<string, QueuedPod>;
  readonly watches: Watches;
  startAt: number;
  closed: boolean;
  /** Ends the scheduler's sleep. */
  rouse: () => void;
}

interface Watches {
  readonly pods: Watched<Pod>;
  readonly nodes: Watched<Node>;
  readonly namespaces: Watched<KubernetesObject>;
  readonly claims: Watched<VolumeClaim>;
  readonly volumes: Watched<PersistentVolume>;
  readonly classes: Watched<StorageClass>;
  readonly budgets: Watched<DisruptionBudget>;
}

/**
 * Starts a scheduler that places pods as kube-scheduler 1.36 does with its default profile: the same filters in the same
 * order, the same scores but image locality, nominations, preemption, conditions, messages and Events. Verified against
 * the real one by test/contract/kubernetes-runtime. Resolves when it has seen the cluster.
 */
export async function startScheduler(options: SchedulerOptions): Promise<Scheduler> {
  const connection = connect(options.kubeconfig);
  const state = newClusterState();
  const queue = openSchedulingQueue(options.clock);
  const nominations = openNominations();
  const events = openEventRecorder(connection, options.clock, SCHEDULER_NAME);
  const binding = new Map<string, QueuedPod>();
  const writes = openWriteQueue({
    concurrency: WRITES,
    onDropped: (key, error) => options.log?.(`scheduler: ${key} given up: ${String(error)}`),
  });
  const parts: Parts = {
    options,
    connection,
    state,
    queue,
    nominations,
    writes,
    events,
    binding,
    watches: openWatches(connection, () => parts),
    startAt: 0,
    closed: false,
    rouse: () => undefined,
  };
  await Promise.all(Object.values(parts.watches).map((watch: Watched<KubernetesObject>) => watch.synced));
  void run(parts);
  let stopFlush = (): void => undefined;
  const flush = (): void => {
    wake(parts, () => false);
    stopFlush = options.clock.after(FLUSH_MS, flush);
  };
  flush();
  return {
    close: () => {
      parts.closed = true;
      parts.rouse();
      stopFlush();
      for (const watch of Object.values(parts.watches)) watch.close();
      writes.close();
      events.close();
      connection.close();
    },
  };
}

function openWatches(connection: Connection, parts: () => Parts): Watches {
  const watch = <T extends KubernetesObject>(
    path: string,
    onChange: (object: T, previous: T | null) => void,
    onDelete: (object: T) => void,
  ): Watched<T> => watchObjects<T>({ connection, path, query: '', onChange, onDelete });
  const wakeVolumes = (): void => {
    wake(parts(), ({ info }) => (info.pod.spec.volumes ?? []).length > 0);
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
        wake(parts(), isTopological);
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

/** Answers of nodes that depend on pods elsewhere, so that any change may change them. */
function isTopological({ reasons }: QueuedPod): boolean {
  for (const reason of reasons) if (/topology spread|affinity rules|anti-affinity/.test(reason)) return true;
  return false;
}

function wake(parts: Parts, mayFitNow: (entry: QueuedPod) => boolean): void {
  parts.queue.wake(mayFitNow);
  parts.rouse();
}

/** Wakes the pods for which the node has become, by itself, a choice. */
function wakeForNode(parts: Parts, name: string): void {
  const info = parts.state.nodes.get(name);
  if (info === undefined) return;
  wake(parts, (entry) => isTopological(entry) || filterAlone(entry.info, info).reasons.length === 0);
}

function seeNode(parts: Parts, node: Node, previous: Node | null): void {
  parts.state.setNode(node);
  const before =
    previous === null ? '' : JSON.stringify([previous.spec, previous.metadata.labels, previous.status?.allocatable]);
  // Heartbeats and conditions change nothing: the taints they lead to do.
  if (before !== JSON.stringify([node.spec, node.metadata.labels, node.status?.allocatable])) {
    wakeForNode(parts, node.metadata.name);
  }
}

function seePod(parts: Parts, pod: Pod, previous: Pod | null): void {
  const { state, queue, nominations, binding } = parts;
  const { uid } = pod.metadata;
  if (previous !== null && previous.metadata.uid !== uid) seePodGone(parts, previous);
  if (pod.spec.nodeName !== undefined || isFinished(pod)) {
    queue.remove(uid);
    binding.delete(uid);
    nominations.remove(uid);
    const heldBefore = state.placed.has(uid);
    state.setPod(pod);
    if (isFinished(pod) && heldBefore) wakeForNode(parts, pod.spec.nodeName ?? '');
    else if (previous === null || previous.spec.nodeName === undefined) wake(parts, isTopological);
    return;
  }
  if (pod.metadata.deletionTimestamp !== undefined || !isOurs(pod)) {
    queue.remove(uid);
    nominations.remove(uid);
    return;
  }
  const info = toPodInfo(pod);
  if (binding.has(uid)) return;
  nominations.set(info, pod.status?.nominatedNodeName ?? '');
  if (queue.has(uid) && previous !== null && isSameWish(previous, pod)) queue.refresh(info);
  else queue.add(info);
  parts.rouse();
}

function seePodGone(parts: Parts, pod: Pod): void {
  const { uid } = pod.metadata;
  parts.queue.remove(uid);
  parts.binding.delete(uid);
  parts.nominations.remove(uid);
  const nodeName = parts.state.placed.get(uid);
  parts.state.removePod(uid);
  if (nodeName !== undefined) wakeForNode(parts, nodeName);
}

function isOurs({ spec }: Pod): boolean {
  return (spec.schedulerName ?? SCHEDULER_NAME) === SCHEDULER_NAME && (spec.schedulingGates ?? []).length === 0;
}

/** True unless the pod itself asks for something else now, a nomination included. */
function isSameWish(a: Pod, b: Pod): boolean {
  return (
    a.status?.nominatedNodeName === b.status?.nominatedNodeName &&
    JSON.stringify([a.spec, a.metadata.labels]) === JSON.stringify([b.spec, b.metadata.labels])
  );
}

async function run(parts: Parts): Promise<void> {
  let sliceEnd = Date.now() + SLICE_MS;
  while (!parts.closed) {
    const next = parts.queue.pop();
    if (next === null) {
      await new Promise<void>((resolve) => {
        parts.rouse = resolve;
      });
    } else {
      scheduleOne(parts, next);
    }
    if (Date.now() < sliceEnd) continue;
    await yieldToOthers();
    sliceEnd = Date.now() + SLICE_MS;
  }
}

function scheduleOne(parts: Parts, entry: QueuedPod): void {
  const { watches, state, nominations, options } = parts;
  const namespaces = new Map<string, Readonly<Record<string, string>>>();
  for (const [name, { metadata }] of watches.namespaces.objects) namespaces.set(name, metadata.labels ?? {});
  const placement = placePod(entry.info, {
    nodes: state.nodes,
    namespaces,
    storage: {
      claims: watches.claims.objects,
      volumes: watches.volumes.objects,
      classes: watches.classes.objects,
    },
    nominations,
    rng: options.rng,
    startAt: parts.startAt,
  });
  if (placement.kind === 'unschedulable') return reportFailure(parts, entry, placement);
  parts.startAt = placement.nextStart;
  bind(parts, entry, placement.node.name);
}

function bind(parts: Parts, entry: QueuedPod, nodeName: string): void {
  const { info } = entry;
  const { pod } = info;
  parts.state.assume(info, nodeName);
  parts.nominations.remove(info.uid);
  parts.binding.set(info.uid, entry);
  // One key with the status patch: a condition must not land on a pod after its binding.
  parts.writes.put(`pod/${info.uid}`, async () => {
    try {
      await parts.connection.create(`${podPath(pod)}/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: pod.metadata.name, namespace: info.namespace, uid: info.uid },
        target: { apiVersion: 'v1', kind: 'Node', name: nodeName },
      });
    } catch (error) {
      if (canRetry(error) && !isApiError(error, 409)) throw error;
      forgetBinding(parts, entry);
      return;
    }
    const message = `Successfully assigned ${info.namespace}/${pod.metadata.name} to ${nodeName}`;
    parts.events.record({ object: pod, kind: 'Pod', apiVersion: 'v1', type: 'Normal', reason: 'Scheduled', message });
  });
}

/** The binding was refused: the room is free again, and the pod, if it is still there and waiting, tries again. */
function forgetBinding(parts: Parts, entry: QueuedPod): void {
  const { uid } = entry.info;
  parts.binding.delete(uid);
  parts.state.removePod(uid);
  const pod = [...parts.watches.pods.objects.values()].find(({ metadata }) => metadata.uid === uid);
  if (pod === undefined || pod.spec.nodeName !== undefined) return;
  parts.queue.putBack({ ...entry, attempts: entry.attempts + 1, triedAt: parts.options.clock.now() });
  parts.rouse();
}

type Unschedulable = Extract<Placement, { readonly kind: 'unschedulable' }>;

function reportFailure(parts: Parts, entry: QueuedPod, failure: Unschedulable): void {
  const { options, queue, nominations } = parts;
  const { info } = entry;
  const nodes = [...parts.state.nodes.values()].filter(({ node }) => node !== null).length;
  const preemption = nodes === 0 ? null : tryPreemption(parts, info, failure);
  entry.attempts++;
  entry.triedAt = options.clock.now();
  entry.reasons = new Set([...failure.verdicts.values()].flatMap(({ reasons }) => [...reasons]));
  queue.putUnschedulable(entry);
  const message = nodes === 0 ? noNodesMessage : failureMessage(failure, preemption, nodes);
  const before = info.pod.status?.nominatedNodeName ?? '';
  const nominated = nominationAfter(preemption, before);
  nominations.set(info, nominated);
  const condition = info.pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  if (condition?.status === 'False' && condition.message === message && before === nominated) return;
  patchFailure(parts, info, message, nominated);
  parts.events.record({
    object: info.pod,
    kind: 'Pod',
    apiVersion: 'v1',
    type: 'Warning',
    reason: 'FailedScheduling',
    message,
  });
}

function failureMessage(failure: Unschedulable, preemption: Preemption | null, nodes: number): string {
  const words = preemption === null || preemption.kind === 'preempt' ? '' : preemption.message;
  if (failure.podReason !== null) {
    return `0/${nodes} nodes are available: ${failure.podReason}.${words === '' ? '' : ` no new claims to deallocate, preemption: ${words}`}`;
  }
  return renderFailure(failure.verdicts, null, words);
}

/** A failed attempt costs a pod its nomination, also one from outside, unless it may not or need not preempt. */
function nominationAfter(preemption: Preemption | null, before: string): string {
  if (preemption === null || preemption.kind === 'useless') return '';
  return preemption.kind === 'preempt' ? preemption.node : before;
}

function tryPreemption(parts: Parts, info: PodInfo, failure: Unschedulable): Preemption {
  const all = new Map(failure.verdicts);
  if (failure.podReason !== null) {
    for (const { name, node } of parts.state.nodes.values())
      if (node !== null) all.set(name, { reasons: [], resolvable: false });
  }
  const preemption = planPreemption(info, {
    nodes: parts.state.nodes,
    verdicts: all,
    context: failure.context,
    nominations: parts.nominations,
    budgets: parts.watches.budgets.objects.values(),
  });
  if (preemption.kind === 'preempt') {
    for (const victim of preemption.victims) evictVictim(parts, info, victim);
    for (const other of parts.nominations.behind(info, preemption.node)) {
      parts.nominations.remove(other.uid);
      patchNomination(parts, other);
    }
  }
  return preemption;
}

function evictVictim(parts: Parts, preemptor: PodInfo, victim: PodInfo): void {
  const { pod, uid } = victim;
  if (pod.metadata.deletionTimestamp !== undefined) return;
  const at = toTime(parts.options.clock.now());
  const message = `${SCHEDULER_NAME}: preempting to accommodate a higher priority pod`;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message,
    lastTransitionTime: at,
  };
  parts.writes.put(`victim/${uid}`, async () => {
    await parts.connection.patch(`${podPath(pod)}/status`, 'strategic', {
      metadata: { uid },
      status: { conditions: [condition] },
    });
    await parts.connection.remove(podPath(pod), { preconditions: { uid } });
  });
  const words = `Preempted by pod ${preemptor.uid} on node ${pod.spec.nodeName ?? ''}`;
  parts.events.record({
    object: pod,
    kind: 'Pod',
    apiVersion: 'v1',
    type: 'Normal',
    reason: 'Preempted',
    message: words,
  });
}

function patchNomination(parts: Parts, { pod, uid }: PodInfo): void {
  parts.writes.put(`pod/${uid}`, () =>
    parts.connection.patch(`${podPath(pod)}/status`, 'strategic', {
      metadata: { uid },
      status: { nominatedNodeName: null },
    }),
  );
}

function patchFailure(parts: Parts, { pod, uid }: PodInfo, message: string, nominated: string): void {
  const before = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
  const at = before?.status === 'False' ? {} : { lastTransitionTime: toTime(parts.options.clock.now()) };
  const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message, ...at };
  const status = { conditions: [condition], nominatedNodeName: nominated === '' ? null : nominated };
  parts.writes.put(`pod/${uid}`, () =>
    parts.connection.patch(`${podPath(pod)}/status`, 'strategic', { metadata: { uid }, status }),
  );
}
