import { at, isOpenKey, poolRule, type CompiledPool } from './compile-pool.ts';
import { comboLabels, isDecidedByType } from './compile-types.ts';
import { intersect, onlyValue } from './label-rule.ts';

/** What decides the value of one label on a pool's nodes. `undefined` values: no such label. */
export type KeySource =
  | { readonly kind: 'offering'; readonly values: ReadonlyArray<string | undefined> }
  | { readonly kind: 'type'; readonly values: ReadonlyArray<string | undefined> }
  | { readonly kind: 'pool'; readonly value: string | undefined }
  | { readonly kind: 'open' };

export function keySourceOf(pool: CompiledPool, key: string): KeySource {
  const { catalog } = pool;
  if (catalog.comboKeys.has(key)) {
    return { kind: 'offering', values: catalog.combos.map((combo) => comboLabels(combo)[key]) };
  }
  if (isDecidedByType(catalog, key)) return { kind: 'type', values: typeValues(pool, key) };
  if (isOpenKey(pool, key)) return { kind: 'open' };
  return { kind: 'pool', value: onlyValue(poolRule(pool, key)) ?? undefined };
}

/** A size that may get one of several values counts as without, since nobody knows which until it is there. */
function typeValues(pool: CompiledPool, key: string): ReadonlyArray<string | undefined> {
  const own = pool.rules.get(key);
  return pool.catalog.types.map(({ rules }) => {
    const rule = rules.get(key);
    if (rule === undefined) return undefined;
    return onlyValue(own === undefined ? rule : intersect(rule, own)) ?? undefined;
  });
}

/** The values that nodes of the pool can have for the key. */
export function domainsOn(pool: CompiledPool, key: string): ReadonlyArray<string> {
  const source = keySourceOf(pool, key);
  switch (source.kind) {
    case 'offering': {
      const any = pool.offered.reduce((mask, offered) => mask | offered, 0);
      return source.values.filter((_, bit) => ((any >> bit) & 1) === 1).filter(isPresent);
    }
    case 'type':
      return source.values.filter((_, type) => at(pool.offered, type) !== 0).filter(isPresent);
    case 'pool':
      return source.value === undefined || pool.order.length === 0 ? [] : [source.value];
    case 'open': {
      const rule = pool.rules.get(key);
      return rule === undefined || rule.complement || pool.order.length === 0 ? [] : [...rule.values].toSorted();
    }
    default:
      return source satisfies never;
  }
}

function isPresent(value: string | undefined): value is string {
  return value !== undefined;
}

/** Drops, in place, the offerings whose value for the key is not allowed. An open key restricts nothing here. */
export function restrictTo(
  offered: Int32Array,
  source: KeySource,
  allowed: (value: string | undefined) => boolean,
): void {
  switch (source.kind) {
    case 'offering': {
      const mask = source.values.reduce((sum, value, bit) => (allowed(value) ? sum | (1 << bit) : sum), 0);
      for (let type = 0; type < offered.length; type++) offered[type] = at(offered, type) & mask;
      return;
    }
    case 'type':
      for (let type = 0; type < offered.length; type++) {
        if (offered[type] !== 0 && !allowed(source.values[type])) offered[type] = 0;
      }
      return;
    case 'pool':
      if (!allowed(source.value)) offered.fill(0);
      return;
    case 'open':
      return;
    default:
      source satisfies never;
  }
}
