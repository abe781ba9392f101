import { readEvictionCost } from '../../../contract/api/annotations/eviction-cost.ts';
import { annotation, label } from '../../../contract/names.ts';
import type { InstanceType } from '../../../core/model/catalog.ts';
import type { NodeClaim } from '../../../kubernetes/manifest.ts';
import { launchCandidates } from '../../../core/launch/launch-candidates.ts';
import { capacityAmounts } from '../../../core/model/allocatable.ts';
import { parseAmounts } from '../../../kubernetes/text/quantity.ts';
import type { PlannedOffering } from '../../../core/model/plan.ts';
import { DEFAULT_EVICTION_COST_MS } from '../../../core/offerings/weighed-price.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { RetryableError } from '../../../ports/errors.ts';
import { claimFacts } from '../../facts/claim-facts.ts';
import { knownDecision } from '../../gather/known-decision.ts';
import { plannedOfferingOf } from '../../facts/machine-labels.ts';
import type { Ports } from '../../ports/ports.ts';
import { CLASS_COMES_WITHIN_MS, readinessOf } from '../../facts/readiness.ts';
import { createdAtMs, deleteClaim, eventAbout, writeStatus } from '../../claims/node-claim.ts';
import type { FollowOutcome } from '../../ports/follow-outcome.ts';
import { letMatesInEarly } from '../../gather/planned-pods.ts';
import { noteUnavailable } from './note-unavailable.ts';
import { LAUNCH_MESSAGE_MAX, REJECTED_RETRY_MS, putOffLaunch, putOffUntilMs } from './put-off-launch.ts';
import { recordLaunch } from './record-launch.ts';
import { type Attempt, tryInTurn } from './try-in-turn.ts';

/** Gets a VM for a claim whose `Launched` is not True, trying the next offering when Azure refuses one. */
export async function launch(ports: Ports, claim: NodeClaim): Promise<FollowOutcome> {
  // The hint that was put off comes then. Who looks earlier, such as a sweep, would lengthen what Azure asks for.
  if (ports.now() < (putOffUntilMs(claim, ports.now()) ?? 0)) {
    return { kind: 'wait', for: 'Azure, which throttles', lookAgainMs: null };
  }
  const nodeClass = await ports.definitions.nodeClass(claim.spec.nodeClassRef.name);
  if (nodeClass === null) {
    // One that is applied together with its claim may come a moment after it.
    if (ports.now() < createdAtMs(claim) + CLASS_COMES_WITHIN_MS) return awaitClass(ports, claim);
    return refuse(ports, claim, 'does not exist: create it, or correct nodeClassRef.name');
  }
  if (nodeClass.metadata.deletionTimestamp !== undefined) return refuse(ports, claim, 'is being deleted');
  const readiness = readinessOf(nodeClass.status?.conditions);
  if (readiness.kind === 'refused') return refuse(ports, claim, `is not ready: ${readiness.message}`);
  if (readiness.kind === 'unjudged') return awaitClass(ports, claim);
  try {
    return await launchAs(ports, claim, nodeClass);
  } catch (error) {
    if (error instanceof RetryableError && error.because !== null) throw await putOffLaunch(ports, claim, error);
    throw error;
  }
}

