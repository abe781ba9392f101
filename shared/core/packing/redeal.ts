import { at } from './at.ts';
import { pack } from './pack.ts';
import type { PackedNode, Packing, PackingBin, PackingItem, PackingProblem } from './problem.ts';
import { withShare, type Work } from './work.ts';

/** Pods that a rule spreads over domains: one may be dealt to another domain as long as all stays even. */
export interface SpreadItems {
  /** Per domain: the item that pods dealt to it are; −1 where none can be. No bin admits the items of two domains. */
  readonly items: ReadonlyArray<number>;
  /** Per domain: pods dealt to it. */
  readonly dealt: ReadonlyArray<number>;
  /** Per domain: pods that the rule counts there, those dealt included. */
  readonly counts: ReadonlyArray<number>;
  readonly maxSkew: number;
  /** False where fewer domains than minDomains make the emptiest count as nothing. */
  readonly isEmptiestKnown: boolean;
}

/** A packing of the same pods, some of them dealt to other domains. */
export interface Redealt {
  readonly packing: Packing;
  /** Per spread, per domain: pods dealt to it. */
  readonly dealt: ReadonlyArray<ReadonlyArray<number>>;
}

/** More packings would take the work that one needs to come to its end. */
const TURNS = 2;

/**
 * Packs all pods anew, with one pod of each spread free to come to any domain that keeps it even: where odd pods are matters
 * most where pods are few. Each turn frees pods of other domains; the cheapest packing is kept.
 */
export function redeal(
  problem: PackingProblem,
  start: Packing,
  spreads: ReadonlyArray<SpreadItems>,
  work: Work,
): Redealt {
  let best: Redealt = { packing: start, dealt: spreads.map(({ dealt }) => dealt) };
  // A first packing that leaves pods is no measure for others.
  if (start.left.some((count) => count > 0)) return best;
  for (let turn = 0; turn < TURNS && work.left > 0; turn++) {
    const current = spreads.map((spread, index) => dealtAs(spread, best.dealt[index] ?? spread.dealt));
    const freed = withLoose(
      { ...problem, items: itemsAs(problem.items, spreads, current) },
      current.flatMap((spread, index) => loosen(problem, spread, index, turn)),
    );
    if (freed.loose.length === 0) return best;
    const packing = withShare(work, 1 / (TURNS - turn), (own) => pack(freed.problem, own));
    if (packing.cost >= best.packing.cost || packing.left.some((count) => count > 0)) continue;
    best = settle(problem, current, freed, packing);
  }
  return best;
}

/** The items with as many pods as are dealt to them now. */
function itemsAs(
  items: ReadonlyArray<PackingItem>,
  before: ReadonlyArray<SpreadItems>,
  now: ReadonlyArray<SpreadItems>,
): ReadonlyArray<PackingItem> {
  const counts = items.map(({ count }) => count);
  now.forEach(({ items: own, dealt }, spread) => {
    own.forEach((item, domain) => {
      if (item >= 0) counts[item] = at(counts, item) + at(dealt, domain) - at(before[spread]?.dealt ?? [], domain);
    });
  });
  return items.map((item, index) => ({ ...item, count: at(counts, index) }));
}

function dealtAs(spread: SpreadItems, dealt: ReadonlyArray<number>): SpreadItems {
  const counts = spread.counts.map((count, domain) => count + at(dealt, domain) - at(spread.dealt, domain));
  return { ...spread, dealt, counts };
}

/** One pod of a spread that may be any of these items. */
interface LoosePod {
  readonly spread: number;
  /** The item that it is now. */
  readonly from: number;
  readonly items: ReadonlyArray<number>;
}

function loosen({ items }: PackingProblem, spread: SpreadItems, index: number, turn: number): ReadonlyArray<LoosePod> {
  const domains = spread.items.flatMap((item, domain) => (item >= 0 ? [domain] : []));
  const fullest = domains
    .filter((domain) => at(spread.dealt, domain) > 0)
    .toSorted((a, b) => at(spread.counts, b) - at(spread.counts, a) || a - b);
  const most = at(spread.counts, fullest[0] ?? 0);
  const equal = fullest.filter((domain) => at(spread.counts, domain) === most);
  const from = equal[(index + turn) % equal.length];
  if (from === undefined) return [];
  // A node must not hold the freed pod beside others of its spread where it may hold few: they are told apart here.
  const isLimited = (items[at(spread.items, from)]?.perNode ?? 0) !== Infinity;
  const isFree = (domain: number): boolean => !isLimited || at(spread.dealt, domain) === (domain === from ? 1 : 0);
  const to = domains.filter((domain) => domain !== from && isFree(domain) && staysEven(spread, from, domain));
  if (to.length === 0 || !isFree(from)) return [];
  const may = [from, ...to].map((domain) => at(spread.items, domain));
  return [{ spread: index, from: at(may, 0), items: may.toSorted((a, b) => a - b) }];
}

/** Would all be within maxSkew with a pod of the one domain in the other? */
function staysEven({ counts, dealt, maxSkew, isEmptiestKnown }: SpreadItems, from: number, to: number): boolean {
  const after = counts.map((count, domain) => count + (domain === to ? 1 : 0) - (domain === from ? 1 : 0));
  const least = isEmptiestKnown ? after.reduce((low, count) => Math.min(low, count), Infinity) : 0;
  return after.every((count, domain) => (domain !== to && at(dealt, domain) === 0) || count - least <= maxSkew);
}

interface Freed {
  readonly problem: PackingProblem;
  /** Items of the whole problem that pods are of for certain: the first ones of this. */
  readonly fixed: ReadonlyArray<number>;
  /** Loose pods by the items that they may be: one more item of this each. */
  readonly loose: ReadonlyArray<ReadonlyArray<LoosePod>>;
}

function withLoose({ width, items, bins }: PackingProblem, pods: ReadonlyArray<LoosePod>): Freed {
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

function withCount(item: PackingItem | undefined, count: number): ReadonlyArray<PackingItem> {
  return item === undefined ? [] : [{ ...item, count }];
}

/** The item that the pod is on such a node; −1 where it cannot be. */
function itemOn({ admits }: PackingBin, pod: LoosePod | undefined): number {
  return pod?.items.find((item) => admits[item] === 1) ?? -1;
}

/** The packing with loose pods as what they have become. */
function settle(
  { items, bins }: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { fixed, loose }: Freed,
  packing: Packing,
): Redealt {
  const queues = loose.map((alike) => [...alike]);
  const dealt = spreads.map((spread) => [...spread.dealt]);
  const become = ({ spread, from }: LoosePod, item: number): void => {
    const own = dealt[spread] ?? [];
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
  return { packing: { nodes, cost: packing.cost, left: new Int32Array(items.length) }, dealt };
}
