import type { Plan } from '../../core/model/plan.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { instant } from '../../core/quantity/units.ts';
import { soundPlan, type AuditedPlan, type Planner, type SoundPlan } from '../../core/recovery/sound-plan.ts';
import type { Gathered } from '../gather/gather.ts';
import type { Ports } from '../ports/ports.ts';

/** A plan that its audit has let through, with what it was made of, and how long the planner took. */
export interface MadePlan {
  readonly gathered: Gathered;
  /** What was planned: the gathered input, or part of it. */
  readonly input: ProvisioningInput;
  readonly plan: AuditedPlan;
  /** What of a first plan was refused; null where it held. */
  readonly refused: SoundPlan['refused'];
  readonly madeAtMs: number;
  readonly tookMs: number;
}

/** What a look came to know, whether by a plan or without one. */
export type Look = Omit<MadePlan, 'plan' | 'refused'> & { readonly plan: Pick<Plan, 'left'> };

/**
 * Plans `input` and has the plan audited, with an eye on the clock. A plan that breaks its own rules is a bug of ours:
 * it is logged with what is wrong, and what takes its place does without what the findings name.
 */
export function makePlan(ports: Ports, gathered: Gathered, input: ProvisioningInput): MadePlan {
  const beganMs = ports.now();
  let [tookMs, madeAtMs] = [0, beganMs];
  const timed: Planner = (given, now) => {
    const startedMs = tookMs === 0 ? beganMs : ports.now();
    try {
      return ports.planner(given, now);
    } finally {
      madeAtMs = ports.now();
      tookMs += madeAtMs - startedMs;
    }
  };
  const { plan, input: planned, refused } = soundPlan(input, instant(beganMs), timed);
  if (refused !== null) logRefused(ports, gathered, refused);
  return { gathered, input: planned, plan, refused, madeAtMs, tookMs };
}

function logRefused(
  { log }: Ports,
  { snapshot }: Gathered,
  { findings, nodePools, instead, rescued, leftOut }: NonNullable<SoundPlan['refused']>,
): void {
  log('plan-refused', {
    snapshot: snapshot.version,
    findings: findings.map(({ rule, text }) => `${rule}: ${text}`).join('; '),
    nodePools: nodePools.join(','),
    instead,
    rescued,
    leftOut,
  });
}
