import { readEvictionCost } from '../../contract/api/eviction-cost.ts';
import { annotation, label } from '../../contract/names.ts';
import type { InstanceType } from '../../core/model/catalog.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { launchCandidates } from '../../core/launch/launch-candidates.ts';
import { nodeLabels } from '../../core/launch/node-labels.ts';
import { capacityAmounts } from '../../core/model/allocatable.ts';
import { parseAmounts } from '../../kubernetes/quantity.ts';
import type { PlannedOffering } from '../../core/model/plan.ts';
import { DEFAULT_EVICTION_COST_MS } from '../../core/offerings/weighed-price.ts';
import type { LaunchOutcome, Machine, RefusedOffering } from '../../ports/cloud.ts';
import type { NodeClass } from '../../ports/kubernetes.ts';
import { claimFacts } from '../claim-facts.ts';
import { ownLabels, plannedPlaceOf } from '../machine-labels.ts';
import type { Ports } from '../ports.ts';
import { CLASS_COMES_WITHIN_MS, readinessOf } from '../readiness.ts';
import { type Step, createdAtMs, deleteClaim, eventAbout, writeStatus } from './node-claim.ts';
import { letMatesInEarly } from './planned-pods.ts';
import { recordLaunch } from './record-launch.ts';

/**
 * Offerings tried within one attempt. Each refusal costs a round trip of some 100 ms; twenty cover all zones of several
 * sizes, and the refusals are remembered for the next plan.
 */
const CANDIDATES_MAX = 20;

/**
 * For how long offerings are tried at one go. The refusals are remembered, so the next go begins where this one ended; an
 * execution ends with the slowest of the claims that it moves.
 */
const TRYING_MS = 4_000;

/** Karpenter cuts messages of launch conditions at this length. */
const MESSAGE_MAX = 300;

/** Gets a VM for a claim whose `Launched` is not True, trying the next offering when Azure refuses one. */
export async function launch(ports: Ports, claim: NodeClaim): Promise<Step> {
  const { name: className } = claim.spec.nodeClassRef;
  const nodeClass = await ports.definitions.nodeClass(className);
  // One that is applied together with its claim may come a moment after it.
  if (nodeClass === null && ports.now() < createdAtMs(claim) + CLASS_COMES_WITHIN_MS) return awaitClass(ports, claim);
  const refusal = classRefusal(nodeClass, className);
  if (nodeClass === null || refusal !== null) {
    return deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'NodeClassNotReady', refusal ?? 'not found'));
  }
  if (readinessOf(nodeClass.status?.conditions).kind === 'unjudged') return awaitClass(ports, claim);
  const types = await ports.catalogs.instanceTypes(nodeClass);
  const planned = await plannedOfferings(ports, claim);
  const evictionCostMs = readEvictionCost(claim.metadata).costMs ?? DEFAULT_EVICTION_COST_MS;
  const candidates = await withinLimits(ports, claim, types, launchCandidates(claim, types, planned, evictionCostMs));
  const attempt = await tryInTurn(ports, claim, nodeClass, types, candidates);
  switch (attempt.kind) {
    case 'launched':
      // Before the launch is recorded, so that a look after a failure does it again.
      await letMatesInEarly(ports, claim);
      return recordLaunch(ports, claim, { nodeClass, types }, attempt.machine);
    case 'exhausted':
      return deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'InsufficientCapacityError', attempt.message));
    case 'unfinished':
      return { kind: 'wait', for: 'the next offering to try', lookAgainMs: ports.now() };
    case 'rejected': {
      const message = attempt.message.slice(0, MESSAGE_MAX);
      ports.log('launch-rejected', { ...claimFacts(claim), reason: attempt.reason, message });
      await writeStatus(ports, claim, {
        conditions: [{ type: 'Launched', status: 'Unknown', reason: attempt.reason, message }],
      });
      return { kind: 'wait', for: `launch: ${attempt.reason}`, lookAgainMs: ports.now() + REJECTED_RETRY_MS };
    }
    default:
      return attempt satisfies never;
  }
}

/** A policy or a permission that somebody has to change: looked at again until the launch time-out removes the claim. */
const REJECTED_RETRY_MS = 60_000;

/** What a class is made of is judged within a second or two of its creation, and its claims are hinted at then. */
const CLASS_LOOK_MS = 5_000;

/** The class is new: whether it is in order is being found out. */
async function awaitClass(ports: Ports, claim: NodeClaim): Promise<Step> {
  const message = `AKSNodeClass ${claim.spec.nodeClassRef.name} has not been judged yet`;
  await writeStatus(ports, claim, {
    conditions: [{ type: 'Launched', status: 'Unknown', reason: 'NodeClassReadinessUnknown', message }],
  });
  return { kind: 'wait', for: message, lookAgainMs: ports.now() + CLASS_LOOK_MS };
}

type Attempt =
  | { readonly kind: 'launched'; readonly machine: Machine }
  | { readonly kind: 'exhausted'; readonly message: string }
  /** There are more to try, and others wait for their turn. */
  | { readonly kind: 'unfinished' }
  | { readonly kind: 'rejected'; readonly reason: string; readonly message: string };

