import { isVoluntary, VOLUNTARY_REASONS } from '../../../core/disruption/plan/disruption-reason.ts';
import type { DisruptionCount, DisruptionState } from '../../../contract/figures/disruption-figures.ts';
import { label } from '../../../contract/names.ts';
import { poolsFor } from '../../../core/disruption/candidates/pools.ts';
import type { DisruptionPlan } from '../../../core/disruption/plan/disruption-plan.ts';
import { instant } from '../../../core/quantity/units.ts';
import type { Gathered } from '../../gather/gather.ts';
import type { Candidate } from '../../../core/disruption/second-look/begun.ts';

/** How many nodes may go, and what budgets of pools leave. */
export function stateOf({ input: { cluster } }: Gathered, plan: DisruptionPlan, nowMs: number): DisruptionState {
  const pools = poolsFor(cluster, instant(nowMs));
  const eligible = Object.fromEntries(
    VOLUNTARY_REASONS.map((reason) => [reason.toLowerCase(), plan.eligible[reason] ?? 0]),
  );
  const budgets = cluster.nodePools.flatMap(({ metadata: { name } }) =>
    VOLUNTARY_REASONS.map((reason) => {
      const allowed = pools.allowed(name, reason);
      return {
        nodepool: name,
        reason: reason.toLowerCase(),
        allowed: allowed === Infinity ? null : allowed,
        consuming: pools.disrupting(name),
      };
    }),
  );
  return { eligible, budgets };
}

/** A removal, as Karpenter labels it. */
export interface Labelled {
  readonly reason: string;
  readonly candidates: ReadonlyArray<Candidate>;
  readonly replacements: number;
}

/** What a decision counts as; nothing where it is for a reason that is not voluntary, as in Karpenter. */
export function decisionCounts(removal: Labelled): ReadonlyArray<DisruptionCount> {
  if (!isVoluntary(removal.reason)) return [];
  const labels = labelsOf(removal);
  const pools = new Set(removal.candidates.map(({ claim }) => claim.metadata.labels?.[label.nodePool] ?? ''));
  return [
    { counter: 'decisions_total', labels, by: 1 },
    ...[...pools].map((nodepool) => {
      return { counter: 'decisions_by_nodepool_total', labels: { nodepool, ...labels }, by: 1 } as const;
    }),
  ];
}

/**
 * What it counts as when the nodes of a decision stay. `replacements` are those that failed; none: it was judged anew.
 */
export function failureCounts(removal: Labelled): ReadonlyArray<DisruptionCount> {
  if (!isVoluntary(removal.reason)) return [];
  const { replacements, candidates } = removal;
  const labels = labelsOf(removal);
  if (replacements > 0) return [{ counter: 'queue_failures_total', labels, by: replacements }];
  const { consolidation_type: type = '' } = labels;
  return [{ counter: 'failed_validations_total', labels: { consolidation_type: type }, by: candidates.length }];
}

function labelsOf({ reason, candidates, replacements }: Labelled): Readonly<Record<string, string>> {
  const types: Readonly<Record<string, string>> = {
    Empty: 'empty',
    Underutilized: candidates.length > 1 ? 'multi' : 'single',
  };
  return {
    decision: replacements > 0 ? 'replace' : 'delete',
    reason: reason.toLowerCase(),
    consolidation_type: types[reason] ?? '',
  };
}
