import type { Pod } from '../../model/cluster.ts';
import type { NodePool } from '../../../kubernetes/manifest.ts';
import type { Machine } from '../../present/existing-capacity.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';
import type { KeptReason } from '../plan/kept-reason.ts';
import type { PriceOfNode } from './node-prices.ts';

/** A node, and whether it may go. */
export interface JudgedNode {
  readonly name: string;
  readonly machine: Machine;
  /** Null: of no pool that is ours. */
  readonly nodePool: NodePool | null;
  /** Null where the catalog does not know it. */
  readonly price: PriceOfNode | null;
  /** All pods on it that run. */
  readonly pods: ReadonlyArray<Pod>;
  /** Those of them that need another place when it goes. */
  readonly moving: ReadonlyArray<Pod>;
  /** 1 and what the evictions of `moving` count as, none below 0. */
  readonly disruption: number;
  /** No pod of another node may come. */
  readonly isFull: boolean;
  readonly verdict: Verdict;
}

/** `must`: it goes if its pods find a place, whatever it costs. `may`: it goes if that saves enough. */
export type Verdict =
  | { readonly kind: 'stays'; readonly reason: KeptReason }
  | { readonly kind: 'may'; readonly reason: 'Empty' | 'Underutilized' }
  | {
      readonly kind: 'must';
      readonly reason: Exclude<DisruptionReason, 'Empty' | 'Underutilized'>;
      readonly sinceMs: number;
    };
