import { NO_DURATIONS, withDurations } from '../../shared/contract/figures/duration-histogram.ts';
import type { FiguresRecord, LastPlan } from '../../shared/contract/figures/plan-figures.ts';
import { renderFamily, renderHistogram, type Sample } from './metric-family.ts';
import type { EndedWait, WaitingPod, WaitingPods } from '../watch/waiting-pods.ts';

/** Karpenter's metrics of scheduling: the functions' plans, held against the pods that wait now. */
export interface SchedulerMetrics {
  /** Prometheus text. Counts decisions that it has not seen yet, so that asking twice shows the same. */
  readonly render: () => string;
}

interface SchedulerMetricsOptions {
  readonly waiting: Omit<WaitingPods, 'apply'>;
  readonly figures: () => FiguresRecord | null;
  /** One relay counts and shows at a time: the one that publishes, from this moment on. Null for all others. */
  readonly publishingSinceMs: () => number | null;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

/**
 * The sweep plans for pods that wait, as a rule each minute. When a plan is older than this, plans are not made any
 * more.
 */
const LAST_PLAN_HOLDS_MS = 15 * 60_000;

/**
 * So many undecided pods are shown one by one, those that wait longest: a burst would be as many series as it has pods.
 */
const SHOWN_MAX = 1_000;

/** Karpenter's name for what plans for pods. */
const controller = { controller: 'provisioner' };

/** Makes them. Nothing is shown while no figures of plans are known. */
export function createSchedulerMetrics(options: SchedulerMetricsOptions): SchedulerMetrics {
  const { waiting, figures, publishingSinceMs, now } = options;
  let decisions = NO_DURATIONS;
  /** Pods that waited at this moment are decided about, and counted where they are to be. */
  let countedUpToMs = Number.NEGATIVE_INFINITY;

  function count(record: FiguresRecord, sinceMs: number): void {
    const plans = record.recent.flatMap(({ atMs, decidedUpToMs }) =>
      decidedUpToMs === null ? [] : { atMs, decidedUpToMs },
    );
    // Those before our time were counted by whoever published then.
    countedUpToMs = latest([
      countedUpToMs,
      ...plans.filter(({ atMs }) => atMs < sinceMs).map((one) => one.decidedUpToMs),
    ]);
    const fresh = plans
      .filter(({ decidedUpToMs }) => decidedUpToMs > countedUpToMs)
      .toSorted((a, b) => a.atMs - b.atMs);
    const upToMs = latest([countedUpToMs, ...fresh.map(({ decidedUpToMs }) => decidedUpToMs)]);
    // What began later stays: the figures of its plan may come after its pod has a place.
    const ended = waiting.takeEnded(upToMs);
    if (fresh.length === 0) return;
    decisions = withDurations(decisions, durationsOf(fresh, countedUpToMs, waiting.list(), ended));
    countedUpToMs = upToMs;
  }

  return {
    render() {
      const [record, sinceMs] = [figures(), publishingSinceMs()];
      // Another one counts them.
      if (sinceMs === null) waiting.takeEnded(Infinity);
      if (record === null || sinceMs === null) return '';
      count(record, sinceMs);
      const decidedUpToMs = latest(record.recent.map((one) => one.decidedUpToMs ?? Number.NEGATIVE_INFINITY));
      const undecided = [...waiting.list()].filter((pod) => pod.sinceMs > decidedUpToMs);
      const isOver = waiting.size() === undecided.length;
      return [
        renderHistogram(
          'karpenter_scheduler_scheduling_duration_seconds',
          'How long plans took to make, since the first.',
          controller,
          record.durations,
        ),
        renderHistogram(
          'karpenter_pods_scheduling_decision_duration_seconds',
          'From when a pod was seen to wait until a plan had decided about it.',
          {},
          decisions,
        ),
        renderUndecided(undecided, now()),
        renderLast(isOver ? null : record.last, { decided: waiting.size() - undecided.length, nowMs: now() }),
      ].join('');
    },
  };
}

interface FreshPlan {
  readonly atMs: number;
  readonly decidedUpToMs: number;
}

/** For every pod that waited when one of the plans was based: the time until the first of them was made. */
function* durationsOf(
  plansInOrder: ReadonlyArray<FreshPlan>,
  countedUpToMs: number,
  waiting: Iterable<WaitingPod>,
  ended: Iterable<EndedWait>,
): Iterable<number> {
  const durationOf = (sinceMs: number, untilMs: number): number | null => {
    if (sinceMs <= countedUpToMs) return null;
    const first = plansInOrder.find(({ decidedUpToMs }) => decidedUpToMs >= sinceMs && decidedUpToMs < untilMs);
    return first === undefined ? null : first.atMs - sinceMs;
  };
  for (const { sinceMs, isSinceKnown } of waiting) {
    const duration = isSinceKnown ? durationOf(sinceMs, Infinity) : null;
    if (duration !== null) yield duration;
  }
  for (const { sinceMs, untilMs } of ended) {
    const duration = durationOf(sinceMs, untilMs);
    if (duration !== null) yield duration;
  }
}

function renderUndecided(pods: ReadonlyArray<WaitingPod>, nowMs: number): string {
  const longestFirst = pods.toSorted((a, b) => a.sinceMs - b.sinceMs || (a.key < b.key ? -1 : 1));
  const secondsOf = ({ sinceMs }: WaitingPod): number => Math.max(0, nowMs - sinceMs) / 1_000;
  return [
    renderFamily('karpenter_scheduler_queue_depth', 'gauge', 'Pods that wait and that no plan has decided about yet.', [
      [controller, pods.length],
    ]),
    renderFamily(
      'karpenter_scheduler_unfinished_work_seconds',
      'gauge',
      'How long the first of them has waited.',
      longestFirst.slice(0, 1).map((pod): Sample => [controller, secondsOf(pod)]),
    ),
    renderFamily(
      'karpenter_pods_provisioning_scheduling_undecided_time_seconds',
      'gauge',
      'How long each of them has waited.',
      longestFirst.slice(0, SHOWN_MAX).map((pod): Sample => [namesOf(pod.key), secondsOf(pod)]),
    ),
  ].join('');
}

function namesOf(key: string): Readonly<Record<string, string>> {
  const [namespace = '', name = ''] = key.split('/');
  return { name, namespace };
}

/**
 * What the last plan found, as long as pods wait that it was for. Null: none does any more. Nothing where it is too old
 * to be true: somebody waits, and no plan comes.
 */
function renderLast(
  last: LastPlan | null,
  { decided, nowMs }: { readonly decided: number; readonly nowMs: number },
): string {
  if (last !== null && nowMs - last.atMs > LAST_PLAN_HOLDS_MS) return '';
  const { unschedulable = 0, ignored = 0, zones = {} } = last ?? {};
  return [
    // Pods that were deleted since wait for nothing.
    renderFamily(
      'karpenter_scheduler_unschedulable_pods_count',
      'gauge',
      'Pods that the last plan found no place for.',
      [[controller, Math.min(unschedulable, decided)]],
    ),
    renderFamily('karpenter_scheduler_ignored_pods_count', 'gauge', 'Pods that ask for a node of no NodePool.', [
      [{}, Math.min(ignored, decided)],
    ]),
    renderFamily(
      'karpenter_scheduler_pending_pods_by_effective_zone_count',
      'gauge',
      'Pods of the last plan by the one zone that they can be in; flexible: several; none: no zone will do.',
      Object.entries(zones).map(([zone, pods]): Sample => [{ ...controller, zone }, pods]),
    ),
  ].join('');
}

function latest(times: ReadonlyArray<number>): number {
  return times.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
}
