import { at } from '../problem/at.ts';
import type { FlatProblem } from '../problem/fill.ts';
import type { PackedNode, Packing, PackingItem, PackingProblem } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/** So many nodes are packed anew together: with more, each try takes longer and finds little more. */
const TOGETHER = 5;
/** Steps of work for one try. */
const TRY_WORK = 1_000_000;
/** What a step of a small problem counts for: making it ready is most of its time, and is not counted in steps. */
const SMALL_COST = 3;
/** Tries without a cheaper packing, per node, after which it ends. */
const PATIENCE = 3;

/** What a packing is to be improved with. */
export interface Repacking {
  readonly flat: FlatProblem;
  readonly items: ReadonlyArray<PackingItem>;
  /** What a pod of each item is worth; micro-USD per hour. */
  readonly values: Float64Array;
  /** A packing that costs this is not improved further. */
  readonly enough: number;
  readonly pack: (problem: PackingProblem, work: Work) => Packing;
  readonly work: Work;
}

/**
 * Takes a few nodes at a time and packs their pods anew, as long as that makes it cheaper now and then. The first node is
 * always one of those that cost most beyond what their pods are worth; the others are drawn by a fixed sequence.
 */
export function repack(start: Packing, repacking: Repacking): Packing {
  const { enough, work } = repacking;
  let nodes = start.nodes.flatMap(({ bin, counts, times }) =>
    Array.from({ length: times }, () => ({ bin, counts, times: 1 })),
  );
  let cost = start.cost;
  const draw = drawing();
  for (let turn = 0, idle = 0; idle < PATIENCE * nodes.length && work.left > 0 && cost > enough; turn++) {
    if (nodes.length <= TOGETHER) break;
    const chosen = choose(repacking, nodes, turn, draw);
    const before = chosen.reduce((sum, { bin }) => sum + at(repacking.flat.prices, bin), 0);
    const packed = packAnew(repacking, chosen);
    idle = packed.cost < before ? 0 : idle + 1;
    if (packed.cost > before || packed.left.some((count) => count > 0)) continue;
    const taken = new Set(chosen);
    nodes = [...nodes.filter((node) => !taken.has(node)), ...packed.nodes];
    cost += packed.cost - before;
  }
  return cost < start.cost ? { nodes, cost, left: start.left } : start;
}

function choose(
  { flat, values }: Repacking,
  nodes: ReadonlyArray<PackedNode>,
  turn: number,
  draw: () => number,
): ReadonlyArray<PackedNode> {
  const waste = nodes.map(({ bin, counts }, index) => {
    let held = 0;
    counts.forEach((count, item) => (held += count * at(values, item)));
    return { index, waste: at(flat.prices, bin) - held };
  });
  const order = waste.toSorted((a, b) => b.waste - a.waste || a.index - b.index).map(({ index }) => index);
  const chosen = new Set([order[turn % order.length] ?? 0]);
  while (chosen.size < TOGETHER) chosen.add(Math.floor(draw() * nodes.length));
  return [...chosen].flatMap((index) => nodes[index] ?? []);
}

function packAnew({ flat, items, pack, work }: Repacking, chosen: ReadonlyArray<PackedNode>): Packing {
  const counts = items.map((_, item) => chosen.reduce((sum, node) => sum + at(node.counts, item), 0));
  const own = counts.flatMap((count, item) => (count > 0 ? [item] : []));
  const problem: PackingProblem = {
    width: flat.width,
    items: own.flatMap((item) => {
      const known = items[item];
      return known === undefined ? [] : [{ ...known, count: at(counts, item) }];
    }),
    bins: Array.from({ length: flat.bins }, (_, bin) => ({
      usable: flat.usable.slice(bin * flat.width, (bin + 1) * flat.width),
      price: at(flat.prices, bin),
      admits: Uint8Array.from(own, (item) => at(flat.admits, bin * flat.items + item)),
    })),
  };
  const granted = { left: Math.min(TRY_WORK, work.left) };
  const before = granted.left;
  const { nodes, cost, left } = pack(problem, granted);
  work.left -= SMALL_COST * (before - granted.left);
  const spread = (few: Int32Array): Int32Array => {
    const whole = new Int32Array(flat.items);
    own.forEach((item, index) => (whole[item] = at(few, index)));
    return whole;
  };
  const opened = nodes.flatMap(({ bin, counts: few, times }) =>
    Array.from({ length: times }, () => ({ bin, counts: spread(few), times: 1 })),
  );
  return { nodes: opened, cost, left };
}

/** The same numbers in every run, 0 to 1 (Park and Miller's generator). */
function drawing(): () => number {
  let state = 20_261;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}
