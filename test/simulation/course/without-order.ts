import { disruptionInput } from '../../../shared/app/disrupt/disruption-input.ts';
import { gather } from '../../../shared/app/gather/gather.ts';
import type { Ports } from '../../../shared/app/ports/ports.ts';
import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import { instant } from '../../../shared/core/quantity/units.ts';

/** The nodes that the planner would have otherwise, and finds no order of steps for that keeps budgets on the way. */
export async function nodesWithoutOrder(ports: Ports): Promise<ReadonlySet<string>> {
  const gathered = await gather(ports, await ports.ledger.read(), true);
  if (gathered === null) return new Set();
  const { kept } = planDisruption(disruptionInput(ports, gathered.input, new Map()), instant(ports.now()));
  return new Set(kept.filter(({ reason }) => reason.kind === 'no-order').map(({ node }) => node));
}
