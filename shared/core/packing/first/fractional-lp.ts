import { doubleAt, intAt } from '../../quantity/at.ts';

/**
 * A linear program that packs pods where pods and nodes may be cut: the cheapest numbers of nodes such that each size
 * has as much of every resource as what is given to it. A row per size and resource, solved by a simplex that keeps no
 * row per item: of each item, the size that most is given to stands outside the basis ("home").
 */
export interface FractionalLp {
  readonly width: number;
  readonly items: number;
  /** Pods per item. */
  readonly demand: Float64Array;
  readonly sizes: Array<LpSize>;
  /** Per item: the place in `sizes` of its home. */
  readonly home: Int32Array;
  /** Per item: what is given to its home. */
  readonly atHome: Float64Array;
  /** Per row: the variable that is basic there. */
  basis: ReadonlyArray<Basic>;
  amounts: Float64Array;
  /** Row × row. */
  inverse: Float64Array;
  /** Per row, negated: what the whole of a resource on one node of the size is worth. */
  prices: Float64Array;
  direction: Float64Array;
  /** The item to look at next for a cheaper place. */
  next: number;
}

/** A size in the program. */
export interface LpSize {
  readonly price: number;
  /** Item × resource: what a pod takes of a node, at most 1; Infinity where it may not be there. */
  readonly shares: Float64Array;
}

/** Nodes of a size, what is free of a resource on them, or pods of an item away from home. */
type Basic =
  | { readonly kind: 'nodes'; readonly size: number }
  | { readonly kind: 'free'; readonly row: number }
  | { readonly kind: 'pods'; readonly item: number; readonly size: number };

const EPSILON = 1e-9;
const PIVOT = 1e-9;
/** Items that are looked at for one pivot, where any of them gains. */
const AT_ONCE = 32;

/** Every item is given to its home at first; −1 where it has no pods. */
export interface LpStart {
  readonly width: number;
  readonly demand: Float64Array;
  readonly sizes: ReadonlyArray<LpSize>;
  readonly home: Int32Array;
}

/** Pods of each item at its home, and as many nodes as the scarcest resource of each size asks for. */
export function startLp({ width, demand, sizes, home }: LpStart): FractionalLp {
  const lp: FractionalLp = {
    width,
    items: demand.length,
    demand,
    sizes: [],
    home: home.slice(),
    atHome: demand.slice(),
    basis: [],
    amounts: new Float64Array(),
    inverse: new Float64Array(),
    prices: new Float64Array(),
    direction: new Float64Array(),
    next: 0,
  };
  sizes.forEach((size, index) => {
    const load = new Float64Array(width);
    home.forEach((own, item) => {
      if (own !== index) return;
      for (let k = 0; k < width; k++)
        load[k] = doubleAt(load, k) + doubleAt(demand, item) * doubleAt(size.shares, item * width + k);
    });
    addSize(lp, size, load);
    const from = index * width;
    const nodes = load.reduce((most, one) => Math.max(most, one), 0);
    lp.basis.forEach((basic, row) => {
      if (row >= from) lp.amounts[row] = basic.kind === 'nodes' ? nodes : nodes - doubleAt(load, row - from);
    });
  });
  return lp;
}

/**
 * Another size, on which nothing is yet; the resource with the most `scarcity` is the one that it is short of at first.
 */
export function addSize(lp: FractionalLp, size: LpSize, scarcity: Float64Array): void {
  const { width, basis, amounts, inverse } = lp;
  const rows = basis.length;
  const grown = rows + width;
  let scarcest = 0;
  for (let k = 1; k < width; k++) if (doubleAt(scarcity, k) > doubleAt(scarcity, scarcest)) scarcest = k;
  const larger = new Float64Array(grown * grown);
  for (let row = 0; row < rows; row++) larger.set(inverse.subarray(row * rows, (row + 1) * rows), row * grown);
  const more: Array<Basic> = [];
  for (let k = 0; k < width; k++) {
    const row = rows + k;
    larger[row * grown + rows + scarcest] = -1;
    if (k !== scarcest) larger[row * grown + row] = 1;
    more.push(k === scarcest ? { kind: 'nodes', size: lp.sizes.length } : { kind: 'free', row });
  }
  lp.sizes.push(size);
  lp.basis = [...basis, ...more];
  lp.amounts = Float64Array.of(...amounts, ...new Float64Array(width));
  lp.inverse = larger;
  lp.prices = new Float64Array(grown);
  lp.direction = new Float64Array(grown);
}

