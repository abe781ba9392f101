import { at } from '../../quantity/at.ts';
import { flagsOf } from '../problem/flags.ts';
import type { AssignedPacking, SpreadItems } from '../problem/loose-pods.ts';
import { pack } from '../pack.ts';
import type { PackedNode, PackingBin, PackingItem, PackingProblem } from '../problem/problem.ts';
import { withShare, type Work } from '../problem/work.ts';

/** What all pods are packed again from, and what a pod of each item is worth on nodes that are full. */
export interface TurnsStart {
  readonly start: AssignedPacking;
  readonly worth: Float64Array;
}

/**
 * Packs domain after domain. Each takes of the pods that may as well be in a later one those that fill its nodes, so
 * that only the last ends with nodes that are partly empty, where domains that were assigned their pods before each do.
 * The domains come in several orders; the cheapest packing is kept, the start where none is cheaper.
 */
export function packInTurn(
  problem: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { start, worth }: TurnsStart,
  work: Work,
): AssignedPacking {
  if (start.packing.left.some((count) => count > 0) || !hasOwnItems(problem, spreads)) return start;
  const domains = domainsOf(problem, spreads);
  if (domains === null || domains.length < 2) return start;
  let best = start;
  for (let turn = 0; turn < domains.length && work.left > 0; turn++) {
    const order = [...domains.slice(turn), ...domains.slice(0, turn)];
    const packed = withShare(work, 1 / (domains.length - turn), (own) =>
      packInOrder(problem, spreads, { order, worth }, own),
    );
    if (packed !== null && packed.packing.cost < best.packing.cost) best = packed;
  }
  return best;
}

/**
 * Is each item of a spread all of its own pods, and nobody else's? Pods that ask for the same are one item: which of
 * them moved to another domain could not be told.
 */
function hasOwnItems({ items }: PackingProblem, spreads: ReadonlyArray<SpreadItems>): boolean {
  const owned = spreads.flatMap((spread) =>
    spread.items.flatMap((item, domain) => (item < 0 ? [] : [{ item, pods: spread.assigned[domain] }])),
  );
  return (
    new Set(owned.map(({ item }) => item)).size === owned.length &&
    owned.every(({ item, pods }) => items[item]?.count === pods)
  );
}

/** Bins that only pods of this domain, and those that may be anywhere, are on. */
interface Domain {
  readonly bins: ReadonlyArray<number>;
}

/** What all domains are packed from. */
interface Given {
  readonly problem: PackingProblem;
  readonly spreads: ReadonlyArray<SpreadItems>;
  /** Per spread: the count that each domain has at least; null where pods stay where they are assigned. */
  readonly levels: ReadonlyArray<number | null>;
}

/**
 * The sets of bins that no item of a spread has in common; bins that no such item is on are in the last. Null where a
 * spread has two items in one.
 */
function domainsOf({ bins }: PackingProblem, spreads: ReadonlyArray<SpreadItems>): ReadonlyArray<Domain> | null {
  const ofSpreads = spreads.flatMap(({ items }) => items.filter((item) => item >= 0));
  const held = bins.map(({ admits }) => ofSpreads.filter((item) => admits[item] === 1));
  const root = new Map(ofSpreads.map((item) => [item, item]));
  const rootOf = (item: number): number => {
    let own = item;
    while (root.get(own) !== own) own = root.get(own) ?? own;
    return own;
  };
  for (const [first, ...others] of held) {
    for (const other of others) if (first !== undefined) root.set(rootOf(other), rootOf(first));
  }
  for (const { items } of spreads) {
    const roots = items.filter((item) => item >= 0).map(rootOf);
    if (new Set(roots).size < roots.length) return null;
  }
  const byRoot = Map.groupBy(bins.keys(), (bin) => {
    const [first] = held[bin] ?? [];
    return first === undefined ? -1 : rootOf(first);
  });
  const own = [...byRoot].filter(([id]) => id !== -1).map(([, members]) => members);
  const last = own.at(-1);
  if (last === undefined) return null;
  return [...own.slice(0, -1), [...last, ...(byRoot.get(-1) ?? [])]].map((members) => ({ bins: members }));
}

