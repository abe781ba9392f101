import { availableTo, listedIn } from '../../offerings/compile-pool.ts';
import type { PoolState } from '../../offerings/pool-state.ts';
import { isShunned } from '../../offerings/shunned-sizes.ts';
import type { Dimensions } from '../../quantity/resource-table.ts';
import { poolConditions, roomBesideDaemons } from './conditions.ts';
import { labelValues } from './label-values.ts';
import type { PoolFacts } from './facts-of-pool.ts';

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