/** Pivots until nothing is cheaper, or `maxPivots` are done; returns how many were. */
export function improveLp(lp: FractionalLp, maxPivots: number): number {
  for (let pivots = 0; pivots < maxPivots; pivots++) {
    priceRows(lp);
    const entering = mostGaining(lp);
    if (entering === null || !enter(lp, entering)) return pivots;
  }
  priceRows(lp);
  return maxPivots;
}

/** Nodes per size. */
export function nodesInLp({ basis, amounts, sizes }: FractionalLp): Float64Array {
  const nodes = new Float64Array(sizes.length);
  basis.forEach((basic, row) => {
    if (basic.kind === 'nodes') nodes[basic.size] = Math.max(0, doubleAt(amounts, row));
  });
  return nodes;
}

/** What a pod of the item costs on the size; Infinity where it may not be there. */
export function costInLp({ sizes, prices, width }: FractionalLp, item: number, size: number): number {
  const shares = sizes[size]?.shares ?? NONE;
  if (doubleAt(shares, item * width) === Infinity) return Infinity;
  let cost = 0;
  for (let k = 0; k < width; k++)
    cost += doubleAt(shares, item * width + k) * Math.max(0, doubleAt(prices, size * width + k));
  return cost;
}

const NONE = new Float64Array();

function priceRows({ basis, sizes, inverse, prices }: FractionalLp): void {
  const rows = basis.length;
  prices.fill(0);
  basis.forEach((basic, row) => {
    if (basic.kind !== 'nodes') return;
    const price = sizes[basic.size]?.price ?? 0;
    for (let k = 0; k < rows; k++) prices[k] = doubleAt(prices, k) - price * doubleAt(inverse, row * rows + k);
  });
}

function mostGaining(lp: FractionalLp): Basic | null {
  const { basis, sizes, prices, width, items, demand, home } = lp;
  let [best, most]: [Basic | null, number] = [null, 0];
  for (let row = 0; row < basis.length; row++) {
    if (doubleAt(prices, row) < -EPSILON * priceOf(lp, Math.floor(row / width))) return { kind: 'free', row };
  }
  sizes.forEach(({ price }, size) => {
    let worth = 0;
    for (let k = 0; k < width; k++) worth += doubleAt(prices, size * width + k);
    if (worth - price > EPSILON * price && worth - price > most)
      [best, most] = [{ kind: 'nodes', size }, worth - price];
  });
  if (best !== null) return best;
  // Some items at a time: looking at all of them would be most of the time.
  for (let looked = 0; looked < items && (best === null || looked % AT_ONCE !== 0); looked++) {
    const item = lp.next;
    lp.next = item + 1 < items ? item + 1 : 0;
    if (doubleAt(demand, item) === 0) continue;
    const own = intAt(home, item);
    const now = costInLp(lp, item, own);
    for (let size = 0; size < sizes.length; size++) {
      if (size === own) continue;
      const gain = (now - costInLp(lp, item, size)) * doubleAt(demand, item);
      if (gain > most && gain > EPSILON * priceOf(lp, size)) [best, most] = [{ kind: 'pods', item, size }, gain];
    }
  }
  return best;
}

function priceOf({ sizes }: FractionalLp, size: number): number {
  return sizes[size]?.price ?? 0;
}

/** The change of basic variables per unit of the entering one, into `direction`. */
function directionOf(lp: FractionalLp, entering: Basic): void {
  const { basis, inverse, direction, width, sizes, home } = lp;
  const rows = basis.length;
  direction.fill(0);
  const add = (row: number, amount: number): void => {
    if (amount === 0) return;
    for (let r = 0; r < rows; r++) direction[r] = doubleAt(direction, r) + amount * doubleAt(inverse, r * rows + row);
  };
  const addShares = (item: number, size: number, sign: number): void => {
    const shares = sizes[size]?.shares ?? NONE;
    for (let k = 0; k < width; k++) add(size * width + k, sign * doubleAt(shares, item * width + k));
  };
  if (entering.kind === 'free') add(entering.row, 1);
  else if (entering.kind === 'nodes') for (let k = 0; k < width; k++) add(entering.size * width + k, -1);
  else {
    addShares(entering.item, entering.size, 1);
    addShares(entering.item, intAt(home, entering.item), -1);
  }
}

/**
 * What ends the move of the entering variable: a basic variable that comes to nothing, or what is at an item's home.
 */
