import { construct } from './first/construct.ts';
import { correctValues } from './first/correct-values.ts';
import { coverDemand, type Cover, type CoverResult } from './whole/cover.ts';
import { boundOf, cutOf, measuresOf, type Cut } from './columns/cuts.ts';
import { packFractions } from './first/pack-fractions.ts';
import { dive } from './whole/dive.ts';
import { flatten, type FlatProblem } from './problem/fill.ts';
import { fluidWorth } from './lp/fluid.ts';
import { generateColumns, type Relaxation } from './columns/generate-columns.ts';
import { addPacking, emptyPool, type PatternPool } from './columns/patterns.ts';
import { roundFractions } from './first/round-fractions.ts';
import { packInto, packQuickly, tryAll, type NodesToFill, type PackIntoResult } from './whole/pack-into.ts';
import { packSeeded, podsOf } from './first/pack-seeded.ts';
import { packOneKind } from './first/pack-one-kind.ts';
import { partsOf } from './problem/problem-parts.ts';
import {
  undominated,
  type PackedNode,
  type Packing,
  type PackingItem,
  type PackingProblem,
} from './problem/problem.ts';
import { tighten } from './problem/tighten.ts';
import { withShare, type Work } from './problem/work.ts';

/** A packing and what is known about how good it is. */
export interface BoundedPacking extends Packing {
  /** No packing of the same pods costs less; micro-USD per hour. */
  readonly bound: number;
}

/** Up to so many nodes the optimum is looked for; beyond, a packing is good enough this close to the bound. */
const FEW_NODES = 120;
const CLOSE = 3e-4;
const ROUNDS = 400;
const DIVES = 3;
/** From so many items on, pods are packed with fractions first: columns take long to say what each size values. */
const MANY_ITEMS = 25;
/** So few pods, however many kinds they are, fit few nodes: the work is better spent on sets of those. */
const FEW_PODS = 60;
/** With more items, fractions that are rounded are often cheaper at first, and quick. */
const MOST_KINDS = 100;
/** Items times pods: with more, a packing of one node after another takes longer than rounding fractions. */
const MOST_ITEMS_TIMES_PODS = 2_000_000;
/**
 * Up to so many, one simple packing takes a second; it costs up to a tenth less than rounded fractions, which nothing
 * betters then.
 */
const MOST_TO_CONSTRUCT = 5_000_000;
/** The best on average of those tried, 10 to 160. */
const STEEPNESS = 40;

/**
 * A cheap packing and a bound on what any costs. Packings guided by fluid prices come first; column generation says
 * what pods are worth and bounds the cost; dives turn its fractions into nodes; and for few nodes every set of nodes
 * that could be cheaper is looked at. It stops when nothing can be gained or the work is used up. Deterministic.
 */
export function pack(problem: PackingProblem, work: Work): BoundedPacking {
  const parts = partsOf(problem);
  const left = Int32Array.from(problem.items, ({ count }) => count);
  const packed = parts.map((part, index) => {
    const share = 1 / (parts.length - index);
    const solved = withShare(work, share, (own) => packPart(part.problem, own));
    part.items.forEach((item, at) => (left[item] = solved.left[at] ?? 0));
    return { part, solved };
  });
  const spread = (counts: Int32Array, items: ReadonlyArray<number>): Int32Array => {
    const whole = new Int32Array(problem.items.length);
    items.forEach((item, index) => (whole[item] = counts[index] ?? 0));
    return whole;
  };
  return {
    nodes: packed.flatMap(({ part, solved }) =>
      solved.nodes.map(({ bin, counts, times }) => ({
        bin: part.bins[bin] ?? 0,
        counts: spread(counts, part.items),
        times,
      })),
    ),
    cost: packed.reduce((sum, { solved }) => sum + solved.cost, 0),
    left,
    bound: packed.reduce((sum, { solved }) => sum + solved.bound, 0),
  };
}

/** What a bound is asked for. */
export interface BoundGoal {
  /** Where fluid prices alone prove less than this, it stays at that. */
  readonly worthwhile: number;
  /** Where fractions of nodes cost less than this, no better prices and no whole nodes are looked for. */
  readonly fractions: number;
  /** Whole nodes are counted where the bound may be this high at most; null where there are too many of them. */
  readonly below: number | null;
}

/**
 * What any packing of the pods that fit some bin costs at least, in micro-USD per hour, when only that is asked:
 * without looking for a packing.
 */
