import type { Plan } from '../model/plan.ts';
import { microUsdPerHour } from '../quantity/units.ts';

/** A plan that does nothing and speaks of no pod. */
export function emptyPlan(): Plan {
  const nothing = microUsdPerHour(0);
  return {
    claims: [],
    nominations: [],
    left: [],
    buffers: [],
    devices: [],
    cost: nothing,
    lowerBound: nothing,
    weighed: { cost: nothing, lowerBound: nothing },
  };
}
