import { labelKey } from '../model/labels.ts';
import { onlyValue, type LabelRules } from './label-rule.ts';

/**
 * Families whose older versions are announced for retirement, with the first version that is not.
 * Source: Azure's VM size retirement announcements, read 2026-11: A, D and DS v1/v2, F and Fs (v2 too), G, L v1/v2.
 */
const FIRST_CURRENT_VERSION: ReadonlyMap<string, number> = new Map([
  ['A', 3],
  ['D', 3],
  ['DS', 3],
  ['F', 3],
  ['G', Infinity],
  ['H', Infinity],
  ['L', 3],
]);

const BURSTABLE_FAMILY = 'B';

/**
 * True for a size that price alone must not choose: burstable ones cannot sustain their vCPUs, retired generations are
 * slow. A pool that names the size, its series or its version (for burstable ones also the family) means it.
 */
export function isShunned(type: { readonly rules: LabelRules }, pool: LabelRules): boolean {
  const family = valueOf(type.rules, labelKey.skuFamily);
  const names = (key: string): boolean => isNamed(type.rules, pool, key);
  if (names(labelKey.instanceType) || names(labelKey.skuName) || names(labelKey.skuSeries)) return false;
  if (family === BURSTABLE_FAMILY) return !names(labelKey.skuFamily);
  const current = family === null ? undefined : FIRST_CURRENT_VERSION.get(family);
  const version = valueOf(type.rules, labelKey.skuVersion);
  return current !== undefined && version !== null && Number(version) < current && !names(labelKey.skuVersion);
}

function isNamed(type: LabelRules, pool: LabelRules, key: string): boolean {
  const [rule, value] = [pool.get(key), valueOf(type, key)];
  return rule !== undefined && !rule.complement && value !== null && rule.values.has(value);
}

function valueOf(type: LabelRules, key: string): string | null {
  const rule = type.get(key);
  return rule === undefined ? null : onlyValue(rule);
}
