import { at } from '../../quantity/at.ts';

/**
 * Variable-sized vector bin packing as the packer sees it: pods that are alike are one item with a count, an offering
 * is one bin size that can be bought any number of times. Amounts and prices are integers held in doubles.
 */
export interface PackingProblem {
  /** Number of resources: the length of every vector here. */
  readonly width: number;
  readonly items: ReadonlyArray<PackingItem>;
  readonly bins: ReadonlyArray<PackingBin>;
}

export interface PackingItem {
  readonly requests: Float64Array;
  readonly count: number;
  /** At most so many on one node; Infinity when only resources limit it. */
  readonly perNode: number;
}

export interface PackingBin {
  readonly usable: Float64Array;
  /** Micro-USD per hour, more than 0 unless the node is a gift. */
  readonly price: number;
  /** Per item: 1 when it may be on such a node. */
  readonly admits: Uint8Array;
}

/** `times` nodes of one bin size with the same pods. */
export interface PackedNode {
  readonly bin: number;
  /** Pods per item. */
  readonly counts: Int32Array;
  readonly times: number;
}

export interface Packing {
  readonly nodes: ReadonlyArray<PackedNode>;
  readonly cost: number;
  /** Pods per item that fit no bin. */
  readonly left: Int32Array;
}

/** Does the bin hold one pod of the item, alone? */
export function holdsOne(bin: PackingBin, item: PackingItem, index: number): boolean {
  if (bin.admits[index] !== 1) return false;
  const { requests } = item;
  for (let k = 0; k < requests.length; k++) if (at(requests, k) > at(bin.usable, k)) return false;
  return true;
}

/**
 * Indexes of the bins that no other bin makes pointless: one that holds as much of all and admits as much, for no more.
 */
export function undominated(bins: ReadonlyArray<PackingBin>): ReadonlyArray<number> {
  const cheapestFirst = bins.map((_, index) => index).toSorted((a, b) => priceOf(bins, a) - priceOf(bins, b) || a - b);
  const kept: Array<number> = [];
  for (const index of cheapestFirst) {
    const bin = bins[index];
    if (bin !== undefined && !kept.some((other) => dominates(bins[other], bin))) kept.push(index);
  }
  return kept.toSorted((a, b) => a - b);
}

function priceOf(bins: ReadonlyArray<PackingBin>, index: number): number {
  return bins[index]?.price ?? Infinity;
}

function dominates(other: PackingBin | undefined, bin: PackingBin): boolean {
  if (other === undefined || other.price > bin.price) return false;
  for (let k = 0; k < bin.usable.length; k++) if (at(other.usable, k) < at(bin.usable, k)) return false;
  for (let item = 0; item < bin.admits.length; item++) if (at(bin.admits, item) > at(other.admits, item)) return false;
  return true;
}