async function launchAs(ports: Ports, claim: NodeClaim, nodeClass: NodeClass): Promise<FollowOutcome> {
  const types = await ports.catalogs.instanceTypes(nodeClass);
  const planned = await plannedOfferings(ports, claim);
  const evictionCostMs = readEvictionCost(claim.metadata).costMs ?? DEFAULT_EVICTION_COST_MS;
  const candidates = await withinLimits(ports, claim, types, launchCandidates(claim, types, planned, evictionCostMs));
  const attempt = await earlierOr(ports, claim, await tryInTurn(ports, { claim, nodeClass, types, candidates }));
  switch (attempt.kind) {
    case 'launched':
      // Before the launch is recorded, so that a look after a failure does it again.
      await letMatesInEarly(ports, claim);
      return recordLaunch(ports, claim, { nodeClass, types }, attempt.machine);
    case 'exhausted':
      await noteUnavailable(ports, claim);
      return deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'InsufficientCapacityError', attempt.message));
    case 'unfinished':
      return { kind: 'wait', for: 'the next offering to try', lookAgainMs: ports.now() };
    case 'rejected': {
      const message = attempt.message.slice(0, LAUNCH_MESSAGE_MAX);
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

/**
 * Nothing may be left to try by what others have been refused since: a machine that an earlier attempt was given, and
 * could not say so, is there all the same.
 */
async function earlierOr(ports: Ports, { metadata }: NodeClaim, attempt: Attempt): Promise<Attempt> {
  if (attempt.kind !== 'exhausted') return attempt;
  const found = await ports.cloud.observe(metadata.name);
  return found.kind === 'present' ? { kind: 'launched', isNew: false, machine: found.machine } : attempt;
}

/** Gives the claim up, as nothing can be launched with its class: that `why`. */
function refuse(ports: Ports, claim: NodeClaim, why: string): Promise<FollowOutcome> {
  const message = `AKSNodeClass ${claim.spec.nodeClassRef.name} ${why}`;
  return deleteClaim(ports, claim, eventAbout(claim, 'Warning', 'NodeClassNotReady', message));
}

/** What a class is made of is judged within a second or two of its creation, and its claims are hinted at then. */
const CLASS_LOOK_MS = 5_000;

/** The class is new: whether it is in order is being found out. */
async function awaitClass(ports: Ports, claim: NodeClaim): Promise<FollowOutcome> {
  const message = `AKSNodeClass ${claim.spec.nodeClassRef.name} has not been checked yet`;
  await writeStatus(ports, claim, {
    conditions: [{ type: 'Launched', status: 'Unknown', reason: 'NodeClassReadinessUnknown', message }],
  });
  return { kind: 'wait', for: message, lookAgainMs: ports.now() + CLASS_LOOK_MS };
}

/**
 * The candidates that keep the claim's pool within its limits: those that take no more of what it limits than the plan
 * took for the claim. Plans take from limits one after the other; launches run side by side, and none knows what others
 * are about to take. When all that is left to try is larger, the pods are planned again.
 */
async function withinLimits(
  ports: Ports,
  claim: NodeClaim,
  types: ReadonlyArray<InstanceType>,
  candidates: ReadonlyArray<PlannedOffering>,
): Promise<ReadonlyArray<PlannedOffering>> {
  const poolName = claim.metadata.labels?.[label.nodePool];
  const size = plannedOfferingOf(claim)?.instanceType;
  // Limits are for those who provision. Who makes a claim by hand has seen to that, as for Karpenter.
  if (poolName === undefined || size === undefined) return candidates;
  const sizes = new Map(types.map((type) => [type.name, capacityAmounts(type)]));
  const planned = sizes.get(size);
  const takesMore = ({ instanceType }: PlannedOffering, resources: Iterable<string>): boolean =>
    [...resources].some((name) => (sizes.get(instanceType)?.get(name) ?? 0) > (planned?.get(name) ?? 0));
  const isLarger = (one: PlannedOffering): boolean => takesMore(one, sizes.get(one.instanceType)?.keys() ?? []);
  // Stryker disable next-line ConditionalExpression: a shortcut, where none is larger all are within the limits
  if (!candidates.some(isLarger)) return candidates;
  const pool = await ports.definitions.nodePool(poolName);
  const limited = parseAmounts(pool?.spec.limits, 'down');
  return candidates.filter((one) => !takesMore(one, limited.keys()));
}

async function plannedOfferings(ports: Ports, claim: NodeClaim): Promise<ReadonlyArray<PlannedOffering>> {
  const name = claim.metadata.annotations?.[annotation.decision];
  const decision = name === undefined ? null : await knownDecision(ports, name);
  const planned = decision?.plan.claims[decision.claimNames.indexOf(claim.metadata.name)];
  return planned === undefined ? [] : [planned.offering, ...planned.fallbacks];
}
