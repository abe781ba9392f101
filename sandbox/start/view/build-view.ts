import { annotation } from '../../../shared/contract/names.ts';
import {
  hasCondition,
  isFinished,
  type KubernetesObject,
  type Node,
  type Pod,
} from '../../kubernetes/client/objects.ts';
import { podRequests } from '../../kubernetes/pod-requests.ts';
import { toAmounts } from '../../kubernetes/quantity.ts';
import { shortSize, shortZone } from './amounts.ts';
import { type ClusterEvent, isOwnPod, isRunning, nodeNameOf, offeringOf, type NodeClaim } from './cluster-objects.ts';
import { drainHeldBy, startupTaintOf } from './held-up.ts';
import type { Observed } from './observe-cluster.ts';
import type { PriceOf } from './price-list.ts';
import type { NodeRow, NodeState, PodCounts, View, Waiting } from './view.ts';

/** What the view is made of. */
export interface Sources extends Pick<
  Observed,
  'pods' | 'nodes' | 'claims' | 'budgets' | 'events' | 'claimSeenAt' | 'eventSeenAt'
> {
  /**
   * When each pod was last planned for a node, by uid, milliseconds since the Unix epoch: older reasons have passed.
   */
  readonly plannedAt: ReadonlyMap<string, number>;
  readonly shortages: (waiting: ReadonlyArray<Waiting>) => View['shortages'];
}

/**
 * The state of the cluster as the display shows it. Pure where `shortages` is: the same sources at the same time give
 * the same view.
 */
export function buildView(sources: Sources, priceOf: PriceOf, nowMs: number): View {
  const loads = loadsOf(sources.pods.values());
  const heldBy = (name: string): string | null =>
    drainHeldBy(
      [...sources.pods.values()].filter(({ spec }) => spec.nodeName === name),
      sources.budgets,
    );
  const claimed = new Set<string>();
  const rows: Array<NodeRow> = [];
  for (const claim of sources.claims.values()) {
    const name = nodeNameOf(claim);
    claimed.add(name);
    const node = sources.nodes.get(name);
    const seenAt = sources.claimSeenAt.get(claim.metadata.name) ?? nowMs;
    rows.push(toRow({ name, claim, node, load: loads.get(name) ?? NO_LOAD, ageMs: nowMs - seenAt, heldBy }, priceOf));
  }
  for (const node of sources.nodes.values()) {
    const { name, creationTimestamp } = node.metadata;
    if (claimed.has(name)) continue;
    const ageMs = nowMs - Date.parse(creationTimestamp);
    rows.push(toRow({ name, claim: undefined, node, load: loads.get(name) ?? NO_LOAD, ageMs, heldBy }, priceOf));
  }
  const waiting = waitingOf(sources, nowMs);
  return {
    nodes: rows.toSorted((a, b) => b.ageMs - a.ageMs || (a.name < b.name ? -1 : 1)),
    pods: countPods(sources.pods.values()),
    waiting,
    shortages: sources.shortages(waiting),
    microUsdPerHour: rows.reduce((sum, { microUsdPerHour }) => sum + (microUsdPerHour ?? 0), 0),
  };
}

interface Load {
  readonly pods: number;
  readonly cpu: number;
  readonly memory: number;
}

const NO_LOAD: Load = { pods: 0, cpu: 0, memory: 0 };

function loadsOf(pods: Iterable<Pod>): ReadonlyMap<string, Load> {
  const loads = new Map<string, Load>();
  for (const pod of pods) {
    const { nodeName } = pod.spec;
    if (nodeName === undefined || nodeName === '' || isFinished(pod)) continue;
    const { cpu = 0, memory = 0 } = podRequests(pod);
    const load = loads.get(nodeName) ?? NO_LOAD;
    loads.set(nodeName, { pods: load.pods + 1, cpu: load.cpu + cpu, memory: load.memory + memory });
  }
  return loads;
}

interface Machine {
  readonly name: string;
  readonly claim: NodeClaim | undefined;
  readonly node: Node | undefined;
  readonly load: Load;
  readonly ageMs: number;
  /** What keeps the pods of the node of that name. */
  readonly heldBy: (name: string) => string | null;
}

