import { at } from '../../quantity/at.ts';
import { cheapestHolding } from './construct.ts';
import { packFractions, type FractionalPacking } from './pack-fractions.ts';
import { fillEvenly, type NodeLot } from './fill-evenly.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { largestShare, limitOf } from '../knapsack/knapsack-of.ts';
import type { PackedNode, Packing } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/** What is to be packed and how. */
export interface Rounding {
  /** Pods per item. */
  readonly demand: Float64Array;
  /** As for `fillEvenly`. */
  readonly steepness: number;
  readonly work: Work;
}

/** Every turn buys a node or gives up a size: far more than there are of either in turn. */
const MAX_TURNS = 400;
/** With more nodes than this, a slice of all pods is packed, as often as it takes. */
const NODES_AT_ONCE = 64;
/** A size of which less than this is needed is not bought for it. */
const LEAST_SHARE = 0.25;
/** Amounts this close to a whole number are taken for it. */
const WHOLE = 1e-6;
/** Of a node's price, what is lost on it per share of a node that a pod takes. */
const GRAIN = 0.1;
/** Just less than a price. */
const BELOW = 1 - 1e-9;
/** A smaller part of a node is not filled before it is bought. */
const LEAST_PART = 0.01;

/**
 * A packing of many kinds of pods: packs them with fractions, buys the nodes that are whole, fills all of them evenly
 * together with the parts that are not bought, and packs what is left again. Where nothing is whole, it buys a node or
 * gives up the dearest size, whatever leaves the least to pay. Null when that comes to no end.
 */
export function roundFractions(flat: FlatProblem, { demand, steepness, work }: Rounding): Packing | null {
  const run: Run = {
    flat,
    prices: grainyPrices(flat, demand),
    steepness,
    work,
    left: demand.slice(),
    nodes: [],
    cost: 0,
    dearest: Infinity,
  };
  let best: Packing | null = null;
  for (let turns = 0; turns < MAX_TURNS; turns++) {
    best = cheaper(best, endingOf(run));
    const fractional = packRest(run, run.left, run.dearest);
    if (fractional === null || (best !== null && run.cost + fractional.cost >= best.cost)) break;
    const turn = nextTurn(run, fractional);
    if (turn === null) break;
    run.dearest = turn.dearest;
    run.nodes.push(...turn.nodes);
    run.cost += turn.cost;
    run.left = turn.left;
  }
  return best;
}

interface Run {
  readonly flat: FlatProblem;
  /** What nodes are taken to cost where pods are packed with fractions. */
  readonly prices: Float64Array;
  readonly steepness: number;
  readonly work: Work;
  left: Float64Array;
  readonly nodes: Array<PackedNode>;
  cost: number;
  /** Sizes that cost more are given up. */
  dearest: number;
}

/**
 * Prices with what is lost on a size because pods are whole: the more, the larger its pods are beside it. Where prices
 * are proportional to sizes it is what tells that large nodes are filled better.
 */
function grainyPrices(flat: FlatProblem, demand: Float64Array): Float64Array {
  const { items, prices } = flat;
  return prices.map((price, bin) => {
    let [sum, weight] = [0, 0];
    for (let item = 0; item < items; item++) {
      if (limitOf(flat, bin, item, at(demand, item)) === 0) continue;
      sum += largestShare(flat, bin, item) * at(demand, item);
      weight += at(demand, item);
    }
    return price * (1 + (weight > 0 ? (GRAIN * sum) / weight : 0));
  });
}

/** The packing that is complete with nothing or one more node; null when there is none. */
function endingOf({ flat, left, nodes, cost }: Run): Packing | null {
  const none = new Int32Array(flat.items);
  if (!left.some((count) => count > 0)) return { nodes: [...nodes], cost, left: none };
  const bin = cheapestHolding(flat, left);
  if (bin === -1) return null;
  const last = { bin, counts: Int32Array.from(left), times: 1 };
  return { nodes: [...nodes, last], cost: cost + at(flat.prices, bin), left: none };
}

function cheaper(one: Packing | null, other: Packing | null): Packing | null {
  if (one === null || other === null) return one ?? other;
  return other.cost < one.cost ? other : one;
}

function packRest({ flat, prices, work }: Run, demand: Float64Array, dearest: number): FractionalPacking | null {
  if (!demand.some((count) => count > 0)) return null;
  return packFractions({ ...flat, prices }, { demand, dearest, work });
}

