import { digest } from '../contract/digest.ts';
import type { PlanFate, PlanFigures } from '../contract/plan-figures.ts';
import type { Plan } from '../core/model/plan.ts';
import { instant } from '../core/quantity/units.ts';
import { countWaiting } from '../core/telling/effective-zones.ts';
import { planProvisioning } from '../core/plan-provisioning.ts';
import type { ProvisioningInput } from '../core/model/provisioning-input.ts';
import { RetryableError } from '../ports/errors.ts';
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

/**
 * Tells a plan's figures, or those of a look that needed none: one line for the portal, and the record that the relay shows to whoever scrapes it. Call it when
 * nobody waits any more for what the plan does. Figures that cannot be written are lost, and nothing else is.
 */
export async function recordPlan(ports: Ports, made: Look, fate: PlanFate): Promise<void> {
  const figures = toFigures(made);
  const { pending, unschedulable, ignored, zones } = figures.waiting;
  ports.log('planned', {
    fate,
    snapshot: made.gathered.snapshot.version,
    tookMs: made.tookMs,
    pending,
    unschedulable,
    ignored,
    zones: JSON.stringify(zones),
  });
  try {
    const outcome = await ports.figuresLog.add(figures, fate);
    if (outcome === 'crowded') ports.log('figures-lost', { reason: 'other instances wrote at the same time' });
  } catch (error) {
    if (!(error instanceof RetryableError)) throw error;
    ports.log('figures-lost', { reason: error.message });
  }
}

function toFigures({ gathered, input, plan, madeAtMs, tookMs }: Look): PlanFigures {
  const { snapshot, ledger } = gathered;
  const { pending, ignored, byZone } = countWaiting(input, instant(madeAtMs));
  const zones = Object.fromEntries([...byZone].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  return {
    id: digest(snapshot.version, String(ledger.generation), String(madeAtMs), String(tookMs)),
    atMs: madeAtMs,
    tookMs,
    decidedUpToMs: snapshot.takenAtMs,
    waiting: { pending, unschedulable: plan.left.length, ignored, zones },
  };
}
