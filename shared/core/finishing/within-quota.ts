import type { QuotaUse } from '../model/catalog.ts';
import { labelKey } from '../../kubernetes/labels.ts';
import type { CheaperOfferings } from '../model/plan.ts';
import type { Plan, PlannedClaim, PlannedOffering } from '../model/plan.ts';
import { plainCostOf, weighedCostOf, weighedPriceOf } from '../model/weighed-cost.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';

/**
 * The plan with claims that quota has no room for planned as the first of their fallbacks that it has room for. Counted
 * are all claims of the plan, in its order, and those on their way. The cloud's count lags, so that what seems to have
 * no room is tried last and not left out, and a claim without any room stays as it is: the cloud decides.
 */
export function withinQuota(plan: Plan, input: ProvisioningInput): Plan {
  const tally: Tally = { useOf: quotaReader(input), taken: new Map() };
  for (const use of inFlightUses(input, tally)) take(tally, use);
  const claims = plan.claims.map((claim) => settle(claim, tally));
  if (claims.every((claim, index) => claim === plan.claims[index])) return plan;
  const weighed = { ...plan.weighed, cost: weighedCostOf(claims) };
  return { ...plan, claims, cost: plainCostOf(claims), weighed };
}

type OfferingName = Pick<PlannedOffering, 'instanceType' | 'zone' | 'capacityType'>;

interface Tally {
  /** Undefined where quota is not known. */
  readonly useOf: (pool: string, offering: OfferingName) => QuotaUse | undefined;
  /** By name of quota: cores of claims that the cloud has not counted. */
  readonly taken: Map<string, number>;
}

/** Finds what an offering takes. Each is looked for once: claims of a plan are often alike. */
function quotaReader({ catalog }: ProvisioningInput): Tally['useOf'] {
  const known = new Map<string, { readonly use: QuotaUse | undefined }>();
  return (pool, { instanceType, zone, capacityType }) => {
    const key = `${pool}/${instanceType}/${zone}/${capacityType}`;
    const found = known.get(key);
    if (found !== undefined) return found.use;
    const type = catalog.get(pool)?.find(({ name }) => name === instanceType);
    const use = type?.offerings.find((one) => one.zone === zone && one.capacityType === capacityType)?.quota;
    known.set(key, { use });
    return use;
  };
}

/** Claims that no machine has been made for are not in the cloud's count yet. */
function inFlightUses({ cluster, inFlight }: ProvisioningInput, { useOf }: Tally): ReadonlyArray<QuotaUse> {
  return cluster.nodeClaims.flatMap(({ metadata, status }) => {
    const planned = inFlight.get(metadata.name);
    const isCounted = status?.providerID !== undefined || metadata.deletionTimestamp !== undefined;
    if (planned === undefined || isCounted) return [];
    return useOf(metadata.labels?.[labelKey.nodePool] ?? '', planned) ?? [];
  });
}

function take({ taken }: Tally, { cores, of }: QuotaUse): void {
  for (const { name } of of) taken.set(name, (taken.get(name) ?? 0) + cores);
}

function hasRoom({ taken }: Tally, use: QuotaUse | undefined): boolean {
  return use === undefined || use.of.every(({ name, left }) => left - (taken.get(name) ?? 0) >= use.cores);
}

function settle(claim: PlannedClaim, tally: Tally): PlannedClaim {
  const { nodePool, offering, fallbacks } = claim;
  const candidates = [offering, ...fallbacks];
  const found = candidates.findIndex((one) => hasRoom(tally, tally.useOf(nodePool, one)));
  const at = Math.max(0, found);
  const chosen = candidates[at] ?? offering;
  const use = tally.useOf(nodePool, chosen);
  if (use !== undefined) take(tally, use);
  if (at === 0) return claim;
  const skipped = candidates.slice(0, at);
  const later = candidates.slice(at + 1);
  return {
    ...claim,
    offering: chosen,
    fallbacks: [...later, ...skipped],
    runnerUp: later.find((one) => weighedPriceOf(one) >= weighedPriceOf(chosen)) ?? null,
    cheaper: [...stillCheaper(claim.cheaper, chosen), ...withoutRoom(nodePool, chosen, skipped)],
  };
}

/** What counts as more than the first choice may cost less than it: what it was compared with is the new choice now. */
function stillCheaper(cheaper: PlannedClaim['cheaper'], chosen: PlannedOffering): ReadonlyArray<CheaperOfferings> {
  const chosenWeighedPrice = weighedPriceOf(chosen);
  return cheaper.flatMap((group) => {
    const { reason, example } = group;
    if (example.price >= chosen.price) return [];
    if (reason.kind !== 'eviction-risk' && reason.kind !== 'spot-storm') return [group];
    return reason.weighedPrice < chosenWeighedPrice ? [] : [{ ...group, reason: { ...reason, chosenWeighedPrice } }];
  });
}

/** Of the offerings that were passed over those that cost less, as a reason. */
function withoutRoom(
  nodePool: string,
  chosen: PlannedOffering,
  skipped: ReadonlyArray<PlannedOffering>,
): ReadonlyArray<CheaperOfferings> {
  const cheaper = skipped.filter(({ price }) => price < chosen.price);
  const [example] = cheaper;
  if (example === undefined) return [];
  const instanceTypes = new Set(cheaper.map(({ instanceType }) => instanceType)).size;
  return [{ nodePool, reason: { kind: 'unavailable' }, offerings: cheaper.length, instanceTypes, example }];
}
