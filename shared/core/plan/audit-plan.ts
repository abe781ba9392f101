import type { ProvisioningInput } from '../scheduling/provisioning-input.ts';
import type { Plan } from './plan.ts';

/** One thing that is wrong with a plan. A plan with a `fatal` finding must not be executed. */
export interface Finding {
  readonly severity: 'fatal' | 'warning';
  readonly rule: string;
  readonly text: string;
}

/** Checks a plan against its input without knowing how it was made. Empty when nothing is wrong. */
export function auditPlan(plan: Plan, input: ProvisioningInput): ReadonlyArray<Finding> {
  return findUnknownOrRepeated(plan, input);
}

function findUnknownOrRepeated(plan: Plan, { cluster }: ProvisioningInput): ReadonlyArray<Finding> {
  const known = new Set(cluster.pods.map(({ uid }) => uid));
  const seen = new Set<string>();
  const findings: Array<Finding> = [];
  const all = [...plan.claims, ...plan.nominations].flatMap(({ pods }) => pods);
  for (const { name, uid } of [...all, ...plan.left.map(({ pod }) => pod)]) {
    if (!known.has(uid)) findings.push({ severity: 'fatal', rule: 'accounting', text: `pod ${name} is not known` });
    if (seen.has(uid)) findings.push({ severity: 'fatal', rule: 'accounting', text: `pod ${name} is planned twice` });
    seen.add(uid);
  }
  return findings;
}
