import type { InstanceType } from '../../core/model/catalog.ts';
import type { Plan, PlannedClaim } from '../../core/model/plan.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { offeredInput } from '../../core/offerings/offered-input.ts';
import { labelKey } from '../../kubernetes/labels.ts';

/**
 * The plan with claims that can be launched only as what keeps its saving: of the capacity type that was planned, and
 * of sizes that together cost less than `below`, micro-USD per hour. Else Azure's refusal of a cheap offering would end
 * in a node that costs as much as the one that goes, or in spot for spot. As in Karpenter, a replacement that cannot be
 * had so is none. Null where a pool's minValues asks for more sizes than that leaves.
 */
export function onlyCheaper(plan: Plan, input: ProvisioningInput, below: number): Plan | null {
  const { catalog } = offeredInput(input);
  // What is saved in all may be spent on any: each has its share.
  const slack = (below - plan.cost) / Math.max(1, plan.claims.length);
  const claims = plan.claims.map((claim) => narrowed(claim, catalog.get(claim.nodePool) ?? [], slack));
  return claims.some((claim) => claim === null) ? null : { ...plan, claims: claims.flatMap((claim) => claim ?? []) };
}

function narrowed(claim: PlannedClaim, types: ReadonlyArray<InstanceType>, slack: number): PlannedClaim | null {
  const { capacityType, price, instanceType } = claim.offering;
  const isCheap = (type: InstanceType): boolean =>
    type.name === instanceType || worstPrice(type, claim) < price + slack;
  const listed = new Set(valuesOf(claim, labelKey.instanceType));
  const kept = types.filter((type) => listed.has(type.name) && isCheap(type));
  const names = new Set(kept.map(({ name }) => name));
  const only = new Map<string, ReadonlyArray<string>>([
    [labelKey.instanceType, valuesOf(claim, labelKey.instanceType).filter((name) => names.has(name))],
    [labelKey.capacityType, [capacityType]],
  ]);
  const isLeft = (minValues: number, key: string): boolean => {
    const values = only.get(key) ?? kept.flatMap(({ labels }) => labels[key] ?? []);
    return key === labelKey.zone || new Set(values).size >= minValues;
  };
  if (!claim.requirements.every(({ key, minValues }) => minValues === undefined || isLeft(minValues, key))) return null;
  return {
    ...claim,
    fallbacks: claim.fallbacks.filter((one) => one.capacityType === capacityType && names.has(one.instanceType)),
    requirements: claim.requirements.map((one) => {
      const values = one.operator === 'In' ? only.get(one.key) : undefined;
      return values === undefined ? one : { ...one, values };
    }),
  };
}

/**
 * The most that the size may cost in any zone that the claim allows, as the capacity type that was planned; Infinity
 * where it is not sold so.
 */
function worstPrice({ offerings }: InstanceType, claim: PlannedClaim): number {
  const zones = new Set(valuesOf(claim, labelKey.zone));
  const own = offerings.filter(({ zone, capacityType }) => {
    return zones.has(zone) && capacityType === claim.offering.capacityType;
  });
  return own.length === 0 ? Infinity : Math.max(...own.map(({ price }) => price));
}

function valuesOf({ requirements }: PlannedClaim, key: string): ReadonlyArray<string> {
  return requirements.find((one) => one.key === key && one.operator === 'In')?.values ?? [];
}
