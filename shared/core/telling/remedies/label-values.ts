import { labelKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import { at } from '../../quantity/at.ts';
import { lowestBit, lowestWeighedOf } from '../../offerings/compile-pool.ts';
import { marketLabels } from '../../offerings/compile-types.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';
import type { PoolFacts } from './facts-of-pool.ts';

/**
 * What nodes of these offerings can have for a label: cheapest first, those of shunned sizes last. Not the zone of
 * machines without one: who asks for zones does not mean it.
 */
export function labelValues(facts: PoolFacts, key: string, offered: Int32Array): ReadonlyArray<string> {
  const ranks = facts.state.pool.catalog.marketKeys.has(key)
    ? ranksOfMarkets(facts, key, offered)
    : ranksOfTypes(facts, key, offered);
  return [...ranks].toSorted(([a, one], [b, other]) => one - other || byCodeUnit(a, b)).map(([value]) => value);
}

/** The lowest price of each value. */
type Ranks = ReadonlyMap<string, number>;

/** More than any price, in micro-USD per hour. */
const SHUNNED = 1e12;

function ranksOfTypes({ state: { pool }, isShunned }: PoolFacts, key: string, offered: Int32Array): Ranks {
  const ranks = new Map<string, number>();
  const { labels, types } = pool.catalog;
  offered.forEach((mask, type) => {
    if (mask === 0) return;
    const price = lowestWeighedOf(types[type]?.weighedListPrices ?? NO_PRICES, mask);
    for (const value of labels.ruleOf(type, key)?.values ?? []) lower(ranks, value, isShunned(type), price);
  });
  return ranks;
}

function ranksOfMarkets({ state: { pool }, isShunned }: PoolFacts, key: string, offered: Int32Array): Ranks {
  const ranks = new Map<string, number>();
  const { markets, types } = pool.catalog;
  const values = markets.map((market) => {
    const value = marketLabels(market)[key];
    return key === labelKey.zone && value === REGIONAL_ZONE ? undefined : value;
  });
  offered.forEach((mask, type) => {
    for (let left = mask; left !== 0; left &= left - 1) {
      const value = values[lowestBit(left)];
      const prices = types[type]?.weighedListPrices ?? NO_PRICES;
      if (value !== undefined) lower(ranks, value, isShunned(type), at(prices, lowestBit(left)));
    }
  });
  return ranks;
}

function lower(ranks: Map<string, number>, value: string, isShunned: boolean, price: number): void {
  const rank = isShunned ? SHUNNED + price : price;
  if (rank < (ranks.get(value) ?? Infinity)) ranks.set(value, rank);
}

const NO_PRICES = new Float64Array();
