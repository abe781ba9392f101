import { labelKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import { at } from '../../quantity/at.ts';
import { settleOn, offeringsAt, type OpenClaim } from '../state/open-claim.ts';
import type { Workspace } from '../state/workspace.ts';

/**
 * Where a claim may be in several zones at one price, the one with the fewest nodes of its pool: price does not care,
 * the next zone outage does. Changes no size, no price and nothing that a pod looks at.
 */
export function balanceZones({ nodes, claims }: Workspace): void {
  const counts = new Map<string, number>();
  const count = (pool: string, zone: string, more: number): number => {
    const id = `${pool} ${zone}`;
    const total = (counts.get(id) ?? 0) + more;
    counts.set(id, total);
    return total;
  };
  for (const { capacity } of nodes) {
    if (capacity.nodePool !== null) count(capacity.nodePool, capacity.labels[labelKey.zone] ?? '', 1);
  }
  for (const claim of claims) {
    const { chosen, booked, state } = claim;
    if (chosen === null || booked === null) continue;
    const zoneOf = (bit: number): string => state.pool.catalog.markets[bit]?.zone ?? '';
    const equals = equalBits(claim).toSorted(
      (a, b) => count(state.pool.name, zoneOf(a), 0) - count(state.pool.name, zoneOf(b), 0) || a - b,
    );
    const bit = equals[0] ?? chosen.bit;
    count(state.pool.name, zoneOf(bit), 1);
    settleOn(claim, { chosen: { ...chosen, bit }, booked });
  }
}

/** Offerings of the chosen size with the same price, capacity type and other labels; a zone is not traded for none. */
function equalBits(claim: OpenClaim): Array<number> {
  const { chosen, state } = claim;
  const { markets, types } = state.pool.catalog;
  if (chosen === null) return [];
  const offered = offeringsAt(claim, chosen.type);
  const own = markets[chosen.bit];
  const prices = types[chosen.type]?.weighedPrices ?? new Float64Array();
  return markets.flatMap((market, bit) => {
    if (((offered >> bit) & 1) === 0 || at(prices, bit) !== chosen.price) return [];
    const sameKind = market.capacityType === own?.capacityType && market.reservation === own.reservation;
    return sameKind && (market.zone === REGIONAL_ZONE) === (own.zone === REGIONAL_ZONE) ? [bit] : [];
  });
}
