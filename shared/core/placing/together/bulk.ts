import type { Pod } from '../../model/cluster.ts';
import { flagsOf } from '../../packing/problem/flags.ts';
import type { PackedNode, PackingBin, PackingItem, PackingProblem } from '../../packing/problem/problem.ts';
import { withShare, type Work } from '../../packing/problem/work.ts';
import { at } from '../../quantity/at.ts';
import { capacityOf, cheapestBit, lowestBit } from '../../offerings/compile-pool.ts';
import { packGroups } from './pack-groups.ts';
import { byPorts, withOnePort, withPorts } from './shared-ports.ts';
import { offeringsFor, type BulkGroup } from './bulk-groups.ts';
import { keySourceOf, restrictTo } from '../../offerings/key-source.ts';
import { meetsMinValues } from '../../offerings/min-values.ts';
import { narrow, settleOn, emptyClaim, settledValue, type ChosenOffering } from '../state/open-claim.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import { holdingBits, withinLimits, type PoolState } from '../../offerings/pool-state.ts';
import { addVector } from '../../quantity/resource-table.ts';
import { recordOnClaim } from '../state/topology.ts';
import type { Workspace } from '../state/workspace.ts';

interface QueuedPod {
  readonly pod: Pod;
  readonly group: BulkGroup;
}

/** One size that nodes may be bought in: the cheapest of the offerings that serve the same groups alike. */
export interface BulkBin extends PackingBin {
  readonly state: PoolState;
  readonly chosen: ChosenOffering;
}

/** The pods that found no place, and the problems that were solved for the others, with what is proved about each. */
export interface PlacedInBulk {
  readonly left: ReadonlyArray<Pod>;
  readonly solved: ReadonlyArray<SolvedProblem>;
}

export interface SolvedProblem {
  readonly problem: PackingProblem;
  readonly bound: number;
}

/** Packs groups onto new claims of the heaviest pools that take them. */
export function placeInBulk(workspace: Workspace, groups: ReadonlyArray<BulkGroup>, work: Work): PlacedInBulk {
  const byWeight = Map.groupBy(
    groups,
    (group) => workspace.pools.find((one) => offeringsFor(workspace, one, group) !== null)?.pool.weight ?? null,
  );
  const left = (byWeight.get(null) ?? []).flatMap(({ pods }) => pods);
  const tiers = [...byWeight].flatMap(([weight, tier]) => (weight === null ? [] : [{ weight, tier }]));
  tiers.sort((a, b) => b.weight - a.weight);
  const solved: Array<SolvedProblem> = [];
  tiers.forEach(({ weight, tier }, index) => {
    const packed = withShare(work, 1 / (tiers.length - index), (own) => packTier(workspace, weight, tier, own));
    left.push(...packed.left);
    solved.push(...packed.solved);
  });
  return { left, solved };
}

function packTier(workspace: Workspace, weight: number, all: ReadonlyArray<BulkGroup>, work: Work): PlacedInBulk {
  const { groups, ports, apart } = byPorts(all);
  const width = workspace.dimensions.names.length;
  const states = workspace.pools.filter(({ pool }) => pool.weight === weight);
  const bins = states.flatMap((state) => {
    const options = groups.map((group) => offeringsFor(workspace, state, group));
    return binsOf(state, options, { width, withinLimit: true, counts: 'weighed' });
  });
  const admitted = withoutShunned(bins, groups.length);
  const { items, members } = mergeAlike(groups, admitted);
  const merged = admitted.map((bin) => ({
    ...bin,
    usable: withOnePort(bin.usable, ports.length),
    admits: flagsOf(members, ([first = 0]) => bin.admits[first] === 1),
  }));
  const taking = withPorts(items, ports, (item) => groups[members[item]?.[0] ?? 0]);
  const problem = { width: width + ports.length, items: taking, bins: merged };
  const packing = packGroups({ problem, groups, members }, work);
  const queues = members.map((own) =>
    own.flatMap((index) => {
      const group = groups[index];
      return group === undefined ? [] : (packing.pods[index] ?? []).map((pod) => ({ pod, group }));
    }),
  );
  const left = apart.flatMap(({ pods }) => pods);
  for (const node of packing.nodes) {
    const bin = merged[node.bin];
    if (bin !== undefined) left.push(...openAlike(workspace, bin, node, queues));
  }
  return { left: [...left, ...queues.flat().map(({ pod }) => pod)], solved: packing.solved };
}