export function packingBound(problem: PackingProblem, asked: BoundGoal, work: Work): number {
  const parts = partsOf(problem).map((one) => prepared(one.problem, work));
  const proofs = parts.map(({ part, fluid }) => proofOf(part, fluid, { left: work.left * SHARE.proof }));
  const fluid = proofs.reduce((sum, { bound }) => sum + bound, 0);
  if (fluid < asked.worthwhile) return fluid;
  // Of several parts none costs what all do.
  const own = parts.length === 1 ? asked : { ...asked, fractions: 0 };
  return parts.reduce((sum, { part, fluid: values }, index) => {
    const first = proofs[index] ?? { bound: 0, cuts: [] };
    return (
      sum +
      withShare(work, 1 / (parts.length - index), (share) => closerBound({ ...part, work: share }, values, first, own))
    );
  }, 0);
}

function closerBound(part: Part, fluid: Float64Array, first: Proof, { below, fractions }: BoundGoal): number {
  const { work } = part;
  const quick = withShare(work, SHARE.columns, (own) => relax(part, fluid, { work: own, from: null }));
  if (quick.cost < fractions) return stronger(first, proofOf(part, quick.values, work)).bound;
  const { values } = withShare(work, SHARE.proofColumns, (own) =>
    relax(part, quick.values, { work: own, from: quick }),
  );
  const share = below === null ? 1 : SHARE.proofOnly;
  const proof = withShare(work, share, (own) => stronger(first, proofOf(part, values, own)));
  return below === null || below <= proof.bound ? proof.bound : coverWhole(part, below, proof, values).bound;
}

interface Part {
  readonly flat: FlatProblem;
  readonly items: ReadonlyArray<PackingItem>;
  readonly demand: Float64Array;
  readonly pool: PatternPool;
  readonly work: Work;
}

interface PreparedPart {
  readonly part: Part;
  /** The bins of the problem that are not pointless. */
  readonly kept: ReadonlyArray<number>;
  /** What pods are worth when nodes may be cut. */
  readonly fluid: Float64Array;
}

function prepared(problem: PackingProblem, work: Work): PreparedPart {
  const tightened = tighten(problem.items, problem.bins, problem.width);
  const kept = undominated(tightened);
  const bins = kept.flatMap((index) => tightened[index] ?? []);
  const demand = Float64Array.from(problem.items, ({ count }) => count);
  const part = { flat: flatten({ ...problem, bins }), items: problem.items, demand, pool: emptyPool(), work };
  return { part, kept, fluid: fractionalWorth(part) ?? fluidWorth(problem.items, bins, problem.width) };
}

/** What pods are worth where they are packed with fractions; null with few items, of which columns soon say it. */
function fractionalWorth(part: Part): Float64Array | null {
  const { flat, demand, work } = part;
  return isMany(part) ? (packFractions(flat, { demand, dearest: Infinity, work })?.worth ?? null) : null;
}

function isMany({ flat: { items }, demand }: Part): boolean {
  return items >= MANY_ITEMS && podsOf(demand) > FEW_PODS;
}

function packPart(problem: PackingProblem, work: Work): BoundedPacking {
  const { part, kept, fluid } = prepared(problem, work);
  const { flat } = part;
  const only = flat.items === 1 ? packOneKind(flat, part.demand[0] ?? 0, work) : null;
  const solved = only === null ? packKinds(part, fluid) : { ...only, bound: only.cost };
  return { ...solved, nodes: solved.nodes.map((node) => ({ ...node, bin: kept[node.bin] ?? 0 })) };
}

/** `fluid`: what pods are worth as far as it is known before the first relaxation. */
function packKinds(part: Part, fluid: Float64Array): BoundedPacking {
  const { work } = part;
  const first = firstPacking(part, fluid);
  const packed = part.demand.map((count, item) => count - (first.left[item] ?? 0));
  const own = { ...part, demand: packed };
  if (work.left <= 0) return { ...first, ...proofOf(own, fluid, work) };
  // What fits no bin is left whatever the others cost.
  return { ...improve(own, first, fluid), left: first.left };
}

function firstPacking(part: Part, fluid: Float64Array): Packing {
  const { flat, items, work } = part;
  const found = isMany(part) ? firstOfMany(part, fluid) : null;
  return found ?? construct(flat, items, { worth: fluid, work });
}