type End =
  | { readonly kind: 'basic'; readonly row: number; readonly move: number }
  | { readonly kind: 'home'; readonly item: number; readonly move: number };

function enter(lp: FractionalLp, entering: Basic): boolean {
  directionOf(lp, entering);
  const end = endOf(lp, entering);
  if (end === null) return false;
  if (end.kind === 'basic') {
    move(lp, entering, end.move);
    pivot(lp, entering, end.row);
    lp.amounts[end.row] = end.move;
    return true;
  }
  const row = lp.basis.findIndex((basic) => basic.kind === 'pods' && basic.item === end.item);
  if (row === -1) {
    if (entering.kind !== 'pods') return false;
    move(lp, entering, end.move);
    lp.home[end.item] = entering.size;
    lp.atHome[end.item] = doubleAt(lp.demand, end.item);
    return true;
  }
  moveHome(lp, end.item, row);
  directionOf(lp, entering);
  if (Math.abs(doubleAt(lp.direction, row)) < PIVOT) return false;
  move(lp, entering, end.move);
  pivot(lp, entering, row);
  lp.amounts[row] = end.move;
  return true;
}

function endOf(lp: FractionalLp, entering: Basic): End | null {
  const { basis, amounts, direction, atHome } = lp;
  let end: End | null = null;
  let [least, largest] = [Infinity, 0];
  const rates = new Map<number, number>();
  if (entering.kind === 'pods') rates.set(entering.item, -1);
  basis.forEach((basic, row) => {
    const slope = doubleAt(direction, row);
    if (basic.kind === 'pods') rates.set(basic.item, (rates.get(basic.item) ?? 0) + slope);
    if (slope <= PIVOT) return;
    const ratio = Math.max(0, doubleAt(amounts, row)) / slope;
    if (ratio < least - 1e-12 || (ratio <= least && slope > largest)) {
      [least, largest] = [ratio, slope];
      end = { kind: 'basic', row, move: ratio };
    }
  });
  for (const [item, rate] of rates) {
    if (rate >= -PIVOT) continue;
    const ratio = Math.max(0, doubleAt(atHome, item)) / -rate;
    if (ratio < least - 1e-12) {
      least = ratio;
      end = { kind: 'home', item, move: ratio };
    }
  }
  return end;
}

function move({ basis, amounts, direction, atHome }: FractionalLp, entering: Basic, by: number): void {
  basis.forEach((basic, row) => {
    const change = by * doubleAt(direction, row);
    amounts[row] = doubleAt(amounts, row) - change;
    if (basic.kind === 'pods') atHome[basic.item] = doubleAt(atHome, basic.item) + change;
  });
  if (entering.kind === 'pods') atHome[entering.item] = doubleAt(atHome, entering.item) - by;
}

/** The size that some pods of the item are on in `row` becomes its home, and its home takes that row. */
function moveHome(lp: FractionalLp, item: number, row: number): void {
  const { basis, inverse, amounts, home, atHome } = lp;
  const rows = basis.length;
  const basic = basis[row];
  if (basic?.kind !== 'pods') return;
  basis.forEach((other, r) => {
    if (r === row || other.kind !== 'pods' || other.item !== item) return;
    for (let k = 0; k < rows; k++)
      inverse[row * rows + k] = doubleAt(inverse, row * rows + k) + doubleAt(inverse, r * rows + k);
  });
  for (let k = 0; k < rows; k++) inverse[row * rows + k] = -doubleAt(inverse, row * rows + k);
  const old = intAt(home, item);
  [amounts[row], atHome[item]] = [doubleAt(atHome, item), doubleAt(amounts, row)];
  home[item] = basic.size;
  lp.basis = basis.with(row, { kind: 'pods', item, size: old });
}

function pivot(lp: FractionalLp, entering: Basic, leaving: number): void {
  const { basis, inverse, direction } = lp;
  const rows = basis.length;
  const divisor = doubleAt(direction, leaving);
  for (let k = 0; k < rows; k++) inverse[leaving * rows + k] = doubleAt(inverse, leaving * rows + k) / divisor;
  for (let row = 0; row < rows; row++) {
    const factor = doubleAt(direction, row);
    if (row === leaving || factor === 0) continue;
    for (let k = 0; k < rows; k++) {
      inverse[row * rows + k] = doubleAt(inverse, row * rows + k) - factor * doubleAt(inverse, leaving * rows + k);
    }
  }
  lp.basis = basis.with(leaving, entering);
}
