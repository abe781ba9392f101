import { renderGap } from './amounts.ts';
import type { View } from './view.ts';

/** What all decisions so far cost together, in micro-USD per hour, and the sum of their lower bounds. */
export interface Plans {
  readonly decisions: number;
  readonly cost: number;
  readonly lowerBound: number;
}

/**
 * How far the cluster is from the cheapest possible, in words; null where nobody knows. A bound is of the pods of one
 * decision: of several it says nothing together, and nothing once other machines run than those that were planned, or
 * one is paid for while it leaves.
 */
export function gapOf({ nodes, microUsdPerHour }: View, { decisions, cost, lowerBound }: Plans): string | null {
  const isAsPlanned =
    decisions === 1 && microUsdPerHour === cost && nodes.every(({ state }) => state.kind !== 'leaving');
  return isAsPlanned ? renderGap(cost, lowerBound) : null;
}
