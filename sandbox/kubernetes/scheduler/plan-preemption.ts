import { matchesSelector } from '../matching.ts';
import type { LabelSelector } from '../../../shared/kubernetes/manifest.ts';
import type { KubernetesObject } from '../client/objects.ts';
import { withoutPods, withPods, type NodeInfo, type PodInfo } from './cluster-state.ts';
import type { FilterContext, Verdict } from './node/filter-node.ts';
import type { Nominations } from './nominations.ts';
import { judge } from './place-pod.ts';
import { renderUnschedulable } from './unschedulable-message.ts';

/** The parts of a PodDisruptionBudget that preemption looks at. */
export interface DisruptionBudget extends KubernetesObject {
  readonly spec?: { readonly selector?: LabelSelector };
  readonly status?: { readonly disruptionsAllowed?: number };
}

/** What preemption looks at. */
export interface PreemptionView {
  readonly nodes: ReadonlyMap<string, NodeInfo>;
  readonly verdicts: ReadonlyMap<string, Verdict>;
  readonly context: FilterContext;
  readonly nominations: Nominations;
  readonly budgets: Iterable<DisruptionBudget>;
}

/**
 * What preemption comes to. `blocked`: the pod must not or need not preempt, and keeps its nomination; `useless`: no
 * node would do, and a nomination the pod has is taken away, as kube-scheduler does.
 */
export type Preemption =
  | { readonly kind: 'preempt'; readonly node: string; readonly victims: ReadonlyArray<PodInfo> }
  | { readonly kind: 'useless'; readonly message: string }
  | { readonly kind: 'blocked'; readonly message: string };

interface Candidate {
  readonly node: string;
  readonly victims: ReadonlyArray<PodInfo>;
  readonly violations: number;
}

/** Finds the node where the fewest and least important pods must go for `pod` to fit. */
export function planPreemption(pod: PodInfo, view: PreemptionView): Preemption {
  if (pod.pod.spec.preemptionPolicy === 'Never') {
    return { kind: 'blocked', message: 'not eligible due to preemptionPolicy=Never.' };
  }
  const nominated = view.nodes.get(pod.pod.status?.nominatedNodeName ?? '');
  const stillLeaving = [...(nominated?.pods.values() ?? [])].some(
    (other) => other.priority < pod.priority && other.pod.metadata.deletionTimestamp !== undefined,
  );
  if (stillLeaving) return { kind: 'blocked', message: 'not eligible due to a terminating pod on the nominated node.' };
  const candidates: Array<Candidate> = [];
  const reasons: Array<string> = [];
  for (const [name, verdict] of view.verdicts) {
    const info = view.nodes.get(name);
    if (info === undefined || !verdict.resolvable) {
      reasons.push('Preemption is not helpful for scheduling');
      continue;
    }
    const candidate = selectVictims(pod, info, view);
    if ('reasons' in candidate) reasons.push(...candidate.reasons);
    else candidates.push(candidate);
  }
  const [best] = candidates.toSorted(byHarm);
  if (best !== undefined) return { kind: 'preempt', node: best.node, victims: best.victims };
  return { kind: 'useless', message: renderUnschedulable(view.verdicts.size, reasons, null) };
}

function selectVictims(pod: PodInfo, info: NodeInfo, view: PreemptionView): Candidate | Verdict {
  const lower = [...info.pods.values()].filter((other) => other.priority < pod.priority);
  if (lower.length === 0) return { reasons: ['No preemption victims found for incoming pod'], resolvable: false };
  let remaining = withoutPods(info, lower);
  const context = withoutAffinityOf(view.context);
  const verdict = judge(pod, remaining, context, view.nominations);
  if (verdict.reasons.length > 0) return verdict;
  const violating = violators(lower, view.budgets);
  // The more important go back first, and those whose budget would be violated before the others.
  const order = lower.toSorted(
    (a, b) => Number(violating.has(b.uid)) - Number(violating.has(a.uid)) || b.priority - a.priority || age(a) - age(b),
  );
  const victims: Array<PodInfo> = [];
  for (const other of order) {
    const kept = withPods(remaining, [other]);
    if (judge(pod, kept, context, view.nominations).reasons.length === 0) remaining = kept;
    else victims.push(other);
  }
  const violations = victims.filter(({ uid }) => violating.has(uid)).length;
  return { node: info.name, victims, violations };
}

/**
 * The counts were taken with the victims in place and are not taken again per victim: a node is judged by its own room.
 * A pod kept out by anti-affinity alone preempts too many rather than too few pods.
 */
function withoutAffinityOf(context: FilterContext): FilterContext {
  return { ...context, affinity: { ...context.affinity, unwanted: new Map(), refusing: new Map() }, spread: [] };
}

function violators(pods: ReadonlyArray<PodInfo>, budgets: Iterable<DisruptionBudget>): ReadonlySet<string> {
  const found = new Set<string>();
  for (const budget of budgets) {
    let allowed = budget.status?.disruptionsAllowed ?? 0;
    for (const { uid, namespace, pod } of pods) {
      if (namespace !== budget.metadata.namespace) continue;
      if (!matchesSelector(budget.spec?.selector, pod.metadata.labels)) continue;
      if (allowed > 0) allowed--;
      else found.add(uid);
    }
  }
  return found;
}

function byHarm(a: Candidate, b: Candidate): number {
  return (
    a.violations - b.violations ||
    highest(a) - highest(b) ||
    a.victims.length - b.victims.length ||
    (a.node < b.node ? -1 : 1)
  );
}

function highest({ victims }: Candidate): number {
  return Math.max(...victims.map(({ priority }) => priority), Number.NEGATIVE_INFINITY);
}

function age({ pod }: PodInfo): number {
  return Date.parse(pod.status?.startTime ?? pod.metadata.creationTimestamp);
}
