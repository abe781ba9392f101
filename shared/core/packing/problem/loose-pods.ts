import { at } from '../../quantity/at.ts';
import type { PackedNode, Packing, PackingBin, PackingItem, PackingProblem } from './problem.ts';

/** Pods that a rule spreads over domains: one may be assigned to another domain as long as all stays even. */
export interface SpreadItems {
  /**
   * Per domain: the item that pods assigned to it are; −1 where none can be. No bin admits the items of two domains.
   */
  readonly items: ReadonlyArray<number>;
  /** Per domain: pods assigned to it. */
  readonly assigned: ReadonlyArray<number>;
  /** Per domain: pods that the rule counts there, those assigned included. */
  readonly counts: ReadonlyArray<number>;
  readonly maxSkew: number;
  /** False where fewer domains than minDomains make the emptiest count as nothing. */
  readonly isEmptiestKnown: boolean;
}

/** A packing of the same pods, some of them assigned to other domains. */
export interface AssignedPacking {
  readonly packing: Packing;
  /** Per spread, per domain: pods assigned to it. */
  readonly assigned: ReadonlyArray<ReadonlyArray<number>>;
}

/** One pod of a spread that may be any of these items. */
interface LoosePod {
  readonly spread: number;
  /** The item that it is now. */
  readonly from: number;
  readonly items: ReadonlyArray<number>;
}

/** A problem in which some pods may be any of several items. */
export interface LooseProblem {
  readonly problem: PackingProblem;
  /** Items of the whole problem that pods are of for certain: the first ones of this. */
  readonly fixed: ReadonlyArray<number>;
  /** Loose pods by the items that they may be: one more item of this each. */
  readonly loose: ReadonlyArray<ReadonlyArray<LoosePod>>;
}

/**
 * Lets one pod of each spread loose, to come to any domain that keeps it even; in every turn of another domain, where
 * several have as many.
 */
export function letLoose(problem: PackingProblem, spreads: ReadonlyArray<SpreadItems>, turn: number): LooseProblem {
  const { width, items, bins } = problem;
  const pods = spreads.flatMap((spread, index) => loosen(problem, spread, index, turn));
  const loose = [...Map.groupBy(pods, (pod) => pod.items.join(' ')).values()];
  const counts = items.map(({ count }, item) => count - pods.filter(({ from }) => from === item).length);
  const fixed = counts.flatMap((count, item) => (count > 0 ? [item] : []));
  const own = fixed.flatMap((item) => withCount(items[item], at(counts, item)));
  const freed = loose.flatMap((alike) => withCount(items[alike[0]?.from ?? 0], alike.length));
  const kept = bins.map((bin) => ({
    ...bin,
    admits: Uint8Array.of(
      ...fixed.map((item) => at(bin.admits, item)),
      ...loose.map(([pod]) => (itemOn(bin, pod) === -1 ? 0 : 1)),
    ),
  }));
  return { problem: { width, items: [...own, ...freed], bins: kept }, fixed, loose };
}

function loosen({ items }: PackingProblem, spread: SpreadItems, index: number, turn: number): ReadonlyArray<LoosePod> {
  const domains = spread.items.flatMap((item, domain) => (item >= 0 ? [domain] : []));
  const fullest = domains
    .filter((domain) => at(spread.assigned, domain) > 0)
    .toSorted((a, b) => at(spread.counts, b) - at(spread.counts, a) || a - b);
  const most = at(spread.counts, fullest[0] ?? 0);
  const equal = fullest.filter((domain) => at(spread.counts, domain) === most);
  const from = equal[(index + turn) % equal.length];
  if (from === undefined) return [];
  // A node must not hold the freed pod beside others of its spread where it may hold few: they are told apart here.
  const isLimited = (items[at(spread.items, from)]?.perNode ?? 0) !== Infinity;
  const isFree = (domain: number): boolean => !isLimited || at(spread.assigned, domain) === (domain === from ? 1 : 0);
  const to = domains.filter((domain) => domain !== from && isFree(domain) && staysEven(spread, from, domain));
  if (to.length === 0 || !isFree(from)) return [];
  const may = [from, ...to].map((domain) => at(spread.items, domain));
  return [{ spread: index, from: at(may, 0), items: may.toSorted((a, b) => a - b) }];
}

/** Would all be within maxSkew with a pod of the one domain in the other? */
function staysEven({ counts, assigned, maxSkew, isEmptiestKnown }: SpreadItems, from: number, to: number): boolean {
  const after = counts.map((count, domain) => count + (domain === to ? 1 : 0) - (domain === from ? 1 : 0));
  const least = isEmptiestKnown ? after.reduce((low, count) => Math.min(low, count), Infinity) : 0;
  return after.every((count, domain) => (domain !== to && at(assigned, domain) === 0) || count - least <= maxSkew);
}

function withCount(item: PackingItem | undefined, count: number): ReadonlyArray<PackingItem> {
  return item === undefined ? [] : [{ ...item, count }];
}

/** The item that the pod is on such a node; −1 where it cannot be. */
function itemOn({ admits }: PackingBin, pod: LoosePod | undefined): number {
  return pod?.items.find((item) => admits[item] === 1) ?? -1;
}

/** The packing with loose pods as what they have become. */
export function settle(
  { items, bins }: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { fixed, loose }: LooseProblem,
  packing: Packing,
): AssignedPacking {
  const queues = loose.map((alike) => [...alike]);
  const assigned = spreads.map((spread) => [...spread.assigned]);
  const become = ({ spread, from }: LoosePod, item: number): void => {
    const own = assigned[spread] ?? [];
    const domains = spreads[spread]?.items ?? [];
    own[domains.indexOf(from)] = at(own, domains.indexOf(from)) - 1;
    own[domains.indexOf(item)] = at(own, domains.indexOf(item)) + 1;
  };
  const nodes = packing.nodes.flatMap(({ bin, counts, times }) =>
    Array.from({ length: times }, (): PackedNode => {
      const whole = new Int32Array(items.length);
      fixed.forEach((item, index) => (whole[item] = at(counts, index)));
      queues.forEach((queue, kind) => {
        for (const pod of queue.splice(0, at(counts, fixed.length + kind))) {
          const admitting = bins[bin];
          const item = admitting === undefined ? pod.from : itemOn(admitting, pod);
          whole[item] = at(whole, item) + 1;
          become(pod, item);
        }
      });
      return { bin, counts: whole, times: 1 };
    }),
  );
  return { packing: { nodes, cost: packing.cost, left: new Int32Array(items.length) }, assigned };
}
