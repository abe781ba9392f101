import { commitPlan, type CommitOutcome } from '../../../shared/app/commit/commit-plan.ts';
import { execute } from '../../../shared/app/execute/execute.ts';
import type { Gathered } from '../../../shared/app/gather/gather.ts';
import { judged } from '../../../shared/core/recovery/sound-plan.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';

/** Audits a plan for what was gathered, commits and executes it, as use cases do. */
export async function carryOut(ports: Ports, gathered: Gathered, plan: Plan, cause: string): Promise<CommitOutcome> {
  const sound = judged(plan, gathered.input);
  if (sound === null) throw new Error('refused by its audit');
  const outcome = await commitPlan(ports, gathered, sound, cause);
  if (outcome.kind === 'committed') await execute(ports, outcome.state, outcome.decision);
  return outcome;
}
