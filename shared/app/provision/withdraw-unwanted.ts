import type { Snapshot } from '../../contract/snapshot/parse.ts';
import { digest } from '../../contract/digest.ts';
import { label } from '../../contract/names.ts';
import { unwantedClaims } from '../../core/disruption/withdrawal/unwanted-claims.ts';
import type { Plan } from '../../core/model/plan.ts';
import type { ProvisioningInput } from '../../core/model/provisioning-input.ts';
import { leavingNames } from '../../core/present/leaving-names.ts';
import { withoutLeaving } from '../../core/present/without-leaving.ts';
import { withoutNodes } from '../../core/present/without-nodes.ts';
import { instant } from '../../core/quantity/units.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { createdAtMs } from '../claims/node-claim.ts';
import { commitPlan } from '../commit/commit-plan.ts';
import { execute } from '../execute/execute.ts';
import { isWithdrawingPutOff } from '../execute/withdraw.ts';
import { CLOCK_SKEW_MS } from '../facts/clock-skew.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Gathered } from '../gather/gather.ts';
import { latestReadable } from '../gather/read-snapshot.ts';
import { makePlan, type MadePlan } from '../plan/make-plan.ts';
import type { Ports } from '../ports/ports.ts';
import { wake } from '../ports/wake.ts';
import { isDeniedStill } from '../tell/denied-condition.ts';

/**
 * Nobody must have waited for a claim for so long: whoever deletes pods and makes new ones, by a roll-out or by hand,
 * does so within seconds, and finds the machine on its way.
 */
export const UNWANTED_MS = 5_000;

/** A mistake of ours then costs few machines before people see it; the next look takes as many. */
const WITHDRAWN_MAX = 20;

/**
 * The proof takes as long as a plan, and pods may wait behind it: where it fails, or a deletion does, not every look
 * tries.
 */
const TRIED_EVERY_MS = 20_000;

/**
 * A relay that lives has written one of its heartbeats, ten seconds apart, within this time, with some for clocks that
 * differ. Of one that has died nobody knows who has come since.
 */
const FRESH_MS = 20_000;

/** Decisions lost to another instance are tried again after this pause. */
const LOST_PAUSE_MS = 250;

/**
 * Withdraws claims on their way that nobody waits for any more (`unwantedClaims`), once a plan without them has a place
 * for all who have one now. `left`: of the look's own plan, which buys nothing. Karpenter lets such a machine come, and
 * removes its node as empty.
 */
export async function withdrawUnwanted(ports: Ports, gathered: Gathered, { left }: Pick<Plan, 'left'>): Promise<void> {
  if (!ports.disruption.isOn || isWithdrawingPutOff(ports)) return;
  const input = withoutLeaving(gathered.input, leavingNames(gathered.snapshot), instant(ports.now()));
  const unwanted = await ripe(ports, gathered.madeFor.size === 0 ? [] : unwantedNow(ports, gathered, input));
  if (unwanted.length === 0 || !(await isFresh(ports, gathered.snapshot))) return;
  const withdrawn = unwanted.map(({ metadata: { name, uid = '' } }) => ({ name, uid }));
  const names = withdrawn.map(({ name }) => name);
  const tried = `withdraw/${digest(...names)}`;
  if (ports.told.isKnown(tried, ports.now())) return;
  const made = planWithout(ports, { gathered, input, left }, names);
  if (made === null) ports.told.isNews(tried, ports.now(), TRIED_EVERY_MS);
  if (made === null || (await hasSomebodyCome(ports, gathered.snapshot))) return;
  const cause = `nobody waits for ${names.join(', ')}`;
  const committed = await commitPlan(ports, { ...gathered, input: made.input }, made.plan, cause, { withdrawn });
  if (committed.kind === 'lost') return wake(ports, ports.now() + LOST_PAUSE_MS, 'lost');
  ports.told.isNews(tried, ports.now(), TRIED_EVERY_MS);
  for (const claim of unwanted) ports.unwanted.noteWithdrawn(poolOf(claim), ports.now());
  await execute(ports, committed.state, committed.decision);
  ports.places.note(made.plan, committed.state.generation);
}

