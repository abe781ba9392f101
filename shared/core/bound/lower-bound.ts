import { boundWithGifts } from '../packing/relaxed/bound-with-gifts.ts';
import { flagsOf } from '../packing/problem/flags.ts';
import { packingBound } from '../packing/pack.ts';
import type { Work } from '../packing/problem/work.ts';
import { meetsNeed, type ExistingNode } from '../placing/state/existing-nodes.ts';
import { boundByZones, type Costing } from './bound-by-zones.ts';
import { boundProblem, groupsPlaced, isSame, offeredTo, type BoundGroup } from './bound-problem.ts';
import { withOnePort } from '../placing/together/shared-ports.ts';
import type { SolvedProblem } from '../placing/together/bulk.ts';
import { at } from '../quantity/at.ts';
import { weighsRisk } from '../offerings/compile-pool.ts';
import { byCodeUnit } from '../rules/label-rule.ts';
import { canHoldMore, mostInDomain } from '../placing/together/most-in-domain.ts';
import { plainPriceOf, reservationOf } from '../placing/state/open-claim.ts';
import { MARKETS_MAX } from '../offerings/compile-types.ts';
import type { PoolState } from '../offerings/pool-state.ts';
import { addVector, fits } from '../quantity/resource-table.ts';
import { FEW_CLAIMS } from '../placing/place-pods.ts';
import { costOf, type Workspace } from '../placing/state/workspace.ts';

/**
 * Whole nodes are counted up to `FEW_CLAIMS`: beyond it, the rules that the bound leaves out are most of the gap, and a
 * better proof would cost time for nothing. Beside existing capacity there is no other proof, and it is quicker.
 */
const FEW_BESIDE_CAPACITY = 60;
/** Of so few claims whole ones are worth counting, however far the bound is. */
const ALWAYS_COUNTED = 6;
/** A plan that costs so much more than fluid prices prove is bound by rules that no better prices know of. */
const WORTHWHILE = 0.93;

/** What no plan for the same pods can undercut, in micro-USD per hour. */
export interface LowerBounds {
  readonly plain: number;
  readonly weighed: number;
}

/**
 * The bounds on what any plan for the pods placed costs, and on what it counts as with risk. What is proved of weighed
 * prices says nothing of plain ones, which are lower: where risk counts at all, each is proved for itself, with as much
 * work. No plan counts as less than it costs. Where packing has proved the one, resources alone bind, and the other is
 * worth its proof.
 */
export function lowerBounds(workspace: Workspace, solved: ReadonlyArray<SolvedProblem>, work: Work): LowerBounds {
  const asked = { counts: 'weighed', cost: costOf(workspace.claims), isPacked: false } as const;
  const { bound: weighed, isPacked } = lowerBound(workspace, asked, solved, { ...work });
  if (!workspace.pools.some(({ pool }) => weighsRisk(pool))) return { plain: weighed, weighed };
  const cost = workspace.claims.reduce((sum, claim) => sum + plainPriceOf(claim), 0);
  const { bound: plain } = lowerBound(workspace, { counts: 'plain', cost, isPacked }, solved, { ...work });
  return { plain, weighed: Math.max(plain, weighed) };
}

interface PlanCosting extends Costing {
  /** Is it known that resources alone bind the plan? Then all work goes to the proof. */
  readonly isPacked: boolean;
}

interface BoundProof {
  readonly bound: number;
  /** Did packing prove it? */
  readonly isPacked: boolean;
}

/**
 * What no plan for the pods placed can undercut, in micro-USD per hour. Any plan fulfils resources, node rules and
 * limits per node, so what those cost at least is solved for, with everything free on existing capacity used for
 * nothing. Rules that look at other pods, limits and weights are left out, but for few pods that spread over zones: the
 * bound is low where those bind, and never too high. Sizes that are shunned count only when the plan had to use one.
 */
