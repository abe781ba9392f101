import { auditPlan } from '../core/audit/audit-plan.ts';
import type { Plan } from '../core/model/plan.ts';
import type { ProvisioningInput } from '../core/model/provisioning-input.ts';
import { planProvisioning } from '../core/plan-provisioning.ts';
import { instant } from '../core/quantity/units.ts';
import { TerminalError } from '../ports/errors.ts';
import type { Gathered } from './gather.ts';
import type { Ports } from './ports.ts';

/** A plan with what it was made of, and how long that took. */
export interface MadePlan {
  readonly gathered: Gathered;
  /** What was planned: the gathered input, or part of it. */
  readonly input: ProvisioningInput;
  readonly plan: Plan;
  readonly madeAtMs: number;
  readonly tookMs: number;
}

/** What a look came to know, whether by a plan or without one. */
export type Look = Omit<MadePlan, 'plan'> & { readonly plan: Pick<Plan, 'left'> };

/** Plans `input`, with an eye on the clock. */
export function makePlan(ports: Ports, gathered: Gathered, input: ProvisioningInput): MadePlan {
  const startedMs = ports.now();
  const plan = planProvisioning(input, instant(startedMs));
  const madeAtMs = ports.now();
  return { gathered, input, plan, madeAtMs, tookMs: madeAtMs - startedMs };
}

declare const audited: unique symbol;

/** A plan that its audit has let through: no other can be committed. */
export type AuditedPlan = Plan & { readonly [audited]: true };

/**
 * The plan, once its audit has found nothing fatal in it. One that breaks its own rules is a bug and must not reach Azure: it
 * is logged with what is wrong, and a TerminalError ends the matter.
 */
export function requireSound(
  ports: Ports,
  { gathered, input, plan }: Pick<MadePlan, 'gathered' | 'input' | 'plan'>,
  cause: string,
): AuditedPlan {
  const fatal: Array<string> = [];
  if (!isSound(plan, input, fatal)) {
    const findings = fatal.join('; ');
    ports.log('plan-refused', { cause, snapshot: gathered.snapshot.version, claims: plan.claims.length, findings });
    throw new TerminalError(`plan refused by its audit: ${findings}`);
  }
  return plan;
}

/** Adds to `fatal` what is wrong with the plan. */
function isSound(plan: Plan, input: ProvisioningInput, fatal: Array<string>): plan is AuditedPlan {
  const findings = auditPlan(plan, input).filter(({ severity }) => severity === 'fatal');
  fatal.push(...findings.map(({ text }) => text));
  return fatal.length === 0;
}
