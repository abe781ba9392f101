import type { Pod } from '../model/cluster.ts';
import { at } from './compile-pool.ts';
import { fittingBits, type CompiledShape, type PoolOption } from './compile-shape.ts';
import { portsConflict, type HostPort } from './host-ports.ts';
import { intersect, isEmpty, type LabelRule, type LabelRules } from './label-rule.ts';
import { bookCapacity, COMBO_BITS, withinLimits, type PoolState } from './pool-state.ts';
import { addVector } from './resource-table.ts';

/** One offering of one size of a pool. */
export interface Cell {
  readonly type: number;
  readonly bit: number;
  readonly price: number;
  readonly shunned: boolean;
}

/** A node this plan will create. What it can still become shrinks with every pod. */
export interface OpenClaim {
  readonly state: PoolState;
  /** Per type: the offerings that hold all its pods and meet their rules. */
  offered: Int32Array;
  open: LabelRules;
  readonly load: Float64Array;
  readonly pods: Array<Pod>;
  readonly ports: Array<HostPort>;
  /** The cheapest it can be; what limits count. Null while it has no pod. */
  cell: Cell | null;
}

/** How one more pod would join a claim. */
export interface Joining {
  readonly claim: OpenClaim;
  readonly offered: Int32Array;
  readonly open: LabelRules;
  readonly cell: Cell;
  readonly added: number;
}

/** A claim of the pool that holds nothing yet. */
export function emptyClaim(state: PoolState, width: number): OpenClaim {
  const offered = Int32Array.from(state.pool.offered);
  return { state, offered, open: new Map(), load: new Float64Array(width), pods: [], ports: [], cell: null };
}

/** The cheapest way for a pod to join the claim, or null. */
export function joiningOf(claim: OpenClaim, shape: CompiledShape, options: ReadonlyArray<PoolOption>): Joining | null {
  if (portsConflict(claim.ports, shape.ports)) return null;
  let best: Joining | null = null;
  for (const option of options) {
    const open = narrowOpen(claim, option.open);
    if (open === null) continue;
    const offered = remainingOfferings(claim, shape, option);
    const cell = cheapestCell(claim, offered);
    if (cell === null) continue;
    const joining = { claim, offered, open, cell, added: cell.price - (claim.cell?.price ?? 0) };
    if (best === null || isCheaper(cell, best.cell)) best = joining;
  }
  return best;
}

/** Puts the pod there. */
export function join({ claim, offered, open, cell }: Joining, shape: CompiledShape, pod: Pod): void {
  const capacityOf = (chosen: Cell) =>
    claim.state.pool.catalog.types[chosen.type]?.capacity ?? new Map<string, number>();
  if (claim.cell !== null) bookCapacity(claim.state.remaining, capacityOf(claim.cell), -1);
  bookCapacity(claim.state.remaining, capacityOf(cell), 1);
  claim.offered = offered;
  claim.open = open;
  claim.cell = cell;
  claim.pods.push(pod);
  claim.ports.push(...shape.ports);
  addVector(claim.load, shape.requests, 1);
}

/** Offerings not shunned come first, then the price decides; the types' order breaks ties. */
export function isCheaper(a: Cell, b: Cell): boolean {
  return a.shunned === b.shunned ? a.price < b.price : !a.shunned;
}

function narrowOpen(claim: OpenClaim, more: LabelRules): LabelRules | null {
  if (more.size === 0) return claim.open;
  const open = new Map<string, LabelRule>(claim.open);
  for (const [key, rule] of more) {
    const present = open.get(key) ?? claim.state.pool.rules.get(key);
    const narrowed = present === undefined ? rule : intersect(present, rule);
    if (isEmpty(narrowed)) return null;
    open.set(key, narrowed);
  }
  return open;
}

function remainingOfferings(claim: OpenClaim, { requests }: CompiledShape, option: PoolOption): Int32Array {
  const offered = new Int32Array(claim.offered.length);
  const { state, load } = claim;
  for (const type of state.pool.order) {
    const mask = at(claim.offered, type) & at(option.offered, type);
    if (mask !== 0) offered[type] = fittingBits(state, type, mask, { load, more: requests });
  }
  return offered;
}

/** Among offerings the pool's limits allow. Null when there is none. */
export function cheapestCell({ state, cell: current }: OpenClaim, offered: Int32Array): Cell | null {
  const { pool, remaining } = state;
  const instead = current === null ? null : (pool.catalog.types[current.type]?.capacity ?? null);
  let best: Cell | null = null;
  for (const type of pool.order) {
    const shunned = pool.shunned[type] === 1;
    if (best !== null && (best.shunned !== shunned || at(pool.lowestPrice, type) >= best.price)) break;
    const { capacity, prices } = pool.catalog.types[type] ?? { capacity: new Map(), prices: new Float64Array() };
    if (at(offered, type) === 0 || !withinLimits(remaining, capacity, instead)) continue;
    const bit = cheapestBit(prices, at(offered, type));
    const price = at(prices, bit);
    if (best === null || price < best.price) best = { type, bit, price, shunned };
  }
  return best;
}

/** The lowest bit wins a tie: combos are in order of preference. */
function cheapestBit(prices: Float64Array, mask: number): number {
  let best = -1;
  for (let bit = 0; bit < COMBO_BITS; bit++) {
    if ((mask >> bit) & 1 && (best === -1 || at(prices, bit) < at(prices, best))) best = bit;
  }
  return best;
}
