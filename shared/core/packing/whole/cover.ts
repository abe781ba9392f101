import { at, doubleAt, intAt } from '../../quantity/at.ts';
import { cutOf, type Cut } from '../columns/cuts.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { createMaster, optimize } from '../lp/master.ts';
import type { PackIntoResult } from './pack-into.ts';
import type { PackedNode } from '../problem/problem.ts';
import { unitOf } from '../problem/tighten.ts';
import type { Work } from '../problem/work.ts';

export interface Cover {
  readonly flat: FlatProblem;
  readonly demand: Float64Array;
  /** Grows: fillings that turn out not to exist teach new cuts. */
  readonly cuts: Array<Cut>;
  /** Sets of nodes that cost less than this are looked for. */
  readonly below: number;
  /** Nothing costs less than this: known from elsewhere. */
  readonly floor: number;
  /** Can these nodes, per size, hold all pods? */
  readonly canPack: (nodes: Int32Array) => PackIntoResult;
  /**
   * Whether to look on for a set that can be packed above the first of which that is not known: the bound gains
   * nothing.
   */
  readonly goesOn: boolean;
  readonly work: Work;
}

/** `bound`: no set of nodes that holds all pods costs less. `nodes`: the cheapest that was found below `below`. */
export interface CoverResult {
  readonly bound: number;
  readonly found: { readonly cost: number; readonly nodes: ReadonlyArray<PackedNode> } | null;
}

/**
 * The bound is raised in steps: a search that ends before the last has proved those before it. Shares of what is open.
 */
const STEPS = [1 / 64, 1 / 16, 1 / 4, 1];
const MAX_CUTS = 80;
/** Sets of more nodes are not looked at: what is asked for is small, and the search is as deep as a set is large. */
const MAX_NODES = 1_000;
/** Far more than the rounding errors of a sum of a few products of doubles. */
const MARGIN = 1e-9;

/**
 * The cheapest set of whole nodes that no cut forbids and that can be packed. Every packing fulfils every cut, so when
 * the search below some cost ends without one, none costs less.
 */
export function coverDemand(cover: Cover): CoverResult {
  const unit = unitOf(cover.flat.prices);
  const search = startState(cover, unit);
  let bound = cover.floor;
  for (const share of STEPS) {
    const limit = Math.ceil((cover.floor + share * (cover.below - cover.floor)) / unit - MARGIN) * unit;
    if (limit <= bound) continue;
    search.best = limit;
    if (!descend(search, 0, 0)) break;
    bound = Math.max(bound, Math.min(search.best, search.unknown));
    if (search.found !== null || (bound < limit && !cover.goesOn)) break;
  }
  return { bound: Math.min(bound, cover.below), found: search.found };
}

interface CoverState {
  readonly cover: Cover;
  /** Sizes, dearest first. */
  readonly order: ReadonlyArray<number>;
  readonly unit: number;
  readonly nodes: Int32Array;
  /** Rows of the tables below are so long: there is room for cuts to come. */
  readonly stride: number;
  /** Per cut: what is missing, with the nodes chosen; negative where there is more than needed. */
  readonly short: Float64Array;
  /** Per cut: the same, or 0. */
  readonly missing: Float64Array;
  /** Size × cut: what one node counts. */
  readonly amounts: Float64Array;
  /** Place in the order × cut: the least price per unit from there on. */
  readonly ratios: Float64Array;
  /** Combinations of cuts: per cut, what a unit is worth; no size is worth more than it costs. */
  readonly mixes: Array<Float64Array>;
  /** Sets proved not to hold all pods, although no cut says so. */
  readonly impossible: Array<Int32Array>;
  /** How many nodes are chosen. */
  size: number;
  best: number;
  unknown: number;
  found: CoverResult['found'];
}

function startState(cover: Cover, unit: number): CoverState {
  const { bins, prices } = cover.flat;
  const order = Array.from({ length: bins }, (_, bin) => bin).toSorted(
    (a, b) => doubleAt(prices, b) - doubleAt(prices, a) || a - b,
  );
  const stride = Math.max(MAX_CUTS, cover.cuts.length);
  const search: CoverState = {
    cover,
    order,
    unit,
    nodes: new Int32Array(bins),
    stride,
    short: new Float64Array(stride),
    missing: new Float64Array(stride),
    amounts: new Float64Array(bins * stride),
    ratios: new Float64Array((bins + 1) * stride).fill(Infinity),
    mixes: [],
    impossible: [],
    size: 0,
    best: cover.below,
    unknown: Infinity,
    found: null,
  };
  cover.cuts.forEach((cut, index) => enterCut(search, cut, index));
  mixCuts(search);
  return search;
}

function enterCut(
  { cover: { flat }, order, nodes, stride, short, amounts, ratios }: CoverState,
  cut: Cut,
  index: number,
): void {
  short[index] = cut.need;
  nodes.forEach((count, bin) => {
    const most = doubleAt(cut.perBin, bin);
    amounts[bin * stride + index] = most;
    short[index] = doubleAt(short, index) - count * most;
  });
  for (let place = order.length - 1; place >= 0; place--) {
    const bin = at(order, place);
    const most = doubleAt(cut.perBin, bin);
    const ratio = most > 0 ? doubleAt(flat.prices, bin) / most : Infinity;
    ratios[place * stride + index] = Math.min(doubleAt(ratios, (place + 1) * stride + index), ratio);
  }
}

