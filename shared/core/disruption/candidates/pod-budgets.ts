import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import type { PodDisruptionBudget } from '../../../kubernetes/manifest.ts';
import { compileSelector, selects } from '../../rules/selector.ts';
import { tolerates } from '../../rules/taints.ts';
import type { KeptReason } from '../plan/kept-reason.ts';

/** Why budgets keep a pod where it is, or null. */
export type PodBudgetCheck = (pod: Pod) => KeptReason | null;

/** A pod that tolerates it is not evicted, so that no budget is asked. */
const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

/**
 * Karpenter's rule: one disruption allowed is enough for any number of pods of the budget, which go one after another;
 * two budgets over one pod make the eviction API refuse it. A budget whose status says nothing allows none.
 */
export function podBudgetCheck({
  shapes,
  podDisruptionBudgets,
}: Pick<Cluster, 'shapes' | 'podDisruptionBudgets'>): PodBudgetCheck {
  const budgets = podDisruptionBudgets.map((budget) => ({ budget, selector: compileSelector(budget.spec?.selector) }));
  const covering = new Map<number, ReadonlyArray<PodDisruptionBudget>>();
  const coveringOf = (index: number, { namespace, labels }: PodShape): ReadonlyArray<PodDisruptionBudget> => {
    const known = covering.get(index);
    // Stryker disable next-line ConditionalExpression: a shortcut, what is known would be worked out again
    if (known !== undefined) return known;
    const found = budgets.flatMap(({ budget, selector }) =>
      (budget.metadata.namespace ?? 'default') === namespace && selects(selector, labels) ? [budget] : [],
    );
    // Stryker disable next-line CallExpression: what is not kept is worked out again
    covering.set(index, found);
    return found;
  };
  return (pod) => {
    const shape = shapes[pod.shape];
    if (shape === undefined || pod.deleting || !isEvictable(shape)) return null;
    const found = coveringOf(pod.shape, shape);
    const name = `${shape.namespace}/${pod.name}`;
    if (found.length > 1) {
      return { kind: 'two-pod-budgets', pod: name, budgets: found.map(({ metadata }) => metadata.name).toSorted() };
    }
    const [only] = found;
    if (only === undefined || (!pod.ready && only.spec?.unhealthyPodEvictionPolicy === 'AlwaysAllow')) return null;
    const allowed = only.status?.disruptionsAllowed;
    if (allowed !== undefined && allowed > 0) return null;
    return { kind: 'pod-budget', pod: name, budget: only.metadata.name, known: allowed !== undefined };
  };
}

function isEvictable({ owner, spec }: PodShape): boolean {
  return owner?.kind !== 'Node' && !(spec.tolerations ?? []).some((one) => tolerates(one, DISRUPTED));
}
