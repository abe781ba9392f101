import { availableTo, listedIn } from '../../offerings/compile-pool.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { isShunned } from '../../offerings/shunned-sizes.ts';
import type { Dimensions } from '../../quantity/resource-table.ts';
import { poolConditions, roomBesideDaemons, type Condition } from './conditions.ts';
import { labelValues } from './label-values.ts';

/** What explanations read of a pool again and again: worked out once for all pods that are left. */
export interface PoolFacts {
  readonly state: PoolState;
  readonly dimensions: Dimensions;
  /** Per type of the catalog: the offerings that are available. */
  readonly available: Int32Array;
  /** What the pool asks for of labels that sizes and offerings decide. */
  readonly conditions: ReadonlyArray<Condition>;
  /** What a size has for pods beside the daemons that would run on it, whether or not the pool allows the size. */
  readonly roomOf: (type: number) => Float64Array;
  /** The most of a resource that a size has, the pool's or not. */
  readonly largestOf: (resource: string) => number;
  /** Is it a size that price alone would not choose? */
  readonly isShunned: (type: number) => boolean;
  /** The values of a label that a node can have at all, now or later. */
  readonly knownValues: (key: string) => ReadonlySet<string>;
}

/** Answers are found when they are first asked for. */
export function poolFacts(state: PoolState, dimensions: Dimensions): PoolFacts {
  const { manifest, catalog } = state.pool;
  const available = availableTo(manifest, catalog);
  const facts: PoolFacts = {
    state,
    dimensions,
    available,
    conditions: poolConditions(state, available),
    roomOf: remembered(roomBesideDaemons(state, dimensions, available)),
    largestOf: remembered((resource: string) =>
      catalog.types.reduce((most, type) => Math.max(most, type.amounts().allocatable.get(resource) ?? 0), 0),
    ),
    isShunned: remembered((type) =>
      isShunned(catalog.types[type]?.name ?? '', (label) => catalog.labels.ruleOf(type, label), new Map()),
    ),
    knownValues: remembered((key: string) => new Set(labelValues(facts, key, listedIn(catalog)))),
  };
  return facts;
}

function remembered<Key, Answer>(find: (key: Key) => Answer): (key: Key) => Answer {
  const known = new Map<Key, Answer>();
  return (key) => {
    const answer = known.get(key) ?? find(key);
    known.set(key, answer);
    return answer;
  };
}
