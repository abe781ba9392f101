import { at } from '../../quantity/at.ts';
import { flatten, type FlatProblem } from '../problem/fill.ts';
import { letLoose, settle, type LooseProblem, type AssignedPacking, type SpreadItems } from '../problem/loose-pods.ts';
import { coverUnder } from '../pack.ts';
import { packQuickly } from '../whole/pack-into.ts';
import type { PackedNode, PackingProblem } from '../problem/problem.ts';
import type { Work } from '../problem/work.ts';

/**
 * A problem whose pods are assigned to domains, as if a node could be in all of them: what is left is what every
 * assignment has in common.
 */
export interface JoinedProblem {
  readonly problem: PackingProblem;
  /** Per item of the problem with domains: the item that its pods are in this one. */
  readonly items: ReadonlyArray<number>;
  /** Per bin of the problem with domains: the bin that it is in this one; −1 for none. */
  readonly bins: Int32Array;
}

/** `bound`: no packing of the joined problem costs less, and so none of any assignment; micro-USD per hour. */
export interface JoinedPacking extends AssignedPacking {
  readonly bound: number;
}

/** In so many turns every pod of a spread that has two odd ones in three domains was let loose. */
const TURNS = 3;

/**
 * Looks at every set of whole nodes that could hold all pods for less than the start, were it not for domains, the
 * cheapest first; and then for domains in which its nodes hold the pods, with odd ones let loose. Nodes of different
 * domains are told apart only there, so there are far fewer sets than in a search that has a bin per size and domain.
 */
export function packJoined(
  problem: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { joined, start }: { readonly joined: JoinedProblem; readonly start: AssignedPacking },
  work: Work,
): JoinedPacking {
  if (start.packing.left.some((count) => count > 0)) return { ...start, bound: 0 };
  const loosened = looseInTurns(problem, spreads);
  let best = start;
  const place = (nodes: Int32Array, worth: Float64Array): ReadonlyArray<PackedNode> | null => {
    for (const one of loosened) {
      const packed = packLoose(one, joined, { nodes, worth, work });
      if (packed === null) continue;
      const packing = { nodes: packed, cost: costOf(packed, problem), left: start.packing.left };
      if (packing.cost < best.packing.cost) best = settle(problem, spreads, one.loosened, packing);
      return packed;
    }
    return null;
  };
  const { bound } = coverUnder(joined.problem, { below: start.packing.cost, place }, work);
  return { ...best, bound };
}

interface FlatLooseProblem {
  readonly loosened: LooseProblem;
  readonly flat: FlatProblem;
  readonly demand: Float64Array;
}

/** Turns in which other pods are loose than in all before. */
function looseInTurns(problem: PackingProblem, spreads: ReadonlyArray<SpreadItems>): ReadonlyArray<FlatLooseProblem> {
  const all = Array.from({ length: TURNS }, (_, turn) => letLoose(problem, spreads, turn));
  const different = new Map(all.toReversed().map((loosened) => [JSON.stringify(loosened.loose), loosened]));
  return [...different.values()].toReversed().map((loosened) => ({
    loosened,
    flat: flatten(loosened.problem),
    demand: Float64Array.from(loosened.problem.items, ({ count }) => count),
  }));
}

interface ChosenNodes {
  /** Per bin of the joined problem. */
  readonly nodes: Int32Array;
  /** What a pod of each of its items is worth. */
  readonly worth: Float64Array;
  readonly work: Work;
}

function packLoose(
  { loosened: { fixed, loose }, flat, demand }: FlatLooseProblem,
  { items, bins }: JoinedProblem,
  { nodes, worth, work }: ChosenNodes,
): ReadonlyArray<PackedNode> | null {
  const own = [...fixed, ...loose.map(([pod]) => pod?.from ?? 0)];
  const values = Float64Array.from(own, (item) => at(worth, at(items, item)));
  const packed = packQuickly({ flat, kinds: bins, nodes, demand, values, work });
  return packed.kind === 'packed' ? packed.nodes : null;
}

function costOf(nodes: ReadonlyArray<PackedNode>, { bins }: PackingProblem): number {
  return nodes.reduce((sum, { bin, times }) => sum + times * (bins[bin]?.price ?? 0), 0);
}
