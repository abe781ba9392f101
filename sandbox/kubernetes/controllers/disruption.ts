import { isApiError } from '../client/connection.ts';
import { controllerOf, keyOf, type KubernetesObject, type Pod } from '../client/objects.ts';
import { matchesSelector } from '../matching.ts';
import { isFinished } from '../client/objects.ts';
import { toTime } from '../timestamp.ts';
import { isSameJson, type ControllerContext, type Shared } from './controller-context.ts';
import { isReady } from './pod-control.ts';
import { resolveCount, type PodDisruptionBudget, type ReplicaSet } from './workloads/workloads.ts';

/**
 * An eviction that was allowed but whose pod is still there after this long does not count as a disruption any more.
 */
const EVICTION_PENDING_MS = 120_000;

interface Scaled extends KubernetesObject {
  readonly spec: { readonly replicas?: number };
}

/** Keeps the status of each PodDisruptionBudget: how many of its pods may be evicted now. */
export function runDisruption(
  context: ControllerContext,
  sets: Shared<ReplicaSet>,
  statefulSets: Shared<Scaled>,
): void {
  const budgets = context.watch<PodDisruptionBudget>('/apis/policy/v1/poddisruptionbudgets');
  const loop = context.loop('disruption', async (key) => {
    const budget = budgets.objects.get(key);
    if (budget !== undefined) await reconcile(context, budget, { sets, statefulSets }, loop.enqueueAfter);
  });
  budgets.listen({
    onChange: (budget) => {
      loop.enqueue(keyOf(budget));
    },
    onDelete: () => undefined,
  });
  const inNamespace = ({ metadata }: KubernetesObject): void => {
    for (const [key, budget] of budgets.objects)
      if (budget.metadata.namespace === metadata.namespace) loop.enqueue(key);
  };
  const onPod = (pod: Pod, previous: Pod | null): void => {
    for (const [key, budget] of budgets.objects) {
      if (selects(budget, pod) || (previous !== null && selects(budget, previous))) loop.enqueue(key);
    }
  };
  context.pods.listen({
    onChange: onPod,
    onDelete: (pod) => {
      onPod(pod, null);
    },
  });
  sets.listen({ onChange: inNamespace, onDelete: inNamespace });
  statefulSets.listen({ onChange: inNamespace, onDelete: inNamespace });
}

function selects({ metadata, spec }: PodDisruptionBudget, pod: Pod): boolean {
  return metadata.namespace === pod.metadata.namespace && matchesSelector(spec.selector, pod.metadata.labels);
}

interface Owners {
  readonly sets: Shared<ReplicaSet>;
  readonly statefulSets: Shared<Scaled>;
}

async function reconcile(
  { connection, clock, pods: all }: ControllerContext,
  budget: PodDisruptionBudget,
  owners: Owners,
  later: (key: string, delayMs: number) => void,
): Promise<void> {
  const pods = [...all.objects.values()].filter((pod) => selects(budget, pod) && !isFinished(pod));
  const disrupted = stillDisrupted(budget, pods, clock.now());
  const { expected, desired } = expectedOf(budget, pods, owners);
  const healthy = pods.filter(
    (pod) => isReady(pod) && pod.metadata.deletionTimestamp === undefined && disrupted[pod.metadata.name] === undefined,
  ).length;
  const allowed = expected <= 0 ? 0 : Math.max(0, healthy - desired);
  const counts = {
    currentHealthy: healthy,
    desiredHealthy: desired,
    disruptionsAllowed: allowed,
    expectedPods: expected,
    observedGeneration: budget.metadata.generation,
  };
  const before: Readonly<Record<string, unknown>> = { ...budget.status };
  const shown = Object.fromEntries(Object.keys(counts).map((key) => [key, before[key]]));
  const dropped = Object.keys(budget.status?.disruptedPods ?? {}).filter((name) => disrupted[name] === undefined);
  if (Object.keys(disrupted).length > 0) later(keyOf(budget), EVICTION_PENDING_MS);
  if (isSameJson(counts, shown) && dropped.length === 0) return;
  const disruptedPods = Object.fromEntries(dropped.map((name) => [name, null]));
  const conditions = [allowedCondition(budget, allowed, clock.now())];
  const { namespace, name, resourceVersion } = budget.metadata;
  try {
    // With the version: an eviction counts in this status too, and its count must not be lost.
    await connection.patch(
      `/apis/policy/v1/namespaces/${namespace ?? ''}/poddisruptionbudgets/${name}/status`,
      'merge',
      {
        metadata: { resourceVersion },
        status: { ...counts, conditions, ...(dropped.length > 0 ? { disruptedPods } : {}) },
      },
    );
  } catch (error) {
    // The newer version is on its way and asks for a pass of its own.
    if (!isApiError(error, 409) && !isApiError(error, 404)) throw error;
  }
}

function stillDisrupted(
  { status }: PodDisruptionBudget,
  pods: ReadonlyArray<Pod>,
  nowMs: number,
): Readonly<Record<string, string>> {
  const byName = new Map(pods.map((pod) => [pod.metadata.name, pod]));
  const entries = Object.entries(status?.disruptedPods ?? {}).filter(([name, at]) => {
    const pod = byName.get(name);
    return (
      pod !== undefined && pod.metadata.deletionTimestamp === undefined && nowMs - Date.parse(at) < EVICTION_PENDING_MS
    );
  });
  return Object.fromEntries(entries);
}

function expectedOf(
  { spec }: PodDisruptionBudget,
  pods: ReadonlyArray<Pod>,
  owners: Owners,
): { readonly expected: number; readonly desired: number } {
  if (spec.maxUnavailable !== undefined) {
    const expected = scaleOf(pods, owners);
    return { expected, desired: Math.max(0, expected - resolveCount(spec.maxUnavailable, expected, 'up')) };
  }
  const least = spec.minAvailable ?? 1;
  if (typeof least === 'number') return { expected: pods.length, desired: least };
  const expected = scaleOf(pods, owners);
  return { expected, desired: resolveCount(least, expected, 'up') };
}

/** How many pods their controllers want, all together; a bare pod counts as one. */
function scaleOf(pods: ReadonlyArray<Pod>, { sets, statefulSets }: Owners): number {
  const scales = new Map<string, number>();
  for (const pod of pods) {
    const owner = controllerOf(pod);
    if (owner === undefined) {
      scales.set(pod.metadata.uid, 1);
      continue;
    }
    const key = `${pod.metadata.namespace ?? ''}/${owner.name}`;
    const found = owner.kind === 'ReplicaSet' ? sets.objects.get(key) : statefulSets.objects.get(key);
    if (found?.metadata.uid === owner.uid) scales.set(owner.uid, found.spec.replicas ?? 1);
  }
  return [...scales.values()].reduce((sum, scale) => sum + scale, 0);
}

function allowedCondition(budget: PodDisruptionBudget, allowed: number, nowMs: number): object {
  const status = allowed > 0 ? 'True' : 'False';
  const before = budget.status?.conditions?.find(({ type }) => type === 'DisruptionAllowed');
  return {
    type: 'DisruptionAllowed',
    status,
    reason: allowed > 0 ? 'SufficientPods' : 'InsufficientPods',
    message: '',
    observedGeneration: budget.metadata.generation,
    lastTransitionTime: before?.status === status ? (before.lastTransitionTime ?? toTime(nowMs)) : toTime(nowMs),
  };
}
