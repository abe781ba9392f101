import { at } from '../../quantity/at.ts';
import { capacityOf } from '../../offerings/compile-pool.ts';
import { offeringsFor, type BulkGroup, type BulkRule } from './bulk-groups.ts';
import { sourceFor } from '../../offerings/key-source.ts';
import { meetsMinValues } from '../../offerings/min-values.ts';
import { narrow, settleOn, settledValue, type ChosenOffering, type OpenClaim } from '../state/open-claim.ts';
import { holdingBits, withinLimits } from '../../offerings/pool-state.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * Makes a claim that pods were taken off, in place, the cheapest size that holds the rest, in the same zone and of the
 * same capacity type. What it needs no more goes back to the limits of its pool, where other pods may want it.
 */
export function shrinkClaim(workspace: Workspace, claim: OpenClaim, rules: ReadonlyMap<number, BulkRule | null>): void {
  const { state, chosen } = claim;
  const offered = offeredNow(workspace, claim, rules);
  // Pods counted by a label of the size itself would be counted elsewhere on another size.
  const isFixed = [...workspace.topology.counters.values()].some(({ key }) => sourceFor(state, key).kind === 'type');
  if (chosen === null || offered === null || isFixed) return;
  const smaller = cheapestWith(claim, offered, chosen);
  const capacity = smaller === null ? null : capacityOf(state.pool, smaller.type);
  if (smaller === null || capacity === null || !meetsMinValues(state, offered, capacity)) return;
  narrow(claim, { offered, from: 0 });
  settleOn(claim, { chosen: smaller, booked: capacity });
}

/**
 * Per type the offerings that meet the rules of the pods that are left and hold them; null when some pod is not packed.
 */
function offeredNow(
  workspace: Workspace,
  claim: OpenClaim,
  rules: ReadonlyMap<number, BulkRule | null>,
): Int32Array | null {
  const { state, pods, load, bits } = claim;
  const offered = state.pool.offered.map((mask) => mask & bits);
  for (const shape of new Set(pods.map((pod) => pod.shape))) {
    const rule = rules.get(shape) ?? null;
    const own =
      rule === null ? null : offeringsFor(workspace, state, { need: rule.need, within: domainOf(claim, rule) });
    if (own === null) return null;
    offered.forEach((mask, type) => (offered[type] = mask & at(own, type)));
  }
  return offered.map((mask, type) => holdingBits(state, type, mask, state.nothing, load));
}

function domainOf(claim: OpenClaim, { spread, together, apart }: BulkRule): BulkGroup['within'] {
  const key = spread?.counter.key ?? together?.key ?? apart;
  if (key === null) return null;
  const domain = settledValue(claim, key);
  return domain === null ? null : { key, domain };
}

/** The cheapest size with the offering of `chosen`; null when that is the one it has. */
function cheapestWith(
  { state, booked }: OpenClaim,
  offered: Int32Array,
  chosen: ChosenOffering,
): ChosenOffering | null {
  let best = chosen;
  for (const type of state.pool.order) {
    const compiled = state.pool.catalog.types[type];
    const shunned = state.pool.shunned[type] === 1;
    if (compiled === undefined || ((at(offered, type) >> chosen.bit) & 1) === 0 || (shunned && !chosen.shunned))
      continue;
    const price = at(compiled.weighedPrices, chosen.bit);
    if (price >= best.price || !withinLimits(state.remaining, compiled.amounts().capacity, booked)) continue;
    best = { type, bit: chosen.bit, price, shunned };
  }
  return best === chosen ? null : best;
}
