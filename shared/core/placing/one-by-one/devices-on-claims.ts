import { reachable, type DevicePool, type Reach } from '../../devices/devices.ts';
import { copyOf, take, type DeviceUse, type HeldDevice } from '../../devices/use.ts';
import type { Pod } from '../../model/cluster.ts';
import { at } from '../../quantity/at.ts';
import { isOpenKey, offeringsMeeting } from '../../offerings/compile-pool.ts';
import type { PoolOption } from '../state/compile-shape.ts';
import type { PodClaim } from '../../devices/device-claims.ts';
import {
  allocateFor,
  joinHoldings,
  templatesOf,
  toAllotment,
  type Allotment,
  type DeviceState,
  type DeviceViews,
  type Holding,
} from '../state/device-state.ts';
import { offeringsAt, offeringsOf, type ChosenOffering, type OpenClaim } from '../state/open-claim.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import type { PoolState } from '../../offerings/pool-state.ts';

/**
 * The offerings of a claim on which the pod's claims get devices. Offerings that see the same devices are one variant:
 * what the size publishes, and what of the cluster is reached from there.
 */
export interface DeviceOffer {
  /** Per type of the pool: the offerings. */
  readonly offered: Int32Array;
  readonly allotments: ReadonlyMap<string, Allotment>;
}

/** Null when no offering of the claim has the devices. */
export function offerOn(state: DeviceState, claim: OpenClaim, pod: Pod): DeviceOffer | null {
  const asked = state.reader.claimsOf(pod);
  if (asked.kind === 'problem') return null;
  const base = offeringsOf(claim);
  const open: Array<PodClaim> = [];
  for (const one of asked.claims) {
    const holding = state.holdings.get(one.key);
    if (holding === undefined) open.push(one);
    else if (!narrowTo(base, holding, claim)) return null;
  }
  return among(state, claim, base, open);
}

/**
 * Leaves in `base` the offerings from which what is held already is reached; false when there are none by the place.
 */
function narrowTo(base: Int32Array, { place, reach, devices }: Holding, claim: OpenClaim): boolean {
  if (place !== null) return place === claim;
  for (const one of [reach, ...devices.map(({ device }) => device.reach)]) {
    const reached = offeringsReaching(claim.state, one);
    for (let type = 0; type < base.length; type++) base[type] = at(base, type) & at(reached, type);
  }
  return true;
}

function among(
  state: DeviceState,
  claim: OpenClaim,
  base: Int32Array,
  open: ReadonlyArray<PodClaim>,
): DeviceOffer | null {
  const views = viewsOf(state, claim.state);
  const offered = new Int32Array(base.length);
  const tried = new Map<string, Allotment | null>();
  const allotmentOn = (type: number, bit: number): Allotment | null => {
    const variant = views.variantOf(type, bit);
    const known = tried.get(variant);
    if (known !== undefined) return known;
    const held = state.variants.get(claim)?.get(variant) ?? NOTHING;
    const place = { pools: views.poolsOf(type, bit), use: useWith(state.use, held) };
    const found = toAllotment(open, allocateFor(state, open, place));
    tried.set(variant, found);
    return found;
  };
  for (const type of claim.state.pool.order) {
    for (let bit = 0; bit < MARKETS_MAX; bit++) {
      const isIn = ((at(base, type) >> bit) & 1) === 1;
      if (isIn && allotmentOn(type, bit) !== null) offered[type] = at(offered, type) | (1 << bit);
    }
  }
  const allotments = new Map([...tried].flatMap(([variant, one]) => (one === null ? [] : [[variant, one] as const])));
  return offered.some((mask) => mask !== 0) ? { offered, allotments } : null;
}

/** What is taken in the cluster, and what pods on the claim take of the node's own devices. */
function useWith(use: DeviceUse, held: Allotment): DeviceUse {
  const together = copyOf(use);
  for (const devices of held.values()) for (const one of devices.filter(isOwn)) take(together, one);
  return together;
}

function isOwn({ device }: HeldDevice): boolean {
  return device.reach.kind === 'itself';
}

/** The options, with only what the offer allows. */
export function optionsWithin(
  state: DeviceState,
  options: ReadonlyArray<PoolOption>,
  { offered }: DeviceOffer,
): ReadonlyArray<PoolOption> {
  return options
    .map((option) => ({
      ...option,
      allowed: maskOf(
        state,
        option.allowed.map((mask, type) => mask & at(offered, type)),
      ),
    }))
    .filter(({ allowed }) => allowed.some((mask) => mask !== 0));
}

/** One array for equal masks: what is worked out for two masks together is kept by array. */
function maskOf({ masks }: DeviceState, mask: Int32Array): Int32Array {
  const key = mask.join();
  const known = masks.get(key) ?? mask;
  masks.set(key, known);
  return known;
}

/**
 * The offer as far as it takes the same devices of the cluster as it does on `chosen`: whichever offering is launched
 * in the end, others can count on the rest.
 */
