import { labelKey } from '../../../kubernetes/labels.ts';
import type { SelectorRequirement } from '../../../kubernetes/manifest.ts';
import type { OfferingStorm } from '../../model/catalog.ts';
import type { CheaperReason } from '../../model/cheaper.ts';
import { renderAmount } from '../../../kubernetes/text/quantity.ts';
import { microUsdPerHour } from '../../quantity/units.ts';
import { at } from '../../quantity/at.ts';
import {
  capacityOf,
  cheapestBit,
  lowestBit,
  offeringsMeeting,
  type CompiledPool,
} from '../../offerings/compile-pool.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { hasDeviceClaims } from '../../devices/device-claims.ts';
import { keySourceOf } from '../../offerings/key-source.ts';
import { byCodeUnit, toExpressions, type LabelRule } from '../../rules/label-rule.ts';
import type { Listing } from './listed-offerings.ts';
import { bookingFor } from '../../offerings/min-values.ts';
import { offeringsAt, offeringsOf, settledValue, type OpenClaim } from '../../placing/state/open-claim.ts';
import { MARKETS_MAX } from '../../offerings/compile-types.ts';
import { holdingBits, overLimits, type KeySource, type PoolState } from '../../offerings/pool-state.ts';
import { shunnedKind } from '../../offerings/shunned-sizes.ts';
import { untolerated } from '../../rules/taints.ts';
import type { Workspace } from '../../placing/state/workspace.ts';

/** One rule by which offerings are ruled out. Masks are offerings of one type, by bit. */
export interface CheaperRule {
  /** Which of `left` it rules out. Called for every type of every claim, so it makes no objects. */
  readonly rulesOut: (type: number, left: number) => number;
  /** What there is to say of those that it ruled out. */
  readonly tell: (type: number, mask: number) => RuleStory;
}

export interface RuleStory {
  /** Offerings that one rule rules out are told together where this is equal. */
  readonly about: string;
  /** What the pods want over what there is, where that is the reason: the example is that which lacks least. Else 0. */
  readonly shortage: number;
  /** `pod` is left empty here: claims that are alike share the reason and not the pod. */
  readonly reason: () => CheaperReason;
  /** The shape whose rule it is; null where no single pod is the cause. */
  readonly shape: number | null;
}

/** What is judged: offerings of `state`'s pool in place of what the claim was planned to be. */
export interface Comparison {
  readonly workspace: Workspace;
  readonly claim: OpenClaim;
  readonly state: PoolState;
  readonly listing: Listing;
}

/**
 * The rules in their order: the pods' own, then room, then what is there to be bought, then what looks at other nodes.
 */
export function cheaperRules(comparison: Comparison): ReadonlyArray<CheaperRule> {
  const tenants = tenantsOf(comparison);
  return [
    ...tenants.flatMap((tenant) => ownRules(comparison, tenant)),
    roomRule(comparison),
    ...marketRules(comparison),
    ...topologyKeys(tenants).map((key) => domainRule(comparison, key)),
    ...poolRules(comparison, tenants),
    ...tenants.flatMap((tenant) => deviceRules(comparison, tenant)),
    plain({ kind: 'overlooked' }, (_, left) => left),
  ];
}

/** A rule with one thing to say. */
function plain(reason: CheaperReason, rulesOut: CheaperRule['rulesOut'], shape: number | null = null): CheaperRule {
  const told: RuleStory = { about: '', shortage: 0, reason: () => reason, shape };
  return { rulesOut, tell: () => told };
}

/** One shape on the claim: what it needs at least, and what it needed at the level at which it was placed. */
interface Tenant {
  readonly shape: number;
  readonly least: Need;
  readonly met: Need;
}

function tenantsOf({ workspace, claim, listing }: Comparison): ReadonlyArray<Tenant> {
  const { pods, state, chosen } = claim;
  // Placing takes the first level that works, so the first that the chosen offering meets is the one.
  const isMet = (need: Need): boolean =>
    chosen !== null &&
    ((at(listing.masksOf(state, need).required, chosen.type) >> chosen.bit) & 1) === 1 &&
    untolerated(need.shape.tolerations, state.pool.taints, need.constraints.avoidsSoftTaints) === null;
  // By the pods' uids: the numbers of shapes depend on the order of the input's lists.
  const shapes = pods.toSorted((a, b) => byCodeUnit(a.uid, b.uid)).map(({ shape }) => shape);
  return [...new Set(shapes)].flatMap((shape): ReadonlyArray<Tenant> => {
    const levels = workspace.needs.get(shape) ?? [];
    const least = levels.at(-1);
    return least === undefined ? [] : [{ shape, least, met: levels.find(isMet) ?? least }];
  });
}

