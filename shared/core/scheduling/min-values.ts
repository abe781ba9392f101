import { normalizeKey } from '../model/labels.ts';
import type { Amounts } from '../quantity/quantity.ts';
import { at } from './compile-pool.ts';
import { comboLabels } from './compile-types.ts';
import { withinLimits, type PoolState } from './pool-state.ts';

/**
 * Do the types left have enough distinct values for each of the pool's minValues? As in Karpenter, a type counts with all
 * that it offers in the pool, whatever the pods left of its zones.
 */
export function meetsMinValues(state: PoolState, offered: Int32Array, instead: Amounts | null): boolean {
  const wanted = state.pool.manifest.spec.template.spec.requirements.filter(({ minValues }) => minValues !== undefined);
  return wanted.every(
    ({ key, minValues }) => valuesLeft(state, offered, normalizeKey(key), instead) >= (minValues ?? 0),
  );
}

function valuesLeft({ pool, remaining }: PoolState, offered: Int32Array, key: string, instead: Amounts | null): number {
  const { types, combos, comboKeys } = pool.catalog;
  const values = new Set<string>();
  for (const type of pool.order) {
    const compiled = types[type];
    if (compiled === undefined || at(offered, type) === 0 || !withinLimits(remaining, compiled.capacity, instead))
      continue;
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