/** Groups that ask for the same and may be on the same bins are one item: the packer's time grows with items. */
export function mergeAlike(
  groups: ReadonlyArray<Pick<BulkGroup, 'need' | 'perNode' | 'pods'>>,
  bins: ReadonlyArray<BulkBin>,
): { readonly items: ReadonlyArray<PackingItem>; readonly members: ReadonlyArray<ReadonlyArray<number>> } {
  const alike = Map.groupBy(
    groups.keys(),
    (index) =>
      `${groups[index]?.need.shape.requests.join(' ') ?? ''} ${groups[index]?.perNode === Infinity ? '' : index}`,
  );
  const members = [...alike.values()]
    .flatMap((own) => (own.length === 1 ? [own] : admittedAlike(own, bins)))
    .toSorted((a, b) => at(a, 0) - at(b, 0));
  const items = members.map((own): PackingItem => {
    const first = groups[own[0] ?? 0];
    const count = own.reduce((sum, index) => sum + (groups[index]?.pods.length ?? 0), 0);
    return { requests: first?.need.shape.requests ?? new Float64Array(), count, perNode: first?.perNode ?? Infinity };
  });
  return { items, members };
}

/** The groups in sets that the same bins admit. */
function admittedAlike(
  groups: ReadonlyArray<number>,
  bins: ReadonlyArray<BulkBin>,
): ReadonlyArray<ReadonlyArray<number>> {
  return [...Map.groupBy(groups, (group) => bins.map(({ admits }) => at(admits, group)).join('')).values()];
}

/** Whether what offerings count as includes risk. */
export type PriceKind = 'weighed' | 'plain';

interface BinQuestion {
  readonly width: number;
  readonly withinLimit: boolean;
  readonly counts: PriceKind;
}

/**
 * The pool's sizes for groups that may be on these offerings of it, each as often as offerings serve groups
 * differently.
 */
export function binsOf(
  state: PoolState,
  options: ReadonlyArray<Int32Array | null>,
  { width, withinLimit, counts }: BinQuestion,
): ReadonlyArray<BulkBin> {
  const { pool } = state;
  const bins: Array<BulkBin> = [];
  for (const type of pool.order) {
    const compiled = pool.catalog.types[type];
    if (compiled === undefined) continue;
    if (withinLimit && !withinLimits(state.remaining, compiled.amounts().capacity, null)) continue;
    const prices = counts === 'weighed' ? compiled.weighedPrices : compiled.plainPrices;
    for (const alike of alikeOfferings(state, type, options)) {
      const bit = cheapestBit(prices, alike);
      const admits = new Uint8Array(options.length);
      options.forEach((option, index) => (admits[index] = (at(option ?? NO_OFFERINGS, type) >> bit) & 1));
      if (!admits.includes(1)) continue;
      const chosen = { type, bit, price: at(prices, bit), shunned: pool.shunned[type] === 1 };
      bins.push({ usable: usableOn(state, type, bit, width), price: chosen.price, admits, state, chosen });
    }
  }
  return bins;
}

const NO_OFFERINGS = new Int32Array();

function usableOn({ usable }: PoolState, type: number, bit: number, width: number): Float64Array {
  return usable.slice((type * MARKETS_MAX + bit) * width, (type * MARKETS_MAX + bit + 1) * width);
}

/** The type's offerings in sets that serve the same groups and leave pods the same room, by the lowest bit of each. */
function alikeOfferings(
  state: PoolState,
  type: number,
  options: ReadonlyArray<Int32Array | null>,
): ReadonlyArray<number> {
  const { pool, uniform, nothing } = state;
  if (uniform[type] === 1 && serveAllAlike(at(pool.offered, type), type, options)) return [at(pool.offered, type)];
  let sets = [at(pool.offered, type)];
  const divide = (mask: number): void => {
    if (sets.every((set) => (set & mask) === 0 || (set & mask) === set)) return;
    sets = sets.flatMap((set) => [set & mask, set & ~mask]).filter((set) => set !== 0);
  };
  for (const option of options) divide(at(option ?? NO_OFFERINGS, type));
  if (uniform[type] !== 1) {
    for (let left = at(pool.offered, type); left !== 0; left &= left - 1) {
      const room = usableOn(state, type, lowestBit(left), nothing.length);
      divide(bitsLeaving(state, type, room));
    }
  }
  return sets.length === 1 ? sets : sets.toSorted((a, b) => lowestBit(a) - lowestBit(b));
}