function ownRules(comparison: Comparison, { shape, least, met }: Tenant): ReadonlyArray<CheaperRule> {
  const { state, listing } = comparison;
  const { tolerations } = least.shape;
  const { taints } = state.pool;
  const taint = untolerated(tolerations, taints, false);
  if (taint !== null) return [plain({ kind: 'taint', pod: '', taint }, (_, left) => left, shape)];
  const { volumes, ports } = listing.masksOf(state, least);
  const required = listing.masksOf(state, met).required;
  const softly = untolerated(tolerations, taints, met.constraints.avoidsSoftTaints) !== null;
  return [
    ...wantedBy(comparison, least).map((wanted) =>
      plain(
        { kind: 'pod-requirement', pod: '', wanted: wanted.expressions },
        (type, left) => left & ~at(wanted.met, type),
        shape,
      ),
    ),
    plain({ kind: 'volume', pod: '' }, (type, left) => left & ~at(volumes, type), shape),
    plain({ kind: 'host-port', pod: '' }, (type, left) => left & ~at(ports, type), shape),
    plain({ kind: 'pod-preference', pod: '' }, (type, left) => (softly ? left : left & ~at(required, type)), shape),
  ];
}

interface RequirementMet {
  /** Per type: the offerings that meet it. */
  readonly met: Int32Array;
  readonly expressions: ReadonlyArray<SelectorRequirement>;
}

/** A single alternative is told key by key; of several, all of which an offering fails, the first speaks for all. */
function wantedBy({ state, listing }: Comparison, need: Need): ReadonlyArray<RequirementMet> {
  const [first = new Map<string, LabelRule>(), ...others] = need.constraints.alternatives;
  if (others.length > 0) {
    const expressions = [...first].flatMap(([key, rule]) => toExpressions(key, rule));
    return [{ met: listing.masksOf(state, need).required, expressions }];
  }
  return [...first].map(([key, rule]) => ({
    met: offeringsMeeting(state.pool, new Map([[key, rule]]), listing.of(state).listed),
    expressions: toExpressions(key, rule),
  }));
}

/** Daemons count where the offering is available; of one that is not, only what the machine itself has is known. */
function roomRule({ workspace, claim, state, listing }: Comparison): CheaperRule {
  const { load } = claim;
  const { names } = workspace.dimensions;
  const nothing = new Float64Array(load.length);
  const { unavailable, allocatable } = listing.of(state);
  const roomOf = (type: number, mask: number): Float64Array => {
    const here = mask & ~at(unavailable, type);
    if (here === 0) return allocatable(type);
    const row = (type * MARKETS_MAX + 31 - Math.clz32(here & -here)) * load.length;
    return state.usable.subarray(row, row + load.length);
  };
  return {
    rulesOut: (type, left) => {
      const away = left & at(unavailable, type);
      const here = left & ~away;
      const small = here & ~holdingBits(state, type, here, nothing, load);
      return away !== 0 && shortest(load, allocatable(type)).shortage > 0 ? small | away : small;
    },
    tell: (type, mask) => {
      const room = roomOf(type, mask);
      const { dimension, shortage } = shortest(load, room);
      const resource = names[dimension] ?? '';
      const reason = (): CheaperReason => ({
        kind: 'too-small',
        resource,
        wanted: renderAmount(resource, at(load, dimension)),
        has: renderAmount(resource, Math.max(0, at(room, dimension))),
      });
      return { about: resource, shortage, reason, shape: null };
    },
  };
}

/** What is short, relatively the most; a shortage of 0 where all is there. */
function shortest(load: Float64Array, room: Float64Array): { readonly dimension: number; readonly shortage: number } {
  let [dimension, shortage] = [0, 0];
  for (let index = 0; index < load.length; index++) {
    if (at(load, index) <= at(room, index)) continue;
    const share = at(load, index) / Math.max(at(room, index), Number.MIN_VALUE);
    if (share > shortage) [dimension, shortage] = [index, share];
  }
  return { dimension, shortage };
}

