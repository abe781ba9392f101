import type { PodShape } from '../../model/cluster.ts';

const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';

/**
 * What the eviction of one pod of the shape counts as, −10 to 10; 1 is a pod that says nothing. Source: Karpenter core.
 */
export function evictionCostOf({ annotations, spec }: PodShape): number {
  const text = annotations[DELETION_COST];
  const stated = text === undefined || !/^[+-]?\d+$/.test(text) ? 0 : Number(text);
  const cost = 1 + stated / 2 ** 27 + (spec.priority ?? 0) / 2 ** 25;
  return Math.min(10, Math.max(-10, cost));
}
