import { labelKey, normalizeKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import type { CompiledCatalog } from '../../offerings/compile-types.ts';
import { capacityOf } from '../../offerings/compile-pool.ts';
import { meetsMinValues } from '../../offerings/min-values.ts';
import { withinLimits, type PoolState } from '../../offerings/pool-state.ts';
import { at } from '../../quantity/at.ts';
import type { PodConstraints } from '../../rules/pod-constraints.ts';
import { namesRegional } from '../../rules/placement-scope.ts';
import { optionsOn, type CompiledShape, type Need } from './compile-shape.ts';

/** A shape at one of its levels of relaxation. */
export type LeveledShape = Pick<Need, 'shape' | 'constraints'>;

/**
 * Which pods keep to zones where machines without one are sold beside machines with one:
 * those that look at zones themselves, and all that could be in one where some pod must be spread over zones. A machine
 * without a zone would be one more zone to kube-scheduler, and mostly of a size that nobody wants for that.
 */
export interface ZonesFirst {
  /**
   * Is "no zone" a place that a spread of these pods has to keep even, where zones can be had? `hard`: it must be met.
   */
  readonly countsRegional: (leveled: LeveledShape, hard: boolean) => boolean;
  /** Do pods of the shape get no machine without a zone? `counted`: "no zone" is among the domains of their spread. */
  readonly keepsToZones: (leveled: LeveledShape, counted: boolean) => boolean;
}

const NEVER: ZonesFirst = { countsRegional: () => true, keepsToZones: () => false };

/** `levels`: per shape, from all preferences to none. */
export function zonesFirst(
  pools: ReadonlyArray<PoolState>,
  levels: ReadonlyArray<ReadonlyArray<LeveledShape>>,
): ZonesFirst {
  const looking = levels.flat().some(({ constraints }) => looksAtZones(constraints));
  if (!looking || !pools.some(hasRegional)) return NEVER;
  const known = new Map<CompiledShape, Map<PodConstraints, Places>>();
  const placesOf = ({ shape, constraints }: LeveledShape): Places => {
    const ofShape = known.get(shape) ?? new Map<PodConstraints, Places>();
    known.set(shape, ofShape);
    const places = ofShape.get(constraints) ?? findPlaces(pools, { shape, constraints });
    ofShape.set(constraints, places);
    return places;
  };
  const isOnlyRegional = (one: LeveledShape): boolean => placesOf(one).regional && !placesOf(one).zonal;
  const last = levels.flatMap((own) => own.at(-1) ?? []);
  const mustSpread = last.some(({ constraints }) => spreadsOverZones(constraints));
  // Who can be in no zone makes "no zone" a place that kube-scheduler counts, whatever the others do.
  const isUnavoidable = mustSpread && last.some(isOnlyRegional);
  const allKeep = mustSpread && !isUnavoidable;
  return {
    countsRegional: (one, hard) => placesOf(one).asked || (hard && isUnavoidable),
    keepsToZones: (one, counted) => !counted && (allKeep || looksAtZones(one.constraints)) && !isOnlyRegional(one),
  };
}

/** Where new nodes for the pods could be. */
interface Places {
  readonly zonal: boolean;
  readonly regional: boolean;
  /** In no zone, of a pool that asks for that and may have such a node. */
  readonly asked: boolean;
}

function findPlaces(pools: ReadonlyArray<PoolState>, leveled: LeveledShape): Places {
  let [zonal, regional, asked] = [false, false, false];
  for (const state of pools) {
    const bits = regionalBits(state.pool.catalog);
    for (const { offered } of optionsOn(state, leveled)) {
      const any = offered.reduce((a, b) => a | b, 0);
      zonal ||= (any & ~bits) !== 0;
      regional ||= (any & bits) !== 0;
      asked ||= namesRegional(state.pool.manifest) && mayHave(state, offered, bits);
    }
  }
  return { zonal, regional, asked };
}

/** Do limits and minValues of the pool let it have one of these offerings? */
function mayHave(state: PoolState, offered: Int32Array, bits: number): boolean {
  const { pool, remaining } = state;
  const ofBits = offered.map((mask) => mask & bits);
  const types = [...pool.order].filter((type) => at(ofBits, type) !== 0);
  return types.some((type) => {
    const capacity = capacityOf(pool, type);
    return withinLimits(remaining, capacity, null) && meetsMinValues(state, offered, capacity);
  });
}

function looksAtZones(constraints: PodConstraints): boolean {
  return spreadsOverZones(constraints) || constraints.antiAffinity.some(isOverZones);
}

function spreadsOverZones({ spread }: PodConstraints): boolean {
  return spread.some(isOverZones);
}

function isOverZones({ topologyKey }: { readonly topologyKey: string }): boolean {
  return normalizeKey(topologyKey) === labelKey.zone;
}

/** Has the pool machines without a zone? */
function hasRegional({ pool }: PoolState): boolean {
  const regional = regionalBits(pool.catalog);
  return regional !== 0 && pool.offered.some((mask) => (mask & regional) !== 0);
}

/** The bits of offerings without a zone. */
export function regionalBits({ markets }: CompiledCatalog): number {
  return markets.reduce((bits, { zone }, bit) => (zone === REGIONAL_ZONE ? bits | (1 << bit) : bits), 0);
}
