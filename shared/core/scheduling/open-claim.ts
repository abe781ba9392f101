import type { Pod } from '../model/cluster.ts';
import type { Amounts } from '../quantity/quantity.ts';
import { labelKey } from '../model/labels.ts';
import { at } from './compile-pool.ts';
import { fittingBits, type Ask, type CompiledShape, type PoolOption } from './compile-shape.ts';
import { portsConflict, type HostPort } from './host-ports.ts';
import { intersect, isEmpty, oneOf, type LabelRule, type LabelRules } from './label-rule.ts';
import { keySourceOf, restrictTo, type KeySource } from './key-source.ts';
import { bookingFor } from './min-values.ts';
import { bookCapacity, COMBO_BITS, withinLimits, type PoolState } from './pool-state.ts';
import { addVector } from './resource-table.ts';
import type { Guard } from './topology-guard.ts';

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
  /** The cheapest it can be. Null while it has no pod. */
  cell: Cell | null;
  /** What limits count for it; null while it has no pod. */
  booked: Amounts | null;
  /** True once minValues of the pool were waived for it. */
  minValuesRelaxed: boolean;
}

/** How one more pod would join a claim. */
export interface Joining {
  readonly claim: OpenClaim;
  readonly offered: Int32Array;
  readonly open: LabelRules;
  readonly cell: Cell;
  readonly booked: Amounts;
  readonly added: number;
}

/** A pod that wants to join, and what the topology allows it. */
export interface Applicant {
  readonly ask: Ask;
  readonly guard: Guard;
}

/** A claim of the pool that holds nothing yet. */
export function emptyClaim(state: PoolState, width: number, minValuesRelaxed: boolean): OpenClaim {
  const offered = Int32Array.from(state.pool.offered);
  const load = new Float64Array(width);
  return { state, offered, open: new Map(), load, pods: [], ports: [], cell: null, booked: null, minValuesRelaxed };
}

/** The cheapest way for a pod to join the claim, or null. */
export function joiningOf(claim: OpenClaim, applicant: Applicant, options: ReadonlyArray<PoolOption>): Joining | null {
  const { shape } = applicant.ask;
  if (options.length === 0 || portsConflict(claim.ports, shape.ports) || !applicant.guard.allowsHost(claim))
    return null;
  let best: Joining | null = null;
  for (const option of options) {
    const joining = joiningBy(claim, applicant, option);
    if (joining !== null && (best === null || isCheaper(joining.cell, best.cell))) best = joining;
  }
  return best;
}

function joiningBy(claim: OpenClaim, { ask, guard }: Applicant, option: PoolOption): Joining | null {
  const narrowed = narrowOpen(claim, option.open);
  if (narrowed === null) return null;
  const offered = remainingOfferings(claim, ask.shape, option);
  const open = settleOpen(claim, narrowed, guard, ask.settled);
  if (open === null) return null;
  for (const key of guard.keys) {
    restrictTo(offered, sourceFor(claim.state, key), (value) => guard.allows(key, value));
  }
  const cell = cheapestCell(claim, offered, guard);
  if (cell === null) return null;
  for (const key of ask.settled) settle(claim.state, offered, key, cell);
  const limits = { chosen: cell.type, instead: claim.booked, relaxed: claim.minValuesRelaxed };
  const booked = bookingFor(claim.state, offered, limits);
  if (booked === null) return null;
  return { claim, offered, open, cell, booked, added: cell.price - (claim.cell?.price ?? 0) };
}

/** Puts the pod there. */
export function join({ claim, offered, open, cell, booked }: Joining, shape: CompiledShape, pod: Pod): void {
  const { remaining } = claim.state;
  if (claim.booked !== null) bookCapacity(remaining, claim.booked, -1);
  bookCapacity(remaining, booked, 1);
  claim.booked = booked;
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

/** The value that a claim has for a key once it is settled; null when its node will have no such label. */
export function settledValue({ state, open, cell }: OpenClaim, key: string): string | null {
  if (cell === null || key === labelKey.hostname) return null;
  const source = sourceFor(state, key);
  if (source.kind === 'open') return [...(open.get(key)?.values ?? [])][0] ?? null;
  return valueAt(source, cell) ?? null;
}

function sourceFor(state: PoolState, key: string): KeySource {
  const source = state.keySources.get(key) ?? keySourceOf(state.pool, key);
  state.keySources.set(key, source);
  return source;
}

function valueAt(source: KeySource, { type, bit }: Cell): string | undefined {
  switch (source.kind) {
    case 'offering':
      return source.values[bit];
    case 'type':
      return source.values[type];
    case 'pool':
      return source.value;
    case 'open':
      return undefined;
    default:
      return source satisfies never;
  }
}

function settle(state: PoolState, offered: Int32Array, key: string, cell: Cell): void {
  const source = sourceFor(state, key);
  if (source.kind === 'open') return;
  const wanted = valueAt(source, cell);
  restrictTo(offered, source, (value) => value === wanted);
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

/** Open labels that topology looks at get one value now: the first that is allowed. */
function settleOpen(
  { state }: OpenClaim,
  open: LabelRules,
  guard: Guard,
  settled: ReadonlyArray<string>,
): LabelRules | null {
  const keys = [...new Set([...guard.keys, ...settled])].filter((key) => sourceFor(state, key).kind === 'open');
  if (keys.length === 0) return open;
  const narrowed = new Map(open);
  for (const key of keys) {
    const rule = open.get(key) ?? state.pool.rules.get(key);
    const values = rule === undefined || rule.complement ? [] : [...rule.values].toSorted();
    const value = values.find((one) => guard.allows(key, one));
    if (value === undefined) return null;
    narrowed.set(key, oneOf([value]));
  }
  return narrowed;
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

/** Among offerings the pool's limits allow; where prices are equal, in the least crowded domain. Null: there is none. */
function cheapestCell(claim: OpenClaim, offered: Int32Array, guard: Guard): Cell | null {
  const { pool, remaining } = claim.state;
  const current = claim.booked;
  let best: Cell | null = null;
  for (const type of pool.order) {
    const shunned = pool.shunned[type] === 1;
    if (best !== null && (best.shunned !== shunned || at(pool.lowestPrice, type) >= best.price)) break;
    const compiled = pool.catalog.types[type];
    if (compiled === undefined || at(offered, type) === 0) continue;
    if (!withinLimits(remaining, compiled.capacity, current)) continue;
    const bit = cheapestBit(compiled.prices, at(offered, type), crowdingOf(claim.state, guard));
    const price = at(compiled.prices, bit);
    if (best === null || price < best.price) best = { type, bit, price, shunned };
  }
  return best;
}

type Crowding = (bit: number) => number;

function crowdingOf(state: PoolState, guard: Guard): Crowding {
  const sources = guard.keys.map((key) => ({ key, source: sourceFor(state, key) }));
  return (bit) =>
    sources.reduce(
      (sum, { key, source }) => (source.kind === 'offering' ? sum + guard.crowding(key, source.values[bit]) : sum),
      0,
    );
}

/** The lowest bit wins what is still a tie: combos are in order of preference. */
function cheapestBit(prices: Float64Array, mask: number, crowding: Crowding): number {
  let best = -1;
  for (let bit = 0; bit < COMBO_BITS; bit++) {
    if (((mask >> bit) & 1) === 0) continue;
    const better = best === -1 || at(prices, bit) < at(prices, best);
    if (better || (at(prices, bit) === at(prices, best) && crowding(bit) < crowding(best))) best = bit;
  }
  return best;
}
