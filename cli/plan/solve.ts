import type { Finding } from '../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../shared/core/model/plan.ts';
import { instant } from '../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../shared/core/plan-provisioning.ts';
import { soundPlan, type Planner, type RefusedPlan } from '../../shared/core/recovery/sound-plan.ts';
import { DEFAULT_WORK, type ProvisioningInput } from '../../shared/core/model/provisioning-input.ts';

/** A plan that its audit lets through, and how long it took to find. */
export interface Solved {
  readonly plan: Plan;
  /** What was planned and audited. */
  readonly input: ProvisioningInput;
  readonly solveMs: number;
  /** What the audit says that stops nothing. */
  readonly warnings: ReadonlyArray<Finding>;
  /** What of a first plan was refused; null where it held. */
  readonly refused: RefusedPlan | null;
}

/** Each attempt may try four times as hard as the one before, so the last has most of the time. */
const GROWTH = 4;

/**
 * Packing effort of the first attempt under a budget: little enough for a quick plan, and the fourth is production's.
 */
const FIRST_OPERATIONS = Math.floor(DEFAULT_WORK.operations / GROWTH ** 3);

/** More effort than this has never found anything. */
const MOST_OPERATIONS = DEFAULT_WORK.operations * GROWTH ** 4;

/** Share of the time left that an attempt may be expected to take: it may take longer than those before it foretold. */
const CAUTION = 0.8;

/** An attempt that may try no more than this much harder than the last is not worth its time. */
const LEAST_GROWTH = 1.25;

/** One plan and what it took. */
interface Attempt {
  readonly plan: Plan;
  readonly operations: number;
  readonly tookMs: number;
}

/**
 * Without a budget the plan is the one that production would make. With one, better plans are looked for while the time
 * lasts; the best is kept: fewest pods left, then lowest cost with risk. At least one plan is made, however small the
 * budget. What is refused by its audit is left out, as in production. `planner`: makes each plan.
 */
export function solve(
  given: ProvisioningInput,
  nowMs: number,
  budgetMs: number | null,
  planner: Planner = planProvisioning,
): Solved {
  const now = instant(nowMs);
  const startedMs = performance.now();
  let solveMs = 0;
  const best: Planner = (input) => {
    const attempt = (operations: number): Attempt => {
      const beforeMs = performance.now();
      const plan = planner({ ...input, work: { ...input.work, operations } }, now);
      return { plan, operations, tookMs: performance.now() - beforeMs };
    };
    try {
      if (budgetMs === null) return attempt(DEFAULT_WORK.operations).plan;
      return search(attempt, () => budgetMs - (performance.now() - startedMs));
    } finally {
      solveMs = performance.now() - startedMs;
    }
  };
  return { ...soundPlan(given, now, best), solveMs };
}

function search(attempt: (operations: number) => Attempt, leftMs: () => number): Plan {
  let last = attempt(FIRST_OPERATIONS);
  let best = last.plan;
  let before: Attempt | null = null;
  // Effort grows with every turn and has an upper bound.
  while (!isProved(best) && last.operations < MOST_OPERATIONS) {
    const operations = nextSteps(last, before, leftMs() * CAUTION);
    if (operations === null) break;
    before = last;
    last = attempt(operations);
    if (isBetter(last.plan, best)) best = last.plan;
  }
  return best;
}

/** The effort of the next attempt, by what the last two took; null where nothing worth it fits into the time. */
function nextSteps(last: Attempt, before: Attempt | null, usableMs: number): number | null {
  if (last.tookMs > usableMs) return null;
  const perOperationMs = before === null ? 0 : (last.tookMs - before.tookMs) / (last.operations - before.operations);
  const affordable = perOperationMs <= 0 ? Infinity : last.operations + (usableMs - last.tookMs) / perOperationMs;
  const operations = Math.floor(Math.min(last.operations * GROWTH, affordable));
  return operations < last.operations * LEAST_GROWTH ? null : operations;
}

function isProved({ weighed: { cost, lowerBound }, left }: Plan): boolean {
  return left.length === 0 && cost === lowerBound;
}

function isBetter(plan: Plan, than: Plan): boolean {
  return (
    plan.left.length < than.left.length ||
    (plan.left.length === than.left.length && plan.weighed.cost < than.weighed.cost)
  );
}
