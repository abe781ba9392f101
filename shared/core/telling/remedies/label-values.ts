import { labelKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import { at } from '../../quantity/at.ts';
import { lowestWeighedOf, type CompiledPool } from '../../offerings/compile-pool.ts';
import { marketLabels } from '../../offerings/compile-types.ts';
import { isShunned } from '../../offerings/shunned-sizes.ts';
import { byCodeUnit } from '../../rules/label-rule.ts';

/**
 * What nodes of these offerings can have for a label: cheapest first, those of shunned sizes last. Not the zone of machines
 * without one: who asks for zones does not mean it.
 */
export function labelValues({ catalog }: CompiledPool, key: string, offered: Int32Array): ReadonlyArray<string> {
  const ranks = new Map<string, Rank>();
  const add = (value: string | undefined, rank: Rank): void => {
    const known = value === undefined ? undefined : ranks.get(value);
    if (value !== undefined && (known === undefined || byRank(rank, known) < 0)) ranks.set(value, rank);
  };
  offered.forEach((mask, type) => {
    if (mask === 0) return;
    const { name = '', weighedListPrices = NO_PRICES } = catalog.types[type] ?? {};
    const shunned = Number(isShunned(name, (label) => catalog.labels.ruleOf(type, label), NO_RULES));
    const rankOf = (bits: number): Rank => ({ shunned, price: lowestWeighedOf(weighedListPrices, bits) });
    if (!catalog.marketKeys.has(key)) {
      for (const value of catalog.labels.ruleOf(type, key)?.values ?? []) add(value, rankOf(mask));
    } else {
      catalog.markets.forEach((market, bit) => {
        const value = marketLabels(market)[key];
        const isMeant = key !== labelKey.zone || value !== REGIONAL_ZONE;
        if ((at(offered, type) >> bit) & 1 && isMeant) add(value, rankOf(1 << bit));
      });
    }
  });
  return [...ranks].toSorted(([a, one], [b, other]) => byRank(one, other) || byCodeUnit(a, b)).map(([value]) => value);
}

interface Rank {
  readonly shunned: number;
  readonly price: number;
}

function byRank(a: Rank, b: Rank): number {
  return a.shunned - b.shunned || a.price - b.price;
}

const NO_RULES = new Map();
const NO_PRICES = new Float64Array();
