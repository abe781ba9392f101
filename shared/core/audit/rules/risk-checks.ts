import type { InstanceType } from '../../model/catalog.ts';
import { DEFAULT_EVICTION_COST_MS } from '../../offerings/weighed-price.ts';
import type { Plan, PlannedOffering } from '../../model/plan.ts';
import { isPlace, type AuditedInput } from '../seen/audited-sizes.ts';
import { fatal, type Finding } from '../seen/finding.ts';

/** What every offering of the plan counts as with its risk, the sums, and that no bound is above what it bounds. */
export function checkRisk(plan: Plan, input: AuditedInput): ReadonlyArray<Finding> {
  const findings: Array<Finding> = [];
  let cost = 0;
  plan.claims.forEach(({ nodePool, offering, fallbacks, runnerUp }, index) => {
    const costMs = input.evictionCostMs.get(nodePool) ?? DEFAULT_EVICTION_COST_MS;
    for (const one of [offering, ...fallbacks, ...(runnerUp === null ? [] : [runnerUp])]) {
      const wanted = weighedPrice(one, input.sizes.typeOf(nodePool, one.instanceType), costMs);
      const stated = one.risk?.weighedPrice ?? one.price;
      const text = `planned-${index}: ${one.instanceType} ${one.zone} ${one.capacityType}`;
      if (stated !== wanted)
        findings.push(
          fatal('risk', `${text} counts as ${wanted}, the plan says ${stated}`, { kind: 'planned', index }),
        );
      if (one === offering) cost += wanted;
    }
  });
  const { weighed, lowerBound } = plan;
  if (cost !== weighed.cost) findings.push(fatal('risk', `the claims count as ${cost}, the plan says ${weighed.cost}`));
  if (weighed.lowerBound > weighed.cost) {
    findings.push(fatal('bound', `weighed bound ${weighed.lowerBound} above weighed cost ${weighed.cost}`));
  }
  if (lowerBound > weighed.lowerBound) {
    findings.push(fatal('bound', `bound ${lowerBound} above weighed bound ${weighed.lowerBound}`));
  }
  return findings;
}

const MILLION = 1_000_000n;

/**
 * Price and, on top, the chance of an eviction times what it costs: in millionths of the price, rounded up, then in
 * all.
 */
function weighedPrice(offering: PlannedOffering, type: InstanceType | undefined, costMs: number): number {
  const same = (type?.offerings ?? []).filter((one) => isPlace(one, offering));
  const rates = same.flatMap(({ evictionsPerHour = 0, storm }) => [evictionsPerHour, storm?.evictionsPerHour ?? 0]);
  const rate = Math.max(0, ...rates);
  if (rate === 0) return offering.price;
  const share = roundedUp(BigInt(Math.round(rate * 1e6)) * BigInt(costMs), 3_600_000n);
  return offering.price + Number(roundedUp(BigInt(offering.price) * share, MILLION));
}

function roundedUp(amount: bigint, divisor: bigint): bigint {
  return (amount + divisor - 1n) / divisor;
}