function lowerBound(
  workspace: Workspace,
  { counts, cost, isPacked }: PlanCosting,
  solved: ReadonlyArray<SolvedProblem>,
  work: Work,
): BoundProof {
  const { claims, nodes } = workspace;
  if (cost === 0) return { bound: 0, isPacked };
  const placed = groupsPlaced(workspace);
  const groups = limitedGroups(workspace, placed);
  const free = nodes.map((node) => giftOf(workspace, node, groups)).filter((gift) => gift !== null);
  const gifts = [...free, ...reservedGifts(workspace, groups)];
  const { problem, members, ports } = boundProblem(
    workspace,
    gifts.length === 0 ? groups.filter(({ onNew }) => onNew > 0) : groups,
    { counts, zone: null },
  );
  if (gifts.length === 0) {
    const known = solved.find((one) => isSame(one.problem, problem));
    const isProved = isPacked || known !== undefined;
    const isFew = claims.length <= FEW_CLAIMS;
    // Fluid prices know of no limit per node: what they prove says nothing of how close better ones come.
    const isWorthwhile = isPacked || problem.items.some(({ perNode }) => perNode !== Infinity);
    const asked = {
      worthwhile: isFew || isWorthwhile ? 0 : cost * WORTHWHILE,
      fractions: claims.length <= ALWAYS_COUNTED || isWorthwhile ? 0 : cost * WORTHWHILE,
      below: isFew ? cost : null,
    };
    const bound = known?.bound ?? packingBound(problem, asked, work);
    const byZones = bound < cost ? boundByZones(workspace, placed, { counts, cost, known: bound }, work) : 0;
    return { bound: Math.max(bound, byZones), isPacked: isProved };
  }
  const bound = boundWithGifts(
    {
      problem,
      gifts: gifts.map(({ usable, admits }) => ({
        usable: withOnePort(usable, ports),
        admits: flagsOf(members, (own) => own.some((group) => admits[group] === 1)),
      })),
    },
    {
      cost,
      isFew: claims.length <= FEW_BESIDE_CAPACITY,
    },
    work,
  );
  return { bound, isPacked: false };
}

/** The groups as the bound counts them: with limits per node where few have one, alike ones joined. */
function limitedGroups(workspace: Workspace, placed: ReadonlyArray<BoundGroup>): ReadonlyArray<BoundGroup> {
  return inOrder(joinAlike(withinMany(withinDomains(workspace, withinMany(placed)))));
}

/**
 * Where work ends early, the bound depends on the order of items: it must not be the order in which shapes are listed.
 */
function inOrder(groups: ReadonlyArray<BoundGroup>): ReadonlyArray<BoundGroup> {
  const keyed = groups.map((group) => {
    const { needs, need, pods, perNode, onNew } = group;
    return {
      group,
      key: [need.shape.requests.join(' '), pods.length, perNode, onNew, ...needs.map(({ kind }) => kind)].join('\n'),
    };
  });
  return keyed.toSorted((a, b) => byCodeUnit(a.key, b.key)).map(({ group }) => group);
}

/** Limits by spread too, where they say more than resources do: a node is in one domain. */
function withinDomains(workspace: Workspace, groups: ReadonlyArray<BoundGroup>): ReadonlyArray<BoundGroup> {
  const spread = groups.filter(({ need }) => need.terms.spread.length > 0);
  if (spread.length === 0 || spread.length > MAX_LIMITED) return groups;
  const largest = largestNode(workspace);
  return groups.map((group) => {
    const most = mostInDomain(workspace, group.need);
    return canHoldMore(largest, group.need.shape.requests, most)
      ? { ...group, perNode: Math.min(group.perNode, most) }
      : group;
  });
}

/** Of each resource, the most that a new node has. */
function largestNode({ pools, dimensions }: Workspace): Float64Array {
  const width = dimensions.names.length;
  const largest = new Float64Array(width);
  for (const { usable } of pools) {
    usable.forEach((amount, index) => (largest[index % width] = Math.max(at(largest, index % width), amount)));
  }
  return largest;
}

/** Only the limits of the groups with the most pods, where many have one. */
function withinMany(groups: ReadonlyArray<BoundGroup>): ReadonlyArray<BoundGroup> {
  const limited = groups.filter(({ perNode }) => perNode !== Infinity);
  if (limited.length <= MAX_LIMITED) return groups;
  const idOf = ({ need }: BoundGroup): string => need.shape.requests.join(' ');
  const largest = limited.toSorted((a, b) => b.pods.length - a.pods.length || byCodeUnit(idOf(a), idOf(b)));
  const kept = new Set(largest.slice(0, MAX_LIMITED));
  return groups.map((group) => (kept.has(group) ? group : { ...group, perNode: Infinity }));
}