export function sameOutside(
  state: DeviceState,
  claim: OpenClaim,
  offer: DeviceOffer,
  chosen: ChosenOffering,
): DeviceOffer {
  const views = viewsOf(state, claim.state);
  const wanted = outside(offer.allotments.get(views.variantOf(chosen.type, chosen.bit)));
  const allotments = new Map([...offer.allotments].filter(([, one]) => outside(one) === wanted));
  const offered = Int32Array.from(offer.offered, (mask, type) => {
    let kept = 0;
    for (let bit = 0; bit < MARKETS_MAX; bit++) {
      if ((mask >> bit) & 1 && allotments.has(views.variantOf(type, bit))) kept |= 1 << bit;
    }
    return kept;
  });
  return { offered, allotments };
}

function outside(allotment: Allotment | undefined): string {
  const held = [...(allotment ?? [])].map(([key, devices]) => [
    key,
    devices.filter((one) => !isOwn(one)).map(({ device, request }) => [device.id, request]),
  ]);
  return JSON.stringify(held);
}

const NOTHING: Allotment = new Map();

/**
 * Gives the devices to the pod's claims on a node to come. `offer` takes the same of the cluster on all its offerings.
 */
export function holdOnClaim(state: DeviceState, claim: OpenClaim, pod: Pod, offer: DeviceOffer): void {
  const before = state.variants.get(claim);
  const variants = new Map(
    [...offer.allotments].map(([variant, more]) => [variant, new Map([...(before?.get(variant) ?? []), ...more])]),
  );
  state.variants.set(claim, variants);
  const [first = NOTHING] = offer.allotments.values();
  for (const [key, chosen] of first) {
    const all = [...offer.allotments.values()].flatMap((one) => one.get(key) ?? []);
    const devices = chosen.filter((one) => !isOwn(one));
    for (const held of devices) take(state.use, held);
    const place = all.some(isOwn) ? claim : null;
    state.holdings.set(key, { devices, reach: { kind: 'everywhere' }, place, pods: new Set(), isPlanned: true });
  }
  joinHoldings(state, pod);
}

/** What pods hold on the claim when it becomes a node of this type. */
export function allotmentFor(state: DeviceState, claim: OpenClaim, type: number): Allotment {
  const views = viewsOf(state, claim.state);
  for (let bit = 0; bit < MARKETS_MAX; bit++) {
    if (((offeringsAt(claim, type) >> bit) & 1) === 0) continue;
    const held = state.variants.get(claim)?.get(views.variantOf(type, bit));
    if (held !== undefined) return held;
  }
  return new Map();
}

function viewsOf(state: DeviceState, pool: PoolState): DeviceViews {
  const known = state.views.get(pool) ?? toViews(state, pool);
  state.views.set(pool, known);
  return known;
}

function toViews(state: DeviceState, pool: PoolState): DeviceViews {
  const reaches = new Map<string, Int32Array>();
  for (const { reach } of state.pools.flatMap(({ devices }) => devices)) {
    if (reach.kind === 'labels' && !reaches.has(reach.key)) reaches.set(reach.key, offeringsReaching(pool, reach));
  }
  const inCluster = new Map<string, ReadonlyArray<DevicePool>>();
  const seenFrom = (type: number, bit: number): string =>
    [...reaches.values()].map((offered) => (at(offered, type) >> bit) & 1).join('');
  const clusterPools = (type: number, bit: number): ReadonlyArray<DevicePool> => {
    const seen = seenFrom(type, bit);
    const isReached = (reach: Reach): boolean =>
      reach.kind === 'everywhere' ||
      (reach.kind === 'labels' && ((at(reaches.get(reach.key) ?? [], type) >> bit) & 1) === 1);
    const pools = inCluster.get(seen) ?? reachable(state.pools, isReached);
    inCluster.set(seen, pools);
    return pools;
  };
  const nameOf = (type: number): string => pool.pool.catalog.types[type]?.name ?? '';
  const toCome = (type: number): ReadonlyArray<DevicePool> => templatesOf(state, pool.pool.name, nameOf(type));
  return {
    variantOf: (type, bit) => `${toCome(type).length === 0 ? '' : nameOf(type)}/${seenFrom(type, bit)}`,
    poolsOf: (type, bit) => [...clusterPools(type, bit), ...toCome(type)],
  };
}

/** Per type: the offerings whose nodes are certain to be reached. A label that pods may still choose is not. */
function offeringsReaching({ pool }: PoolState, reach: Reach): Int32Array {
  const any = new Int32Array(pool.offered.length);
  if (reach.kind === 'everywhere') return Int32Array.from(pool.offered);
  if (reach.kind !== 'labels') return any;
  for (const rules of reach.alternatives) {
    if ([...rules.keys()].some((key) => isOpenKey(pool, key))) continue;
    offeringsMeeting(pool, rules, pool.offered).forEach((mask, type) => (any[type] = at(any, type) | mask));
  }
  return any;
}
