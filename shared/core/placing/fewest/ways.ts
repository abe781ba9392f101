import type { Pod } from '../../model/cluster.ts';
import { meetsNeed, allowsNode, hasRoom, type ExistingNode } from '../state/existing-nodes.ts';
import type { Need, PoolOption } from '../state/compile-shape.ts';
import { sourceFor } from '../../offerings/key-source.ts';
import { emptyClaim, join, settledValue } from '../state/open-claim.ts';
import { joiningBy, mayMeet } from '../state/joining.ts';
import type { Joining, OpenClaim } from '../state/open-claim.ts';
import type { Applicant } from '../state/joining.ts';
import { guardFor, putOnNode } from '../one-by-one/place.ts';
import { needsByTerm } from '../one-by-one/place-by-term.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { recordOnClaim } from '../state/topology.ts';
import { offeringsUnder } from '../state/topology-guard.ts';
import { optionsFor, type Workspace } from '../state/workspace.ts';

/** One place that a pod can have: an existing node, a claim of this plan, or a new one. */
export type Way =
  { readonly kind: 'node'; readonly node: ExistingNode } | { readonly kind: 'claim'; readonly joining: Joining };

/**
 * Every way to place a pod of the need as things are: existing nodes first, then claims, then new ones. A claim whose
 * domain this pod settles is there once for each. Where there is none, those by one of its required terms alone.
 */
export function waysFor(workspace: Workspace, need: Need, mayStart: boolean): ReadonlyArray<Way> {
  const ways = waysBy(workspace, need, mayStart);
  if (ways.length > 0) return ways;
  return needsByTerm(workspace, need).flatMap((one) => waysBy(workspace, one, mayStart));
}

/** A new claim does without minValues, where that is allowed, when there is no other way. */
function waysBy(workspace: Workspace, need: Need, mayStart: boolean): ReadonlyArray<Way> {
  const { nodes, claims, pools, dimensions } = workspace;
  const applicant = { need, guard: guardFor(workspace, need, mayStart) };
  const ways: Array<Way> = [];
  for (const node of nodes) {
    if (hasRoom(node, need.shape) && meetsNeed(node, need) && allowsNode(applicant.guard, node))
      ways.push({ kind: 'node', node });
  }
  const openings = new Map(pools.map((state) => [state, openingOf(workspace, state, applicant)]));
  const add = (claim: OpenClaim): void => {
    const opening = openings.get(claim.state);
    if (opening !== undefined) addJoinings(ways, applicant, claim, opening);
  };
  for (const claim of claims) add(claim);
  const width = dimensions.names.length;
  for (const state of pools) add(emptyClaim(state, width, false));
  if (ways.length > 0 || workspace.input.policy.minValuesPolicy !== 'BestEffort') return ways;
  for (const state of pools) add(emptyClaim(state, width, true));
  return ways;
}

/** How a pod can be on nodes of a pool at all: by these options, in these domains that topology allows it now. */
interface Opening {
  readonly options: ReadonlyArray<PoolOption>;
  readonly domains: ReadonlyArray<number>;
}

function openingOf(workspace: Workspace, state: PoolState, { need, guard }: Applicant): Opening {
  const options = optionsFor(workspace, state, need);
  if (options.length === 0) return { options, domains: [] };
  const { bits } = offeringsUnder(guard, state);
  return { options, domains: domainsWithin(state, need).filter((domain) => (domain & bits) !== 0) };
}

function addJoinings(ways: Array<Way>, applicant: Applicant, claim: OpenClaim, { options, domains }: Opening): void {
  if (domains.length === 0 || !mayMeet(claim, applicant)) return;
  for (const domain of domains) {
    const bits = claim.bits & domain;
    if (bits === 0) continue;
    for (const option of options) {
      const joining = joiningBy(claim, applicant, option, bits);
      if (joining !== null) ways.push({ kind: 'claim', joining });
    }
  }
}

const ANY_DOMAIN: ReadonlyArray<number> = [-1];

/** The bits of offerings that are alike in all that the need settles. */
function domainsWithin(state: PoolState, { settled }: Need): ReadonlyArray<number> {
  if (settled.length === 0) return ANY_DOMAIN;
  let sets = ANY_DOMAIN;
  for (const key of settled) {
    const source = sourceFor(state, key);
    if (source.kind !== 'offering') continue;
    sets = sets.flatMap((set) => source.groups.map(({ bits }) => set & bits)).filter((set) => set !== 0);
  }
  return sets;
}

/** Puts the pod there. */
export function take(workspace: Workspace, way: Way, need: Need, pod: Pod): void {
  if (way.kind === 'node') {
    putOnNode(workspace, way.node, need, pod);
    return;
  }
  const { claim } = way.joining;
  if (claim.pods.length === 0) workspace.claims.push(claim);
  join(way.joining, need.shape, pod);
  recordOnClaim(workspace.topology, pod.shape, claim, (key) => settledValue(claim, key));
}
