import { isApiError } from '../client/connection.ts';
import { podPath } from '../client/objects.ts';
import { canRetry } from '../client/write-queue.ts';
import { toTime } from '../timestamp.ts';
import type { PodInfo } from './cluster-state.ts';
import { placePod, type Placement } from './place-pod.ts';
import { planPreemption, type Preemption } from './plan-preemption.ts';
import { SCHEDULER_NAME, type Parts } from './scheduler-parts.ts';
import type { QueuedPod } from './scheduling-queue.ts';
import { noNodesMessage, renderFailure } from './unschedulable-message.ts';

/** Answers of nodes that depend on pods elsewhere. */
const TOPOLOGICAL = /topology spread|affinity rules/;

/** Finds a node for one pod and binds it, or says why there is none. Writes are queued, nothing is awaited. */
export function schedulePod(parts: Parts, entry: QueuedPod): void {
  const { watches, state, nominations, options } = parts;
  const version = `${state.version()}/${nominations.version()}`;
  const memo = parts.failures.get(entry.info.shape);
  const isFree = (entry.info.pod.status?.nominatedNodeName ?? '') === '' && entry.nominated === null;
  if (isFree && memo?.version === version) {
    return noteFailure(parts, entry, memo.message, memo.topological);
  }
  const namespaces = new Map<string, Readonly<Record<string, string>>>();
  for (const [name, { metadata }] of watches.namespaces.objects) namespaces.set(name, metadata.labels ?? {});
  const placement = placePod(entry.info, {
    nodes: state.nodes,
    namespaces,
    storage: { claims: watches.claims.objects, volumes: watches.volumes.objects, classes: watches.classes.objects },
    nominations,
    rng: options.rng,
    startAt: parts.startAt,
  });
  if (placement.kind === 'unschedulable') return failPod(parts, entry, placement);
  parts.startAt = placement.nextStart;
  bindPod(parts, entry, placement.node.name);
}

