import { at } from '../../quantity/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import { limitOf } from '../knapsack/knapsack-of.ts';
import type { PackedNode, Packing } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/**
 * The cheapest packing there is of pods that are all alike, of equals with small nodes: what so many pods cost at least
 * follows from what fewer cost and one node more. Null where no size holds one, or where that is more work than is
 * left.
 */
export function packOneKind(flat: FlatProblem, count: number, work: Work): Packing | null {
  const sizes = usefulSizes(flat, count);
  const operations = sizes.length * count;
  if (sizes.length === 0 || operations > work.left) return null;
  work.left -= operations;
  const { cost, last } = countUp(sizes, count);
  return { nodes: nodesOf(sizes, last), cost: at(cost, count), left: new Int32Array(1) };
}

/** A size as all that matters of it here. */
interface Size {
  readonly bin: number;
  readonly holds: number;
  readonly price: number;
}

/** The sizes that hold a pod, largest first, without those that cost as much as one that holds more, or as much. */
function usefulSizes(flat: FlatProblem, count: number): ReadonlyArray<Size> {
  const sizes = Array.from({ length: flat.bins }, (_, bin) => ({
    bin,
    holds: limitOf(flat, bin, 0, count),
    price: at(flat.prices, bin),
  }));
  const largest = sizes
    .filter(({ holds }) => holds > 0)
    .toSorted((a, b) => b.holds - a.holds || a.price - b.price || a.bin - b.bin);
  let least = Infinity;
  return largest.filter(({ price }) => {
    const isUseful = price < least;
    least = Math.min(least, price);
    return isUseful;
  });
}

/** By number of pods: what they cost at least, and the place of a size that one of the nodes then has. */
function countUp(
  sizes: ReadonlyArray<Size>,
  count: number,
): { readonly cost: Float64Array; readonly last: Int32Array } {
  const cost = new Float64Array(count + 1);
  const last = new Int32Array(count + 1);
  const holds = Int32Array.from(sizes, (size) => size.holds);
  const prices = Float64Array.from(sizes, (size) => size.price);
  for (let pods = 1; pods <= count; pods++) {
    let least = Infinity;
    for (let place = 0; place < holds.length; place++) {
      const rest = Math.max(0, pods - at(holds, place));
      const total = at(cost, rest) + at(prices, place);
      if (total > least) continue;
      least = total;
      last[pods] = place;
    }
    cost[pods] = least;
  }
  return { cost, last };
}

/** The nodes that the counting came by, those that are alike together. */
function nodesOf(sizes: ReadonlyArray<Size>, last: Int32Array): ReadonlyArray<PackedNode> {
  const full = new Map<number, number>();
  const partly: Array<PackedNode> = [];
  let left = last.length - 1;
  while (left > 0) {
    const { bin = 0, holds = 1 } = sizes[at(last, left)] ?? {};
    if (left >= holds) full.set(bin, (full.get(bin) ?? 0) + 1);
    else partly.push({ bin, counts: Int32Array.of(left), times: 1 });
    left -= holds;
  }
  const holdsOf = new Map(sizes.map(({ bin, holds }) => [bin, holds]));
  const packed = [...full].map(([bin, times]) => ({ bin, counts: Int32Array.of(holdsOf.get(bin) ?? 0), times }));
  return [...packed, ...partly];
}
