import type { CheaperReason } from '../../shared/core/model/cheaper.ts';
import type {
  OfferingRisk,
  Plan,
  PlannedBuffer,
  PlannedClaim,
  PlannedOffering,
  WeighedCost,
} from '../../shared/core/model/plan.ts';
import { renderCheaper } from '../../shared/core/telling/cheaper/render-cheaper.ts';
import { renderLeftReason } from '../../shared/core/telling/reasons/render-left-reason.ts';
import { weighedPriceOf } from '../../shared/core/model/weighed-cost.ts';
import { renderUsd } from '../../shared/core/quantity/render-usd.ts';
import type { PlanDocument } from '../documents/plan-format.ts';
import type { Solved } from './solve.ts';

/**
 * The plan in its public form. `taken` are the names of claims that exist, `currency` is what prices are in (ISO 4217).
 */
export function toPlanDocument({ plan, solveMs }: Solved, taken: ReadonlySet<string>, currency: string): PlanDocument {
  const names = claimNames(plan, taken);
  return {
    apiVersion: 'nodewright.dev/v1alpha1',
    kind: 'Plan',
    summary: {
      currency,
      costPerHour: renderUsd(plan.cost),
      lowerBoundPerHour: renderUsd(plan.lowerBound),
      gap: gapOf(plan),
      ...weighedPart(plan),
      pods: {
        placed: countPods(plan.claims),
        nominated: countPods(plan.nominations),
        left: plan.left.length,
      },
      solveMs: Math.round(solveMs * 10) / 10,
    },
    nodeClaims: plan.claims.map((claim, index) => toNodeClaim(claim, names[index] ?? '', currency)),
    nominations: plan.nominations.map(({ target, pods }) => ({
      node: target.name,
      pods: pods.map(({ name }) => name),
    })),
    left: plan.left.map(({ pod, refusals }) => ({
      pod: pod.name,
      reasons: refusals.map((reason) => ({ ...reason, ...renderLeftReason(reason) })),
    })),
    ...(plan.buffers.length === 0 ? {} : { buffers: plan.buffers.map((buffer) => toBuffer(buffer, names)) }),
  };
}

function weighedPart({ cost, lowerBound, weighed }: Plan): Pick<PlanDocument['summary'], 'weighed'> {
  if (weighed.cost === cost && weighed.lowerBound === lowerBound) return {};
  return {
    weighed: {
      costPerHour: renderUsd(weighed.cost),
      lowerBoundPerHour: renderUsd(weighed.lowerBound),
      gap: gapOf(weighed),
    },
  };
}

/** Pods of a buffer are alike, so that they are counted and not named. */
function toBuffer({ buffer, nominations, claims, left }: PlannedBuffer, names: ReadonlyArray<string>) {
  return {
    buffer,
    pods: countPods(nominations) + countPods(claims) + left.length,
    nominations: nominations.map(({ target, pods }) => ({ node: target.name, pods: pods.length })),
    nodeClaims: claims.map(({ claim, pods }) => ({ name: names[claim] ?? '', pods: pods.length })),
    left: left.length,
    reasons: (left[0]?.refusals ?? []).map((reason) => {
      const { nodePool, kind } = reason;
      return { nodePool, kind, ...renderLeftReason(reason) };
    }),
  };
}

function countPods(places: ReadonlyArray<{ readonly pods: ReadonlyArray<unknown> }>): number {
  return places.reduce((sum, { pods }) => sum + pods.length, 0);
}

/** Rounded to millionths; null where the bound is 0 and the cost is not. */
function gapOf({ cost, lowerBound }: WeighedCost): number | null {
  if (cost === lowerBound) return 0;
  return lowerBound === 0 ? null : Math.round((cost / lowerBound - 1) * 1e6) / 1e6;
}

/**
 * The pool and a number. In production the name's end is derived from the decision, which a plan from files has not.
 */
function claimNames({ claims }: Plan, taken: ReadonlySet<string>): ReadonlyArray<string> {
  const used = new Set(taken);
  const next = new Map<string, number>();
  return claims.map(({ nodePool }) => {
    let number = next.get(nodePool) ?? 1;
    // Ends: every turn passes a name of the finite set.
    while (used.has(`${nodePool}-${number}`)) number++;
    next.set(nodePool, number + 1);
    used.add(`${nodePool}-${number}`);
    return `${nodePool}-${number}`;
  });
}

function toNodeClaim(
  { nodePool, offering, runnerUp, cheaper, pods }: PlannedClaim,
  name: string,
  currency: string,
): PlanDocument['nodeClaims'][number] {
  return {
    name,
    nodePool,
    ...toOffering(offering),
    pods: pods.map((pod) => pod.name),
    runnerUp:
      runnerUp === null
        ? null
        : { ...toOffering(runnerUp), morePerHour: renderUsd(weighedPriceOf(runnerUp) - weighedPriceOf(offering)) },
    cheaper: cheaper.map(({ example, reason, ...group }) => ({
      ...group,
      example: toOffering(example),
      reason: toReason(reason),
      detail: renderCheaper(reason, currency),
    })),
  };
}

function toOffering({ instanceType, zone, capacityType, reservationId, price, risk }: PlannedOffering) {
  const place = { instanceType, zone, capacityType, ...(reservationId === undefined ? {} : { reservationId }) };
  return { ...place, pricePerHour: renderUsd(price), ...(risk === undefined ? {} : toRisk(risk)) };
}

function toRisk({ evictionsPerHour, weighedPrice }: OfferingRisk) {
  return { evictionsPerHour: renderChance(evictionsPerHour), weighedPricePerHour: renderUsd(weighedPrice) };
}

function toReason(reason: CheaperReason) {
  if (reason.kind !== 'eviction-risk' && reason.kind !== 'spot-storm') return reason;
  const { weighedPrice, chosenWeighedPrice } = reason;
  const prices = {
    weighedPricePerHour: renderUsd(weighedPrice),
    chosenWeighedPricePerHour: renderUsd(chosenWeighedPrice),
  };
  if (reason.kind === 'eviction-risk') {
    return { kind: reason.kind, evictionsPerHour: renderChance(reason.evictionsPerHour), ...prices };
  }
  const { kind, evicted, of, refusedSizes, until } = reason;
  return { kind, evicted, of, refusedSizes, until, ...prices };
}

/** Decimal text, to a millionth, which is as much as counts. */
function renderChance(chance: number): string {
  return renderUsd(Math.round(chance * 1e6));
}