/**
 * Of many kinds: node after node around what is hard to place. Where kinds are so many that a node has few of each,
 * fractions are tried too; where there are so many that the first takes too long, fractions and a simple packing.
 */
function firstOfMany(part: Part, fluid: Float64Array): Packing | null {
  const { flat, items, demand, work } = part;
  const around = seeded(part, fluid);
  // Fractions know of no limit per node: with many of them they take long and come out dearer.
  const areFree = flat.items > MOST_KINDS && flat.perNode.every((most) => most === Infinity);
  const byFractions = around === null || areFree ? rounded(part) : null;
  const isQuick = flat.items * podsOf(demand) <= MOST_TO_CONSTRUCT;
  const simple = around === null && isQuick ? construct(flat, items, { worth: fluid, work }) : null;
  const whole = simple?.left.some((count) => count > 0) === true ? null : simple;
  return [around, byFractions, whole].reduce((a, b) => (a === null || (b !== null && b.cost < a.cost) ? b : a));
}

function seeded({ flat, demand, work }: Part, fluid: Float64Array): Packing | null {
  if (flat.items * podsOf(demand) > MOST_ITEMS_TIMES_PODS) return null;
  return packSeeded(flat, { demand, worth: fluid, work });
}

function rounded({ flat, demand, work }: Part): Packing | null {
  return roundFractions(flat, { demand, steepness: STEEPNESS, work });
}

function improve(part: Part, first: Packing, fluid: Float64Array): BoundedPacking {
  const { flat, pool, work } = part;
  let [best, values] = [first, fluid];
  let proof = withShare(work, SHARE.proof, (own) => proofOf(part, fluid, own));
  if (isDone(best, proof.bound)) return { ...best, ...proof };
  const keep = (packing: Packing): void => addPacking(flat, pool, packing);
  const share = isMany(part) ? SHARE.correctionOfMany : SHARE.correction;
  best = withShare(work, share, (own) => correctValues(flat, best, { demand: part.demand, fluid, work: own, keep }));
  let relaxation = withShare(work, SHARE.columns, (own) => relax(part, fluid, { work: own, from: null }));
  values = relaxation.values;
  proof = withShare(work, SHARE.proof, (own) => stronger(proof, proofOf(part, values, own)));
  if (isDone(best, proof.bound)) return { ...best, ...proof };
  best = withShare(work, SHARE.dive, (own) => diveFrom(part, relaxation, { incumbent: best, turn: 0 }, own));
  if (isDone(best, proof.bound)) return { ...best, ...proof };
  relaxation = withShare(work, SHARE.columns, (own) => relax(part, values, { work: own, from: relaxation }));
  values = relaxation.values;
  proof = withShare(work, SHARE.proof, (own) => stronger(proof, proofOf(part, values, own)));
  for (let turn = 0; turn < DIVES && !isDone(best, proof.bound); turn++) {
    best = withShare(work, SHARE.dive, (own) => diveFrom(part, relaxation, { incumbent: best, turn }, own));
  }
  return isFew(best) && !isDone(best, proof.bound) ? coverFew(part, best, proof, values) : { ...best, ...proof };
}

/** Shares of the work that is left, for each phase: none may starve those after it. */
const SHARE = {
  correction: 0.04,
  correctionOfMany: 0.35,
  columns: 0.25,
  proof: 0.15,
  dive: 0.5,
  proofColumns: 0.5,
  proofOnly: 0.5,
};

function relax(
  { flat, demand, pool }: Part,
  guess: Float64Array,
  { work, from }: { readonly work: Work; readonly from: Relaxation | null },
): Relaxation {
  return generateColumns(flat, {
    pool,
    demand,
    guess,
    gifts: null,
    from,
    maxRounds: ROUNDS,
    thorough: from !== null,
    work,
  });
}

function diveFrom(
  { flat, demand, pool }: Part,
  relaxation: Relaxation,
  { incumbent, turn }: { readonly incumbent: Packing; readonly turn: number },
  work: Work,
): Packing {
  return dive({ flat, demand, pool, incumbent, work, turn }, relaxation);
}

interface Proof {
  readonly bound: number;
  readonly cuts: ReadonlyArray<Cut>;
}

function proofOf({ flat, demand }: Part, values: Float64Array, work: Work): Proof {
  const cut = cutOf(flat, { values, demand, prices: flat.prices }, work);
  if (cut === null) return { bound: 0, cuts: [] };
  return { bound: boundOf(cut, flat), cuts: [cut] };
}

