import type { CapacityType } from '../../model/catalog.ts';
import type { PlannedClaim } from '../../model/plan.ts';
import type { ProvisioningInput } from '../../model/provisioning-input.ts';
import type { AuditedPlan } from '../../recovery/sound-plan.ts';
import type { Node, NodeClaim } from '../../../kubernetes/manifest.ts';
import { labelKey } from '../../../kubernetes/labels.ts';
import { nodePrices } from '../candidates/node-prices.ts';
import { candidatesOf, type Begun } from './begun.ts';

/** New nodes for pods of a set whose room is gone, so that it can go all the same. */
export interface Shortage {
  /** Of provisioning, with new nodes for these pods and for nobody else; its audit has let it through for `input`. */
  readonly plan: AuditedPlan;
  readonly input: ProvisioningInput;
  /** The new nodes may cost less than this together, micro-USD per hour; Infinity where it is not about money. */
  readonly below: number;
}

/** What is asked about: the pods that move, and the plan that has a place for all of them on some new nodes. */
export interface Short extends Pick<Shortage, 'plan' | 'input'> {
  readonly uids: ReadonlySet<string>;
  readonly isForced: boolean;
}

/**
 * What may be bought for a set that is short of room. What has to go is worth it at any price. Where it is about money,
 * only while all that has come and comes in its place costs less than the set; one for which nothing has come is given
 * up, as nothing is lost by that. `others-first`: somebody else needs new nodes too, and gets them as any other pod.
 * Null where nothing is to be bought.
 */
export function shortageOf(
  one: Begun,
  { plan, input, uids, isForced }: Short,
  whole: ProvisioningInput,
): Shortage | 'others-first' | null {
  const below = isForced ? Infinity : leftToSave(one, plan.claims, whole);
  if (below === null || costOf(plan.claims) >= below) return null;
  const isOwn = ({ pods }: PlannedClaim): boolean => pods.length > 0 && pods.every(({ uid }) => uids.has(uid));
  return plan.claims.every(isOwn) ? { plan, input, below } : 'others-first';
}

function costOf(claims: ReadonlyArray<PlannedClaim>): number {
  return claims.reduce((sum, { offering }) => sum + offering.price, 0);
}

/**
 * What the set costs beyond what has come in its place, micro-USD per hour. Null where that is not known, where nothing
 * has come, and where spot would be followed by spot.
 */
function leftToSave(
  { candidates, replacements }: Begun,
  claims: ReadonlyArray<PlannedClaim>,
  { cluster, catalog, evictionCostMs }: ProvisioningInput,
): number | null {
  const priceOf = nodePrices(catalog, evictionCostMs);
  const nodeOf = new Map(candidatesOf(cluster).map(({ claim, node }) => [claim.metadata.name, node]));
  const there = cluster.nodeClaims.filter(
    ({ metadata }) => replacements.includes(metadata.name) && metadata.deletionTimestamp === undefined,
  );
  if (there.length === 0) return null;
  const priceOfOne = (claim: NodeClaim, node: Node | undefined): number | null => {
    const labels = { ...claim.metadata.labels, ...node?.metadata.labels };
    return priceOf(labels[labelKey.nodePool] ?? '', labels)?.plain ?? null;
  };
  const going = candidates.map(({ claim, node }) => priceOfOne(claim, node));
  const come = there.map((claim) => priceOfOne(claim, nodeOf.get(claim.metadata.name)));
  if ([...going, ...come].includes(null)) return null;
  const isSpot = candidates.some(({ node }) => node.metadata.labels?.[labelKey.capacityType] === SPOT);
  const isLikeSpot = isSpot && claims.some(({ offering }) => offering.capacityType === SPOT);
  return isLikeSpot ? null : totalOf(going) - totalOf(come);
}

const SPOT: CapacityType = 'spot';

function totalOf(prices: ReadonlyArray<number | null>): number {
  return prices.reduce<number>((sum, price) => sum + (price ?? 0), 0);
}
