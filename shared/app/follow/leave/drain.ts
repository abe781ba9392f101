import { hasEnded } from '../../../kubernetes/pod-phase.ts';
import { parseGoDuration } from '../../../kubernetes/text/go-duration.ts';
import { annotation, taint } from '../../../contract/names.ts';
import { podRequests } from '../../../core/rules/pod-requests.ts';
import type { NodePod, Refusal } from '../../../ports/kubernetes.ts';
import { RefusedError, RetryableError, TerminalError } from '../../../ports/errors.ts';
import { publish, type EventNote } from '../../tell/events.ts';
import { inParallel } from '../../ports/in-parallel.ts';
import type { Ports } from '../../ports/ports.ts';

/** Evictions in flight at once for one node. */
const EVICTIONS_AT_ONCE = 16;

/** A pod still there this long after its grace period ended is not waited for: its kubelet is gone. As Karpenter. */
const STUCK_AFTER_MS = 60_000;

/**
 * With a notice of 30 s, pods that serve others go on for 10 s, or as long as others are there: as kubelets do when a
 * machine shuts down.
 */
const SERVING_GRACE_MAX_MS = 20_000;

/**
 * Who stays until the deadline leaves it its grace period is told a little earlier, as the word takes a moment to come.
 */
const TOLD_LATE_MS = 2_000;

/** A drain asks the cluster only. */
type DrainPorts = Pick<Ports, 'kubernetes' | 'now'>;

/** How a node is emptied. */
export interface DrainRules {
  /** By when its pods must have left, milliseconds since the epoch; null when they may take their time. */
  readonly deadlineMs: number | null;
  /** False while replacements are on their way: then only that goes which the deadline leaves no time to evict. */
  readonly mayEvict: boolean;
  /**
   * Set where Azure evicts the VM: whether the pods of its pool serve until the deadline. Null for every other removal.
   */
  readonly notice: { readonly allStay: boolean } | null;
}

/** What a drain pass left behind. */
export interface DrainOutcome {
  /** Pods that must still go before the machine may. */
  readonly remaining: number;
  /** Why the first pod that cannot go cannot; null when all are on their way. */
  readonly blocked: string | null;
  /** When the next pod has to be deleted to meet the deadline, milliseconds since the epoch; null when none has to. */
  readonly nextForcedMs: number | null;
  /** What the API server answered to evictions, a status of HTTP for each. */
  readonly answers: ReadonlyArray<number>;
  /** When all had been told that can be, milliseconds since the epoch. */
  readonly toldMs: number;
  /** What may not be evicted or deleted, and by whose word. */
  readonly denied: ReadonlyArray<Refusal>;
}

/**
 * One pass over the pods of a node: evicts the first of four tiers that has any (other pods before daemons, all of
 * those before critical ones), the largest pods first, and deletes what the deadline leaves no time to evict. What
 * fails of one pod keeps no other. Repeating it is harmless. As Karpenter: karpenter-core.md §3.10; otherwise with a
 * notice, when daemons and critical pods serve as long as they can, and pods that ask for it stay for as long as they
 * have their own grace period.
 */
export async function drain(ports: DrainPorts, nodeName: string, rules: DrainRules): Promise<DrainOutcome> {
  const { outcome, tellPeople } = await tellPods(ports, nodeName, rules, { mayBeOld: false });
  await tellPeople();
  return outcome;
}

/**
 * The pass by itself, for who has no time: news of it is told later, or not at all. `mayBeOld`: a pod that came a
 * moment ago may be overlooked, and is the next pass's.
 */