function toRow({ name, claim, node, load, ageMs, heldBy }: Machine, priceOf: PriceOf): NodeRow {
  const source = claim ?? node;
  const { size, zone, capacityType } =
    source === undefined ? { size: '', zone: '', capacityType: '' as const } : offeringOf(source);
  const allocatable = toAmounts(node?.status?.allocatable);
  return {
    name,
    size: shortSize(size),
    zone: shortZone(zone),
    capacityType,
    microUsdPerHour: size === '' ? null : priceOf(size, capacityType === 'spot' ? 'spot' : 'on-demand'),
    state: stateOf(claim, node, () => heldBy(name)),
    ageMs,
    pods: load.pods,
    cpu: { used: load.cpu, of: allocatable['cpu'] ?? 0 },
    memory: { used: load.memory, of: allocatable['memory'] ?? 0 },
  };
}

function stateOf(claim: NodeClaim | undefined, node: Node | undefined, heldBy: () => string | null): NodeState {
  if (isLeaving(claim) || isLeaving(node)) {
    return { kind: 'leaving', takenBack: isTakenBack(claim), waitsFor: heldBy() };
  }
  const isReady = hasCondition(node?.status?.conditions, 'Ready');
  if (claim === undefined) return { kind: isReady ? 'ready' : 'joining' };
  const conditions = claim.status?.conditions;
  if (!hasCondition(conditions, 'Launched')) return { kind: 'launching' };
  if (node === undefined) return { kind: 'booting' };
  if (!isReady || !hasCondition(conditions, 'Registered')) return { kind: 'joining' };
  const taint = startupTaintOf(claim, node);
  return taint === null ? { kind: 'ready' } : { kind: 'tainted', taint };
}

/** What is announced for a redeployment is replaced, and not taken back. */
function isTakenBack(claim: NodeClaim | undefined): boolean {
  return claim?.metadata.annotations?.[annotation.interruption]?.startsWith('preempt') === true;
}

function isLeaving(object: KubernetesObject | undefined): boolean {
  return object?.metadata.deletionTimestamp !== undefined;
}

function countPods(pods: Iterable<Pod>): PodCounts {
  const counts = { running: 0, starting: 0, pending: 0 };
  for (const pod of pods) {
    if (!isOwnPod(pod) || pod.status?.phase === 'Failed') continue;
    if (isRunning(pod)) counts.running++;
    else if ((pod.spec.nodeName ?? '') === '') counts.pending++;
    else counts.starting++;
  }
  return counts;
}

const PREFIX = 'Failed to schedule pod, ';
/** A reason that passes sooner, while a NodePool becomes ready, is not worth a reader's time. */
const REASON_AGE_MS = 3_000;

interface Reason {
  readonly atMs: number;
  readonly text: string;
}

/** Pods without a node by the reason that Nodewright gave, the reason of most pods first. */
function waitingOf({ pods, events, eventSeenAt, plannedAt }: Sources, nowMs: number): ReadonlyArray<Waiting> {
  const reasons = new Map<string, Reason>();
  for (const event of events.values()) noteReason(reasons, event, eventSeenAt);
  const groups = new Map<string, Array<string>>();
  for (const [key, pod] of pods) {
    const { uid } = pod.metadata;
    const reason = reasons.get(uid);
    if (reason === undefined || !isOwnPod(pod) || (pod.spec.nodeName ?? '') !== '') continue;
    if (reason.atMs <= (plannedAt.get(uid) ?? 0) || nowMs - reason.atMs < REASON_AGE_MS) continue;
    groups.set(reason.text, [...(groups.get(reason.text) ?? []), key]);
  }
  return [...groups]
    .map(([reason, names]) => ({ reason, pods: names }))
    .toSorted((a, b) => b.pods.length - a.pods.length || (a.reason < b.reason ? -1 : 1));
}

/** The newest word counts. */
function noteReason(
  reasons: Map<string, Reason>,
  { involvedObject, reason, message = '', metadata, lastTimestamp }: ClusterEvent,
  seenAt: Sources['eventSeenAt'],
): void {
  if (involvedObject.kind !== 'Pod' || reason !== 'FailedScheduling') return;
  const uid = involvedObject.uid ?? '';
  // The API server keeps whole seconds; a plan and the refusal of what it wants often share one.
  const second = Date.parse(lastTimestamp ?? metadata.creationTimestamp);
  const seen = seenAt.get(`${metadata.namespace ?? ''}/${metadata.name}`) ?? second;
  const atMs = Math.min(second + 999, Math.max(second, seen));
  if ((reasons.get(uid)?.atMs ?? 0) > atMs) return;
  reasons.set(uid, { atMs, text: message.startsWith(PREFIX) ? message.slice(PREFIX.length) : message });
}
