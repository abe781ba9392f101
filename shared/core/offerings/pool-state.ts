import { addAmounts, type Amounts } from '../../kubernetes/text/quantity.ts';
import type { InstanceType } from '../model/catalog.ts';
import type { NodePool } from '../../kubernetes/manifest.ts';
import type { PoolObstacle } from '../model/left-reason.ts';
import { compileCatalog, type CompiledCatalog, MARKETS_MAX } from './compile-types.ts';
import { at } from '../quantity/at.ts';
import {
  allocatableOf,
  byWeight,
  compilePool,
  lowestBit,
  offeringsMeeting,
  type CompiledPool,
} from './compile-pool.ts';
import type { Daemon } from '../rules/daemons.ts';
import { weighCatalog } from './weigh-catalog.ts';
import { DEFAULT_EVICTION_COST_MS } from './weighed-price.ts';
import { heldMachines, type ExistingCapacity } from '../present/existing-capacity.ts';
import { hostPortsOf, type HostPort } from '../rules/host-ports.ts';
import type { ProvisioningInput } from '../model/provisioning-input.ts';
import { reservationsLeft, type ReservationsLeft } from './reservations.ts';
import { addVector, fitsRow, toVector, type Dimensions } from '../quantity/resource-table.ts';
import { untolerated } from '../rules/taints.ts';

/** What decides the value of one label on a pool's nodes. `undefined` values: no such label. */
export type KeySource =
  | {
      readonly kind: 'offering';
      /** By bit of an offering mask. */
      readonly values: ReadonlyArray<string | undefined>;
      /** The same by value. */
      readonly groups: OfferingGroups;
    }
  | { readonly kind: 'type'; readonly values: ReadonlyArray<string | undefined> }
  | { readonly kind: 'pool'; readonly value: string | undefined }
  | { readonly kind: 'open' };

/** The values that offerings have, each with the bits of those that have it. */
export type OfferingGroups = ReadonlyArray<{ readonly value: string | undefined; readonly bits: number }>;

/** A pool as a plan finds it: what a node of it can hold beside its daemons, and what its limits allow. */
export interface UsablePool {
  readonly pool: CompiledPool;
  /** Row (type × MARKETS_MAX + bit): allocatable less the daemons that run there. */
  readonly usable: Float64Array;
  /** Per type: 1 when all its offerings carry the same daemons, so that one row speaks for all. */
  readonly uniform: Uint8Array;
  /**
   * Row `type`: the same of each of its offerings, where it is uniform. Small, since it is read more than anything
   * else.
   */
  readonly usableOnAll: Float64Array;
  /** Host ports that daemons take, with the offerings on which they do. */
  readonly daemonPorts: ReadonlyArray<{ readonly ports: ReadonlyArray<HostPort>; readonly offered: Int32Array }>;
  /** The daemons that may run on nodes of the pool, with the offerings on which they do. */
  readonly daemons: ReadonlyArray<{ readonly daemon: Daemon; readonly offered: Int32Array }>;
  /** No load at all. */
  readonly nothing: Float64Array;
  /** Per limited resource, `nodes` included: limit less use; negative when over. */
  readonly remaining: ReadonlyMap<string, number>;
}

/** A pool while pods are placed. */
export interface PoolState extends UsablePool {
  /** Changed by placing. */
  readonly remaining: Map<string, number>;
  /** Of all pools of the plan. Changed by placing. */
  readonly reservationsLeft: ReservationsLeft;
  /** What decides the labels that topology looks at, found on demand. */
  readonly keySources: Map<string, KeySource>;
  /** Sets of offerings, each array the only one with its content, so that claims can share them and tell them apart. */
  readonly offerings: Array<Int32Array>;
  /** By two of these sets: what is in both. */
  readonly together: Map<Int32Array, Map<Int32Array, Int32Array>>;
}

/** The one array of the pool with this content. */
export function sharedOfferings({ offerings }: PoolState, given: Int32Array): Int32Array {
  const known = offerings.find((one) => one.every((mask, type) => mask === given[type]));
  if (known === undefined) offerings.push(given);
  return known ?? given;
}

/** Conditions without which a NodePool is not ready. */
const CAUSES: ReadonlySet<string> = new Set(['NodeClassReady', 'ValidationSucceeded']);