export async function tellPods(
  ports: DrainPorts,
  nodeName: string,
  rules: DrainRules,
  { mayBeOld }: { readonly mayBeOld: boolean },
): Promise<{ readonly outcome: DrainOutcome; readonly tellPeople: () => Promise<void> }> {
  const { deadlineMs } = rules;
  const pods = await ports.kubernetes.list('Pod', { fields: `spec.nodeName=${nodeName}`, mayBeOld });
  const now = ports.now();
  const waiting = pods.filter((pod) => isWaitingForEviction(pod, now));
  const forced = waiting.filter((pod) => mustBeForced(pod, rules, now));
  const tier = firstTier(waiting).filter(
    (pod) => !forced.includes(pod) && pod.metadata.deletionTimestamp === undefined && !stays(pod, rules),
  );
  const steps = [
    ...forced.map((pod) => [pod, () => forceDelete(ports, pod, deadlineMs ?? now)] as const),
    ...(rules.mayEvict ? largestFirst(tier) : []).map((pod) => [pod, () => evict(ports, pod)] as const),
  ];
  const outcomes = await inParallel(steps, EVICTIONS_AT_ONCE, ([pod, step]) => orItsFailure(pod, step));
  const toldMs = ports.now();
  const blocked = outcomes.find(({ why }) => why !== null)?.why ?? null;
  const answers = outcomes.flatMap(({ status }) => status ?? []);
  const denied = outcomes.flatMap((told) => told.denied ?? []);
  const outcome = {
    remaining: waiting.length,
    blocked,
    nextForcedMs: nextForcedMs(waiting, rules, now),
    answers,
    toldMs,
    denied,
  };
  return { outcome, tellPeople: () => tellNews(ports, outcomes) };
}

async function tellNews(ports: DrainPorts, outcomes: ReadonlyArray<Told>): Promise<void> {
  await inParallel(outcomes, EVICTIONS_AT_ONCE, async ({ news }) => {
    if (news !== null) await publish(ports.kubernetes, news, ports.now());
  });
}

/** What one pod's step answers, or why it failed. */
async function orItsFailure({ metadata }: NodePod, step: () => Promise<Told>): Promise<Told> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
    const denied = error instanceof RefusedError ? error.refusal : null;
    return { why: `pod ${metadata.namespace}/${metadata.name}: ${error.message}`, status: null, news: null, denied };
  }
}

function isWaitingForEviction(pod: NodePod, now: number): boolean {
  return !hasEnded(pod.status?.phase) && isDrainable(pod, now);
}

/** False of a pod that no drain waits for: it goes with its machine. */
export function isDrainable(pod: NodePod, now: number): boolean {
  if (pod.metadata.ownerReferences?.some(({ kind }) => kind === 'Node') === true) return false;
  if (toleratesDisruption(pod)) return false;
  const deletedMs = Date.parse(pod.metadata.deletionTimestamp ?? '');
  return Number.isNaN(deletedMs) || now <= deletedMs + STUCK_AFTER_MS;
}

function toleratesDisruption(pod: NodePod): boolean {
  return (pod.spec.tolerations ?? []).some(
    ({ key, operator, effect }) =>
      (key === undefined || key === '' || key === taint.disrupted.key) &&
      (operator === 'Exists' || key === taint.disrupted.key) &&
      (effect === undefined || effect === '' || effect === taint.disrupted.effect),
  );
}

/** Critical pods keep the node working until the others have gone, and daemons serve the pods beside them. */
function firstTier(pods: ReadonlyArray<NodePod>): ReadonlyArray<NodePod> {
  const first = Math.min(...pods.map(tierOf));
  return pods.filter((pod) => tierOf(pod) === first);
}

/**
 * In the order in which they leave others come in their place, and the scheduler, which spreads small pods over all
 * nodes, would take parts of the only room that a large one was to have.
 */
function largestFirst(pods: ReadonlyArray<NodePod>): ReadonlyArray<NodePod> {
  const sized = pods.map((pod) => {
    const requests = podRequests(pod.spec);
    return { pod, cpu: requests.get('cpu') ?? 0, memory: requests.get('memory') ?? 0 };
  });
  return sized.toSorted((a, b) => b.cpu - a.cpu || b.memory - a.memory).map(({ pod }) => pod);
}

/** 0 of those that the node is there for; the higher, the later. */
function tierOf({ metadata, spec }: NodePod): number {
  const critical = ['system-cluster-critical', 'system-node-critical'].includes(spec.priorityClassName ?? '');
  const daemon = metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') === true;
  return (critical ? 2 : 0) + (daemon ? 1 : 0);
}

/** Does it want to serve until the deadline leaves it no more than its grace period? */
function stays({ metadata }: NodePod, { notice }: DrainRules): boolean {
  return notice !== null && (notice.allStay || metadata.annotations?.[annotation.stayUntilDeadline] === 'true');
}

