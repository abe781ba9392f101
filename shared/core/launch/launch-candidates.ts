import type { InstanceType, Offering } from '../model/catalog.ts';
import { isTypeLevelKey, labelKey } from '../../kubernetes/labels.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import type { PlannedOffering } from '../model/plan.ts';
import { weighedPriceOf } from '../model/weighed-cost.ts';
import { allocatableAmounts } from '../model/allocatable.ts';
import { parseAmounts } from '../../kubernetes/text/quantity.ts';
import { rateOf, riskFields, riskOf, withRisk } from '../offerings/weighed-price.ts';
import { type LabelRules, admits, byCodeUnit, oneOf, overlaps, toRules } from '../rules/label-rule.ts';

/**
 * The offerings a NodeClaim may be launched as, in the order to try them: those its plan chose, as far as they are
 * still available, then all others that meet its requirements and hold what it requests, by weighed price; spot before
 * on-demand and zonal before regional at one price, as Karpenter's Azure provider ranks them. `evictionCostMs`: as its
 * pool says.
 */
export function launchCandidates(
  claim: NodeClaim,
  types: ReadonlyArray<InstanceType>,
  planned: ReadonlyArray<PlannedOffering>,
  evictionCostMs: number,
): ReadonlyArray<PlannedOffering> {
  const rules = toRules(claim.spec.requirements);
  const requests = parseAmounts(claim.spec.resources?.requests, 'up');
  const possible = types
    .flatMap((type) => {
      const allowed = type.offerings.filter((offering) => isAllowed(type, offering, rules));
      return allowed.length > 0 && holds(type, requests)
        ? allowed.map((one) => toPlanned(type, one, evictionCostMs))
        : [];
    })
    .toSorted(byPreference);
  const ids = new Map(possible.map((offering) => [idOf(offering), offering]));
  const first = planned.flatMap((offering) => ids.get(idOf(offering)) ?? []);
  return [...new Set([...first, ...possible])];
}

function holds(type: InstanceType, requests: ReadonlyMap<string, number>): boolean {
  const allocatable = allocatableAmounts(type);
  return [...requests].every(([name, amount]) => amount <= (allocatable.get(name) ?? 0));
}

/**
 * Labels that the claim's own pool sets, such as the pool's name, are no matter of the offering and pass. Those that
 * sizes decide do not: a size without a GPU has no GPU label.
 */
function isAllowed(type: InstanceType, offering: Offering, rules: LabelRules): boolean {
  if (!offering.available) return false;
  return [...rules].every(([key, rule]) => {
    const fixed = fixedValue(type, offering, key);
    if (fixed !== undefined) return admits(rule, fixed);
    const values = type.labels[key];
    return values === undefined ? rule.absent || !isTypeLevelKey(key) : overlaps(rule, oneOf(values));
  });
}

function fixedValue(type: InstanceType, offering: Offering, key: string): string | undefined {
  switch (key) {
    case labelKey.zone:
      return offering.zone;
    case labelKey.capacityType:
      return offering.capacityType;
    case labelKey.instanceType:
      return type.name;
    default:
      return offering.labels[key];
  }
}

/** The size's offering as plans have it. */
export function toPlanned(
  { name }: Pick<InstanceType, 'name'>,
  offering: Offering,
  evictionCostMs: number,
): PlannedOffering {
  const { zone, capacityType, price } = offering;
  const rate = rateOf(offering);
  const weighed = withRisk(price, riskOf(rate, evictionCostMs));
  return { instanceType: name, zone, capacityType, price, ...riskFields(price, rate, weighed) };
}

function idOf({ instanceType, zone, capacityType }: PlannedOffering): string {
  return `${instanceType}/${zone}/${capacityType}`;
}

function byPreference(a: PlannedOffering, b: PlannedOffering): number {
  return (
    weighedPriceOf(a) - weighedPriceOf(b) ||
    Number(b.capacityType === 'spot') - Number(a.capacityType === 'spot') ||
    Number(a.zone === '0') - Number(b.zone === '0') ||
    byCodeUnit(idOf(a), idOf(b))
  );
}