/** So many groups with a limit per node are told apart: each more costs time, and gains little. */
const MAX_LIMITED = 60;

/**
 * Groups that no limit tells apart, and that may be in the same places, are one: thousands of shapes are few groups
 * then.
 */
function joinAlike(groups: ReadonlyArray<BoundGroup>): ReadonlyArray<BoundGroup> {
  const alike = Map.groupBy(groups, ({ needs, perNode, need }) =>
    [...needs.map(({ kind }) => kind), perNode === Infinity ? '' : need.shape.index].join('\n'),
  );
  return [...alike.values()].flatMap((own) => {
    const [first] = own;
    if (first === undefined || own.length === 1) return own;
    const onNew = own.reduce((sum, group) => sum + group.onNew, 0);
    return [{ ...first, pods: own.flatMap(({ pods }) => pods), onNew }];
  });
}

/** The node as it was before this plan, with the groups that it could take a pod of; null when there are none. */
function giftOf(
  { shapes }: Workspace,
  node: ExistingNode,
  groups: ReadonlyArray<BoundGroup>,
): { readonly usable: Float64Array; readonly admits: Uint8Array } | null {
  const usable = node.free.slice();
  for (const { shape } of node.pods) {
    const compiled = shapes.get(shape);
    if (compiled !== undefined) addVector(usable, compiled.requests, 1);
  }
  const admits = flagsOf(
    groups,
    ({ needs, need }) => fits(usable, need.shape.requests) && needs.some((one) => meetsNeed(node, one)),
  );
  return admits.includes(1) ? { usable: usable.map((amount) => Math.max(0, amount)), admits } : null;
}

/**
 * Nodes of reservations, used for nothing: each as large as any of its reservation can be, for all pods that one of
 * them admits. No more of them than there are pods.
 */
function reservedGifts(
  workspace: Workspace,
  groups: ReadonlyArray<BoundGroup>,
): ReadonlyArray<{ readonly usable: Float64Array; readonly admits: Uint8Array }> {
  const pods = groups.reduce((sum, group) => sum + group.pods.length, 0);
  return [...reservedNodes(workspace)].flatMap(([id, count]) => {
    const gift = { usable: new Float64Array(workspace.dimensions.names.length), admits: new Uint8Array(groups.length) };
    for (const state of workspace.pools) addReserved(workspace, state, groups, { id, ...gift });
    return gift.admits.includes(1) ? Array.from({ length: Math.min(count, pods) }, () => gift) : [];
  });
}

/** By reservation: the nodes that it held before this plan. */
function reservedNodes({ pools, claims }: Workspace): ReadonlyMap<string, number> {
  const nodes = new Map(pools.flatMap(({ reservationsLeft }) => [...reservationsLeft]));
  for (const claim of claims) {
    const id = reservationOf(claim, claim.chosen);
    if (id !== null) nodes.set(id, (nodes.get(id) ?? 0) + 1);
  }
  return nodes;
}

function addReserved(
  workspace: Workspace,
  state: PoolState,
  groups: ReadonlyArray<BoundGroup>,
  gift: { readonly id: string; readonly usable: Float64Array; readonly admits: Uint8Array },
): void {
  const { pool, usable } = state;
  const width = gift.usable.length;
  const options = groups.map(({ needs }) => offeredTo(workspace, state, needs));
  pool.catalog.markets.forEach(({ reservation }, bit) => {
    if (reservation !== gift.id) return;
    for (const type of pool.order) {
      if (((at(pool.offered, type) >> bit) & 1) === 0) continue;
      const row = (type * MARKETS_MAX + bit) * width;
      for (let k = 0; k < width; k++) gift.usable[k] = Math.max(at(gift.usable, k), at(usable, row + k));
      options.forEach((option, group) => {
        if (option !== null && (at(option, type) >> bit) & 1) gift.admits[group] = 1;
      });
    }
  });
}