function bindPod(parts: Parts, entry: QueuedPod, nodeName: string): void {
  const { info } = entry;
  const { pod } = info;
  parts.state.assume(info, nodeName);
  parts.nominations.remove(info.uid);
  parts.binding.set(info.uid, entry);
  parts.bindings.put(`pod/${info.uid}`, async () => {
    // A condition that says unschedulable must not land on the pod after its binding.
    await parts.reporting.get(info.uid);
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
  const { uid, pod, namespace } = entry.info;
  if (!parts.binding.delete(uid)) return;
  parts.state.removePod(uid);
  const found = parts.watches.pods.objects.get(`${namespace}/${pod.metadata.name}`);
  if (found?.metadata.uid !== uid || found.spec.nodeName !== undefined) return;
  entry.attempts++;
  entry.triedAt = parts.options.clock.now();
  parts.queue.putBack(entry);
  parts.rouse();
}

type Unschedulable = Extract<Placement, { readonly kind: 'unschedulable' }>;

function failPod(parts: Parts, entry: QueuedPod, failure: Unschedulable): void {
  const { info } = entry;
  const nodes = [...parts.state.nodes.values()].filter(({ node }) => node !== null).length;
  const preemption = nodes === 0 ? null : tryPreemption(parts, info, failure);
  const message = nodes === 0 ? noNodesMessage : failureMessage(failure, preemption, nodes);
  const before = info.pod.status?.nominatedNodeName ?? '';
  const nominated = nominationAfter(preemption, before);
  entry.nominated = nominated === before ? null : nominated;
  parts.nominations.set(info, nominated);
  const topological = [...failure.verdicts.values()].some(({ reasons }) =>
    reasons.some((reason) => TOPOLOGICAL.test(reason)),
  );
  if (preemption?.kind !== 'preempt') {
    const version = `${parts.state.version()}/${parts.nominations.version()}`;
    parts.failures.set(info.shape, { version, message, topological });
  }
  noteFailure(parts, entry, message, topological);
}

function noteFailure(parts: Parts, entry: QueuedPod, message: string, topological: boolean): void {
  entry.attempts++;
  entry.triedAt = parts.options.clock.now();
  entry.topological = topological;
  entry.message = message;
  parts.queue.putUnschedulable(entry);
  reportFailure(parts, entry);
}

function failureMessage(failure: Unschedulable, preemption: Preemption | null, nodes: number): string {
  const words = preemption === null || preemption.kind === 'preempt' ? '' : preemption.message;
  return renderFailure({ nodes, verdicts: failure.verdicts, podReason: failure.podReason, preemption: words });
}

/** A failed attempt costs a pod its nomination, also one from outside, unless it may not or need not preempt. */
function nominationAfter(preemption: Preemption | null, before: string): string {
  if (preemption === null || preemption.kind === 'useless') return '';
  return preemption.kind === 'preempt' ? preemption.node : before;
}

function tryPreemption(parts: Parts, info: PodInfo, failure: Unschedulable): Preemption {
  const verdicts = new Map(failure.verdicts);
  for (const { name, node } of failure.podReason === null ? [] : parts.state.nodes.values()) {
    if (node !== null) verdicts.set(name, { reasons: [], resolvable: false });
  }
  const preemption = planPreemption(info, {
    nodes: parts.state.nodes,
    verdicts,
    context: failure.context,
    nominations: parts.nominations,
    budgets: parts.watches.budgets.objects.values(),
  });
  if (preemption.kind !== 'preempt') return preemption;
  for (const victim of preemption.victims) evictVictim(parts, info, victim);
  for (const other of parts.nominations.behind(info, preemption.node)) {
    parts.nominations.remove(other.uid);
    const entry = parts.queue.find(other.uid);
    if (entry === undefined) continue;
    entry.nominated = '';
    reportFailure(parts, entry);
  }
  return preemption;
}

function evictVictim(parts: Parts, preemptor: PodInfo, { pod, uid }: PodInfo): void {
  if (pod.metadata.deletionTimestamp !== undefined) return;
  const condition = {
    type: 'DisruptionTarget',
    status: 'True',
    reason: 'PreemptionByScheduler',
    message: `${SCHEDULER_NAME}: preempting to accommodate a higher priority pod`,
    lastTransitionTime: toTime(parts.options.clock.now()),
  };
  const body = { metadata: { uid }, status: { conditions: [condition] } };
  parts.bindings.put(`victim/${uid}`, async () => {
    await parts.connection.patch(`${podPath(pod)}/status`, 'strategic', body);
    await parts.connection.remove(podPath(pod), { preconditions: { uid } });
  });
  const message = `Preempted by pod ${preemptor.uid} on node ${pod.spec.nodeName ?? ''}`;
  parts.events.record({ object: pod, kind: 'Pod', apiVersion: 'v1', type: 'Normal', reason: 'Preempted', message });
}

/** Queues the pod's condition and nomination as they are when their turn comes; by then the pod may be on its way. */
function reportFailure(parts: Parts, entry: QueuedPod): void {
  const { uid } = entry.info;
  parts.reports.put(`pod/${uid}`, async () => {
    if (parts.queue.find(uid) !== entry || entry.message === '') return;
    const { pod } = entry.info;
    const before = pod.status?.conditions?.find(({ type }) => type === 'PodScheduled');
    const isSame = before?.status === 'False' && before.reason === 'Unschedulable' && before.message === entry.message;
    if (isSame && entry.nominated === null) return;
    const at = before?.status === 'False' ? {} : { lastTransitionTime: toTime(parts.options.clock.now()) };
    const condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: entry.message, ...at };
    // Told only by the attempt that changed it: meanwhile another may have nominated the pod anew.
    const nomination = entry.nominated === null ? {} : { nominatedNodeName: entry.nominated || null };
    entry.nominated = null;
    const body = { metadata: { uid }, status: { conditions: [condition], ...nomination } };
    const written = parts.connection.patch(`${podPath(pod)}/status`, 'strategic', body);
    const nothing = (): void => undefined;
    parts.reporting.set(uid, written.then(nothing, nothing));
    try {
      await written;
    } finally {
      parts.reporting.delete(uid);
    }
    const { message } = entry;
    const reason = 'FailedScheduling';
    parts.events.record({ object: pod, kind: 'Pod', apiVersion: 'v1', type: 'Warning', reason, message });
  });
}
