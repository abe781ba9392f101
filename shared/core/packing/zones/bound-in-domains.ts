import { at } from '../../quantity/at.ts';
import { costOf, createMaster, optimize, type Master } from '../lp/master.ts';
import { pack, worthOf } from '../pack.ts';
import {
  undominated,
  type PackedNode,
  type PackingBin,
  type PackingItem,
  type PackingProblem,
} from '../problem/problem.ts';
import { tighten, unitOf } from '../problem/tighten.ts';
import { withShare, type Work } from '../problem/work.ts';

/** Pods to be assigned to domains, `count` in all: each domain gets at least and at most so many. */
export interface SharedItem extends PackingItem {
  readonly least: number;
  readonly most: number;
}

/** Domains that are all alike: the same sizes at the same prices, for the same pods. Each node is in one of them. */
export interface EqualDomains {
  readonly width: number;
  readonly domains: number;
  readonly items: ReadonlyArray<SharedItem>;
  /** The sizes of one domain. */
  readonly bins: ReadonlyArray<PackingBin>;
}

/** Where few kinds of pods are assigned, a dozen reach what this can prove. */
const ROUNDS = 40;
/** Of the work that is left, for packing one domain. */
const DOMAIN_SHARE = 0.15;
/** Far more than the rounding errors of the linear program. */
const MARGIN = 1e-6;
/**
 * Of what the dearest node costs: a pod worth less goes for nothing, since searches would send it away again and again.
 */
const WORTHLESS = 1e-4;
/** A pod that no domain takes costs so many times what it is worth. */
const UNSERVED = 4;

/** What is known, and what is of interest: a bound between the two; micro-USD per hour. */
export interface Interest {
  readonly above: number;
  readonly below: number;
}

/**
 * What all domains cost at least, each filled with whole nodes for itself. In each, a pod that it need not take may be
 * sent away for a price. Together the domains send away as many pods of an item as they could take at most less those
 * that there are, whatever the assignment; so what a domain with the pods sent away costs at least, times the domains,
 * less the price of all pods sent away, bounds every assignment. That holds for any prices: a linear program over the
 * packings found so far suggests them, and tells what this way could prove at most. Micro-USD per hour; 0 for nothing
 * of interest.
 */
export function boundInDomains(given: EqualDomains, { above, below }: Interest, work: Work): number {
  const problem = { ...given, bins: usefulBins(joined(given)) };
  const unit = unitOf(problem.bins.map(({ price }) => price));
  const inUnits = (cost: number): number => Math.ceil(cost / unit - MARGIN) * unit;
  const dearest = problem.bins.reduce((most, { price }) => Math.max(most, price), 1);
  const priceOf = (worth: number): number => (worth < dearest * WORTHLESS ? 0 : Math.round(worth));
  let prices = withShare(work, DOMAIN_SHARE, (own) => worthOf(joined(problem), own)).map(priceOf);
  let best = 0;
  const master = masterOf(problem, prices);
  for (let round = 0; round < ROUNDS && work.left > 0; round++) {
    const domain = oneDomain(problem, prices);
    const packed = withShare(work, DOMAIN_SHARE, (own) => pack(domain.problem, own));
    if (packed.left.some((count) => count > 0)) break;
    // Whole numbers all: this is exact.
    const bound = Math.ceil((problem.domains * packed.bound - sentAway(problem, prices)) / unit) * unit;
    best = Math.max(best, bound);
    if (best >= below) break;
    addDomain(master, problem, domain, packed.nodes);
    if (!optimize(master, work) || inUnits(costOf(master)) <= Math.max(above, best)) break;
    prices = prices.map((_, item) => priceOf(at(master.duals, item)));
  }
  return best;
}

/** The bins that no other makes pointless. */
function usefulBins({ width, items, bins }: PackingProblem): ReadonlyArray<PackingBin> {
  return undominated(tighten(items, bins, width)).flatMap((bin) => bins[bin] ?? []);
}

/** All pods as if a node could be in every domain. */
function joined({ width, items, bins }: EqualDomains): PackingProblem {
  return { width, items: items.map((item) => ({ ...item, perNode: Math.min(item.perNode, item.most) })), bins };
}

/** What all pods that are sent away from some domain cost there, together. */
function sentAway({ items, domains }: EqualDomains, prices: Float64Array): number {
  return items.reduce((sum, { count, most }, item) => sum + at(prices, item) * (domains * most - count), 0);
}

interface Domain {
  readonly problem: PackingProblem;
  /** Per bin past those of the domain: the item of which a pod is sent away. */
  readonly away: ReadonlyArray<number>;
}

/**
 * One domain that has to take as many pods as it may. Of those that it need not take, each may be sent away: it has a
 * node for itself, at the price. Pods that cost nothing to send away are left out.
 */
function oneDomain({ width, items, bins }: EqualDomains, prices: Float64Array): Domain {
  const own = items.flatMap((item, of) => {
    const kept = { item, count: item.least, of, isFree: false };
    const free = { item, count: at(prices, of) > 0 ? item.most - item.least : 0, of, isFree: true };
    return [kept, free].filter(({ count }) => count > 0);
  });
  // Pods that must stay and pods that need not count together where a node may hold few: as if that were a resource.
  const limited = items.flatMap(({ perNode, least }, of) => (perNode !== Infinity && least > 0 ? [of] : []));
  const limits = limited.map((of) => items[of]?.perNode ?? 0);
  const packed = own.map(({ item, count, of }): PackingItem => {
    const requests = Float64Array.of(...item.requests, ...limited.map((one) => (one === of ? 1 : 0)));
    return { requests, count, perNode: item.perNode };
  });
  const kept = bins.map(({ usable, price, admits }): PackingBin => {
    const all = Float64Array.of(...usable, ...limits);
    return { usable: all, price, admits: Uint8Array.from(own, ({ of }) => at(admits, of)) };
  });
  const away = own.flatMap(({ of, isFree }, place) => (isFree ? [{ of, place }] : []));
  const sent = away.map(({ of, place }): PackingBin => {
    const usable = packed[place]?.requests ?? new Float64Array();
    return { usable, price: at(prices, of), admits: Uint8Array.from(own, (_, index) => (index === place ? 1 : 0)) };
  });
  const problem = { width: width + limited.length, items: packed, bins: [...kept, ...sent] };
  return { problem, away: away.map(({ of }) => of) };
}

/** A row per item, and one by which there are no more domains than there are. */
function masterOf({ items, domains, bins }: EqualDomains, prices: Float64Array): Master {
  const dearest = bins.reduce((most, { price }) => Math.max(most, price), 1);
  const demand = Float64Array.of(...items.map(({ count }) => count), domains);
  return createMaster(demand, items.length, Float64Array.of(...prices.map((price) => UNSERVED * price + dearest), 0));
}

function addDomain(
  master: Master,
  { items, bins }: EqualDomains,
  { away }: Domain,
  nodes: ReadonlyArray<PackedNode>,
): void {
  const counts = items.map(({ least, most }, item) => (away.includes(item) ? most : least));
  let cost = 0;
  for (const { bin, times } of nodes) {
    const sent = away[bin - bins.length];
    if (sent === undefined) cost += times * (bins[bin]?.price ?? 0);
    else counts[sent] = at(counts, sent) - times;
  }
  const rows = Int32Array.from([...items.keys(), items.length]);
  master.columns.push({ cost, rows, amounts: Float64Array.of(...counts, 1) });
}
