import { labelKey } from '../../kubernetes/labels.ts';
import { onlyValue, type LabelRule, type LabelRules } from '../rules/label-rule.ts';

/**
 * Generations that Azure has retired or announced to retire, by size name: A and Av2; D, DS and their v2; F, Fs and
 * Fsv2 (FX is another series); G and GS; H; L, Ls and Lsv2; NCv2, NCv3; ND and NDv2; NV, NVv2, NVv3, NVv4.
 * Source: Azure's list of retired and previous-generation VM sizes, as of 2026-11.
 */
const RETIRED: ReadonlyArray<RegExp> = [
  /^(Standard|Basic)_A\d/i,
  /^Standard_DS?\d+(-\d+)?(_v2)?(_Promo)?$/i,
  /^Standard_F\d+s?(-\d+)?(_v2)?$/i,
  /^Standard_(GS?|H)\d/i,
  /^Standard_L\d+s?(_v2)?$/i,
  /^Standard_NC\d+r?s_v[23]$/i,
  /^Standard_ND\d+r?s(_v2)?$/i,
  /^Standard_NV\d+s?(_v[23])?$/i,
  /^Standard_NV\d+as_v4$/i,
];

const IS_RETIRED = new RegExp(RETIRED.map(({ source }) => source).join('|'), 'i');

const BURSTABLE = /^Standard_B\d/i;

/**
 * True for a size that price alone must not choose: burstable ones cannot sustain their vCPUs, retired generations are
 * slow. A pool that names the size, its series or its version (for burstable ones also the family) means it.
 */
export function isShunned(name: string, labelOf: LabelOf, pool: LabelRules): boolean {
  const burstable = BURSTABLE.test(name);
  if (!burstable && !IS_RETIRED.test(name)) return false;
  const naming = [labelKey.instanceType, labelKey.skuName, labelKey.skuSeries, labelKey.skuVersion];
  const keys = burstable ? [...naming, labelKey.skuFamily] : naming;
  return !keys.some((key) => isNamed(labelOf, pool.get(key), key));
}

/** What a size may have for a label; undefined: no such label. */
type LabelOf = (key: string) => LabelRule | undefined;

/** What is wrong with a size that `isShunned` is true of. */
export function shunnedKind(name: string): 'burstable' | 'retired' {
  return BURSTABLE.test(name) ? 'burstable' : 'retired';
}

function isNamed(labelOf: LabelOf, rule: LabelRule | undefined, key: string): boolean {
  if (rule === undefined || rule.complement) return false;
  const own = labelOf(key);
  const value = own === undefined ? null : onlyValue(own);
  return value !== null && rule.values.has(value);
}
