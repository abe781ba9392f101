import type { Pod } from '../model/cluster.ts';
import { pack } from '../packing/pack.ts';
import type { PackedNode, PackingBin, PackingItem } from '../packing/problem.ts';
import { at } from './compile-pool.ts';
import { fittingBits, type Ask, type PoolOption } from './compile-shape.ts';
import { meetsMinValues } from './min-values.ts';
import { emptyClaim, type Cell, type OpenClaim } from './open-claim.ts';
import { bookCapacity, COMBO_BITS, withinLimits, type PoolState } from './pool-state.ts';
import { addVector } from './resource-table.ts';
import { optionsFor, type Workspace } from './workspace.ts';

/** Pods of one ask that only resources and node rules bind, so that they can be packed together with all others. */
export interface BulkGroup {
  readonly ask: Ask;
  readonly pods: ReadonlyArray<Pod>;
  /** At most so many on one node. */
  readonly perNode: number;
}

/** One size that nodes may be bought in: the cheapest of the offerings that serve the same groups alike. */
interface BulkBin extends PackingBin {
  readonly state: PoolState;
  readonly cell: Cell;
}

/** Packs groups onto new claims of the heaviest pools that take them; answers the pods that found no place. */
export function placeInBulk(workspace: Workspace, groups: ReadonlyArray<BulkGroup>, fills: number): ReadonlyArray<Pod> {
  const byWeight = new Map<number, Array<BulkGroup>>();
  const left: Array<Pod> = [];
  for (const group of groups) {
    const state = workspace.pools.find((one) => optionsFor(workspace, one, group.ask).length > 0);
    if (state === undefined) left.push(...group.pods);
    else byWeight.set(state.pool.weight, [...(byWeight.get(state.pool.weight) ?? []), group]);
  }
  const tiers = [...byWeight].toSorted(([a], [b]) => b - a);
  for (const [weight, tier] of tiers) left.push(...packTier(workspace, weight, tier, Math.floor(fills / tiers.length)));
  return left;
}

function packTier(
  workspace: Workspace,
  weight: number,
  groups: ReadonlyArray<BulkGroup>,
  fills: number,
): ReadonlyArray<Pod> {
  const width = workspace.dimensions.names.length;
  const states = workspace.pools.filter(({ pool }) => pool.weight === weight);
  const options = groups.map(({ ask }) => states.map((state) => optionsFor(workspace, state, ask)[0] ?? null));
  const bins = states.flatMap((state, index) =>
    binsOf(
      state,
      options.map((own) => own[index] ?? null),
      width,
    ),
  );
  const admitted = withoutShunned(bins, groups.length);
  const { items, members } = mergeAlike(groups, admitted);
  const merged = admitted.map((bin) => ({
    ...bin,
    admits: Uint8Array.from(members, ([first = 0]) => at(bin.admits, first)),
  }));
  const packing = pack({ width, items, bins: merged }, fills);
  const queues = members.map((own) => own.flatMap((index) => groups[index]?.pods ?? []));
  const left: Array<Pod> = [];
  for (const node of packing.nodes) {
    const bin = merged[node.bin];
    if (bin !== undefined) left.push(...openAlike(workspace, bin, node, queues));
  }
  return [...left, ...queues.flat()];
}

/** Groups that ask for the same and may be on the same bins are one item: the packer's time grows with items. */
function mergeAlike(
  groups: ReadonlyArray<BulkGroup>,
  bins: ReadonlyArray<BulkBin>,
): { readonly items: ReadonlyArray<PackingItem>; readonly members: ReadonlyArray<ReadonlyArray<number>> } {
  const alike = new Map<string, Array<number>>();
  groups.forEach(({ ask, perNode }, index) => {
    const admits = bins.map((bin) => bin.admits[index]).join('');
    const id = `${ask.shape.requests.join(' ')} ${perNode === Infinity ? '' : index} ${admits}`;
    alike.set(id, [...(alike.get(id) ?? []), index]);
  });
  const members = [...alike.values()];
  const items = members.map((own): PackingItem => {
    const first = groups[own[0] ?? 0];
    const count = own.reduce((sum, index) => sum + (groups[index]?.pods.length ?? 0), 0);
    return { requests: first?.ask.shape.requests ?? new Float64Array(), count, perNode: first?.perNode ?? Infinity };
  });
  return { items, members };
}

function binsOf(state: PoolState, options: ReadonlyArray<PoolOption | null>, width: number): ReadonlyArray<BulkBin> {
  const { pool, usable } = state;
  const bins: Array<BulkBin> = [];
  for (const type of pool.order) {
    const compiled = pool.catalog.types[type];
    if (compiled === undefined || !withinLimits(state.remaining, compiled.capacity, null)) continue;
    const found = new Map<string, BulkBin>();
    for (let bit = 0; bit < COMBO_BITS; bit++) {
      if (((at(pool.offered, type) >> bit) & 1) === 0) continue;
      const admits = Uint8Array.from(options, (option) => (at(option?.offered ?? [], type) >> bit) & 1);
      const row = (type * COMBO_BITS + bit) * width;
      const capacity = usable.slice(row, row + width);
      const price = at(compiled.prices, bit);
      const id = `${admits.join('')} ${capacity.join(' ')}`;
      const cell = { type, bit, price, shunned: pool.shunned[type] === 1 };
      if (price < (found.get(id)?.price ?? Infinity)) found.set(id, { usable: capacity, price, admits, state, cell });
    }
    bins.push(...[...found.values()].filter(({ admits }) => admits.includes(1)));
  }
  return bins;
}