/** What units of the cuts are worth together, for the whole demand and with each cut stressed in turn. */
function mixCuts({ cover: { flat, cuts, work }, mixes }: CoverState): void {
  mixes.length = 0;
  const scales = cuts.map(({ need }) => 1 / Math.max(1, need));
  for (let stressed = -1; stressed < Math.min(cuts.length, 6); stressed++) {
    const needs = Float64Array.from(cuts, (_, index) => (index === stressed ? 1.5 : 1));
    const dearest = flat.prices.reduce((most, price) => Math.max(most, price), 1);
    const master = createMaster(
      needs,
      needs.length,
      needs.map(() => dearest * 1e4),
    );
    for (let bin = 0; bin < flat.bins; bin++) {
      master.columns.push({
        cost: doubleAt(flat.prices, bin),
        rows: Int32Array.from(cuts.keys()),
        amounts: Float64Array.from(cuts, ({ perBin }, index) => doubleAt(perBin, bin) * at(scales, index)),
      });
    }
    if (!optimize(master, work)) continue;
    mixes.push(
      safeMix(
        flat,
        cuts,
        master.duals.map((dual, index) => Math.max(0, dual) * at(scales, index)),
      ),
    );
  }
}

/** Lowered until no size is worth more than it costs, rounding errors included. */
function safeMix({ bins, prices }: FlatProblem, cuts: ReadonlyArray<Cut>, mix: Float64Array): Float64Array {
  let scale = 1 - MARGIN;
  for (let bin = 0; bin < bins; bin++) {
    let worth = 0;
    cuts.forEach(({ perBin }, index) => (worth += doubleAt(mix, index) * doubleAt(perBin, bin)));
    if (worth > 0) scale = Math.min(scale, (doubleAt(prices, bin) / worth) * (1 - MARGIN));
  }
  return mix.map((one) => one * scale);
}

/** Tries every set with more nodes, of sizes from `from` on; false when work ran out. */
function descend(search: CoverState, from: number, cost: number): boolean {
  const { cover, order } = search;
  if (cover.work.left <= 0) return false;
  if (isCovered(search)) {
    tryPacking(search, cost);
    const enough = cover.goesOn ? search.best : Math.min(search.best, search.unknown);
    if (isCovered(search) && cost >= enough) return true;
  }
  if (search.size >= MAX_NODES) {
    search.unknown = Math.min(search.unknown, cost);
    return true;
  }
  for (let place = from; place < order.length; place++) {
    const bin = at(order, place);
    const price = doubleAt(cover.flat.prices, bin);
    cover.work.left -= 1;
    if (cost + price > search.best - search.unit) continue;
    cover.work.left -= cover.cuts.length * (search.mixes.length + 2);
    if (leastCost(search, place, cost) > search.best - search.unit + 0.5) return true;
    choose(search, bin, 1);
    const ended = descend(search, place, cost + price);
    choose(search, bin, -1);
    if (!ended) return false;
  }
  return true;
}

/** One node of the size more (1), or less (−1). */
function choose(search: CoverState, bin: number, more: 1 | -1): void {
  const { cover, nodes, stride, short, amounts } = search;
  nodes[bin] = intAt(nodes, bin) + more;
  search.size += more;
  for (let index = 0; index < cover.cuts.length; index++) {
    short[index] = doubleAt(short, index) - more * doubleAt(amounts, bin * stride + index);
  }
}

function isCovered({ cover: { cuts }, short }: CoverState): boolean {
  for (let index = 0; index < cuts.length; index++) if (doubleAt(short, index) > 0) return false;
  return true;
}

/** What any set that contains the chosen nodes and is covered costs at least. */
function leastCost(
  { cover: { cuts }, stride, short, missing, ratios, mixes }: CoverState,
  place: number,
  cost: number,
): number {
  let most = 0;
  for (let index = 0; index < cuts.length; index++) {
    missing[index] = Math.max(0, doubleAt(short, index));
    if (doubleAt(short, index) > 0)
      most = Math.max(most, doubleAt(short, index) * doubleAt(ratios, place * stride + index));
  }
  for (const mix of mixes) {
    let worth = 0;
    for (let index = 0; index < mix.length; index++) worth += doubleAt(missing, index) * doubleAt(mix, index);
    most = Math.max(most, worth);
  }
  return cost + most * (1 - MARGIN);
}

function tryPacking(search: CoverState, cost: number): void {
  const { cover, nodes, impossible } = search;
  // Fewer nodes hold no more.
  if (impossible.some((set) => nodes.every((count, bin) => count <= intAt(set, bin)))) return;
  const packed = cover.canPack(nodes);
  if (packed.kind === 'impossible') {
    impossible.push(nodes.slice());
    return;
  }
  if (packed.kind === 'packed') {
    search.best = cost;
    search.found = { cost, nodes: packed.nodes };
    return;
  }
  if (packed.kind === 'refuted' && cover.cuts.length < MAX_CUTS) {
    const cut = cutOf(cover.flat, { values: packed.values, demand: cover.demand, prices: null }, cover.work);
    if (cut !== null) {
      enterCut(search, cut, cover.cuts.push(cut) - 1);
      mixCuts(search);
      if (!isCovered(search)) return;
    }
  }
  search.unknown = Math.min(search.unknown, cost);
}
