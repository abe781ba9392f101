import { auditPlan, type Finding } from '../../shared/core/plan/audit-plan.ts';
import type { Plan } from '../../shared/core/plan/plan.ts';
import { instant } from '../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../shared/core/scheduling/plan-provisioning.ts';
import type { ProvisioningInput } from '../../shared/core/scheduling/provisioning-input.ts';

/** A plan, how long it took to find, and what its audit says. */
export interface Solved {
  readonly plan: Plan;
  readonly solveMs: number;
  readonly findings: ReadonlyArray<Finding>;
}

/** Packing effort of the first attempt under a budget: the least that gives a plan worth showing. */
const FIRST_FILLS = 1_000;

/** Each attempt may try twice as hard as the one before, so all of them together cost twice the last. */
const GROWTH = 2;

/** More effort than this has never found anything. */
const MOST_FILLS = 16_000_000;

/**
 * Without a budget the plan is the one that production would make. With one, better plans are looked for while the time
 * lasts; the best is kept: fewest pods left, then lowest cost. At least one plan is made, however small the budget.
 */
export function solve(input: ProvisioningInput, nowMs: number, budgetMs: number | null): Solved {
  const now = instant(nowMs);
  const startedMs = performance.now();
  const elapsedMs = (): number => performance.now() - startedMs;
  let plan: Plan;
  if (budgetMs === null) plan = planProvisioning(input, now);
  else {
    let fills = FIRST_FILLS;
    plan = planProvisioning({ ...input, work: { ...input.work, fills } }, now);
    let tookMs = elapsedMs();
    while (!isProved(plan) && fills < MOST_FILLS && elapsedMs() + GROWTH * tookMs < budgetMs) {
      fills *= GROWTH;
      const beforeMs = elapsedMs();
      const next = planProvisioning({ ...input, work: { ...input.work, fills } }, now);
      tookMs = elapsedMs() - beforeMs;
      if (isBetter(next, plan)) plan = next;
    }
  }
  const solveMs = elapsedMs();
  return { plan, solveMs, findings: auditPlan(plan, input) };
}

function isProved({ cost, lowerBound, left }: Plan): boolean {
  return left.length === 0 && cost === lowerBound;
}

function isBetter(plan: Plan, than: Plan): boolean {
  return plan.left.length < than.left.length || (plan.left.length === than.left.length && plan.cost < than.cost);
}
