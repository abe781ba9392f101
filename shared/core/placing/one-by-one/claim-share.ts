import { at } from '../../quantity/at.ts';
import { isOpenKey, offeringsMeeting, openRule } from '../../offerings/compile-pool.ts';
import { isWithin, overlaps, type LabelRules } from '../../rules/label-rule.ts';
import { offeringsOf, settledValue, type OpenClaim } from '../state/open-claim.ts';
import { untolerated } from '../../rules/taints.ts';
import type { NodeFilter } from '../state/topology.ts';
import type { ClaimShare } from '../state/topology-guard.ts';

/** What the pods on an open claim add to a spread that looks at some nodes only. */
export const claimShare: ClaimShare = (claim, key, filter) => ({
  domain: settledValue(claim, key),
  ...passing(claim, filter),
});

/**
 * Would the filter look at the node that the claim becomes: for certain, or with some of its offerings? Labels that the
 * pool leaves open count as the claim's pods have narrowed them.
 */
export function passing(
  claim: OpenClaim,
  { alternatives, tolerations }: NodeFilter,
): { readonly certain: boolean; readonly possible: boolean } {
  const { pool } = claim.state;
  if (tolerations !== null && untolerated(tolerations, pool.taints, false) !== null) {
    return { certain: false, possible: false };
  }
  if (alternatives === null) return { certain: true, possible: true };
  const offered = offeringsOf(claim);
  const [met, sure] = [new Int32Array(offered.length), new Int32Array(offered.length)];
  for (const rules of alternatives) {
    const openly = meetsOpenly(claim, rules);
    if (!openly.possible) continue;
    offeringsMeeting(pool, rules, offered).forEach((mask, type) => {
      met[type] = at(met, type) | mask;
      if (openly.certain) sure[type] = at(sure, type) | mask;
    });
  }
  return { certain: sure.every((mask, type) => mask === offered[type]), possible: met.some((mask) => mask !== 0) };
}

/** As far as labels go that the claim's pool leaves open. */
function meetsOpenly(
  { open, state: { pool } }: OpenClaim,
  rules: LabelRules,
): { readonly certain: boolean; readonly possible: boolean } {
  let certain = true;
  for (const [key, rule] of rules) {
    if (!isOpenKey(pool, key)) continue;
    const own = open.get(key) ?? openRule(pool, key);
    if (!overlaps(own, rule)) return { certain: false, possible: false };
    certain &&= isWithin(own, rule);
  }
  return { certain, possible: true };
}
