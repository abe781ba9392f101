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
 * Open claims by what one more pod of a kind would add to their price at least: those that cannot hold it are not in
 * it. Claims are known by their number, their place in the list of open claims, which only grows meanwhile.
 */
export interface JoinIndex extends Joiner {
  /** What a new claim for such a pod costs at least. */
  readonly opensFor: number;
  readonly buckets: Array<Bucket>;
  /** By number of claim: its entry; Infinity when it has none. */
  entryOf: Array<number>;
  /** By number of claim: the bucket of its entry. */
  bucketOf: Array<Bucket>;
}

/**
 * The claims of one pool that topology has left the same offerings, so that a rule keeps a pod from all of them or from
 * none.
 */
export interface Bucket {
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
  given: Omit<JoinIndex, 'buckets' | 'entryOf' | 'bucketOf'>,
  claims: ReadonlyArray<OpenClaim>,
  entries: Array<number>,
): JoinIndex {
  const buckets: Array<Bucket> = [];
  const bucketOf = claims.map((claim) => bucketFor(buckets, claim));
  for (let number = 0; number < entries.length; number++) {
    const [bucket, entry = Infinity] = [bucketOf[number], entries[number]];
    if (bucket === undefined || entry === Infinity) continue;
    makeRoom(bucket);
    bucket.entries[bucket.length++] = entry;
  }
  for (const bucket of buckets) bucket.entries.subarray(0, bucket.length).sort();
  return { ...given, buckets, entryOf: entries, bucketOf };
}

function bucketFor(buckets: Array<Bucket>, { state, bits }: OpenClaim): Bucket {
  for (const bucket of buckets) if (bucket.bits === bits && bucket.state === state) return bucket;
  const bucket = { state, bits, entries: new Float64Array(64), length: 0 };
  buckets.push(bucket);
  return bucket;
}

function makeRoom(bucket: Bucket): void {
  if (bucket.length < bucket.entries.length) return;
  const entries = new Float64Array(2 * bucket.length);
  entries.set(bucket.entries);
  bucket.entries = entries;
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
  const bucket = index.bucketOf[claim.number];
  if (entry === before && bucket?.bits === claim.bits) return;
  if (bucket !== undefined && before !== Infinity) remove(bucket, before);
  const next = bucketFor(index.buckets, claim);
  index.entryOf[claim.number] = entry;
  index.bucketOf[claim.number] = next;
  if (entry !== Infinity) insert(next, entry);
}

function entryFor(joiner: Joiner, claim: OpenClaim): number {
  return meets(joiner.avoided, claim) ? Infinity : entryOf(addedTo(joiner, claim), claim.number);
}

function addedTo({ requests, optionsOn }: Joiner, claim: OpenClaim): number {
  return leastAdded(claim, requests, optionsOn(claim.state));
}

function remove(bucket: Bucket, entry: number): void {
  const place = placeOf(bucket, entry);
  bucket.entries.copyWithin(place, place + 1, bucket.length);
  bucket.length--;
}

function insert(bucket: Bucket, entry: number): void {
  makeRoom(bucket);
  const place = placeOf(bucket, entry);
  bucket.entries.copyWithin(place + 1, place, bucket.length);
  bucket.entries[place] = entry;
  bucket.length++;
}

/** The first place whose entry does not come before this one. */
function placeOf({ entries, length }: Bucket, entry: number): number {
  let [low, high] = [0, length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((entries[middle] ?? 0) < entry) low = middle + 1;
    else high = middle;
  }
  return low;
}
