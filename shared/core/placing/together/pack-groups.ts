import type { Pod } from '../../model/cluster.ts';
import { flagsOf } from '../../packing/problem/flags.ts';
import { pack, worthOf } from '../../packing/pack.ts';
import type { PackedNode, Packing, PackingBin, PackingProblem } from '../../packing/problem/problem.ts';
import type { SpreadItems } from '../../packing/problem/loose-pods.ts';
import { packInTurn } from '../../packing/zones/pack-in-turn.ts';
import { packJoined } from '../../packing/zones/pack-joined.ts';
import { reassign } from '../../packing/zones/reassign.ts';
import { withShare, type Work } from '../../packing/problem/work.ts';
import type { BulkGroup, DomainSplit } from './bulk-groups.ts';
import { at } from '../../quantity/at.ts';
import { joinDomains } from './join-domains.ts';
import type { GroupsToPack } from './groups-to-pack.ts';

export interface PackedGroups {
  readonly nodes: ReadonlyArray<PackedNode>;
  /** Per group: the pods assigned to it, which need not be those that it had. */
  readonly pods: ReadonlyArray<ReadonlyArray<Pod>>;
  /** What was solved on the way, and what is proved about it. */
  readonly solved: ReadonlyArray<{ readonly problem: PackingProblem; readonly bound: number }>;
}

/**
 * Up to so many pods it matters where odd ones are assigned, and all of them can be packed together in the work that
 * there is.
 */
const FEW_PODS = 60;
/** Up to so many odd ones still matter, although all pods together are more than can be searched. */
const SOME_PODS = 300;
const FIRST_SHARE_OF_SOME = 0.4;
/** Sets of so many nodes are looked at, however many pods there are. */
const FEW_NODES = 12;
/** Of the work that is left, for what pods are worth. */
const WORTH_SHARE = 0.15;
/** Of the work given, for packing few pods as they were assigned first. */
const FIRST_SHARE = 0.3;
/** Of what is left then, for sets of nodes: where they are few, this finds and proves the optimum. */
const JOINED_SHARE = 0.5;

/**
 * Packs the groups, each domain of a spread for itself; where pods are few, they are assigned and packed once more
 * together.
 */
export function packGroups(given: GroupsToPack, work: Work): PackedGroups {
  const { problem, groups, members } = given;
  const { nonEmpty, items, bins } = withoutEmpty(problem);
  const spreads = spreadsOf(groups, members);
  const pods = groups.reduce((sum, group) => sum + group.pods.length, 0);
  const isFew = spreads.length > 0 && pods <= FEW_PODS;
  const isSome = spreads.length > 0 && !isFew && pods <= SOME_PODS;
  const packed = withShare(work, isFew ? FIRST_SHARE : isSome ? FIRST_SHARE_OF_SOME : 1, (own) => pack(nonEmpty, own));
  const first = { cost: packed.cost, ...inWhole(packed, { items, bins, width: problem.items.length }) };
  const solved = { problem: nonEmpty, bound: packed.bound };
  if (isSome) return inTurn(given, spreads, { first, solved }, work);
  if (!isFew) return { nodes: first.nodes, pods: groups.map((group) => group.pods), solved: [solved] };
  const start = { packing: first, assigned: spreads.map((spread) => spread.assigned) };
  const joined = joinDomains(given);
  const covered = withShare(work, JOINED_SHARE, (own) => packJoined(problem, spreads, { joined, start }, own));
  const anew = reassign(problem, spreads, { start: covered, enough: covered.bound }, work);
  return {
    nodes: anew.packing.nodes,
    pods: reassigned(groups, spreads, anew.assigned),
    // A bound that is not met may still be raised.
    solved: anew.packing.cost > covered.bound ? [solved] : [solved, { problem: joined.problem, bound: covered.bound }],
  };
}

