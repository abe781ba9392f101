import { at, doubleAt, intAt } from '../../quantity/at.ts';
import { fillBest } from '../knapsack/fill-best.ts';
import { fillNode, type FlatProblem } from '../problem/fill.ts';
import { patternOf, type Pattern } from '../columns/patterns.ts';
import { knapsackOf } from '../knapsack/knapsack-of.ts';
import { createMaster, optimize, type Master } from '../lp/master.ts';
import { packExactly } from './pack-exactly.ts';
import type { PackedNode } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/** Nodes given: how many of each kind. */
export interface NodesToFill {
  readonly flat: FlatProblem;
  /** Per size, its kind: nodes of one kind may be of any of its sizes. */
  readonly kinds: Int32Array;
  /** Per kind. */
  readonly nodes: Int32Array;
  /** Pods per item to be packed. */
  readonly demand: Float64Array;
  /** What pods are roughly worth: guides the quick tries. */
  readonly values: Float64Array;
  readonly work: Work;
}

/**
 * Can these nodes hold all pods? `refuted` carries values by which even the best fillings of all nodes fall short;
 * `impossible`: every way was tried.
 */
export type PackIntoResult =
  | { readonly kind: 'packed'; readonly nodes: ReadonlyArray<PackedNode> }
  | { readonly kind: 'refuted'; readonly values: Float64Array }
  | { readonly kind: 'impossible' }
  | { readonly kind: 'unknown' };

const ROUNDS = 80;
const NODES = 4_000;
const SHORT = 1e-6;

/** First a quick try, then the relaxation, then rounding that up node by node, then every way there is. */
export function packInto(given: NodesToFill): PackIntoResult {
  const quick = packQuickly(given);
  return quick.kind === 'unknown' ? tryAll(given) : quick;
}

/** The same without trying every way: never `impossible`. */
export function packQuickly(given: NodesToFill): PackIntoResult {
  const quick = fillInTurn(given, given.demand, given.values);
  if (quick !== null) return { kind: 'packed', nodes: quick };
  const relaxed = relaxInto(given, []);
  if (relaxed.kind === 'short') return { kind: 'refuted', values: relaxed.values };
  return (relaxed.kind === 'fits' ? roundUp(given, relaxed) : null) ?? { kind: 'unknown' };
}

/** Every way to fill the nodes, smallest first; unknown where that takes too long or nodes may be of several sizes. */
export function tryAll(given: NodesToFill): PackIntoResult {
  const { flat, demand, work } = given;
  const choices = choicesOf(given);
  const bins = choices.flatMap(([bin = 0, ...others]) => (others.length === 0 ? [bin] : []));
  if (bins.length < choices.length) return { kind: 'unknown' };
  // Small nodes have the fewest fillings: what cannot be is found soonest there.
  const exact = packExactly(flat, bins.toReversed(), demand, work);
  if (exact === null) return { kind: 'unknown' };
  return exact === 'impossible' ? { kind: 'impossible' } : { kind: 'packed', nodes: exact };
}

/** Fills the nodes one after the other, dearest first, by two rules; null when pods are left over both times. */
function fillInTurn(given: NodesToFill, demand: Float64Array, values: Float64Array): ReadonlyArray<PackedNode> | null {
  const { flat, work } = given;
  const worth = values.map((value) => Math.max(value, 1e-3));
  const choices = choicesOf(given);
  const buffers = { free: new Float64Array(flat.width), counts: new Int32Array(flat.items), work };
  for (const rule of ['worth', 'shape'] as const) {
    for (const order of [choices, choices.toReversed()]) {
      const left = Float64Array.from(demand);
      const packed = order.map((bins): PackedNode => {
        let [best, most]: [PackedNode | null, number] = [null, -1];
        for (const bin of bins) {
          const value = fillNode(flat, { bin, rule }, { left, worth }, buffers);
          if (value > most) [best, most] = [{ bin, counts: buffers.counts.slice(), times: 1 }, value];
        }
        const node = best ?? { bin: at(bins, 0), counts: new Int32Array(flat.items), times: 1 };
        node.counts.forEach((count, item) => (left[item] = doubleAt(left, item) - count));
        return node;
      });
      if (!left.some((count) => count > 0)) return packed.filter(({ counts }) => counts.some((count) => count > 0));
    }
  }
  return null;
}

/** Per node the sizes that it may be of, the dearest node first. */
function choicesOf({ flat: { prices }, kinds, nodes }: NodesToFill): ReadonlyArray<ReadonlyArray<number>> {
  const sizes = [...Map.groupBy(kinds.keys(), (bin) => intAt(kinds, bin))];
  const sorted = sizes.toSorted(
    ([, a], [, b]) => doubleAt(prices, at(b, 0)) - doubleAt(prices, at(a, 0)) || at(a, 0) - at(b, 0),
  );
  return sorted.flatMap(([kind, bins]) => Array.from({ length: kind < 0 ? 0 : intAt(nodes, kind) }, () => bins));
}

type FractionsResult =
  | { readonly kind: 'fits'; readonly master: Master; readonly patterns: ReadonlyArray<Pattern> }
  | { readonly kind: 'short'; readonly values: Float64Array }
  | { readonly kind: 'open' };

