import { addAmounts, type Amounts } from '../quantity/quantity.ts';
import { at, lowestBit } from './compile-pool.ts';
import { holdingBits } from './compile-shape.ts';
import { portsConflict } from './host-ports.ts';
import { byCodeUnit } from './label-rule.ts';
import { wantsMinValues } from './min-values.ts';
import { isCheaper, plainPriceOf, reservationOf, type Cell, type OpenClaim } from './open-claim.ts';
import { isUnruled } from './place.ts';
import { bookCapacity, withinLimits, type PoolState } from './pool-state.ts';
import { addVector } from './resource-table.ts';
import type { Workspace } from './workspace.ts';

/** Pairs of kinds of claims that are looked at: all pairs of thirty kinds, a few hundredths of a second. */
const MOST_PAIRS = 465;

/**
 * Joins claims, in place, two by two where one node holds the pods of both and counts as no more: each node has daemons of
 * its own, an address, and its time to start. Only claims whose pods no rule about other pods looks at, so that it is nobody
 * else's concern where they are. With all pods placed: what is given back of limits is for nobody.
 */
export function mergeClaims(workspace: Workspace): void {
  if (workspace.devices !== null || workspace.claims.length < 2) return;
  for (const state of workspace.pools) {
    if (!wantsMinValues(state)) mergeInPool(workspace, state);
  }
}

/** Claims that are alike in all that decides whether they can be joined. */
interface Kind {
  readonly id: string;
  readonly claims: Array<OpenClaim>;
  isDone: boolean;
}

function mergeInPool(workspace: Workspace, state: PoolState): void {
  const kinds = new Map<string, Kind>();
  const idOf = idsFor();
  const add = (claim: OpenClaim): void => {
    const id = idOf(claim);
    const kind = kinds.get(id) ?? { id, claims: [], isDone: false };
    kind.claims.push(claim);
    kinds.set(id, kind);
  };
  for (const claim of workspace.claims) if (claim.state === state && isMovable(workspace, claim)) add(claim);
  const gone = new Set<OpenClaim>();
  let pairs = 0;
  // Ends: every turn finishes a kind, and every new kind has one claim less than there were.
  for (let kind = nextOf(kinds); kind !== null; kind = nextOf(kinds)) {
    kind.isDone = true;
    for (const other of [...kinds.values()].toSorted(byPrice)) {
      if (pairs++ >= MOST_PAIRS) return drop(workspace, gone);
      for (let pair = pairOf(kind, other); pair !== null; pair = pairOf(kind, other)) {
        const found = cellForBoth(pair[0], pair[1]);
        if (found === null) break;
        kind.claims.pop();
        other.claims.pop();
        absorb(workspace, pair, found);
        gone.add(pair[1]);
        add(pair[0]);
      }
    }
  }
  drop(workspace, gone);
}

function drop({ claims }: Workspace, gone: ReadonlySet<OpenClaim>): void {
  if (gone.size === 0) return;
  const kept = claims.filter((claim) => !gone.has(claim));
  claims.splice(0, claims.length, ...kept);
}

/** Tells kinds apart; sets of offerings by being the same array. */
function idsFor(): (claim: OpenClaim) => string {
  const numbers = new Map<Int32Array, number>();
  return ({ cell, offered, bits, load, ports }) => {
    const number = numbers.get(offered) ?? numbers.size;
    numbers.set(offered, number);
    const taken = ports.map(({ ip, port, protocol }) => `${ip}:${port}/${protocol}`);
    return [cell?.type, cell?.bit, number, bits, load.join(' '), ...taken].join(' | ');
  };
}

function isMovable({ asks }: Workspace, claim: OpenClaim): boolean {
  if (claim.cell === null || claim.booked === null || claim.open.size > 0) return false;
  if (reservationOf(claim, claim.cell) !== null) return false;
  return claim.pods.every(({ shape }) =>
    (asks.get(shape) ?? []).every((ask) => isUnruled(ask) && ask.shape.attachments.length === 0),
  );
}

