import type { InstanceType } from '../model/catalog.ts';
import { labelKey, normalizeKey, spellingsOf } from '../../kubernetes/labels.ts';
import { oneOf, type LabelRule } from '../rules/label-rule.ts';

/**
 * The labels of all sizes of a catalog, read one label at a time when a rule first asks for it: most are asked for by
 * none.
 */
export interface TypeLabels {
  /** Does any size have the label? */
  readonly has: (key: string) => boolean;
  /** What nodes of the size may have for the label; undefined: no such label. */
  readonly ruleOf: (type: number, key: string) => LabelRule | undefined;
  /** Per size: does `test` hold of its rule for the label? Asked once for sizes that have the same. */
  readonly test: (key: string, test: (rule: LabelRule | undefined) => boolean) => (type: number) => boolean;
  /** All labels that some size has. */
  readonly keys: () => ReadonlyArray<string>;
}

/** One label of all sizes. Sizes have the same few values for most labels: what is equal is one rule. */
interface Column {
  readonly rules: ReadonlyArray<LabelRule>;
  /** Per size: which of the rules; −1 for no such label. */
  readonly of: Int32Array;
}

/** `others`: labels that are not read here, since offerings decide them. */
export function typeLabels(types: ReadonlyArray<InstanceType>, others: ReadonlySet<string>): TypeLabels {
  const columns = new Map<string, Column>();
  const columnOf = (key: string): Column => {
    const column = columns.get(key) ?? readColumn(types, key);
    columns.set(key, column);
    return column;
  };
  return {
    has: (key) => !others.has(key) && columnOf(key).rules.length > 0,
    ruleOf: (type, key) => ruleIn(columnOf(key), type),
    test: (key, test) => {
      const { rules, of } = columnOf(key);
      const without = test(undefined);
      const answers = rules.map((rule) => test(rule));
      return (type) => answers[of[type] ?? -1] ?? without;
    },
    keys: () => {
      const keys = new Set<string>(types.length === 0 ? [] : [labelKey.instanceType]);
      for (const { labels } of types) for (const key of Object.keys(labels)) keys.add(normalizeKey(key));
      return [...keys].filter((key) => !others.has(key));
    },
  };
}

function ruleIn({ rules, of }: Column, type: number): LabelRule | undefined {
  return rules[of[type] ?? -1];
}

function readColumn(types: ReadonlyArray<InstanceType>, key: string): Column {
  if (key === labelKey.instanceType) {
    return { rules: types.map(({ name }) => oneOf([name])), of: Int32Array.from(types.keys()) };
  }
  const spellings = spellingsOf(key);
  const rules: Array<LabelRule> = [];
  const of = new Int32Array(types.length).fill(-1);
  const known = new Map<string, number>();
  for (let type = 0; type < types.length; type++) {
    const values = valuesOf(types[type]?.labels ?? {}, key, spellings);
    if (values === undefined) continue;
    const only = values.length === 1 ? values[0] : undefined;
    const place = (only === undefined ? undefined : known.get(only)) ?? rules.push(oneOf(values)) - 1;
    if (only !== undefined) known.set(only, place);
    of[type] = place;
  }
  return { rules, of };
}

/** Of a label that is there in several spellings the last counts. */
function valuesOf(
  labels: InstanceType['labels'],
  key: string,
  spellings: ReadonlyArray<string>,
): ReadonlyArray<string> | undefined {
  if (spellings.length === 0) return labels[key];
  const last = Object.keys(labels).findLast((one) => one === key || spellings.includes(one));
  return last === undefined ? undefined : labels[last];
}