/** What one domain is packed with: pods that it must take, and those that it may leave to later ones. */
interface Part {
  /** The item of the whole problem. */
  readonly item: number;
  readonly count: number;
  readonly isFree: boolean;
}

interface Turns {
  readonly order: ReadonlyArray<Domain>;
  readonly worth: Float64Array;
}

/** What is still to be packed. */
interface Rest {
  /** Per item that is of no spread: pods. */
  readonly counts: Array<number>;
  /** Per spread: domains to come that get one pod more than the others. */
  readonly more: Array<number>;
}

/** All domains in this order; null where pods are left over. */
function packInOrder(
  problem: PackingProblem,
  spreads: ReadonlyArray<SpreadItems>,
  { order, worth }: Turns,
  work: Work,
): AssignedPacking | null {
  const levels = spreads.map(levelOf);
  const given: Given = { problem, spreads, levels };
  const rest: Rest = {
    counts: problem.items.map(({ count }) => count),
    more: spreads.map(({ items, counts }, spread) =>
      items.reduce(
        (sum, item, domain) => sum + (item >= 0 && at(counts, domain) > (levels[spread] ?? Infinity) ? 1 : 0),
        0,
      ),
    ),
  };
  const assigned = spreads.map((spread) => [...spread.assigned]);
  const nodes: Array<PackedNode> = [];
  let cost = 0;
  for (const [turn, domain] of order.entries()) {
    const later = order.slice(turn + 1);
    const parts = partsIn(given, domain, later, rest);
    const one = oneDomain(problem, domain, parts, worth);
    const packed = withShare(work, 1 / (order.length - turn), (own) => pack(one, own));
    if (packed.left.some((count) => count > 0)) return null;
    const sent = parts.map(() => 0);
    for (const { bin, counts, times } of packed.nodes) {
      const original = domain.bins[bin];
      if (original === undefined) {
        counts.forEach((count, part) => (sent[part] = at(sent, part) + count * times));
        continue;
      }
      const whole = new Int32Array(problem.items.length);
      counts.forEach((count, part) => {
        const { item = 0 } = parts[part] ?? {};
        whole[item] = at(whole, item) + count;
      });
      nodes.push({ bin: original, counts: whole, times });
      cost += times * (problem.bins[original]?.price ?? 0);
    }
    parts.forEach(({ item, count }, part) => (rest.counts[item] = at(rest.counts, item) - count + at(sent, part)));
    settleSpreads(given, { domain, parts, sent }, rest, assigned);
  }
  return { packing: { nodes, cost, left: new Int32Array(problem.items.length) }, assigned };
}

/**
 * The count that each domain of the spread has at least, where pods that some have more may be anywhere; null where
 * they must stay where they are.
 */
function levelOf({ items, assigned, counts, maxSkew }: SpreadItems): number | null {
  const own = counts.filter((_, domain) => at(items, domain) >= 0);
  const least = own.reduce((low, count) => Math.min(low, count), Infinity);
  const isOdd = ([domain, count]: [number, number]): boolean =>
    at(items, domain) < 0 || count === least || (count === least + 1 && at(assigned, domain) > 0);
  // Elsewhere there may be fewer: then one more here is not within the skew.
  const isWhole = own.length === counts.length;
  return isWhole && maxSkew >= 1 && [...counts.entries()].every(isOdd) ? least : null;
}

/** The item that pods of the spread are in the domain; −1 where none can be. */
function itemIn({ items }: SpreadItems, { bins }: PackingProblem, domain: Domain): number {
  return items.find((item) => item >= 0 && domain.bins.some((bin) => bins[bin]?.admits[item] === 1)) ?? -1;
}