function stronger(proof: Proof, other: Proof): Proof {
  return other.bound > proof.bound ? other : proof;
}

function isFew(packing: Packing): boolean {
  return countOf(packing) <= FEW_NODES;
}

function countOf({ nodes }: Packing): number {
  return nodes.reduce((sum, { times }) => sum + times, 0);
}

function isDone(packing: Packing, bound: number): boolean {
  return packing.cost - bound <= (isFew(packing) ? 0 : CLOSE * packing.cost);
}

/** Looks at every set of whole nodes that could hold the pods for less. */
function coverFew(part: Part, best: Packing, proof: Proof, values: Float64Array): BoundedPacking {
  const { found, bound } = coverWhole(part, best.cost, proof, values);
  const packing = found === null ? best : { ...best, nodes: found.nodes, cost: found.cost };
  return { ...packing, bound };
}

function coverWhole(part: Part, below: number, proof: Proof, values: Float64Array): CoverResult {
  const canPack = (nodes: Int32Array): PackIntoResult => packInto(givenTo(part, nodes, values));
  return coverBy(part, proof, { below, canPack, goesOn: false });
}

function givenTo({ flat, demand, work }: Part, nodes: Int32Array, values: Float64Array): NodesToFill {
  return { flat, kinds: Int32Array.from(nodes.keys()), nodes, demand, values, work };
}

function coverBy(
  { flat, demand, work }: Part,
  proof: Proof,
  manner: Pick<Cover, 'below' | 'canPack' | 'goesOn'>,
): CoverResult {
  const cuts = [...proof.cuts];
  for (const measure of measuresOf(flat)) {
    const cut = cutOf(flat, { values: measure, demand, prices: null }, work);
    if (cut !== null) cuts.push(cut);
  }
  const { found, bound } = coverDemand({ ...manner, flat, demand, cuts, floor: proof.bound, work });
  return { found, bound: Math.max(bound, proof.bound) };
}

/** What a pod of each item is worth, by fractions of filled nodes; micro-USD per hour. */
export function worthOf(problem: PackingProblem, work: Work): Float64Array {
  const { part, fluid } = prepared(problem, work);
  return relax(part, fluid, { work, from: null }).values;
}

/** A search for the cheapest set of nodes that holds all pods by rules that the problem does not know. */
export interface RuledNodes {
  /** Sets that cost less than this are looked for. */
  readonly below: number;
  /**
   * Puts the pods on these nodes, per bin of the problem, by all rules; null where it finds no way. `worth`: of a pod
   * per item.
   */
  readonly place: (nodes: Int32Array, worth: Float64Array) => ReadonlyArray<PackedNode> | null;
}

/**
 * What any packing costs at least, and the cheapest that was found under stricter rules; its bins are what `place`
 * returns.
 */
export function coverUnder(problem: PackingProblem, { below, place }: RuledNodes, work: Work): CoverResult {
  const { part, kept, fluid } = prepared(problem, work);
  const first = withShare(work, SHARE.proof, (own) => proofOf(part, fluid, own));
  const relaxation = withShare(work, SHARE.columns, (own) => relax(part, fluid, { work: own, from: null }));
  const { values } = relaxation;
  const proof = stronger(
    first,
    withShare(work, SHARE.proof, (own) => proofOf(part, values, own)),
  );
  const known = new Map<string, PackIntoResult>();
  const canPack = (nodes: Int32Array): PackIntoResult => {
    const id = nodes.join(' ');
    const packed = known.get(id) ?? packUnder(nodes);
    known.set(id, packed);
    return packed;
  };
  return below <= proof.bound
    ? { bound: proof.bound, found: null }
    : coverBy(part, proof, { below, canPack, goesOn: true });

  function packUnder(nodes: Int32Array): PackIntoResult {
    const given = givenTo(part, nodes, values);
    const packed = packQuickly(given);
    if (packed.kind === 'refuted') return packed;
    const whole = new Int32Array(problem.bins.length);
    kept.forEach((bin, index) => (whole[bin] = nodes[index] ?? 0));
    const placed = place(whole, values);
    if (placed !== null) return { kind: 'packed', nodes: placed };
    // What can be packed without the stricter rules says nothing about the bound.
    const exact = packed.kind === 'packed' ? packed : tryAll(given);
    return exact.kind === 'impossible' ? exact : { kind: 'unknown' };
  }
}
