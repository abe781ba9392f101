import { normalizeKey } from '../model/labels.ts';
import type { Amounts } from '../quantity/quantity.ts';
import { at } from './compile-pool.ts';
import { comboLabels } from './compile-types.ts';
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
  const { order, catalog } = state.pool;
  const capacityOf = (type: number): Amounts => catalog.types[type]?.capacity ?? new Map();
  if (!wantsMinValues(state) || relaxed || meetsMinValues(state, offered, capacityOf(chosen)))
    return capacityOf(chosen);
  if (state.pool.limits.size === 0) return null;
  const larger = order.find(
    (type) =>
      at(offered, type) !== 0 &&
      withinLimits(state.remaining, capacityOf(type), instead) &&
      takesNoMore(state, capacityOf(chosen), capacityOf(type)) &&
      meetsMinValues(state, offered, capacityOf(type)),
  );
  return larger === undefined ? null : capacityOf(larger);
}

/** Does the pool ask for minValues at all? */
export function wantsMinValues({ pool }: PoolState): boolean {
  return pool.manifest.spec.template.spec.requirements.some(({ minValues }) => minValues !== undefined);
}

/** Of the resources that the pool limits, does a node of `capacity` take no more than `booked`? */
export function takesNoMore({ pool }: PoolState, capacity: Amounts, booked: Amounts): boolean {
  return [...pool.limits.keys()].every((name) => (capacity.get(name) ?? 0) <= (booked.get(name) ?? 0));
}

/**
 * Do the types left that take no more than `booked` have enough distinct values for each of the pool's minValues? As in
 * Karpenter, a type counts with all that it offers in the pool, whatever the pods left of its zones.
 */
export function meetsMinValues(state: PoolState, offered: Int32Array, booked: Amounts): boolean {
  const wanted = state.pool.manifest.spec.template.spec.requirements.filter(({ minValues }) => minValues !== undefined);
  return wanted.every(
    ({ key, minValues }) => valuesLeft(state, offered, normalizeKey(key), booked) >= (minValues ?? 0),
  );
}

function valuesLeft(state: PoolState, offered: Int32Array, key: string, booked: Amounts): number {
  const { pool } = state;
  const { types, combos, comboKeys } = pool.catalog;
  const values = new Set<string>();
  for (const type of pool.order) {
    const compiled = types[type];
    if (compiled === undefined || at(offered, type) === 0 || !takesNoMore(state, compiled.capacity, booked)) continue;
    if (!comboKeys.has(key)) {
      for (const value of compiled.rules.get(key)?.values ?? []) values.add(value);
      continue;
    }
    combos.forEach((combo, bit) => {
      const value = comboLabels(combo)[key];
      if ((at(pool.offered, type) >> bit) & 1 && value !== undefined) values.add(value);
    });
  }
  return values.size;
}
