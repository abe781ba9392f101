import { at } from '../../quantity/at.ts';
import { allocatableOf, allowedBy, lowestBit, offeringsMeeting } from '../../offerings/compile-pool.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { portsConflict } from '../../rules/host-ports.ts';
import type { LabelRules } from '../../rules/label-rule.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { bitsWithRoom } from '../../offerings/reservations.ts';
import { toVector } from '../../quantity/resource-table.ts';
import type { Workspace } from '../../placing/state/workspace.ts';

/** What a pool allows, whether it is available now or not: what a person compares a choice with. */
export interface ListedOfferings {
  /** Per type: the offerings. */
  readonly listed: Int32Array;
  /** Per type: those of them that are not available. */
  readonly unavailable: Int32Array;
  /** Per type: the lowest and the highest price of any, without risk. */
  readonly lowestWeighed: Float64Array;
  readonly highestPrice: Float64Array;
  /** Per type, read on demand: what it has for pods and daemons. */
  readonly allocatable: (type: number) => Float64Array;
}

/** Per type: what of a pool's listed offerings each of a need's rules about the node leaves. */
export interface NeedMasks {
  readonly required: Int32Array;
  readonly volumes: Int32Array;
  readonly ports: Int32Array;
}

/** What is listed, per pool of a workspace, worked out once. */
export interface Listing {
  readonly of: (state: PoolState) => ListedOfferings;
  readonly masksOf: (state: PoolState, need: Need) => NeedMasks;
}

export function listingOf(workspace: Workspace): Listing {
  const pools = new Map<PoolState, ListedOfferings>();
  const masks = new Map<PoolState, Map<Need, NeedMasks>>();
  const of = (state: PoolState): ListedOfferings => {
    const known = pools.get(state) ?? listedOfferings(workspace, state);
    pools.set(state, known);
    return known;
  };
  return {
    of,
    masksOf: (state, need) => {
      const ofPool = masks.get(state) ?? new Map<Need, NeedMasks>();
      masks.set(state, ofPool);
      const known = ofPool.get(need) ?? masksFor(state, of(state).listed, need);
      ofPool.set(need, known);
      return known;
    },
  };
}

function listedOfferings({ dimensions }: Workspace, { pool, reservationsLeft }: PoolState): ListedOfferings {
  const { catalog, rules, offered } = pool;
  const refused = catalog.types.map((type) => type.unavailable);
  const full = ~bitsWithRoom(catalog, reservationsLeft, null);
  const unavailable = allowedBy(rules, catalog, refused).map((mask, type) => mask | (at(offered, type) & full));
  const listed = Int32Array.from(offered, (mask, type) => mask | at(unavailable, type));
  const lowestWeighed = new Float64Array(listed.length).fill(Infinity);
  const highestPrice = new Float64Array(listed.length);
  catalog.types.forEach(({ plainListPrices }, type) => {
    for (let left = at(listed, type); left !== 0; left &= left - 1) {
      const price = at(plainListPrices, lowestBit(left));
      lowestWeighed[type] = Math.min(at(lowestWeighed, type), price);
      highestPrice[type] = Math.max(at(highestPrice, type), price);
    }
  });
  const vectors = new Map<number, Float64Array>();
  const allocatable = (type: number): Float64Array => {
    const vector = vectors.get(type) ?? toVector(dimensions, allocatableOf(pool, type));
    vectors.set(type, vector);
    return vector;
  };
  return { listed, unavailable, lowestWeighed, highestPrice, allocatable };
}

function masksFor(state: PoolState, listed: Int32Array, { constraints, shape }: Need): NeedMasks {
  const { volumes } = shape;
  return {
    required: anyOf(state, constraints.alternatives, listed),
    volumes: volumes.kind === 'rules' ? anyOf(state, volumes.alternatives, listed) : listed,
    ports: withoutDaemonPorts(state, shape.ports, listed),
  };
}

function anyOf({ pool }: PoolState, alternatives: ReadonlyArray<LabelRules>, listed: Int32Array): Int32Array {
  if (alternatives.some(({ size }) => size === 0)) return listed;
  const any = new Int32Array(listed.length);
  for (const rules of alternatives) {
    offeringsMeeting(pool, rules, listed).forEach((mask, type) => (any[type] = at(any, type) | mask));
  }
  return any;
}

function withoutDaemonPorts(state: PoolState, ports: Need['shape']['ports'], listed: Int32Array): Int32Array {
  if (ports.length === 0 || state.daemonPorts.length === 0) return listed;
  const free = Int32Array.from(listed);
  for (const daemon of state.daemonPorts) {
    if (!portsConflict(ports, daemon.ports)) continue;
    daemon.offered.forEach((mask, type) => (free[type] = at(free, type) & ~mask));
  }
  return free;
}

/** The bits of the type's listed offerings that cost less than `price`, without risk. */
export function cheaperBits({ pool }: PoolState, offerings: ListedOfferings, type: number, price: number): number {
  if (at(offerings.lowestWeighed, type) >= price) return 0;
  const listed = at(offerings.listed, type);
  if (at(offerings.highestPrice, type) < price) return listed;
  const prices = pool.catalog.types[type]?.plainListPrices ?? new Float64Array();
  let mask = 0;
  for (let bit = 0; bit < MARKETS_MAX; bit++) if ((listed >> bit) & 1 && at(prices, bit) < price) mask |= 1 << bit;
  return mask;
}
