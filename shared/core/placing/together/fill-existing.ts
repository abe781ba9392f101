import type { Pod } from '../../model/cluster.ts';
import { fillBest } from '../../packing/knapsack/fill-best.ts';
import { flagsOf } from '../../packing/problem/flags.ts';
import { flatten, type FlatProblem } from '../../packing/problem/fill.ts';
import { knapsackOf } from '../../packing/knapsack/knapsack-of.ts';
import { pack, type BoundedPacking } from '../../packing/pack.ts';
import type { PackingItem, PackingProblem } from '../../packing/problem/problem.ts';
import { relaxWithGifts, type GiftedProblem, type GiftedRelaxation } from '../../packing/relaxed/relax-with-gifts.ts';
import { withShare, type Work } from '../../packing/problem/work.ts';
import { meetsNeed, type ExistingNode } from '../state/existing-nodes.ts';
import { offeringsFor, type BulkGroup } from './bulk-groups.ts';
import { binsOf, withoutShunned } from './bulk.ts';
import { at } from '../../quantity/at.ts';
import { putOnNode } from '../one-by-one/place.ts';
import { fits } from '../../quantity/resource-table.ts';
import type { Workspace } from '../state/workspace.ts';

/** Above this many choices of node and group, filling by worth takes longer than it saves: the first fit is taken. */
const MAX_CHOICES = 40_000;
const NODES_PER_BIN = 300;
/** Of the work given, for each of three trial packings of what is left, and for what pods are worth. */
const TRIAL_SHARE = 0.08;
const RELAX_SHARE = 0.12;

/**
 * Puts pods that only resources and node rules bind on existing capacity; returns those that are left. Where not all
 * fit, it matters which stay: those that new nodes hold cheaply. So existing nodes are filled with what would cost most
 * on new nodes, unless the first fit leaves a cheaper rest.
 */
export function fillExisting(workspace: Workspace, groups: ReadonlyArray<BulkGroup>, work: Work): ReadonlyArray<Pod> {
  const nodes = workspace.nodes.filter((node) =>
    groups.some(({ need }) => meetsNeed(node, need) && fits(node.free, need.shape.requests)),
  );
  if (nodes.length === 0 || groups.length === 0) return groups.flatMap(({ pods }) => pods);
  const problem = onNewNodes(workspace, groups);
  const existing = nodes.map((node): Gift => ({
    usable: node.free.map((room) => Math.max(0, room)),
    admits: flagsOf(groups, ({ need }) => meetsNeed(node, need)),
  }));
  const first = firstFit(flatten({ ...problem, bins: existing.map((gift) => ({ ...gift, price: 0 })) }), problem.items);
  const isSimple = !first.left.some((count) => count > 0) || nodes.length * groups.length > MAX_CHOICES;
  return apply(workspace, nodes, groups, isSimple ? first : cheapest(problem, existing, first, work));
}

type Gift = GiftedProblem['gifts'][number];

/** Pods per node and item, and what is left of each item. */
interface Placement {
  readonly counts: ReadonlyArray<Int32Array>;
  readonly left: Float64Array;
}

/** The groups as a problem of new nodes, an item each. */
function onNewNodes(workspace: Workspace, groups: ReadonlyArray<BulkGroup>): PackingProblem {
  const width = workspace.dimensions.names.length;
  const bins = workspace.pools.flatMap((state) => {
    const options = groups.map((group) => offeringsFor(workspace, state, group));
    return binsOf(state, options, { width, withinLimit: true, counts: 'weighed' });
  });
  const items = groups.map(({ need, pods, perNode }): PackingItem => ({
    requests: need.shape.requests,
    count: pods.length,
    perNode,
  }));
  return { width, items, bins: withoutShunned(bins, groups.length) };
}

/** The largest items first, each on the first nodes that have room. */
function firstFit(existing: FlatProblem, items: ReadonlyArray<PackingItem>): Placement {
  const left = Float64Array.from(items, ({ count }) => count);
  const rooms = Array.from({ length: existing.bins }, (_, bin) => roomOf(existing, bin));
  const counts = rooms.map(() => new Int32Array(items.length));
  for (const item of largestFirst(existing)) {
    rooms.forEach((room, bin) => addTo(existing, { bin, item, room, own: counts[bin] ?? new Int32Array() }, left));
  }
  return { counts, left };
}

function largestFirst({ width, items, requests }: FlatProblem): ReadonlyArray<number> {
  const request = (item: number, k: number): number => at(requests, item * width + k);
  return Array.from({ length: items }, (_, item) => item).toSorted(
    (a, b) => request(b, 0) - request(a, 0) || request(b, 1) - request(a, 1) || a - b,
  );
}

function roomOf({ width, usable }: FlatProblem, bin: number): Float64Array {
  return usable.slice(bin * width, (bin + 1) * width);
}