async function tryInTurn(
  ports: Ports,
  claim: NodeClaim,
  nodeClass: NodeClass,
  types: ReadonlyArray<InstanceType>,
  candidates: ReadonlyArray<PlannedOffering>,
): Promise<Attempt> {
  const refused: Array<RefusedOffering> = [];
  const messages: Array<string> = [];
  const endMs = ports.now() + TRYING_MS;
  try {
    for (const offering of candidates) {
      if (refused.length >= CANDIDATES_MAX) break;
      if (refused.some((refusal) => covers(refusal, offering))) continue;
      if (refused.length > 0 && ports.now() >= endMs) return { kind: 'unfinished' };
      const outcome = await launchOne(ports, claim, nodeClass, types, offering);
      if (outcome.kind === 'accepted' || outcome.kind === 'exists')
        return { kind: 'launched', machine: outcome.machine };
      if (outcome.kind === 'rejected') return outcome;
      const { scope, retryAfterMs, reason, message } = outcome;
      refused.push({ scope, offering, untilMs: ports.now() + retryAfterMs, reason });
      messages.push(`${offering.instanceType} ${offering.zone} ${offering.capacityType}: ${reason}`);
      const { risk: _, ...place } = offering;
      const family = seriesOf(types, offering);
      const { currency } = ports.catalogs;
      ports.log('offering-refused', { ...claimFacts(claim), ...place, currency, family, scope, reason, message });
    }
  } finally {
    if (refused.length > 0) await ports.catalogs.refuse(refused);
  }
  const tried = messages.length === 0 ? 'no offering is available that meets the requirements' : messages.join('; ');
  return { kind: 'exhausted', message: `no capacity: ${tried}` };
}

/** What Azure counts quota by, such as `Dasv5`; null of a size that is not in the catalog. */
function seriesOf(types: ReadonlyArray<InstanceType>, { instanceType }: PlannedOffering): string | null {
  return types.find(({ name }) => name === instanceType)?.labels[label.skuSeries]?.[0] ?? null;
}

async function launchOne(
  ports: Ports,
  claim: NodeClaim,
  nodeClass: NodeClass,
  types: ReadonlyArray<InstanceType>,
  offering: PlannedOffering,
): Promise<LaunchOutcome> {
  const instanceType = types.find(({ name }) => name === offering.instanceType);
  if (instanceType === undefined) {
    return { kind: 'rejected', reason: 'InstanceTypeResolutionFailed', message: `${offering.instanceType} is unknown` };
  }
  return ports.cloud.launch({
    claim: claim.metadata.name,
    nodePool: claim.metadata.labels?.[label.nodePool] ?? null,
    decision: claim.metadata.annotations?.[annotation.decision] ?? null,
    nodeClass,
    offering,
    instanceType,
    labels: { ...nodeLabels(instanceType, offering), ...ownLabels(claim, types) },
    taints: claim.spec.taints ?? [],
    startupTaints: claim.spec.startupTaints ?? [],
  });
}

/**
 * The candidates that keep the claim's pool within its limits: those that take no more of what it limits than the plan took
 * for the claim. Plans take from limits one after the other; launches run side by side, and none knows what others are about
 * to take. When all that is left to try is larger, the pods are planned again.
 */
async function withinLimits(
  ports: Ports,
  claim: NodeClaim,
  types: ReadonlyArray<InstanceType>,
  candidates: ReadonlyArray<PlannedOffering>,
): Promise<ReadonlyArray<PlannedOffering>> {
  const poolName = claim.metadata.labels?.[label.nodePool];
  const size = plannedPlaceOf(claim)?.instanceType;
  // Limits are for those who provision. Who makes a claim by hand has seen to that, as for Karpenter.
  if (poolName === undefined || size === undefined) return candidates;
  const sizes = new Map(types.map((type) => [type.name, capacityAmounts(type)]));
  const planned = sizes.get(size);
  const takesMore = ({ instanceType }: PlannedOffering, resources: Iterable<string>): boolean =>
    [...resources].some((name) => (sizes.get(instanceType)?.get(name) ?? 0) > (planned?.get(name) ?? 0));
  const isLarger = (one: PlannedOffering): boolean => takesMore(one, sizes.get(one.instanceType)?.keys() ?? []);
  if (!candidates.some(isLarger)) return candidates;
  const pool = await ports.definitions.nodePool(poolName);
  const limited = parseAmounts(pool?.spec.limits, 'down');
  return candidates.filter((one) => !takesMore(one, limited.keys()));
}

/** Whether a refusal just received makes another candidate of this attempt pointless. */
function covers(refusal: RefusedOffering, offering: PlannedOffering): boolean {
  const sameType = refusal.offering.capacityType === offering.capacityType;
  const sameSize = refusal.offering.instanceType === offering.instanceType;
  switch (refusal.scope) {
    case 'region':
      return sameType;
    case 'spot':
      return offering.capacityType === 'spot';
    case 'size':
    case 'family':
      // Larger sizes of the family are the catalog's to mark: here only what is certain from the names.
      return sameSize && sameType;
    case 'zone':
      return sameSize && refusal.offering.zone === offering.zone;
    case 'offering':
      return sameSize && sameType && refusal.offering.zone === offering.zone;
    default:
      return refusal.scope satisfies never;
  }
}

async function plannedOfferings(ports: Ports, claim: NodeClaim): Promise<ReadonlyArray<PlannedOffering>> {
  const name = claim.metadata.annotations?.[annotation.decision];
  const decision = name === undefined ? null : await ports.decisions.get(name);
  const index = decision?.claimNames.indexOf(claim.metadata.name) ?? -1;
  const planned = decision?.plan.claims[index];
  return planned === undefined ? [] : [planned.offering, ...planned.fallbacks];
}

/** Why nothing can be launched with this class; null when it can, or when that has not been found out. */
function classRefusal(nodeClass: NodeClass | null, name: string): string | null {
  if (nodeClass === null) return `AKSNodeClass ${name} does not exist: create it, or correct nodeClassRef.name`;
  if (nodeClass.metadata.deletionTimestamp !== undefined) return `AKSNodeClass ${name} is being deleted`;
  const readiness = readinessOf(nodeClass.status?.conditions);
  return readiness.kind === 'refused' ? `AKSNodeClass ${name} is not ready: ${readiness.message}` : null;
}