function marketRules({ claim, state, listing }: Comparison): ReadonlyArray<CheaperRule> {
  const { pool } = state;
  const { unavailable } = listing.of(state);
  const isLighter = pool.weight < claim.state.pool.weight;
  return [
    plain({ kind: 'unavailable' }, (type, left) => left & at(unavailable, type)),
    {
      rulesOut: (type, left) => (pool.shunned[type] === 1 && claim.chosen?.shunned === false ? left : 0),
      tell: (type) => {
        const why = shunnedKind(pool.catalog.types[type]?.name ?? '');
        return { about: why, shortage: 0, reason: () => ({ kind: 'shunned', why }), shape: null };
      },
    },
    stormRule(claim, pool),
    riskRule(claim, pool),
    plain({ kind: 'weight' }, (_, left) => (isLighter ? left : 0)),
  ];
}

/** Rules out what costs less, and counts as no less for its evictions. */
function riskRule(claim: OpenClaim, pool: CompiledPool): CheaperRule {
  const counts = countsAs(claim);
  return {
    rulesOut: (type, left) => countingMore(pool, type, left, counts),
    tell: (type, mask) => ({ about: '', shortage: 0, reason: () => riskReason(pool, type, mask, counts), shape: null }),
  };
}

/** The same, of what counts as so much for a storm. */
function stormRule(claim: OpenClaim, pool: CompiledPool): CheaperRule {
  const counts = countsAs(claim);
  return {
    rulesOut: (type, left) => {
      let inStorm = 0;
      for (const bit of pool.catalog.types[type]?.storms.keys() ?? []) inStorm |= 1 << bit;
      return countingMore(pool, type, left & inStorm, counts);
    },
    tell: (type, mask) => {
      const reason = (): CheaperReason => stormReason(pool, type, mask, counts);
      const storm = stormAt(pool, type, mask);
      return {
        about: `${storm?.evicted ?? 0}/${storm?.of ?? 0}/${storm?.refusedSizes ?? 0}/${storm?.until ?? ''}`,
        shortage: 0,
        reason,
        shape: null,
      };
    },
  };
}

/** What the choice counts as. */
function countsAs({ state, chosen }: OpenClaim): number {
  return state.pool.catalog.types[chosen?.type ?? -1]?.weighedPrices[chosen?.bit ?? 0] ?? 0;
}

/** Of `left`, what counts as no less than the choice. */
function countingMore({ catalog }: CompiledPool, type: number, left: number, counts: number): number {
  const { weighedListPrices, plainListPrices } = catalog.types[type] ?? NOTHING_LISTED;
  if (weighedListPrices === plainListPrices) return 0;
  let out = 0;
  for (let more = left; more !== 0; more &= more - 1) {
    if (at(weighedListPrices, lowestBit(more)) >= counts) out |= more & -more;
  }
  return out;
}

const NOTHING_LISTED = { weighedListPrices: new Float64Array(), plainListPrices: new Float64Array() };

/** Of the offering that costs least of those that risk rules out. */
function riskReason({ catalog }: CompiledPool, type: number, mask: number, chosen: number): CheaperReason {
  const compiled = catalog.types[type];
  const bit = compiled === undefined ? 0 : cheapestBit(compiled.plainListPrices, mask);
  return {
    kind: 'eviction-risk',
    evictionsPerHour: at(compiled?.evictions ?? [], bit),
    weighedPrice: microUsdPerHour(at(compiled?.weighedListPrices ?? [], bit)),
    chosenWeighedPrice: microUsdPerHour(chosen),
  };
}

/** As the one before. */
function stormReason(pool: CompiledPool, type: number, mask: number, chosen: number): CheaperReason {
  const { evicted = 0, of = 0, refusedSizes = 0, until = '' } = stormAt(pool, type, mask) ?? {};
  const compiled = pool.catalog.types[type];
  const bit = compiled === undefined ? 0 : cheapestBit(compiled.plainListPrices, mask);
  return {
    kind: 'spot-storm',
    evicted,
    of,
    refusedSizes,
    until,
    weighedPrice: microUsdPerHour(at(compiled?.weighedListPrices ?? [], bit)),
    chosenWeighedPrice: microUsdPerHour(chosen),
  };
}