interface Addition {
  readonly bin: number;
  readonly item: number;
  /** What is free on the node: less of it afterwards. */
  readonly room: Float64Array;
  /** Pods per item on the node: more of them afterwards. */
  readonly own: Int32Array;
}

/** Adds as many of the item's pods that are left as still fit. */
function addTo(existing: FlatProblem, { bin, item, room, own }: Addition, left: Float64Array): void {
  const { width, items, requests, admits } = existing;
  let more = admits[bin * items + item] === 1 ? at(left, item) : 0;
  for (let k = 0; k < width && more > 0; k++) {
    const request = at(requests, item * width + k);
    if (request > 0) more = Math.min(more, Math.floor(at(room, k) / request));
  }
  if (more <= 0) return;
  own[item] = at(own, item) + more;
  left[item] = at(left, item) - more;
  for (let k = 0; k < width; k++) room[k] = at(room, k) - more * at(requests, item * width + k);
}

/**
 * The placement whose rest costs least on new nodes: the first fit, or filled by what pods are worth there, each item
 * up to any number or up to what a relaxation has on existing nodes.
 */
function cheapest(problem: PackingProblem, existing: ReadonlyArray<Gift>, first: Placement, work: Work): Placement {
  const trial = (left: Float64Array): BoundedPacking =>
    withShare(work, TRIAL_SHARE, (own) => pack({ ...problem, items: withCounts(problem, left) }, own));
  const relaxed = withShare(work, RELAX_SHARE, (own) => relaxWithGifts({ problem, gifts: existing }, own));
  const { demand, onGifts } = relaxed;
  const placements = [demand, onGifts.map((count, item) => Math.min(at(demand, item), Math.ceil(count - 1e-6)))].map(
    (allowed) => fillByWorth(relaxed, allowed, work),
  );
  let best = { placement: first, packed: trial(first.left) };
  for (const placement of placements) {
    const packed = trial(placement.left);
    if (isCheaper(packed, best.packed)) best = { placement, packed };
  }
  return best.placement;
}

function withCounts({ items }: PackingProblem, counts: Float64Array): ReadonlyArray<PackingItem> {
  return items.map((item, index) => ({ ...item, count: at(counts, index) }));
}

/** Fewer pods that fit no new node either, then lower cost. */
function isCheaper(packed: BoundedPacking, than: BoundedPacking): boolean {
  const [stranded, before] = [packed, than].map(({ left }) => left.reduce((sum, count) => sum + count, 0));
  return stranded === before ? packed.cost < than.cost : (stranded ?? 0) < (before ?? 0);
}

/**
 * Fills existing nodes one after the other, with at most so many pods of each item in all, then with what else still
 * fits.
 */
function fillByWorth({ free, demand, values }: GiftedRelaxation, allowed: Float64Array, work: Work): Placement {
  const left = Float64Array.from(demand);
  const may = Float64Array.from(allowed);
  // What is worth nothing on new nodes is held for nothing all the same.
  const worth = values.map((value) => Math.max(value, 1));
  const counts = Array.from({ length: free.bins }, (_, bin) => {
    const knapsack = knapsackOf(free, bin, worth, may);
    const filled = fillBest(knapsack, { above: 0, step: 1e-3, maxNodes: NODES_PER_BIN, isDeep: false }, work).counts;
    filled.forEach((count, item) => {
      left[item] = at(left, item) - count;
      may[item] = at(may, item) - count;
    });
    return filled;
  });
  const order = largestFirst(free);
  counts.forEach((own, bin) => topUp(free, { bin, own, order }, left));
  return { counts, left };
}

/** Adds pods that still fit, in the order given. */
function topUp(
  free: FlatProblem,
  { bin, own, order }: Pick<Addition, 'bin' | 'own'> & { readonly order: ReadonlyArray<number> },
  left: Float64Array,
): void {
  const { width, requests } = free;
  const room = roomOf(free, bin);
  own.forEach((count, item) => {
    for (let k = 0; k < width; k++) room[k] = at(room, k) - count * at(requests, item * width + k);
  });
  for (const item of order) addTo(free, { bin, item, room, own }, left);
}

function apply(
  workspace: Workspace,
  nodes: ReadonlyArray<ExistingNode>,
  groups: ReadonlyArray<BulkGroup>,
  { counts }: Placement,
): ReadonlyArray<Pod> {
  const queues = groups.map(({ pods }) => [...pods]);
  nodes.forEach((node, index) => {
    groups.forEach(({ need }, item) => {
      for (const pod of queues[item]?.splice(0, at(counts[index] ?? [], item)) ?? [])
        putOnNode(workspace, node, need, pod);
    });
  });
  return queues.flat();
}
