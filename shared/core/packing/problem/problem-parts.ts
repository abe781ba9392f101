import { flagsOf } from './flags.ts';
import { holdsOne, type PackingProblem } from './problem.ts';

/** A part of a problem that shares no size with the rest, and where its items and bins stand in the whole. */
export interface ProblemPart {
  readonly problem: PackingProblem;
  readonly items: ReadonlyArray<number>;
  readonly bins: ReadonlyArray<number>;
}

/**
 * The problem cut where no bin holds items of both sides, so that each part can be solved alone. Items that fit no bin
 * are in none.
 */
export function partsOf({ width, items, bins }: PackingProblem): ReadonlyArray<ProblemPart> {
  const parent = Int32Array.from(items, (_, item) => item);
  const held = bins.map((bin) => {
    const own: Array<number> = [];
    items.forEach((item, index) => {
      if (holdsOne(bin, item, index)) own.push(index);
    });
    return own;
  });
  for (const own of held) join(parent, own);
  const parts = Map.groupBy(
    held.flatMap((own, bin) => (own[0] === undefined ? [] : [{ bin, root: rootOf(parent, own[0]) }])),
    ({ root }) => root,
  );
  return [...parts].map(([root, members]) => {
    const own = members.map(({ bin }) => bin);
    const holdable = new Set(own.flatMap((bin) => held[bin] ?? []));
    const kept = items.flatMap((_, item) => (holdable.has(item) && rootOf(parent, item) === root ? [item] : []));
    const problem: PackingProblem = {
      width,
      items: kept.flatMap((item) => items[item] ?? []),
      bins: own.flatMap((index) => {
        const bin = bins[index];
        return bin === undefined ? [] : { ...bin, admits: flagsOf(kept, (item) => bin.admits[item] === 1) };
      }),
    };
    return { problem, items: kept, bins: own };
  });
}

/** Notes, in place, that the items are in one part. */
function join(parent: Int32Array, items: ReadonlyArray<number>): void {
  const [first = 0] = items;
  for (let index = 1; index < items.length; index++) {
    const other = items[index] ?? 0;
    if (parent[other] !== parent[first]) parent[rootOf(parent, other)] = rootOf(parent, first);
  }
}

function rootOf(parent: Int32Array, item: number): number {
  let root = item;
  while (parent[root] !== root) {
    // Halves the way for the next that asks.
    parent[root] = parent[parent[root] ?? 0] ?? 0;
    root = parent[root] ?? 0;
  }
  return root;
}