interface Turn {
  readonly nodes: ReadonlyArray<PackedNode>;
  readonly cost: number;
  readonly left: Float64Array;
  readonly dearest: number;
}

function nextTurn(run: Run, fractional: FractionalPacking): Turn | null {
  const whole = wholeOf(fractional);
  const total = whole.reduce((sum, count) => sum + count, 0);
  if (total === 0) return boldest(run, fractional);
  if (total < 2 * NODES_AT_ONCE) return buy(run, { fractional, whole, demand: run.left, times: 1 });
  return (
    buySlices(run, Math.floor(total / NODES_AT_ONCE)) ?? buy(run, { fractional, whole, demand: run.left, times: 1 })
  );
}

/** Packs that part of all pods, and buys the nodes for it as often; null when not even one node of it is whole. */
function buySlices(run: Run, times: number): Turn | null {
  const demand = run.left.map((count) => Math.floor(count / times));
  const fractional = packRest(run, demand, run.dearest);
  if (fractional === null) return null;
  const whole = wholeOf(fractional);
  return whole.some((count) => count > 0) ? buy(run, { fractional, whole, demand, times }) : null;
}

function wholeOf({ nodes }: FractionalPacking): Float64Array {
  return nodes.map((amount) => Math.floor(amount + WHOLE));
}

/**
 * Of buying one node of a size that is needed in part, and of giving up the dearest size, what leaves the least to pay.
 */
function boldest(run: Run, fractional: FractionalPacking): Turn | null {
  const { flat } = run;
  let [best, least]: [Turn | null, number] = [null, Infinity];
  const consider = (turn: Turn | null): void => {
    if (turn === null) return;
    const rest = turn.left.some((count) => count > 0) ? packRest(run, turn.left, turn.dearest) : NOTHING;
    if (rest === null) return;
    const total = turn.nodes.reduce((sum, { bin, times }) => sum + times * at(run.prices, bin), rest.cost);
    if (total < least) [best, least] = [turn, total];
  };
  let dearest = 0;
  fractional.nodes.forEach((amount, bin) => {
    if (amount > WHOLE) dearest = Math.max(dearest, at(run.prices, bin));
  });
  consider({ nodes: [], cost: 0, left: run.left, dearest: dearest * BELOW });
  fractional.nodes.forEach((amount, bin) => {
    if (amount < LEAST_SHARE) return;
    const one = new Float64Array(flat.bins);
    one[bin] = 1;
    consider(buy(run, { fractional, whole: one, demand: run.left, times: 1 }));
  });
  return best;
}

const NOTHING = { cost: 0 };

interface Purchase {
  readonly fractional: FractionalPacking;
  /** Nodes per size. */
  readonly whole: Float64Array;
  /** Pods per item to fill them with. */
  readonly demand: Float64Array;
  /** How often all that is bought. */
  readonly times: number;
}

/** Fills the nodes beside the parts of nodes that are still to be bought; null when they hold nothing. */
function buy(run: Run, { fractional, whole, demand, times }: Purchase): Turn | null {
  const { flat, steepness, work, left, dearest } = run;
  const bought: Array<NodeLot> = [];
  const parts: Array<NodeLot> = [];
  whole.forEach((count, bin) => {
    if (count > 0) bought.push({ bin, count, share: 1 });
    const share = at(fractional.nodes, bin) - count;
    if (share > LEAST_PART) parts.push({ bin, count: 1, share });
  });
  const { counts } = fillEvenly(flat, [...bought, ...parts], { demand, suits: fractional.suits, steepness, work });
  const rest = left.slice();
  const nodes = bought.flatMap(({ bin }, lot): ReadonlyArray<PackedNode> =>
    (counts[lot] ?? []).map((own) => {
      own.forEach((count, item) => (rest[item] = at(rest, item) - count * times));
      return onCheapest(flat, { bin, counts: own, times });
    }),
  );
  const filled = nodes.filter((node) => node.counts.some((count) => count > 0));
  if (filled.length === 0) return null;
  const cost = filled.reduce((sum, { bin }) => sum + times * at(flat.prices, bin), 0);
  return { nodes: filled, cost, left: rest, dearest };
}

function onCheapest(flat: FlatProblem, node: PackedNode): PackedNode {
  const bin = cheapestHolding(flat, node.counts);
  return bin === -1 ? node : { ...node, bin };
}
