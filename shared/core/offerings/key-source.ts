import { at } from '../quantity/at.ts';
import { isNone, isOpenKey, offeringsMeeting, openRule, poolRule, type CompiledPool } from './compile-pool.ts';
import { marketLabels, isDecidedByType } from './compile-types.ts';
import { admits, chooseValue, intersect, onlyValue, type LabelRules } from '../rules/label-rule.ts';
import type { PoolState } from './pool-state.ts';
import type { KeySource } from './pool-state.ts';

export function keySourceOf(pool: CompiledPool, key: string): KeySource {
  const { catalog } = pool;
  if (catalog.marketKeys.has(key)) {
    const values = catalog.markets.map((market) => marketLabels(market)[key]);
    return {
      kind: 'offering',
      values,
      groups: [...new Set(values)].map((value) => ({ value, bits: bitsWith(values, value) })),
    };
  }
  if (isDecidedByType(catalog, key)) return { kind: 'type', values: typeValues(pool, key) };
  if (isOpenKey(pool, key)) return { kind: 'open' };
  return { kind: 'pool', value: onlyValue(poolRule(pool, key)) ?? undefined };
}

/** What decides the key's value on nodes of the pool, found once. */
export function sourceFor(state: PoolState, key: string): KeySource {
  const source = state.keySources.get(key) ?? keySourceOf(state.pool, key);
  state.keySources.set(key, source);
  return source;
}

/** The bits of the offerings that have the value. */
export function bitsWith(values: ReadonlyArray<string | undefined>, wanted: string | undefined): number {
  let bits = 0;
  for (let bit = 0; bit < values.length; bit++) if (values[bit] === wanted) bits |= 1 << bit;
  return bits;
}

/** A size that may get one of several values counts as without, since nobody knows which until it is there. */
function typeValues(pool: CompiledPool, key: string): ReadonlyArray<string | undefined> {
  const own = pool.rules.get(key);
  return pool.catalog.types.map((_, type) => {
    const rule = pool.catalog.labels.ruleOf(type, key);
    if (rule === undefined) return undefined;
    return onlyValue(own === undefined ? rule : intersect(rule, own)) ?? undefined;
  });
}

/**
 * The values that nodes of the pool which meet one of `alternatives` can have for the key; null: any node. Of a label
 * that the pool leaves open without listing values: those that it allows of `named`, and the one that its nodes get
 * where pods need the label and name no value.
 */
export function domainsOn(
  pool: CompiledPool,
  key: string,
  {
    named,
    alternatives,
  }: { readonly named: Iterable<string>; readonly alternatives: ReadonlyArray<LabelRules> | null },
): ReadonlyArray<string> {
  const source = keySourceOf(pool, key);
  const possible = alternatives?.map((rules) => offeringsMeeting(pool, rules, pool.offered)) ?? [pool.offered];
  const isSome = !possible.every(isNone);
  switch (source.kind) {
    case 'offering': {
      const any = possible.flatMap((offered) => [...offered]).reduce((mask, offered) => mask | offered, 0);
      return source.values.filter((_, bit) => ((any >> bit) & 1) === 1).filter(isPresent);
    }
    case 'type':
      return source.values.filter((_, type) => possible.some((offered) => at(offered, type) !== 0)).filter(isPresent);
    case 'pool':
      return source.value === undefined || !isSome ? [] : [source.value];
    case 'open': {
      const rule = openRule(pool, key);
      if (!isSome) return [];
      if (!rule.complement) return [...rule.values].toSorted();
      return [...new Set([chooseValue({ ...rule, absent: false }), ...named])].filter(
        (value): value is string => value !== null && admits(rule, value),
      );
    }
    default:
      return source satisfies never;
  }
}

/** Does every node of the pool have such a label? */
export function isOnAllNodes(state: PoolState, key: string): boolean {
  const source = sourceFor(state, key);
  switch (source.kind) {
    case 'offering':
    case 'type':
      return source.values.every(isPresent);
    case 'pool':
      return source.value !== undefined;
    case 'open':
      return !openRule(state.pool, key).absent;
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