/** Small nodes first: of their price most goes to what every node needs. */
function nextOf(kinds: ReadonlyMap<string, Kind>): Kind | null {
  return [...kinds.values()].filter(({ isDone, claims }) => !isDone && claims.length > 0).toSorted(byPrice)[0] ?? null;
}

function byPrice(a: Kind, b: Kind): number {
  return (a.claims[0]?.cell?.price ?? 0) - (b.claims[0]?.cell?.price ?? 0) || byCodeUnit(a.id, b.id);
}

/** The last claims of both kinds; null when there are not two. */
function pairOf(kind: Kind, other: Kind): readonly [OpenClaim, OpenClaim] | null {
  const one = kind.claims.at(-1);
  const two = other.claims.at(kind === other ? -2 : -1);
  return one === undefined || two === undefined ? null : [one, two];
}

interface CellForBoth {
  readonly cell: Cell;
  readonly booked: Amounts;
}

/** The cheapest that a node for the pods of both can be, within limits; null where that is more than the two. */
function cellForBoth(one: OpenClaim, two: OpenClaim): CellForBoth | null {
  const { state } = one;
  const { pool } = state;
  const [first, second] = [one.cell, two.cell];
  if (first === null || second === null || portsConflict(one.ports, two.ports)) return null;
  const most = { ...first, price: first.price + second.price, shunned: first.shunned && second.shunned };
  const instead = addAmounts(addAmounts(new Map(), one.booked ?? new Map()), two.booked ?? new Map());
  const bits = one.bits & two.bits & ~pool.catalog.reservedBits;
  let best: CellForBoth | null = null;
  for (let position = Math.max(one.from, two.from); position < pool.order.length; position++) {
    const type = at(pool.order, position);
    const compiled = pool.catalog.types[type];
    const shunned = pool.shunned[type] === 1;
    if (compiled === undefined || (shunned && !most.shunned)) break;
    if (at(pool.lowestPrice, type) > (best?.cell.price ?? most.price)) break;
    const mask = holdingBits(state, type, at(one.offered, type) & at(two.offered, type) & bits, one.load, two.load);
    if (mask === 0 || !withinLimits(state.remaining, compiled.capacity, instead)) continue;
    const bit = cheapestBit(compiled.prices, mask);
    const cell = { type, bit, price: at(compiled.prices, bit), shunned };
    if (cell.price <= most.price && (best === null || isCheaper(cell, best.cell))) {
      best = { cell, booked: compiled.capacity };
    }
  }
  return best !== null && isWorthIt(state, best.cell, [one, two], most.price) ? best : null;
}

/** Where both count as much, prices without risk decide. */
function isWorthIt(state: PoolState, cell: Cell, both: ReadonlyArray<OpenClaim>, counts: number): boolean {
  if (cell.price < counts) return true;
  return plainPriceOf({ state, cell }) <= both.reduce((sum, claim) => sum + plainPriceOf(claim), 0);
}

function cheapestBit(prices: Float64Array, mask: number): number {
  let best = lowestBit(mask);
  for (let left = mask; left !== 0; left &= left - 1) {
    if (at(prices, lowestBit(left)) < at(prices, best)) best = lowestBit(left);
  }
  return best;
}

/** Makes the first claim the node for the pods of both. */
function absorb(
  { shapes }: Workspace,
  [one, two]: readonly [OpenClaim, OpenClaim],
  { cell, booked }: CellForBoth,
): void {
  const { remaining } = one.state;
  for (const given of [one.booked, two.booked]) if (given !== null) bookCapacity(remaining, given, -1);
  bookCapacity(remaining, booked, 1);
  one.booked = booked;
  one.cell = cell;
  one.from = 0;
  one.bits &= two.bits;
  if (one.offered !== two.offered) one.offered = one.offered.map((mask, type) => mask & at(two.offered, type));
  one.pods.push(...two.pods);
  one.ports.push(...two.ports);
  for (const { shape } of two.pods) addVector(one.load, shapes.get(shape)?.requests ?? new Float64Array(), 1);
}