/** Why a pool is not looked at, or null. */
export function poolObstacle(manifest: NodePool, input: Pick<ProvisioningInput, 'catalog'>): PoolObstacle | null {
  if (manifest.metadata.deletionTimestamp !== undefined) return { kind: 'deleting' };
  if (manifest.spec.replicas !== undefined) return { kind: 'static' };
  const ready = manifest.status?.conditions?.find(({ type }) => type === 'Ready');
  if (ready !== undefined && ready.status !== 'True') {
    // The root condition only names what is false beneath it; that says why.
    const causes = manifest.status?.conditions?.filter(({ type, status }) => CAUSES.has(type) && status === 'False');
    const cause = causes?.find(({ message = '' }) => message !== '')?.message;
    return { kind: 'not-ready', message: cause ?? ready.message ?? ready.reason ?? '' };
  }
  return input.catalog.has(manifest.metadata.name) ? null : { kind: 'without-instance-types' };
}

/** The usable pools, heaviest first. */
export function usablePools(
  input: ProvisioningInput,
  dimensions: Dimensions,
  daemons: ReadonlyArray<Daemon>,
  existing: ReadonlyArray<ExistingCapacity>,
): ReadonlyArray<UsablePool> {
  const catalogFor = catalogCompiler(input);
  const compiled: Array<CompiledPool> = [];
  for (const manifest of input.cluster.nodePools) {
    const { name } = manifest.metadata;
    const types = input.catalog.get(name);
    if (types === undefined || poolObstacle(manifest, input) !== null) continue;
    compiled.push(compilePool(manifest, catalogFor(name, types)));
  }
  const counted = [...existing, ...input.held, ...heldMachines(input)];
  return compiled.toSorted(byWeight).map((pool) => usablePool(pool, dimensions, daemons, counted));
}

/** Compiles each list of types once, and weighs it once for all pools in which evictions cost the same. */
function catalogCompiler({ evictionCostMs }: ProvisioningInput) {
  const catalogs = new Map<ReadonlyArray<InstanceType>, Map<number | null, CompiledCatalog>>();
  return (pool: string, types: ReadonlyArray<InstanceType>): CompiledCatalog => {
    const known = catalogs.get(types) ?? new Map<number | null, CompiledCatalog>();
    catalogs.set(types, known);
    const plain = known.get(null) ?? compileCatalog(types);
    known.set(null, plain);
    const costMs = evictionCostMs.get(pool) ?? DEFAULT_EVICTION_COST_MS;
    const weighed = known.get(costMs) ?? weighCatalog(plain, costMs);
    known.set(costMs, weighed);
    return weighed;
  };
}

/** The pools for placing pods, nothing placed yet. */
export function poolStates(pools: ReadonlyArray<UsablePool>): ReadonlyArray<PoolState> {
  const left = reservationsLeft(pools.map(({ pool }) => pool.catalog));
  return pools.map((one) => poolState(one, left));
}

function poolState(one: UsablePool, left: ReservationsLeft): PoolState {
  return {
    ...one,
    reservationsLeft: left,
    remaining: new Map(one.remaining),
    keySources: new Map(),
    offerings: [one.pool.offered],
    together: new Map(),
  };
}

function usablePool(
  pool: CompiledPool,
  dimensions: Dimensions,
  daemons: ReadonlyArray<Daemon>,
  counted: ReadonlyArray<CountedMachine>,
): UsablePool {
  const running = daemons
    .filter(({ tolerations }) => untolerated(tolerations, pool.taints, false) === null)
    .map((daemon) => ({ daemon, offered: anyAlternative(pool, daemon) }));
  const daemonPorts = running
    .map(({ daemon, offered }) => ({ ports: hostPortsOf(daemon.spec), offered }))
    .filter(({ ports }) => ports.length > 0);
  return {
    pool,
    ...usableRows(pool, dimensions, running),
    daemonPorts,
    daemons: running,
    remaining: remainingLimits(pool, counted),
    nothing: new Float64Array(dimensions.names.length),
  };
}

function anyAlternative(pool: CompiledPool, { alternatives }: Daemon): Int32Array {
  const any = new Int32Array(pool.offered.length);
  for (const rules of alternatives) {
    offeringsMeeting(pool, rules, pool.offered).forEach((mask, type) => (any[type] = at(any, type) | mask));
  }
  return any;
}

