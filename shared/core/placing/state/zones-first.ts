import { labelKey, normalizeKey, REGIONAL_ZONE } from '../../../kubernetes/labels.ts';
import type { CompiledCatalog } from '../../offerings/compile-types.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import type { PodConstraints } from '../../rules/pod-constraints.ts';
import { namesRegional } from '../../rules/placement-scope.ts';
import { optionsOn, type CompiledShape, type Need } from './compile-shape.ts';

/** A shape at one of its levels of relaxation. */
export type LeveledShape = Pick<Need, 'shape' | 'constraints'>;

/**
 * Which pods keep to zones where machines without one are sold beside machines with one, to pools that do not speak of either:
 * those that look at zones themselves, and all that could be in one where some pod must be spread over zones. A machine without
 * a zone would be one more zone to kube-scheduler, and mostly of a size that nobody wants for that.
 */
export interface ZonesFirst {
  /** Is "no zone" a place that the spread has to keep even? `hard`: it must be met. */
  readonly countsRegional: (hard: boolean) => boolean;
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
  if (!looking || !pools.some(isMixed)) return NEVER;
  const known = new Map<CompiledShape, Map<PodConstraints, Places>>();
  const placesOf = ({ shape, constraints }: LeveledShape): Places => {
    const ofShape = known.get(shape) ?? new Map<PodConstraints, Places>();
    known.set(shape, ofShape);
    const places = ofShape.get(constraints) ?? findPlaces(pools, { shape, constraints });
    ofShape.set(constraints, places);
    return places;
  };
  const last = levels.flatMap((own) => own.at(-1) ?? []);
  const mustSpread = last.some(({ constraints }) => spreadsOverZones(constraints));
  // Who can be in no zone makes "no zone" a place that kube-scheduler counts, whatever the others do.
  const isUnavoidable = mustSpread && last.some((one) => placesOf(one) === 'regional');
  const allKeep = mustSpread && !isUnavoidable;
  return {
    countsRegional: (hard) => hard && isUnavoidable,
    keepsToZones: (one, counted) =>
      !counted && (allKeep || looksAtZones(one.constraints)) && placesOf(one) !== 'regional',
  };
}

/** Where the pods could be: only without a zone, or also in one, or nowhere. */
type Places = 'regional' | 'zonal' | 'none';

function findPlaces(pools: ReadonlyArray<PoolState>, leveled: LeveledShape): Places {
  let [regional, zonal] = [0, 0];
  for (const state of pools) {
    const bits = regionalBits(state.pool.catalog);
    const any = optionsOn(state, leveled).reduce((mask, { offered }) => offered.reduce((a, b) => a | b, mask), 0);
    regional |= any & bits;
    zonal |= any & ~bits;
  }
  if (zonal !== 0) return 'zonal';
  return regional === 0 ? 'none' : 'regional';
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

/** Does a pool that does not speak of machines without a zone have some of them? */
function isMixed({ pool }: PoolState): boolean {
  const regional = regionalBits(pool.catalog);
  return regional !== 0 && !namesRegional(pool.manifest) && pool.offered.some((mask) => (mask & regional) !== 0);
}

/** The bits of offerings without a zone. */
export function regionalBits({ markets }: CompiledCatalog): number {
  return markets.reduce((bits, { zone }, bit) => (zone === REGIONAL_ZONE ? bits | (1 << bit) : bits), 0);
}