function stormAt({ catalog }: CompiledPool, type: number, mask: number): OfferingStorm | undefined {
  const compiled = catalog.types[type];
  return compiled?.storms.get(cheapestBit(compiled.plainListPrices, mask));
}

/** A claim with devices can be only what has them; they are not looked for on other pools once they are found. */
function deviceRules({ claim, state }: Comparison, { shape, least }: Tenant): ReadonlyArray<CheaperRule> {
  if (!hasDeviceClaims(least.shape.shape.spec)) return [];
  const isOwn = state === claim.state;
  return [
    plain({ kind: 'devices', pod: '' }, (type, left) => (isOwn ? left & ~offeringsAt(claim, type) : left), shape),
  ];
}

/** Keys, hostname aside, by which rules of the pods or of others look at where they are. */
function topologyKeys(tenants: ReadonlyArray<Tenant>): ReadonlyArray<string> {
  const keys = tenants.flatMap(({ met: { terms, exclusions, settled } }) => [
    ...settled,
    ...terms.spread.map(({ counter }) => counter.key),
    ...[...terms.affinity, ...terms.antiAffinity, ...exclusions].map(({ key }) => key),
  ]);
  return [...new Set(keys)].filter((key) => key !== labelKey.hostname).toSorted(byCodeUnit);
}

/** Rules out what would put the pods into another domain of the key than the claim was planned in. */
function domainRule({ claim, state }: Comparison, key: string): CheaperRule {
  const planned = settledValue(claim, key) ?? undefined;
  const source = keySourceOf(state.pool, key);
  return plain({ kind: 'topology', key }, (type, left) => {
    let elsewhere = 0;
    for (let bit = 0; bit < MARKETS_MAX && source.kind !== 'open'; bit++) {
      if ((left >> bit) & 1 && valueAt(source, type, bit) !== planned) elsewhere |= 1 << bit;
    }
    return elsewhere;
  });
}

function valueAt(source: Exclude<KeySource, { readonly kind: 'open' }>, type: number, bit: number): string | undefined {
  if (source.kind === 'pool') return source.value;
  return source.values[source.kind === 'offering' ? bit : type];
}

/** Limits and minValues, as they stand at the end of the plan, with this claim's share given back. */
function poolRules(comparison: Comparison, tenants: ReadonlyArray<Tenant>): ReadonlyArray<CheaperRule> {
  const { claim, state } = comparison;
  const isOwn = state === claim.state;
  const instead = isOwn ? claim.booked : null;
  const { requirements } = state.pool.manifest.spec.template.spec;
  const keys = requirements.filter(({ minValues }) => minValues !== undefined).map(({ key }) => key);
  const offered = isOwn ? offeringsOf(claim) : keys.length === 0 ? state.pool.offered : offeredTo(comparison, tenants);
  const overOf = (type: number): ReturnType<typeof overLimits> =>
    overLimits(state.remaining, capacityOf(state.pool, type), instead);
  const minValues = plain({ kind: 'min-values', keys }, (type, left) => {
    const limits = { chosen: type, instead, relaxed: claim.minValuesRelaxed };
    return keys.length > 0 && bookingFor(state, offered, limits) === null ? left : 0;
  });
  return [
    {
      rulesOut: (type, left) => (overOf(type) === null ? 0 : left),
      tell: (type) => {
        const { resource, more, left } = overOf(type) ?? { resource: '', more: 0, left: 0 };
        const amounts = { wanted: renderAmount(resource, more), left: renderAmount(resource, left) };
        return { about: resource, shortage: 0, reason: () => ({ kind: 'limit', resource, ...amounts }), shape: null };
      },
    },
    minValues,
  ];
}

/** Per type: the offerings of another pool that would hold the claim's pods. */
function offeredTo({ claim, state, listing }: Comparison, tenants: ReadonlyArray<Tenant>): Int32Array {
  const masks = tenants.map(({ least }) => listing.masksOf(state, least));
  const nothing = new Float64Array(claim.load.length);
  return state.pool.offered.map((mask, type) => {
    const met = masks.reduce(
      (left, { required, volumes, ports }) => left & at(required, type) & at(volumes, type) & at(ports, type),
      mask,
    );
    return holdingBits(state, type, met, nothing, claim.load);
  });
}
