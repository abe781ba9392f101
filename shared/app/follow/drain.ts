import { parseGoDuration } from '../../contract/duration.ts';
import { annotation, taint } from '../../contract/names.ts';
import type { NodePod } from '../../ports/kubernetes.ts';
import { RetryableError, TerminalError } from '../../ports/errors.ts';
import { publish, type EventNote } from '../events.ts';
import { inParallel } from '../in-parallel.ts';
import type { Ports } from '../ports.ts';

/** Evictions in flight at once for one node. */
const EVICTIONS_AT_ONCE = 16;

/** A pod still there this long after its grace period ended is not waited for: its kubelet is gone. As Karpenter. */
const STUCK_AFTER_MS = 60_000;

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
}

/**
 * One pass over the pods of a node: evicts the first of four tiers that has any (other pods before daemons, all of those
 * before critical ones), and deletes what the deadline leaves no time to evict. Without `mayEvict` only the latter, while
 * replacements are on their way. What fails of one pod keeps no other. Repeating it is harmless.
 * As Karpenter: karpenter-core.md §3.10.
 */
export async function drain(
  ports: Ports,
  nodeName: string,
  deadlineMs: number | null,
  mayEvict: boolean,
): Promise<DrainOutcome> {
  const pods = await ports.kubernetes.list('Pod', { fields: `spec.nodeName=${nodeName}` });
  const now = ports.now();
  const waiting = pods.filter((pod) => isWaitingForEviction(pod, now));
  const forced = waiting.filter((pod) => mustBeForced(pod, deadlineMs, now));
  const tier = firstTier(waiting).filter(
    (pod) => !forced.includes(pod) && pod.metadata.deletionTimestamp === undefined,
  );
  const steps = [
    ...forced.map((pod) => [pod, () => forceDelete(ports, pod, deadlineMs ?? now)] as const),
    ...(mayEvict ? tier : []).map((pod) => [pod, () => evict(ports, pod)] as const),
  ];
  const outcomes = await inParallel(steps, EVICTIONS_AT_ONCE, ([pod, step]) => orItsFailure(pod, step));
  const toldMs = ports.now();
  // News of those who have gone keeps nobody who has not.
  await inParallel(outcomes, EVICTIONS_AT_ONCE, async ({ news }) => {
    if (news !== null) await publish(ports.kubernetes, news, ports.now());
  });
  const blocked = outcomes.find(({ why }) => why !== null)?.why ?? null;
  const answers = outcomes.flatMap(({ status }) => status ?? []);
  return { remaining: waiting.length, blocked, nextForcedMs: nextForcedMs(waiting, deadlineMs, now), answers, toldMs };
}

/** What one pod's step answers, or why it failed. */
async function orItsFailure({ metadata }: NodePod, step: () => Promise<Told>): Promise<Told> {
  try {
    return await step();
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
    return { why: `pod ${metadata.namespace}/${metadata.name}: ${error.message}`, status: null, news: null };
  }
}

function isWaitingForEviction(pod: NodePod, now: number): boolean {
  const phase = pod.status?.phase;
  return phase !== 'Succeeded' && phase !== 'Failed' && isDrainable(pod, now);
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
  const tierOf = (pod: NodePod): number => {
    const critical = ['system-cluster-critical', 'system-node-critical'].includes(pod.spec.priorityClassName ?? '');
    const daemon = pod.metadata.ownerReferences?.some(({ kind }) => kind === 'DaemonSet') === true;
    return (critical ? 2 : 0) + (daemon ? 1 : 0);
  };
  const first = Math.min(...pods.map(tierOf));
  return pods.filter((pod) => tierOf(pod) === first);
}

function mustBeForced(pod: NodePod, deadlineMs: number | null, now: number): boolean {
  if (deadlineMs === null) return false;
  const deletedMs = Date.parse(pod.metadata.deletionTimestamp ?? '');
  if (!Number.isNaN(deletedMs)) return deletedMs > deadlineMs;
  return now > deadlineMs - graceMsOf(pod);
}

/** The next moment up to which a pod that is not leaving yet would have all of its own grace period. */
function nextForcedMs(pods: ReadonlyArray<NodePod>, deadlineMs: number | null, now: number): number | null {
  if (deadlineMs === null) return null;
  const staying = pods.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const due = staying.map((pod) => deadlineMs - graceMsOf(pod)).filter((atMs) => atMs >= now);
  return due.length === 0 ? null : Math.min(...due);
}

function graceMsOf({ spec }: NodePod): number {
  return (spec.terminationGracePeriodSeconds ?? 30) * 1000;
}

async function forceDelete(ports: Ports, pod: NodePod, deadlineMs: number): Promise<Told> {
  const { namespace, name, uid } = pod.metadata;
  const gracePeriodSeconds = Math.max(1, Math.floor((deadlineMs - ports.now()) / 1000));
  await ports.kubernetes.delete('Pod', { namespace, name }, { uid, gracePeriodSeconds });
  const message = `Deleted to meet the deadline of its node ${pod.spec.nodeName ?? ''}`;
  return {
    why: null,
    status: null,
    news: { regarding: regarding(pod), type: 'Normal', reason: 'Disrupted', message },
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
}

async function evict(ports: Ports, pod: NodePod): Promise<Told> {
  const { namespace, name, uid } = pod.metadata;
  if (isDoNotDisrupt(pod, ports.now())) {
    return { why: `pod ${namespace}/${name} has ${annotation.doNotDisrupt}`, status: null, news: null };
  }
  const outcome = await ports.kubernetes.evict({ namespace, name, uid });
  const { status } = outcome;
  if (outcome.kind === 'blocked') return { why: `pod ${namespace}/${name}: ${outcome.reason}`, status, news: null };
  if (outcome.kind === 'gone') return { why: null, status, news: null };
  const message = `Evicted from ${pod.spec.nodeName ?? ''}`;
  return { why: null, status, news: { regarding: regarding(pod), type: 'Normal', reason: 'Evicted', message } };
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