/**
 * Can fractions of filled nodes hold the pods? Pays one for each pod left over; a row per item, and one per size used,
 * which allows as many fillings of it as there are nodes.
 */
function relaxInto({ flat, kinds, nodes, demand, work }: NodesToFill, known: ReadonlyArray<Pattern>): FractionsResult {
  const used = [...nodes.keys()].filter((kind) => intAt(nodes, kind) > 0);
  const sizesOf = Map.groupBy(kinds.keys(), (bin) => intAt(kinds, bin));
  const rowOf = new Map(used.map((kind, index) => [kind, flat.items + index]));
  const rhs = Float64Array.from([...demand, ...used.map((kind) => intAt(nodes, kind))]);
  const own = Float64Array.from(rhs, (_, row) => (row < flat.items ? 1 : 0));
  const master = createMaster(rhs, flat.items, own);
  const patterns: Array<Pattern> = [];
  const add = (pattern: Pattern): void => {
    const row = rowOf.get(intAt(kinds, pattern.bin));
    if (row === undefined) return;
    patterns.push(pattern);
    master.columns.push({
      cost: 0,
      rows: Int32Array.from([...pattern.rows, row]),
      amounts: Float64Array.from([...pattern.amounts, 1]),
    });
  };
  known.forEach(add);
  for (let round = 0; round < ROUNDS && work.left > 0; round++) {
    optimize(master, work);
    const values = Float64Array.from(master.duals.subarray(0, flat.items), (dual) => Math.max(0, dual));
    let missing = 0;
    for (let item = 0; item < flat.items; item++) missing += doubleAt(values, item) * doubleAt(demand, item);
    const total = missing;
    let found = false;
    for (const kind of used) {
      const above = Math.max(0, -doubleAt(master.duals, rowOf.get(kind) ?? 0)) + 1e-7;
      const fillings = (sizesOf.get(kind) ?? []).map((bin) => {
        const knapsack = knapsackOf(flat, bin, values, demand);
        return { bin, ...fillBest(knapsack, { above, step: 1e-7, maxNodes: NODES, isDeep: false }, work) };
      });
      missing -= intAt(nodes, kind) * fillings.reduce((most, { atMost }) => Math.max(most, atMost), 0);
      for (const { bin, counts } of fillings.filter(({ value }) => value > 0)) {
        found = true;
        add(patternOf(flat, bin, counts));
      }
    }
    if (missing > SHORT * Math.max(1, total)) return { kind: 'short', values };
    if (!found) return shortage(master) > SHORT * 10 ? { kind: 'open' } : { kind: 'fits', master, patterns };
    if (shortage(master) <= SHORT) return { kind: 'fits', master, patterns };
  }
  return { kind: 'open' };
}

/** Pods left over in the solution at hand. */
function shortage({ basis, amounts, covering, rows }: Master): number {
  let sum = 0;
  basis.forEach((variable, row) => {
    if (variable < 0 && variable >= -rows && -1 - variable < covering)
      sum += Math.max(0, doubleAt(amounts, row) - 1e-5);
  });
  return sum;
}

/** Takes the filling with the largest share, packs it, and relaxes the rest again; null when that does not come out. */
function roundUp(given: NodesToFill, first: FractionsResult & { readonly kind: 'fits' }): PackIntoResult | null {
  const { flat, work } = given;
  const left = Float64Array.from(given.demand);
  const nodes = Int32Array.from(given.nodes);
  const packed: Array<PackedNode> = [];
  let relaxed: FractionsResult = first;
  while (work.left > 0 && relaxed.kind === 'fits') {
    const pattern = largest(relaxed, { ...given, nodes }, left);
    if (pattern === null) return null;
    const counts = new Int32Array(flat.items);
    pattern.rows.forEach((item, i) => {
      counts[item] = Math.min(doubleAt(pattern.amounts, i), doubleAt(left, item));
      left[item] = doubleAt(left, item) - intAt(counts, item);
    });
    packed.push({ bin: pattern.bin, counts, times: 1 });
    const kind = intAt(given.kinds, pattern.bin);
    nodes[kind] = intAt(nodes, kind) - 1;
    if (!left.some((count) => count > 0)) return { kind: 'packed', nodes: packed };
    const rest = { ...given, nodes, demand: left };
    const quick = fillInTurn(rest, left, given.values);
    if (quick !== null) return { kind: 'packed', nodes: [...packed, ...quick] };
    relaxed = relaxInto(rest, relaxed.patterns);
  }
  return null;
}

function largest(
  { master, patterns }: FractionsResult & { readonly kind: 'fits' },
  { kinds, nodes }: NodesToFill,
  left: Float64Array,
): Pattern | null {
  let [best, most]: [Pattern | null, number] = [null, 0];
  master.basis.forEach((variable, row) => {
    const pattern = patterns[variable];
    if (pattern === undefined || intAt(nodes, intAt(kinds, pattern.bin)) === 0) return;
    let pods = 0;
    pattern.rows.forEach((item, i) => (pods += Math.min(doubleAt(pattern.amounts, i), doubleAt(left, item))));
    const amount = doubleAt(master.amounts, row) + pods * 1e-9;
    if (pods > 0 && amount > most) [best, most] = [pattern, amount];
  });
  return best;
}
