import { moveShares, settleDisruptionCosts } from './search/disruption-costs.ts';
import type { MicroUsdPerHour } from '../quantity/units.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import type { JudgedNode } from './candidates/judged-node.ts';
import { keptReasons } from './kept-nodes.ts';
import type { DisruptionPlan, KeptNode } from './plan/disruption-plan.ts';
import type { DisruptionReason } from './plan/disruption-reason.ts';
import type { Course } from './read-round.ts';
import { costOf } from './steps/cluster-cost.ts';
import type { Ordered } from './until-ordered.ts';

/** The plan, told as data: the steps, and why every other node stays. */
export function toPlan(course: Course, ordered: Ordered, lowerBound: MicroUsdPerHour): DisruptionPlan {
  const { round, steps, replacements, after } = ordered;
  const [eligible, before] = [eligibleOf(round.nodes), costOf(round.nodes)];
  return { steps, replacements, kept: keptIn(course, ordered), eligible, before, after, lowerBound };
}

function keptIn({ input, pools }: Course, { round, steps, dropped }: Ordered): ReadonlyArray<KeptNode> {
  settleDisruptionCosts(round.arena, moveShares(input.policy, pools));
  const reasons = keptReasons(round.arena, new Set(dropped));
  const removed = new Set(steps.flatMap(({ remove }) => remove));
  return round.nodes
    .filter(({ name }) => !removed.has(name))
    .map(({ name, nodePool, verdict }): KeptNode => {
      const reason = verdict.kind === 'stays' ? verdict.reason : reasons.get(name);
      return { node: name, nodePool: nodePool?.metadata.name ?? null, reason: reason ?? { kind: 'nothing-cheaper' } };
    })
    .toSorted((a, b) => byCodeUnit(a.node, b.node));
}

function eligibleOf(nodes: ReadonlyArray<JudgedNode>): DisruptionPlan['eligible'] {
  const counts: Partial<Record<DisruptionReason, number>> = {};
  for (const { verdict } of nodes) {
    if (verdict.kind !== 'stays') counts[verdict.reason] = (counts[verdict.reason] ?? 0) + 1;
  }
  return counts;
}