function mustBeForced(pod: NodePod, rules: DrainRules, now: number): boolean {
  if (rules.deadlineMs === null) return false;
  const deletedMs = Date.parse(pod.metadata.deletionTimestamp ?? '');
  if (!Number.isNaN(deletedMs)) return deletedMs > rules.deadlineMs;
  return now > rules.deadlineMs - graceMsOf(pod, rules);
}

/**
 * The next moment up to which a pod that is not leaving yet would have all of the grace period that it can be given.
 */
function nextForcedMs(pods: ReadonlyArray<NodePod>, rules: DrainRules, now: number): number | null {
  const { deadlineMs } = rules;
  if (deadlineMs === null) return null;
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const due = staying.map((pod) => deadlineMs - graceMsOf(pod, rules)).filter((atMs) => atMs >= now);
  return due.length === 0 ? null : Math.min(...due);
}

/** How long before the deadline it has to be told. */
function graceMsOf(pod: NodePod, rules: DrainRules): number {
  const { notice } = rules;
  const ownMs = (pod.spec.terminationGracePeriodSeconds ?? 30) * 1000;
  const mostMs = notice !== null && tierOf(pod) > 0 ? SERVING_GRACE_MAX_MS : ownMs;
  return Math.min(ownMs, mostMs) + (stays(pod, rules) ? TOLD_LATE_MS : 0);
}

async function forceDelete(ports: DrainPorts, pod: NodePod, deadlineMs: number): Promise<Told> {
  const { namespace, name, uid } = pod.metadata;
  const gracePeriodSeconds = Math.max(1, Math.floor((deadlineMs - ports.now()) / 1000));
  await ports.kubernetes.delete('Pod', { namespace, name }, { uid, gracePeriodSeconds });
  const message = `Deleted to meet the deadline of its node ${pod.spec.nodeName ?? ''}`;
  return {
    why: null,
    status: null,
    news: { regarding: regarding(pod), type: 'Normal', reason: 'Disrupted', message },
    denied: null,
  };
}

/** What came of telling one pod. */
interface Told {
  /** Why the pod is not on its way; null when it is. */
  readonly why: string | null;
  /** What an eviction was answered; null where none was asked for. */
  readonly status: number | null;
  /** What people are told of it. */
  readonly news: EventNote | null;
  /** Where it may not be told: who says so. */
  readonly denied: Refusal | null;
}

async function evict(ports: DrainPorts, pod: NodePod): Promise<Told> {
  const { namespace, name, uid } = pod.metadata;
  if (isDoNotDisrupt(pod, ports.now())) {
    return { why: `pod ${namespace}/${name} has ${annotation.doNotDisrupt}`, status: null, news: null, denied: null };
  }
  const outcome = await ports.kubernetes.evict({ namespace, name, uid });
  const { status } = outcome;
  if (outcome.kind === 'blocked') {
    const { reason, refusal } = outcome;
    return { why: `pod ${namespace}/${name}: ${reason}`, status, news: null, denied: refusal };
  }
  if (outcome.kind === 'gone') return { why: null, status, news: null, denied: null };
  const message = `Evicted from ${pod.spec.nodeName ?? ''}`;
  const news = { regarding: regarding(pod), type: 'Normal', reason: 'Evicted', message } as const;
  return { why: null, status, news, denied: null };
}

/** `"true"` for ever, or a Go duration from the pod's start, such as `4h30m`. Anything else counts for nothing. */
function isDoNotDisrupt(pod: NodePod, now: number): boolean {
  const value = pod.metadata.annotations?.[annotation.doNotDisrupt];
  if (value === undefined) return false;
  if (value === 'true') return true;
  const lengthMs = parseGoDuration(value);
  if (lengthMs === null || lengthMs <= 0) return false;
  const startedMs = Date.parse(pod.status?.startTime ?? '');
  return Number.isNaN(startedMs) || now - startedMs < lengthMs;
}

function regarding(pod: NodePod): {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
} {
  const { name, namespace, uid } = pod.metadata;
  return { apiVersion: 'v1', kind: 'Pod', name, namespace, uid };
}