/** Does each group get all of these offerings of the type, or none? */
function serveAllAlike(offered: number, type: number, options: ReadonlyArray<Int32Array | null>): boolean {
  for (let index = 0; index < options.length; index++) {
    const served = at(options[index] ?? NO_OFFERINGS, type) & offered;
    if (served !== 0 && served !== offered) return false;
  }
  return true;
}

/** The type's offerings that leave pods exactly this room. */
function bitsLeaving(state: PoolState, type: number, room: Float64Array): number {
  let bits = 0;
  for (let left = at(state.pool.offered, type); left !== 0; left &= left - 1) {
    const own = usableOn(state, type, lowestBit(left), room.length);
    if (own.every((amount, index) => amount === room[index])) bits |= left & -left;
  }
  return bits;
}

/** Shunned sizes serve only the groups that nothing else can. */
export function withoutShunned(bins: ReadonlyArray<BulkBin>, groups: number): ReadonlyArray<BulkBin> {
  const served = new Uint8Array(groups);
  for (const { admits, chosen } of bins) {
    if (!chosen.shunned) admits.forEach((admitted, group) => (served[group] = at(served, group) | admitted));
  }
  return bins
    .map((bin) =>
      bin.chosen.shunned ? { ...bin, admits: bin.admits.map((one, group) => one & ~at(served, group)) } : bin,
    )
    .filter(({ admits }) => admits.includes(1));
}

/**
 * Opens the node's claims with pods from the front of the queues; returns the pods of those that limits or minValues
 * forbid.
 */
function openAlike(
  workspace: Workspace,
  { state, chosen }: BulkBin,
  node: PackedNode,
  queues: ReadonlyArray<Array<QueuedPod>>,
): ReadonlyArray<Pod> {
  const capacity = capacityOf(state.pool, chosen.type);
  const left: Array<Pod> = [];
  const shared = new Map<string, Int32Array>();
  for (let time = 0; time < node.times; time++) {
    const queued = [...node.counts].flatMap((count, item) => queues[item]?.splice(0, count) ?? []);
    const claim = emptyClaim(state, workspace.dimensions.names.length, false);
    for (const { group } of queued) addVector(claim.load, group.need.shape.requests, 1);
    const groups = new Set(queued.map(({ group }) => group));
    const id = [...groups].map(({ need, within }) => `${need.shape.index} ${within?.domain ?? ''}`).join('\n');
    const offered = shared.get(id) ?? offeredTo(workspace, { state, chosen }, claim.load, groups);
    shared.set(id, offered);
    const held = withinLimits(state.remaining, capacity, null) && meetsMinValues(state, offered, capacity);
    if (!held || ((at(offered, chosen.type) >> chosen.bit) & 1) === 0) {
      left.push(...queued.map(({ pod }) => pod));
      continue;
    }
    narrow(claim, { offered });
    settleOn(claim, { chosen, booked: capacity });
    workspace.claims.push(claim);
    for (const { pod, group } of queued) {
      claim.pods.push(pod);
      claim.ports.push(...group.need.shape.ports);
      recordOnClaim(workspace.topology, pod.shape, claim, (key) => settledValue(claim, key));
    }
  }
  return left;
}

/**
 * The offerings of the pool that hold these pods together and meet the rules of all, with what must be settled as the
 * chosen one has it.
 */
function offeredTo(
  workspace: Workspace,
  { state, chosen }: Pick<BulkBin, 'state' | 'chosen'>,
  load: Float64Array,
  groups: ReadonlySet<BulkGroup>,
): Int32Array {
  const offered = Int32Array.from(state.pool.offered);
  for (const group of groups) {
    const own = offeringsFor(workspace, state, group);
    offered.forEach((mask, type) => (offered[type] = own === null ? 0 : mask & at(own, type)));
  }
  for (const key of new Set([...groups].flatMap(({ settles }) => settles ?? []))) {
    const source = keySourceOf(state.pool, key);
    const settled = source.kind === 'offering' ? source.values[chosen.bit] : undefined;
    restrictTo(offered, source, (value) => value === settled);
  }
  const nothing = new Float64Array(load.length);
  for (const type of state.pool.order) {
    offered[type] = holdingBits(state, type, at(offered, type), nothing, load);
  }
  return offered;
}