function usableRows(
  pool: CompiledPool,
  dimensions: Dimensions,
  running: PoolState['daemons'],
): Pick<PoolState, 'usable' | 'uniform' | 'usableOnAll'> {
  const width = dimensions.names.length;
  const usable = new Float64Array(pool.offered.length * MARKETS_MAX * width);
  const uniform = new Uint8Array(pool.offered.length);
  const usableOnAll = new Float64Array(pool.offered.length * width);
  const vectors = running.map(({ daemon, offered }) => ({ vector: toVector(dimensions, daemon.requests), offered }));
  for (const type of pool.order) {
    const allocatable = toVector(dimensions, allocatableOf(pool, type));
    const mask = at(pool.offered, type);
    uniform[type] = Number(vectors.every(({ offered }) => at(offered, type) === 0 || at(offered, type) === mask));
    for (let left = mask; left !== 0; left &= left - 1) {
      const bit = lowestBit(left);
      const row = usable.subarray((type * MARKETS_MAX + bit) * width, (type * MARKETS_MAX + bit + 1) * width);
      row.set(allocatable);
      for (const { vector, offered } of vectors) addVector(row, vector, -((at(offered, type) >> bit) & 1));
      if (uniform[type] === 1) usableOnAll.set(row, type * width);
    }
  }
  return { usable, uniform, usableOnAll };
}

/** What of a machine counts against its pool's limits. */
type CountedMachine = Pick<ExistingCapacity, 'nodePool' | 'capacity'>;

/**
 * Limits count whole nodes by capacity, those of claims on their way included, as Karpenter does; and those that are
 * only marked to go.
 */
function remainingLimits(pool: CompiledPool, counted: ReadonlyArray<CountedMachine>): Map<string, number> {
  const used = new Map<string, number>();
  for (const { nodePool, capacity } of counted) {
    if (nodePool === pool.name) addAmounts(addAmounts(used, capacity), ONE_NODE);
  }
  return new Map([...pool.limits].map(([name, limit]) => [name, limit - (used.get(name) ?? 0)]));
}

/** The pseudo-resource by which a pool limits how many nodes it has. */
export const ONE_NODE: Amounts = new Map([['nodes', 1]]);

/** Would a node of this capacity, in place of one of `instead`, stay within the pool's limits? */
export function withinLimits(
  remaining: ReadonlyMap<string, number>,
  capacity: Amounts,
  instead: Amounts | null,
): boolean {
  return overLimits(remaining, capacity, instead) === null;
}

/**
 * The first limit that such a node would break: how much more it takes of the resource, and what is left; null for
 * none.
 */
export function overLimits(
  remaining: ReadonlyMap<string, number>,
  capacity: Amounts,
  instead: Amounts | null,
): { readonly resource: string; readonly more: number; readonly left: number } | null {
  for (const [resource, left] of remaining) {
    const more = amountOf(capacity, resource) - (instead === null ? 0 : amountOf(instead, resource));
    if (more > 0 && more > left) return { resource, more, left };
  }
  return null;
}

/** Books `capacity` (sign 1) or gives it back (sign −1). */
export function bookCapacity(remaining: Map<string, number>, capacity: Amounts, sign: 1 | -1): void {
  for (const [name, left] of remaining) remaining.set(name, left - sign * amountOf(capacity, name));
}

/** What a node of this capacity takes of a resource that is limited, `nodes` included. */
export function amountOf(capacity: Amounts, name: string): number {
  return name === 'nodes' ? 1 : (capacity.get(name) ?? 0);
}

/** The offerings of a type among `mask` that hold `load` and `more` together. */
export function holdingBits(
  { usable, uniform, usableOnAll }: PoolState,
  type: number,
  mask: number,
  load: Float64Array,
  more: Float64Array,
): number {
  if (mask === 0) return 0;
  if (uniform[type] === 1) return fitsRow(load, more, usableOnAll, type * load.length) ? mask : 0;
  const first = type * MARKETS_MAX;
  let fitting = 0;
  for (let bit = 0; bit < MARKETS_MAX; bit++) {
    if ((mask >> bit) & 1 && fitsRow(load, more, usable, (first + bit) * load.length)) fitting |= 1 << bit;
  }
  return fitting;
}
