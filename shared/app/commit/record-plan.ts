import { digest } from '../../contract/digest.ts';
import type { PlanFate, PlanFigures } from '../../contract/figures/plan-figures.ts';
import { instant } from '../../core/quantity/units.ts';
import { countWaiting } from '../../core/telling/effective-zones.ts';
import { RetryableError } from '../../ports/errors.ts';
import type { Look } from '../plan/make-plan.ts';
import type { Ports } from '../ports/ports.ts';

/**
 * Tells a plan's figures, or those of a look that needed none: one line for the portal, and the record that the relay
 * exposes as metrics. Call it when nobody waits any more for what the plan does. Figures that cannot be written are
 * lost, and nothing else is.
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