/** Of more pods: domain after domain, each with the odd pods that fill its nodes. */
function inTurn(
  given: GroupsToPack,
  spreads: ReadonlyArray<GroupSpread>,
  { first, solved }: { readonly first: Packing; readonly solved: PackedGroups['solved'][number] },
  work: Work,
): PackedGroups {
  const { problem, groups } = given;
  const start = { packing: first, assigned: spreads.map((spread) => spread.assigned) };
  const joined = joinDomains(given);
  const values = withShare(work, WORTH_SHARE, (own) => worthOf(joined.problem, own));
  const worth = Float64Array.from(joined.items, (item) => at(values, item));
  const share = countOf(first) <= FEW_NODES ? JOINED_SHARE : 0;
  const covered = withShare(work, share, (own) => packJoined(problem, spreads, { joined, start }, own));
  const isProved = covered.packing.cost <= covered.bound;
  const anew = isProved ? covered : packInTurn(problem, spreads, { start: covered, worth }, work);
  return {
    nodes: anew.packing.nodes,
    pods: reassigned(groups, spreads, anew.assigned),
    solved: isProved ? [solved, { problem: joined.problem, bound: covered.bound }] : [solved],
  };
}

function countOf({ nodes }: Packing): number {
  return nodes.reduce((sum, { times }) => sum + times, 0);
}

interface GroupSpread extends SpreadItems {
  /** Per domain: the group of the pods assigned to it; −1 where there is none. */
  readonly groups: ReadonlyArray<number>;
}

function spreadsOf(
  groups: ReadonlyArray<BulkGroup>,
  members: ReadonlyArray<ReadonlyArray<number>>,
): ReadonlyArray<GroupSpread> {
  const itemOf = new Map(members.flatMap((own, item) => own.map((group) => [group, item])));
  const bySplit = Map.groupBy(groups.keys(), (group) => groups[group]?.split ?? null);
  return [...bySplit].flatMap(([split, own]) => (split === null || own.length < 2 ? [] : [spreadOf(split, own)]));

  function spreadOf(split: DomainSplit, own: ReadonlyArray<number>): GroupSpread {
    const groupIn = (domain: string): number => own.find((group) => groups[group]?.within?.domain === domain) ?? -1;
    const inDomains = [...split.counts.keys()].map((domain) => groupIn(domain));
    return {
      groups: inDomains,
      items: inDomains.map((group) => itemOf.get(group) ?? -1),
      assigned: [...split.counts.keys()].map((domain) => split.assigned.get(domain) ?? 0),
      counts: [...split.counts.values()],
      maxSkew: split.maxSkew,
      isEmptiestKnown: split.isEmptiestKnown,
    };
  }
}

/** Per group the pods that it has after its spread was assigned again. */
function reassigned(
  groups: ReadonlyArray<BulkGroup>,
  spreads: ReadonlyArray<GroupSpread>,
  assigned: ReadonlyArray<ReadonlyArray<number>>,
): ReadonlyArray<ReadonlyArray<Pod>> {
  const pods = groups.map((group) => group.pods);
  spreads.forEach((spread, index) => {
    const all = spread.groups.flatMap((group) => groups[group]?.pods ?? []);
    spread.groups.forEach((group, domain) => {
      if (group !== -1) pods[group] = all.splice(0, at(assigned[index] ?? [], domain));
    });
  });
  return pods;
}

interface NonEmptyProblem {
  /** The problem without items that have no pods. */
  readonly nonEmpty: PackingProblem;
  /** Where its items and bins stand in the whole. */
  readonly items: ReadonlyArray<number>;
  readonly bins: ReadonlyArray<number>;
}

function withoutEmpty(problem: PackingProblem): NonEmptyProblem {
  const items = problem.items.flatMap(({ count }, item) => (count > 0 ? [item] : []));
  const isUsed = ({ admits }: PackingBin): boolean => items.some((item) => admits[item] === 1);
  const bins = problem.bins.flatMap((bin, index) => (isUsed(bin) ? [index] : []));
  const nonEmpty = {
    width: problem.width,
    items: problem.items.filter(({ count }) => count > 0),
    bins: problem.bins
      .filter((bin) => isUsed(bin))
      .map((bin) => ({ ...bin, admits: flagsOf(items, (item) => bin.admits[item] === 1) })),
  };
  return { nonEmpty, items, bins };
}

function inWhole(
  { nodes, left }: Packing,
  { items, bins, width }: Pick<NonEmptyProblem, 'items' | 'bins'> & { readonly width: number },
): Pick<Packing, 'nodes' | 'left'> {
  const spread = (counts: Int32Array): Int32Array => {
    const whole = new Int32Array(width);
    items.forEach((item, index) => (whole[item] = at(counts, index)));
    return whole;
  };
  return {
    nodes: nodes.map((node) => ({ ...node, bin: at(bins, node.bin), counts: spread(node.counts) })),
    left: spread(left),
  };
}
