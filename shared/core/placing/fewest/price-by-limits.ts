import { at } from '../../quantity/at.ts';
import { lowestBit, type CompiledPool } from '../../offerings/compile-pool.ts';
import { amountOf, type UsablePool } from '../../offerings/pool-state.ts';
import type { CompiledInput } from '../state/workspace.ts';

/** Prices are whole numbers: a node that takes all that is left of a limit costs so much. */
const WHOLE_LIMIT = 1_000_000;

/** More than a node of any size that its pool's limits allow. */
const TOO_MUCH = 1_000 * WHOLE_LIMIT;

/**
 * The same input with other weighedPrices: an offering costs what its size takes of what the pool's limits leave, and
 * nothing where the pool has none. So what is found with it does not depend on what offerings cost. Shunned sizes count
 * as others.
 */
export function pricedByLimits(compiled: CompiledInput): CompiledInput {
  return { ...compiled, pools: compiled.pools.map((pool) => pricedPool(pool)) };
}

function pricedPool(usable: UsablePool): UsablePool {
  const { pool, remaining } = usable;
  const types = pool.catalog.types.map((type) => {
    const price = shareTaken(remaining, type.amounts().capacity);
    return { ...type, weighedPrices: type.weighedPrices.map((one) => (one === Infinity ? Infinity : price)) };
  });
  const lowestWeighed = Float64Array.from(types, ({ weighedPrices }, type) =>
    priceOf(weighedPrices, at(pool.offered, type)),
  );
  const order = pool.order.toSorted((a, b) => at(lowestWeighed, a) - at(lowestWeighed, b) || a - b);
  const shunned = new Uint8Array(types.length);
  const priced: CompiledPool = { ...pool, catalog: { ...pool.catalog, types }, lowestWeighed, order, shunned };
  return { ...usable, pool: priced };
}

/** What a node of this capacity takes of each limit, in parts of what is left of it, all together. */
function shareTaken(remaining: UsablePool['remaining'], capacity: ReadonlyMap<string, number>): number {
  let share = 0;
  for (const [resource, left] of remaining) {
    const amount = amountOf(capacity, resource);
    if (amount > 0) share += left < amount ? TOO_MUCH : Math.round((amount / left) * WHOLE_LIMIT);
  }
  return share;
}

/** All offerings of a type have one price here. */
function priceOf(weighedPrices: Float64Array, offered: number): number {
  return offered === 0 ? Infinity : at(weighedPrices, lowestBit(offered));
}