/** What the view says of it, and this process knows beside: whom the last plan has given a place there. */
function unwantedNow(ports: Ports, gathered: Gathered, input: ProvisioningInput): ReadonlyArray<NodeClaim> {
  const { snapshot, madeFor, ledger } = gathered;
  const waiting = new Set(input.cluster.pods.flatMap(({ uid, nodeName }) => (nodeName === null ? [uid] : [])));
  const isPromised = (name: string): boolean => {
    const promised = input.inFlight.get(name);
    const own = promised === undefined ? new Map() : new Map([[name, promised]]);
    return ports.places.promised(ledger.generation, own).some((uid) => waiting.has(uid));
  };
  // Also one that does not say yet which machine it is on.
  const nodes = new Set(snapshot.nodes.map(({ metadata }) => metadata.name));
  const hasJoined = (claim: NodeClaim): boolean => nodes.has(nodeNameOf(claim));
  return unwantedClaims(input, { madeFor, coming: namespacesToGrow(snapshot) }, instant(ports.now())).filter(
    (claim) =>
      !hasJoined(claim) &&
      !isPromised(claim.metadata.name) &&
      !isDeniedStill(ports, 'NodeClaim', claim) &&
      !ports.unwanted.isKept({ pool: poolOf(claim), madeMs: createdAtMs(claim) }, ports.now()),
  );
}

function poolOf({ metadata }: NodeClaim): string {
  return metadata.labels?.[label.nodePool] ?? '';
}

/** Namespaces with an owner that wants more pods than it has. */
function namespacesToGrow({ pods, shapes, owners }: Snapshot): ReadonlySet<string> {
  const living = new Map<string, number>();
  for (const { deleting, shape } of pods) {
    const owner = shapes[shape]?.owner?.uid;
    if (owner !== undefined && !deleting) living.set(owner, (living.get(owner) ?? 0) + 1);
  }
  return new Set(owners.flatMap(({ uid, desired, namespace }) => ((living.get(uid) ?? 0) < desired ? namespace : [])));
}

/** Those that nobody has waited for long enough; for the others somebody looks again. */
async function ripe(ports: Ports, unwanted: ReadonlyArray<NodeClaim>): Promise<ReadonlyArray<NodeClaim>> {
  const nowMs = ports.now();
  const uidOf = ({ metadata }: NodeClaim): string => metadata.uid ?? '';
  const since = ports.unwanted.note(unwanted.map(uidOf), nowMs);
  const sinceMs = (claim: NodeClaim): number => since.get(uidOf(claim)) ?? nowMs;
  if (unwanted.some((claim) => sinceMs(claim) === nowMs))
    await wake(ports, nowMs + UNWANTED_MS + CLOCK_SKEW_MS, 'claims-unwanted');
  return unwanted.filter((claim) => nowMs - sinceMs(claim) >= UNWANTED_MS).slice(0, WITHDRAWN_MAX);
}

/**
 * A sound plan for the view without the claims; null where it buys anything, or has no place for somebody who has one.
 */
function planWithout(
  ports: Ports,
  { gathered, input, left }: { readonly gathered: Gathered; readonly input: ProvisioningInput } & Pick<Plan, 'left'>,
  names: ReadonlyArray<string>,
): MadePlan | null {
  // Limits count them until they have gone: what is bought then is not bought in their place.
  const without = withoutNodes(input, names, { held: new Set(names) });
  const made = makePlan(ports, gathered, withUnjudged(without, gathered.snapshot));
  const known = new Set(left.map(({ pod }) => pod.uid));
  const isSound = made.refused === null && made.plan.claims.length === 0;
  return isSound && made.plan.left.every(({ pod }) => known.has(pod.uid)) ? made : null;
}

/** Pods that the scheduler has not looked at yet count as those that it has found no room for. */
function withUnjudged(input: ProvisioningInput, { pods: seen }: Snapshot): ProvisioningInput {
  const unjudged = new Set(
    seen.flatMap(({ uid, nodeName, gated, deleting, running }) =>
      nodeName === null && !gated && !deleting && !running ? [uid] : [],
    ),
  );
  const pods = input.cluster.pods.map((pod) => (unjudged.has(pod.uid) ? { ...pod, unschedulable: true } : pod));
  return { ...input, cluster: { ...input.cluster, pods } };
}

/** Does the view lack nothing but what has happened just now? */
async function isFresh(ports: Ports, { version, takenAtMs }: Snapshot): Promise<boolean> {
  const oldestMs = ports.now() - FRESH_MS;
  return takenAtMs >= oldestMs || ((await ports.snapshots.heldMs(version)) ?? 0) >= oldestMs;
}

/** Does a pod wait by now of which the view knows nothing? A plan for many takes a second, in which some may come. */
async function hasSomebodyCome(ports: Ports, { pods, version, source, takenAtMs }: Snapshot): Promise<boolean> {
  const newest = await latestReadable(ports);
  if (newest === null || newest.version === version) return false;
  // What a silent relay has published is older than a list. Two relays' clocks may differ.
  if (source !== 'relay' && newest.takenAtMs <= takenAtMs) return false;
  const known = new Set(pods.map(({ uid }) => uid));
  return newest.pods.some(({ uid, nodeName }) => nodeName === null && !known.has(uid));
}
