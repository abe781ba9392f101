import type { NodePool } from '../../../kubernetes/manifest.ts';
import type { Instant } from '../../quantity/units.ts';
import { isVoluntary } from '../plan/disruption-reason.ts';
import { parseSchedule, strikesWithin } from './cron.ts';
import { parseDuration } from '../../../kubernetes/text/duration.ts';

/** How many nodes of a pool may be in disruption at once for a reason, as a function of how many there are. */
export interface NodeBudgets {
  /** Infinity where no budget says anything. */
  readonly allowed: (reason: string, nodes: number) => number;
  /** What is wrong with one of them: then none may go, as in Karpenter. */
  readonly error: string | null;
}

type Budget = NonNullable<NonNullable<NodePool['spec']['disruption']>['budgets']>[number];

/** Karpenter's, where a pool says nothing. */
const DEFAULT_BUDGETS: ReadonlyArray<Budget> = [{ nodes: '10%' }];

/** The budgets of a pool that are active now, read once. An empty list is no limit. */
export function nodeBudgets({ spec }: NodePool, now: Instant): NodeBudgets {
  const budgets = spec.disruption?.budgets ?? DEFAULT_BUDGETS;
  const errors = budgets.map(errorOf);
  const error = errors.find((one) => one !== null) ?? null;
  const active = budgets.filter((budget) => isActive(budget, now));
  return {
    error,
    allowed: (reason, nodes) => {
      if (!isVoluntary(reason)) return Infinity;
      if (error !== null) return 0;
      const own = active.filter(({ reasons }) => reasons === undefined || reasons.some((one) => one === reason));
      return own.reduce((least, budget) => Math.min(least, nodesOf(budget, nodes)), Infinity);
    },
  };
}

function errorOf({ nodes, schedule, duration }: Budget): string | null {
  if (!/^((100|\d{1,2})%|\d+)$/.test(nodes)) return `nodes ${nodes}`;
  if (schedule === undefined) return duration === undefined ? null : `duration ${duration} without schedule`;
  if (parseSchedule(schedule) === null) return `schedule ${schedule}`;
  return duration === undefined || parseDuration(duration) === null ? `duration ${duration ?? 'missing'}` : null;
}

/** Active from each strike of the schedule for as long as the duration says. */
function isActive({ schedule, duration }: Budget, now: Instant): boolean {
  if (schedule === undefined) return true;
  const read = parseSchedule(schedule);
  const lengthMs = parseDuration(duration ?? '');
  return read !== null && lengthMs !== null && strikesWithin(read, now - lengthMs, now);
}

/** A share is rounded up, so that of one node 10 % is one. */
function nodesOf({ nodes }: Budget, total: number): number {
  return nodes.endsWith('%') ? Math.ceil((total * Number(nodes.slice(0, -1))) / 100) : Number(nodes);
}