/** What the domain must take of all that is left, and what it may leave to those after it. */
function partsIn(
  { problem, spreads, levels }: Given,
  domain: Domain,
  later: ReadonlyArray<Domain>,
  rest: Rest,
): ReadonlyArray<Part> {
  const ofSpreads = new Set(spreads.flatMap(({ items }) => items));
  const isOn = (item: number, { bins }: Domain): boolean => bins.some((bin) => problem.bins[bin]?.admits[item] === 1);
  const plain = problem.items.flatMap((_, item): ReadonlyArray<Part> => {
    const count = at(rest.counts, item);
    if (ofSpreads.has(item) || count === 0 || !isOn(item, domain)) return [];
    return [{ item, count, isFree: later.some((one) => isOn(item, one)) }];
  });
  const spread = spreads.flatMap((one, index): ReadonlyArray<Part> => {
    const item = itemIn(one, problem, domain);
    if (item === -1) return [];
    const level = levels[index] ?? null;
    if (level === null) return [{ item, count: at(one.assigned, one.items.indexOf(item)), isFree: false }];
    const toCome = later.filter((domainToCome) => itemIn(one, problem, domainToCome) !== -1).length;
    const more = at(rest.more, index);
    const isForced = more > toCome;
    return [
      { item, count: leastOf(one, item, level) + (isForced ? 1 : 0), isFree: false },
      { item, count: more > 0 && !isForced ? 1 : 0, isFree: true },
    ];
  });
  return [...plain, ...spread].filter(({ count }) => count > 0);
}

/** How many pods come to the item's domain where it is not one of those that get one more. */
function leastOf({ items, assigned, counts }: SpreadItems, item: number, level: number): number {
  const domain = items.indexOf(item);
  return at(assigned, domain) - (at(counts, domain) - level);
}

/**
 * The domain as a problem: its sizes, and for each pod that it need not take a node for that alone, at what the pod is
 * worth. Parts of one item count together where a node may hold few: as if that were a resource.
 */
function oneDomain(
  { width, items, bins }: PackingProblem,
  domain: Domain,
  parts: ReadonlyArray<Part>,
  worth: Float64Array,
): PackingProblem {
  const own = [...new Set(parts.map(({ item }) => item))];
  const limited = own.filter((item) => items[item]?.perNode !== Infinity);
  const packed = parts.flatMap(({ item: of, count }): ReadonlyArray<PackingItem> => {
    const item = items[of];
    if (item === undefined) return [];
    const requests = Float64Array.of(...item.requests, ...limited.map((one) => (one === of ? 1 : 0)));
    return [{ requests, count, perNode: item.perNode }];
  });
  const limits = limited.map((item) => items[item]?.perNode ?? 0);
  const kept = domain.bins.flatMap((bin): ReadonlyArray<PackingBin> => {
    const size = bins[bin];
    if (size === undefined) return [];
    const admits = flagsOf(parts, ({ item }) => size.admits[item] === 1);
    return [{ usable: Float64Array.of(...size.usable, ...limits), price: size.price, admits }];
  });
  const sent = parts.flatMap(({ item, isFree }, place): ReadonlyArray<PackingBin> => {
    if (!isFree) return [];
    const usable = packed[place]?.requests ?? new Float64Array();
    const price = Math.max(1, Math.round(at(worth, item)));
    return [{ usable, price, admits: Uint8Array.from(parts, (_, index) => (index === place ? 1 : 0)) }];
  });
  return { width: width + limited.length, items: packed, bins: [...kept, ...sent] };
}

/** Notes, in place, what the domain took of each spread. */
function settleSpreads(
  { problem, spreads, levels }: Given,
  {
    domain,
    parts,
    sent,
  }: { readonly domain: Domain; readonly parts: ReadonlyArray<Part>; readonly sent: Array<number> },
  rest: Rest,
  assigned: ReadonlyArray<Array<number>>,
): void {
  spreads.forEach((spread, index) => {
    const item = itemIn(spread, problem, domain);
    const level = levels[index] ?? null;
    if (item === -1 || level === null) return;
    const taken = parts.reduce((sum, one, part) => sum + (one.item === item ? one.count - at(sent, part) : 0), 0);
    rest.more[index] = at(rest.more, index) - (taken - leastOf(spread, item, level));
    const own = assigned[index];
    if (own !== undefined) own[spread.items.indexOf(item)] = taken;
  });
}
