import type { Pod } from '../../model/cluster.ts';
import { fill, type ExistingNode } from '../state/existing-nodes.ts';
import { claimShare } from './claim-share.ts';
import { at } from '../../quantity/at.ts';
import type { Need } from '../state/compile-shape.ts';
import {
  claimOf,
  entryOf,
  indexAvoiding,
  indexOf,
  reindex,
  type Joiner,
  type JoinIndex,
  type Bucket,
} from './join-index.ts';
import { emptyClaim, join, settledValue } from '../state/open-claim.ts';
import { isCheaper, joiningOf, SHUNNED_ADDS } from '../state/joining.ts';
import type { Joining, OpenClaim } from '../state/open-claim.ts';
import type { Applicant } from '../state/joining.ts';
import { firstNodeWithRoom } from '../state/nodes-with-room.ts';
import { countersFor, recordOnClaim, recordOnNode, type Counter } from '../state/topology.ts';
import { guardOf, guardRules, NO_RULES, offeringsUnder, type Guard } from '../state/topology-guard.ts';
import { optionsFor, type Workspace } from '../state/workspace.ts';

/** What placing one pod after another keeps between pods: open claims by what one more pod adds to them. */
export interface Queue {
  readonly workspace: Workspace;
  /** By kind of need, all with the same requests. */
  readonly indexes: Map<string, { readonly index: JoinIndex; readonly seen: { changes: number } }>;
  /** Claims in the order in which they changed, each as often as it did. */
  readonly changes: Array<OpenClaim>;
}

/** A queue for the claims as they are. Nothing else may open, fill or drop claims while it is in use. */
export function queueFor(workspace: Workspace): Queue {
  workspace.claims.forEach((claim, number) => (claim.number = number));
  return { workspace, indexes: new Map(), changes: [] };
}

/**
 * Pods whose rules look at other pods may have to wait for these: a chain of affinities longer than this is not
 * followed.
 */
const MAX_ROUNDS = 50;

/**
 * Places pods in order, again and again while that gets any further; returns what is left. `areAlike`: where one pod
 * found no place, the next of its shape finds none while nothing else is placed.
 */
export function placeInRounds(
  pods: ReadonlyArray<Pod>,
  areAlike: boolean,
  tryPlacing: (pod: Pod, mayStart: boolean) => boolean,
): ReadonlyArray<Pod> {
  let left = pods;
  for (let round = 0; round < MAX_ROUNDS; round++) {
    const stuck = new Set<number>();
    // Pods that want to be near pods like themselves wait for a round: kube-scheduler lets one be the first only where
    // there are none, and it may look at the others before.
    const still = left.filter((pod) => {
      if (stuck.has(pod.shape)) return true;
      const isPlaced = tryPlacing(pod, round > 0);
      if (isPlaced) stuck.clear();
      else if (areAlike) stuck.add(pod.shape);
      return !isPlaced;
    });
    if (still.length === left.length && round > 0) break;
    left = still;
  }
  return left;
}

/**
 * Puts the pod on existing capacity, on a claim of this plan or on a new one; false when nothing can hold it.
 * Preferences are given up one by one, as far as needed.
 */
export function place(queue: Queue, pod: Pod, mayStart: boolean): boolean {
  return placeAs(queue, queue.workspace.needs.get(pod.shape) ?? [], pod, mayStart);
}

/** The same by the first of these needs that something can hold. */
export function placeAs(queue: Queue, needs: ReadonlyArray<Need>, pod: Pod, mayStart: boolean): boolean {
  const { workspace } = queue;
  return needs.some((need) => {
    const applicant = { need, guard: guardFor(workspace, need, mayStart) };
    return placeOnExisting(workspace, applicant, pod) || placeOnClaim(queue, applicant, pod);
  });
}

/** The guard that the topology rules make for the need as things stand. */
export function guardFor({ topology, guards }: Workspace, need: Need, mayStart: boolean): Guard {
  if (isUnruled(need)) return guardOf(NO_RULES, claimShare, mayStart);
  const known = guards.get(need);
  const rules =
    known ?? guardRules(need.terms, need.exclusions, countersFor(topology, need.shape.index), topology.known);
  if (known === undefined) guards.set(need, rules);
  return guardOf(rules, claimShare, mayStart);
}

