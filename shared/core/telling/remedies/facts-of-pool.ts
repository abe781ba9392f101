import type { PoolState } from '../../offerings/pool-state.ts';
import type { Dimensions } from '../../quantity/resource-table.ts';
import type { Condition } from './condition.ts';

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
