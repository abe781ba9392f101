import { normalizeKey } from '../../kubernetes/labels.ts';
import type { Amounts } from '../../kubernetes/text/quantity.ts';
import { at } from '../quantity/at.ts';
import { capacityOf } from './compile-pool.ts';
import { marketLabels } from './compile-types.ts';
import { withinLimits, type PoolState } from './pool-state.ts';

/**
 * What a claim must book of its pool's limits so that enough types to meet minValues take no more: the chosen type's
 * capacity, else that of the first larger one that will do. Null when there are too few types.
 */
export function bookingFor(
  state: PoolState,
  offered: Int32Array,
  {
    chosen,
    instead,
    relaxed,
  }: { readonly chosen: number; readonly instead: Amounts | null; readonly relaxed: boolean },
): Amounts | null {
  if (!wantsMinValues(state) || relaxed || meetsMinValues(state, offered, capacityOf(state.pool, chosen)))
    return capacityOf(state.pool, chosen);
  if (state.pool.limits.size === 0) return null;
  const larger = state.pool.order.find(
    (type) =>
      at(offered, type) !== 0 &&
      withinLimits(state.remaining, capacityOf(state.pool, type), instead) &&
      takesNoMore(state, capacityOf(state.pool, chosen), capacityOf(state.pool, type)) &&
      meetsMinValues(state, offered, capacityOf(state.pool, type)),
  );
  return larger === undefined ? null : capacityOf(state.pool, larger);
}

/** Does the pool ask for minValues at all? */
export function wantsMinValues({ pool }: PoolState): boolean {
  return pool.manifest.spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined);
}

/** Of the resources that the pool limits, does a node of `capacity` take no more than `booked`? */
export function takesNoMore({ pool }: PoolState, capacity: Amounts, booked: Amounts): boolean {
  for (const name of pool.limits.keys()) if ((capacity.get(name) ?? 0) > (booked.get(name) ?? 0)) return false;
  return true;
}

/**
 * Do the types left that take no more than `booked` have enough distinct values for each of the pool's minValues? As in
 * Karpenter, a type counts with all that it offers in the pool, whatever the pods left of its zones.
 */
export function meetsMinValues(state: PoolState, offered: Int32Array, booked: Amounts): boolean {
  const wanted = minValuesOf(state);
  if (wanted.size === 0) return true;
  const types = state.pool.order.filter(
    (type) => at(offered, type) !== 0 && takesNoMore(state, capacityOf(state.pool, type), booked),
  );
  return [...wanted].every(([key, least]) => valuesAmong(state, types, key).size >= least);
}

/** The pool's minValues, the largest for each key. */
export function minValuesOf({ pool }: PoolState): ReadonlyMap<string, number> {
  const least = new Map<string, number>();
  for (const { key, minValues } of pool.manifest.spec.template.spec.requirements) {
    const name = normalizeKey(key);
    if (minValues !== undefined) least.set(name, Math.max(minValues, least.get(name) ?? 0));
  }
  return least;
}

/** The values that nodes of these types can have for the key in the pool. */
export function valuesAmong(
  { pool }: PoolState,
  types: ArrayLike<number> & Iterable<number>,
  key: string,
): ReadonlySet<string> {
  const { labels, markets, marketKeys } = pool.catalog;
  const values = new Set<string>();
  for (const type of types) {
    if (!marketKeys.has(key)) {
      for (const value of labels.ruleOf(type, key)?.values ?? []) values.add(value);
      continue;
    }
    markets.forEach((market, bit) => {
      const value = marketLabels(market)[key];
      if ((at(pool.offered, type) >> bit) & 1 && value !== undefined) values.add(value);
    });
  }
  return values;
}

/**
 * At most `most` of `types`, which come best first: the best, but as many further down as minValues needs; the first of
 * all is always kept. Karpenter cuts the list first and then gives the claim up when the cheapest alone have too few
 * values.
 */
export function cutTo(state: PoolState, types: ReadonlyArray<number>, most: number): ReadonlyArray<number> {
  if (types.length <= most) return types;
  const needed = new Set<number>(types.slice(0, 1));
  for (const [key, least] of minValuesOf(state)) {
    for (const type of types) {
      const have = valuesAmong(state, [...needed], key).size;
      if (have >= least || needed.size === most) break;
      if (valuesAmong(state, [...needed, type], key).size > have) needed.add(type);
    }
  }
  const free = most - needed.size;
  const best = new Set(types.filter((type) => !needed.has(type)).slice(0, free));
  return types.filter((type) => needed.has(type) || best.has(type));
}