/** Shunned sizes serve only the groups that nothing else can. */
function withoutShunned(bins: ReadonlyArray<BulkBin>, groups: number): ReadonlyArray<BulkBin> {
  const served = new Uint8Array(groups);
  for (const { admits, cell } of bins) {
    if (!cell.shunned) admits.forEach((admitted, group) => (served[group] = at(served, group) | admitted));
  }
  return bins
    .map((bin) =>
      bin.cell.shunned ? { ...bin, admits: bin.admits.map((one, group) => one & ~at(served, group)) } : bin,
    )
    .filter(({ admits }) => admits.includes(1));
}

/** Opens the node's claims with pods from the front of the queues; answers the pods of those that limits or minValues forbid. */
function openAlike(
  workspace: Workspace,
  { state, cell }: BulkBin,
  node: PackedNode,
  queues: ReadonlyArray<Array<Pod>>,
): ReadonlyArray<Pod> {
  const capacity = state.pool.catalog.types[cell.type]?.capacity ?? new Map<string, number>();
  const left: Array<Pod> = [];
  const shared = new Map<string, Int32Array>();
  for (let time = 0; time < node.times; time++) {
    const pods = [...node.counts].flatMap((count, item) => queues[item]?.splice(0, count) ?? []);
    const claim = emptyClaim(state, workspace.dimensions.names.length, false);
    const shapes = new Set(pods.map(({ shape }) => shape));
    const id = [...shapes].join(' ');
    claim.offered = shared.get(id) ?? offeredTo(workspace, claim, pods);
    shared.set(id, claim.offered);
    const held = withinLimits(state.remaining, capacity, null) && meetsMinValues(state, claim.offered, null);
    if (!held || ((at(claim.offered, cell.type) >> cell.bit) & 1) === 0) {
      left.push(...pods);
      continue;
    }
    for (const pod of pods) addVector(claim.load, workspace.shapes.get(pod.shape)?.requests ?? new Float64Array(), 1);
    claim.pods.push(...pods);
    claim.cell = cell;
    bookCapacity(state.remaining, capacity, 1);
    workspace.claims.push(claim);
  }
  return left;
}

/** The offerings of the pool that hold these pods together and meet the rules of all. */
function offeredTo(workspace: Workspace, { state, load }: OpenClaim, pods: ReadonlyArray<Pod>): Int32Array {
  const offered = Int32Array.from(state.pool.offered);
  const total = Float64Array.from(load);
  for (const pod of pods) addVector(total, workspace.shapes.get(pod.shape)?.requests ?? new Float64Array(), 1);
  for (const shape of new Set(pods.map((pod) => pod.shape))) {
    const options = optionsFor(workspace, state, bulkAskOf(workspace, shape));
    options[0]?.offered.forEach((mask, type) => (offered[type] = at(offered, type) & mask));
  }
  for (const type of state.pool.order) {
    offered[type] = fittingBits(state, type, at(offered, type), { load, more: total });
  }
  return offered;
}

/** The first level of relaxation at which some pool can take the shape. */
function bulkAskOf(workspace: Workspace, shape: number): Ask {
  const asks = workspace.asks.get(shape) ?? [];
  const ask = asks.find((one) => workspace.pools.some((state) => optionsFor(workspace, state, one).length > 0));
  const last = ask ?? asks.at(-1);
  if (last === undefined) throw new Error(`shape ${shape} asks for nothing: it was not compiled`);
  return last;
}

/** Splits pods into groups to pack together, and those whose rules look at other pods or at labels left open. */
export function splitBulk(
  workspace: Workspace,
  pods: ReadonlyArray<Pod>,
  isFree: (ask: Ask) => boolean,
): { readonly groups: ReadonlyArray<BulkGroup>; readonly others: ReadonlyArray<Pod> } {
  const byShape = Map.groupBy(pods, ({ shape }) => shape);
  const groups: Array<BulkGroup> = [];
  const single = new Set<number>();
  for (const [shape, own] of byShape) {
    const asks = workspace.asks.get(shape) ?? [];
    const ask = asks.length === 0 ? null : bulkAskOf(workspace, shape);
    const settled = ask !== null && workspace.pools.every((state) => !leavesOpen(optionsFor(workspace, state, ask)));
    if (ask === null || !settled || !asks.every(isFree) || ask.shape.ports.length > 0) single.add(shape);
    else groups.push({ ask, pods: own, perNode: Infinity });
  }
  return { groups, others: pods.filter(({ shape }) => single.has(shape)) };
}

function leavesOpen(options: ReadonlyArray<PoolOption>): boolean {
  return options.some(({ open }) => open.size > 0);
}
