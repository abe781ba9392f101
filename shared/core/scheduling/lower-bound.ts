import type { Pod } from '../model/cluster.ts';
import { certifiedBound, safePrices } from '../packing/certify.ts';
import { demandOf, resourcePrices } from '../packing/fluid.ts';
import { integerCover } from '../packing/integer-cover.ts';
import { undominated, type PackingBin, type PackingItem } from '../packing/problem.ts';
import { tighten } from '../packing/tighten.ts';
import { at } from './compile-pool.ts';
import { COMBO_BITS, type PoolState } from './pool-state.ts';
import type { Workspace } from './workspace.ts';

/**
 * What no plan for the pods on new claims can undercut, in micro-USD per hour: pods cut to fractions, for few claims of
 * whole nodes, each size
 * with the room that some choice of these pods can use, everything still free on existing capacity used for nothing. It
 * knows resources only, so it is low where other rules bind, and never too high. Sizes that are shunned count only when
 * the plan had to use one.
 */
export function lowerBound(workspace: Workspace): number {
  const { claims, pools, dimensions, bins } = workspace;
  if (claims.length === 0) return 0;
  const width = dimensions.names.length;
  const items = itemsOf(workspace, claims);
  // Another plan may have on new nodes what this one nominates to existing ones, and fill other sums with it.
  const everything = itemsOf(workspace, [...claims, ...bins]);
  const shunned = claims.some(({ cell }) => cell?.shunned === true);
  const sizes = pools.flatMap((state) => sizesOf(state, items.length, { width, shunned }));
  const tightened = tighten(everything, sizes, width);
  const kept = undominated(tightened).map((index) => tightened[index]);
  const considered = kept.filter((bin) => bin !== undefined);
  const given = new Float64Array(width);
  for (const { free } of bins) {
    for (let index = 0; index < width; index++) given[index] = at(given, index) + Math.max(0, at(free, index));
  }
  const prices = resourcePrices(items, considered, width);
  const fluid = certifiedBound(prices, items, considered, given);
  if (claims.length > MAX_COVERED) return fluid;
  const demand = demandOf(items, width).map((amount, index) => amount - at(given, index));
  const cost = claims.reduce((sum, { cell }) => sum + (cell?.price ?? 0), 0);
  return Math.max(fluid, integerCover(considered, demand, safePrices(prices, considered), cost) ?? 0);
}

/** Whole nodes are counted up to this many claims: beyond it, fractions of nodes are a small part of the cost. */
const MAX_COVERED = 40;

function itemsOf(
  { shapes, dimensions }: Workspace,
  places: ReadonlyArray<{ readonly pods: ReadonlyArray<Pod> }>,
): ReadonlyArray<PackingItem> {
  const counts = new Map<number, number>();
  for (const { pods } of places) for (const { shape } of pods) counts.set(shape, (counts.get(shape) ?? 0) + 1);
  return [...counts].map(([shape, count]): PackingItem => {
    const requests = shapes.get(shape)?.requests ?? new Float64Array(dimensions.names.length);
    return { requests, count, perNode: Infinity };
  });
}

/** Each type of the pool at its lowest price and with the most it has under any offering. */
function sizesOf(
  { pool, usable }: PoolState,
  items: number,
  { width, shunned }: { readonly width: number; readonly shunned: boolean },
): ReadonlyArray<PackingBin> {
  const admits = new Uint8Array(items).fill(1);
  return [...pool.order]
    .filter((type) => shunned || pool.shunned[type] === 0)
    .map((type) => {
      const most = new Float64Array(width);
      for (let bit = 0; bit < COMBO_BITS; bit++) {
        const row = (type * COMBO_BITS + bit) * width;
        for (let index = 0; index < width; index++) most[index] = Math.max(at(most, index), at(usable, row + index));
      }
      return { usable: most, price: at(pool.lowestPrice, type), admits };
    });
}
