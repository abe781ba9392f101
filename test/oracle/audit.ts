import { auditPlan } from '../../shared/core/audit/audit-plan.ts';
import { planAll, readOracle } from './run.ts';
import { toInput } from './scenario.ts';

/** Prints what the audit finds in our plans for the oracle's scenarios: `node test/oracle/audit.ts`. */
const { catalog, scenarios } = readOracle();
const plans = planAll();
for (const scenario of scenarios) {
  const plan = plans.get(scenario.name);
  const findings = plan === undefined ? [] : auditPlan(plan, toInput(scenario, catalog));
  for (const { rule, text } of findings) process.stdout.write(`${scenario.name} ${rule} ${text}\n`);
}
