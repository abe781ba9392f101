import type { PoolOption } from './compile-shape.ts';
import { leastAdded, type OpenClaim } from './open-claim.ts';
import type { PoolState } from './pool-state.ts';
import type { Counter } from './topology.ts';

/** A kind of pod. */
export interface Joiner {
  readonly requests: Float64Array;
  readonly optionsOn: (state: PoolState) => ReadonlyArray<PoolOption>;
  /** Counters of hosts whose pods it must not meet: a claim that has one will never take it. */
  readonly avoided: ReadonlyArray<Counter>;
}

/**
 * Open claims in the order of what one more pod of a kind would add to their price at least: those that cannot hold it
 * are not in it. Claims are known by their number, their place in the list of open claims, which only grows meanwhile.
 */
export interface JoinIndex extends Joiner {
  /** Sorted: what is added, times MOST_CLAIMS, plus the claim's number. One number, so that sorting is quick. */
  entries: Float64Array;
  length: number;
  /** By number of claim: its entry; Infinity when it has none. */
  entryOf: Array<number>;
}

/** Numbers stay below this, far above the nodes that a cluster can have; what is added stays exact beside it. */
const MOST_CLAIMS = 2 ** 17;

/** An index of all `claims`. */
export function indexOf(joiner: Joiner, claims: ReadonlyArray<OpenClaim>): JoinIndex {
  const index: JoinIndex = { ...joiner, entries: new Float64Array(), length: 0, entryOf: [] };
  const entries = new Float64Array(2 * claims.length + 64).fill(Infinity);
  for (const claim of claims) {
    const entry = entryFor(index, claim);
    index.entryOf.push(entry);
    if (entry !== Infinity) entries[index.length++] = entry;
  }
  index.entries = entries.toSorted();
  return index;
}

/** The index of the same kind of pod that must not meet these counters' pods either, from one that is up to date. */
export function indexAvoiding(
  base: JoinIndex,
  avoided: ReadonlyArray<Counter>,
  claims: ReadonlyArray<OpenClaim>,
): JoinIndex {
  const index: JoinIndex = { ...base, avoided, entries: new Float64Array(2 * base.length + 64), length: 0 };
  index.entryOf = claims.map((claim) => (meets(avoided, claim) ? Infinity : (base.entryOf[claim.number] ?? Infinity)));
  for (let place = 0; place < base.length; place++) {
    const claim = claims[claimAt(base, place)];
    if (claim !== undefined && !meets(avoided, claim)) index.entries[index.length++] = base.entries[place] ?? Infinity;
  }
  index.entries.fill(Infinity, index.length);
  return index;
}

function meets(avoided: ReadonlyArray<Counter>, { onHost }: OpenClaim): boolean {
  for (const { host } of avoided) if ((onHost[host] ?? 0) > 0) return true;
  return false;
}

/** The number of the claim at a place. */
export function claimAt({ entries }: JoinIndex, place: number): number {
  const entry = entries[place] ?? 0;
  return entry - Math.floor(entry / MOST_CLAIMS) * MOST_CLAIMS;
}

/** What one more pod adds at least to the claim at a place. */
export function addedAt({ entries }: JoinIndex, place: number): number {
  return Math.floor((entries[place] ?? 0) / MOST_CLAIMS);
}

/** Notes that the claim is new or has changed. */
export function reindex(index: JoinIndex, claim: OpenClaim): void {
  const before = index.entryOf[claim.number] ?? Infinity;
  const entry = entryFor(index, claim);
  if (entry === before) return;
  index.entryOf[claim.number] = entry;
  const from = before === Infinity ? index.length : placeOf(index, before);
  if (before === Infinity) growByOne(index);
  const to = entry === Infinity ? index.length : placeOf(index, entry);
  const { entries } = index;
  if (to > from) entries.copyWithin(from, from + 1, to);
  else entries.copyWithin(to + 1, to, from);
  if (entry === Infinity) index.length--;
  else entries[to > from ? to - 1 : to] = entry;
}

function entryFor({ requests, optionsOn, avoided }: Joiner, claim: OpenClaim): number {
  if (meets(avoided, claim)) return Infinity;
  return leastAdded(claim, requests, optionsOn(claim.state)) * MOST_CLAIMS + claim.number;
}

/** The first place whose entry does not come before this one. */
function placeOf({ entries, length }: JoinIndex, entry: number): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle] ?? 0) < entry) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Room for one entry more, after all others. */
function growByOne(index: JoinIndex): void {
  if (index.length === index.entries.length) {
    const entries = new Float64Array(2 * index.length);
    entries.set(index.entries);
    index.entries = entries;
  }
  index.entries[index.length] = Infinity;
  index.length++;
}