/** Does no topology rule, the pod's own or another's, look at such pods? Then where they are concerns nobody else. */
export function isUnruled({ terms, exclusions, settled, counted }: Need): boolean {
  const own = terms.spread.length + terms.affinity.length + terms.antiAffinity.length;
  return own + exclusions.length + settled.length === 0 && !counted;
}

/** Puts a pod on existing capacity, giving up preferences for it; false when none is free. */
export function placeOnAnyNode(workspace: Workspace, pod: Pod): boolean {
  if (workspace.nodes.length === 0) return false;
  return (workspace.needs.get(pod.shape) ?? []).some((need) =>
    placeOnExisting(workspace, { need, guard: guardFor(workspace, need, true) }, pod),
  );
}

/** The first existing node in order that takes the pod. */
function placeOnExisting(workspace: Workspace, applicant: Applicant, pod: Pod): boolean {
  const node = firstNodeWithRoom(workspace, applicant);
  if (node === null) return false;
  putOnNode(workspace, node, applicant.need, pod);
  return true;
}

/** Puts the pod there, whatever the rules say. */
export function putOnNode(workspace: Workspace, node: ExistingNode, { shape }: Need, pod: Pod): void {
  fill(node, shape, pod);
  recordOnNode(workspace.topology, shape.index, node.capacity, 1);
}

/** Fills what is free on open claims with pods for which nothing need be added to the price; returns the others. */
export function fillHoles(workspace: Workspace, need: Need, pods: ReadonlyArray<Pod>): ReadonlyArray<Pod> {
  let left = pods;
  for (const claim of workspace.claims) {
    while (left.length > 0) {
      const [pod, ...others] = left;
      const applicant = { need, guard: guardFor(workspace, need, true) };
      const joining = joiningOf(claim, applicant, optionsFor(workspace, claim.state, need));
      if (
        pod === undefined ||
        joining === null ||
        joining.added > 0 ||
        joining.chosen.shunned !== claim.chosen?.shunned
      )
        break;
      join(joining, need.shape, pod);
      recordOnClaim(workspace.topology, pod.shape, claim, (key) => settledValue(claim, key));
      left = others;
    }
  }
  return left;
}

/** What adds least to the price; a claim that is open wins over a new one of the same added price. */
function placeOnClaim(queue: Queue, applicant: Applicant, pod: Pod): boolean {
  const { workspace } = queue;
  const index = indexFor(queue, applicant.need, applicant.guard.rules.hostAvoided);
  const found = bestJoining(workspace, applicant, index);
  const joining = found?.joining ?? null;
  // A new claim can hardly add less than nothing: mostly none need be looked for.
  const isLeast = found !== null && found.adds <= index.opensFor;
  const chosen = isLeast ? joining : cheaperOpening(workspace, applicant, joining);
  if (chosen === null) return false;
  const { claim } = chosen;
  if (chosen !== joining) {
    claim.number = workspace.claims.length;
    workspace.claims.push(claim);
  }
  join(chosen, applicant.need.shape, pod);
  queue.changes.push(claim);
  recordOnClaim(workspace.topology, pod.shape, claim, (key) => settledValue(claim, key));
  return true;
}

function cheaperOpening(workspace: Workspace, applicant: Applicant, joining: Joining | null): Joining | null {
  const mayWaive = joining === null && workspace.input.policy.minValuesPolicy === 'BestEffort';
  const opening = bestOpening(workspace, applicant, mayWaive);
  return joining === null || (opening !== null && addsLess(opening, joining)) ? opening : joining;
}

/** What adds least; of equals, the first in the order of the index. */
function bestJoining(workspace: Workspace, applicant: Applicant, { buckets }: JoinIndex): BestJoining | null {
  let best: BestJoining | null = null;
  for (const bucket of buckets) {
    const { bits } = offeringsUnder(applicant.guard, bucket.state);
    if ((bits & bucket.bits) !== 0) best = bestIn(workspace, applicant, bucket, best);
  }
  return best;
}

