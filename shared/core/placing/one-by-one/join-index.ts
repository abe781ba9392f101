import type { PoolOption } from '../state/compile-shape.ts';
import { type OpenClaim } from '../state/open-claim.ts';
import { leastAdded } from '../state/joining.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import type { Counter } from '../state/topology.ts';

/** A kind of pod. */
export interface Joiner {
  readonly requests: Float64Array;
  readonly optionsOn: (state: PoolState) => ReadonlyArray<PoolOption>;
  /** Counters of hosts whose pods it must not meet: a claim that has one will never take it. */
  readonly avoided: ReadonlyArray<Counter>;
}

/**
 * Open claims by what one more pod of a kind would add to their price at least: those that cannot hold it are not in it.
 * Claims are known by their number, their place in the list of open claims, which only grows meanwhile.
 */
export interface JoinIndex extends Joiner {
  /** What a new claim for such a pod costs at least. */
  readonly opensFor: number;
  readonly lanes: Array<Lane>;
  /** By number of claim: its entry; Infinity when it has none. */
  entryOf: Array<number>;
  /** By number of claim: the lane of its entry. */
  laneOf: Array<Lane>;
}

/** The claims of one pool that topology has left the same offerings, so that a rule keeps a pod from all of them or from none. */
export interface Lane {
  readonly state: PoolState;
  readonly bits: number;
  /** Sorted: what is added, times MOST_CLAIMS, plus the claim's number. One number, so that sorting is quick. */
  entries: Float64Array;
  length: number;
}

/** Numbers stay below this, far above the nodes that a cluster can have; what is added stays exact beside it. */
const MOST_CLAIMS = 2 ** 17;

/** An index of all `claims`. `empty`: a new claim of each pool. */
export function indexOf(joiner: Joiner, claims: ReadonlyArray<OpenClaim>, empty: ReadonlyArray<OpenClaim>): JoinIndex {
  const opensFor = empty.reduce((least, claim) => Math.min(least, addedTo(joiner, claim)), Infinity);
  const entries = claims.map((claim) => entryFor(joiner, claim));
  return withEntries({ ...joiner, opensFor }, claims, entries);
}

/** The index of the same kind of pod that must not meet these counters' pods either, from one that is up to date. */
export function indexAvoiding(
  base: JoinIndex,
  avoided: ReadonlyArray<Counter>,
  claims: ReadonlyArray<OpenClaim>,
): JoinIndex {
  const entries = claims.map((claim, number) =>
    meets(avoided, claim) ? Infinity : (base.entryOf[number] ?? Infinity),
  );
  return withEntries({ ...base, avoided }, claims, entries);
}

/** `entries`: of each claim, by its number. */
function withEntries(
  given: Omit<JoinIndex, 'lanes' | 'entryOf' | 'laneOf'>,
  claims: ReadonlyArray<OpenClaim>,
  entries: Array<number>,
): JoinIndex {
  const lanes: Array<Lane> = [];
  const laneOf = claims.map((claim) => laneFor(lanes, claim));
  for (let number = 0; number < entries.length; number++) {
    const [lane, entry = Infinity] = [laneOf[number], entries[number]];
    if (lane === undefined || entry === Infinity) continue;
    makeRoom(lane);
    lane.entries[lane.length++] = entry;
  }
  for (const lane of lanes) lane.entries.subarray(0, lane.length).sort();
  return { ...given, lanes, entryOf: entries, laneOf };
}

function laneFor(lanes: Array<Lane>, { state, bits }: OpenClaim): Lane {
  for (const lane of lanes) if (lane.bits === bits && lane.state === state) return lane;
  const lane = { state, bits, entries: new Float64Array(64), length: 0 };
  lanes.push(lane);
  return lane;
}

function makeRoom(lane: Lane): void {
  if (lane.length < lane.entries.length) return;
  const entries = new Float64Array(2 * lane.length);
  entries.set(lane.entries);
  lane.entries = entries;
}

function meets(avoided: ReadonlyArray<Counter>, { onHost }: OpenClaim): boolean {
  for (const { host } of avoided) if ((onHost[host] ?? 0) > 0) return true;
  return false;
}

/** The entry for a claim to which so much is added. */
export function entryOf(added: number, number: number): number {
  return added * MOST_CLAIMS + number;
}

/** The number of the entry's claim. */
export function claimOf(entry: number): number {
  return entry - Math.floor(entry / MOST_CLAIMS) * MOST_CLAIMS;
}

/** Notes that the claim is new or has changed. */
export function reindex(index: JoinIndex, claim: OpenClaim): void {
  const entry = entryFor(index, claim);
  const before = index.entryOf[claim.number] ?? Infinity;
  const lane = index.laneOf[claim.number];
  if (entry === before && lane?.bits === claim.bits) return;
  if (lane !== undefined && before !== Infinity) remove(lane, before);
  const next = laneFor(index.lanes, claim);
  index.entryOf[claim.number] = entry;
  index.laneOf[claim.number] = next;
  if (entry !== Infinity) insert(next, entry);
}

function entryFor(joiner: Joiner, claim: OpenClaim): number {
  return meets(joiner.avoided, claim) ? Infinity : entryOf(addedTo(joiner, claim), claim.number);
}

function addedTo({ requests, optionsOn }: Joiner, claim: OpenClaim): number {
  return leastAdded(claim, requests, optionsOn(claim.state));
}

function remove(lane: Lane, entry: number): void {
  const place = placeOf(lane, entry);
  lane.entries.copyWithin(place, place + 1, lane.length);
  lane.length--;
}

function insert(lane: Lane, entry: number): void {
  makeRoom(lane);
  const place = placeOf(lane, entry);
  lane.entries.copyWithin(place + 1, place, lane.length);
  lane.entries[place] = entry;
  lane.length++;
}

/** The first place whose entry does not come before this one. */
function placeOf({ entries, length }: Lane, entry: number): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle] ?? 0) < entry) low = middle + 1;
    else high = middle;
  }
  return low;
}
