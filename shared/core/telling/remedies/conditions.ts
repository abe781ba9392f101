import { at } from '../../quantity/at.ts';
import { addVector, fits, toVector, type Dimensions } from '../../quantity/resource-table.ts';
import { allocatableOf, allowedBy, isNone, offeringsMeeting } from '../../offerings/compile-pool.ts';
import { isDecidedByType } from '../../offerings/compile-types.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import type { LabelRules } from '../../rules/label-rule.ts';
import type { CompiledShape } from '../../placing/state/compile-shape.ts';
import type { PoolFacts } from './facts-of-pool.ts';
import type { Condition } from './condition.ts';

/** What a pod and a pool ask of a node, each by itself, of all offerings that are available. */
export interface Conditions {
  /** Per type of the catalog: the offerings that are available, and where the pod's volumes are. */
  readonly base: Int32Array;
  readonly all: ReadonlyArray<Condition>;
}

/** What the pool asks for by itself, of offerings that are available. */
export function conditionsOfPool({ available, conditions }: PoolFacts): Conditions {
  return { base: available, all: conditions };
}

/** What the pool asks for, and what a pod of the shape does, `rules` being what it asks of labels. */
export function conditionsOf(facts: PoolFacts, shape: CompiledShape, rules: LabelRules): Conditions {
  const { state, available, conditions, roomOf } = facts;
  const { pool } = state;
  const base = nearVolumes(available, state, shape);
  const ofPod = [...rules].map(([key, rule]): Condition => {
    const alone = new Map([[key, rule]]);
    const met = isOfCatalog(state, key) ? allowedBy(alone, pool.catalog, base) : offeringsMeeting(pool, alone, base);
    return { of: 'pod', key, rule, met };
  });
  const met = base.map((mask, type) => (mask !== 0 && fits(roomOf(type), shape.requests) ? mask : 0));
  return { base, all: [...conditions, ...ofPod, { of: 'size', met }] };
}

/** Do sizes or offerings decide the label? */
export function isOfCatalog({ pool: { catalog } }: PoolState, key: string): boolean {
  return catalog.marketKeys.has(key) || isDecidedByType(catalog, key);
}

/** What a pool asks for of labels that sizes and offerings decide, each by itself. */
export function poolConditions(state: PoolState, base: Int32Array): ReadonlyArray<Condition> {
  const { rules, catalog } = state.pool;
  return [...rules]
    .filter(([key]) => isOfCatalog(state, key))
    .map(([key, rule]) => ({ of: 'pool', key, rule, met: allowedBy(new Map([[key, rule]]), catalog, base) }));
}

/**
 * Where a volume is cannot be changed. One that is where no node can be is another reason than those looked for here.
 */
function nearVolumes(base: Int32Array, { pool }: PoolState, { volumes }: CompiledShape): Int32Array {
  if (volumes.kind === 'problem') return base;
  const near = new Int32Array(base.length);
  for (const rules of volumes.alternatives) {
    allowedBy(rules, pool.catalog, base).forEach((mask, type) => (near[type] = at(near, type) | mask));
  }
  return isNone(near) ? base : near;
}

/** What a size has for pods beside the daemons that would run on it, whether or not the pool allows the size. */
export function roomBesideDaemons(
  { pool, daemons }: PoolState,
  dimensions: Dimensions,
  available: Int32Array,
): (type: number) => Float64Array {
  const running = daemons.map(({ daemon }) => ({
    vector: toVector(dimensions, daemon.requests),
    on: daemon.alternatives.map((rules) => allowedBy(rules, pool.catalog, available)),
  }));
  return (type) => {
    const room = toVector(dimensions, allocatableOf(pool, type));
    for (const { vector, on } of running) if (on.some((masks) => at(masks, type) !== 0)) addVector(room, vector, -1);
    return room;
  };
}