interface BestJoining {
  readonly joining: Joining;
  /** What it adds to the price; of shunned sizes, more than any other. */
  readonly adds: number;
  readonly entry: number;
}

/** The better of `best` and what the bucket has. */
function bestIn(
  workspace: Workspace,
  applicant: Applicant,
  bucket: Bucket,
  best: BestJoining | null,
): BestJoining | null {
  const { entries, length, state } = bucket;
  const options = optionsFor(workspace, state, applicant.need);
  let found = best;
  // Entries are what joining adds at least, so that none after this one can be better.
  let last = found === null ? Infinity : entryOf(found.adds, claimOf(found.entry));
  for (let next = 0; next < length && at(entries, next) < last; next++) {
    const entry = at(entries, next);
    const claim = workspace.claims[claimOf(entry)];
    const joining = claim === undefined ? null : joiningOf(claim, applicant, options);
    if (joining === null) continue;
    const adds = joining.added + (joining.chosen.shunned ? SHUNNED_ADDS : 0);
    if (found !== null && (adds > found.adds || (adds === found.adds && entry > found.entry))) continue;
    found = { joining, adds, entry };
    last = entryOf(adds, claimOf(entry));
  }
  return found;
}

/** The index for needs of this kind that avoid the same pods, with all that has changed since it was last used. */
function indexFor(queue: Queue, need: Need, avoided: ReadonlyArray<Counter>): JoinIndex {
  const { workspace, indexes, changes } = queue;
  const id = avoided.length === 0 ? need.kind : `${need.kind} ${avoided.map(({ host }) => host).join(' ')}`;
  const known = indexes.get(id);
  if (known === undefined) {
    const [other] = indexes.values();
    if (other !== undefined && !sameRequests(other.index.requests, need.shape.requests)) indexes.clear();
    const index =
      avoided.length === 0
        ? indexOf(joinerOf(workspace, need), workspace.claims, emptyClaims(workspace))
        : indexAvoiding(indexFor(queue, need, []), avoided, workspace.claims);
    indexes.set(id, { index, seen: { changes: changes.length } });
    return index;
  }
  const { index, seen } = known;
  for (; seen.changes < changes.length; seen.changes++) {
    const claim = changes[seen.changes];
    if (claim !== undefined) reindex(index, claim);
  }
  return index;
}

function joinerOf(workspace: Workspace, need: Need): Joiner {
  return {
    requests: need.shape.requests,
    optionsOn: (state) => optionsFor(workspace, state, need),
    avoided: [],
  };
}

function emptyClaims({ pools, dimensions }: Workspace): ReadonlyArray<OpenClaim> {
  return pools.map((state) => emptyClaim(state, dimensions.names.length, false));
}

function sameRequests(a: Float64Array, b: Float64Array): boolean {
  return a.every((amount, index) => amount === b[index]);
}

/**
 * On the heaviest pools that can take the pod, the cheapest. `mayWaive`: a pool waives its minValues before a lighter
 * one is looked at, as in Karpenter.
 */
function bestOpening(workspace: Workspace, applicant: Applicant, mayWaive: boolean): Joining | null {
  let best: Joining | null = null;
  for (const state of workspace.pools) {
    if (best !== null && best.claim.state.pool.weight > state.pool.weight) break;
    const options = optionsFor(workspace, state, applicant.need);
    if (options.length === 0) continue;
    const openWith = (waived: boolean): Joining | null =>
      joiningOf(emptyClaim(state, workspace.dimensions.names.length, waived), applicant, options);
    const joining = openWith(false) ?? (mayWaive ? openWith(true) : null);
    if (joining !== null && (best === null || isCheaper(joining.chosen, best.chosen))) best = joining;
  }
  return best;
}

/** Is the first way to join the better one? */
export function addsLess(a: Joining, b: Joining): boolean {
  return a.chosen.shunned === b.chosen.shunned ? a.added < b.added : !a.chosen.shunned;
}
