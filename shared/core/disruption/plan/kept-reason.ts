import type { Brake } from '../../model/disruption-input.ts';
import type { LeftReason } from '../../model/left-reason.ts';
import type { DisruptionReason } from './disruption-reason.ts';

/** Why a node stays, as data; `renderKept` says it in words. */
export type KeptReason =
  /** Not a node of a NodePool that is ours. */
  | { readonly kind: 'unmanaged' }
  | { readonly kind: 'no-such-pool'; readonly nodePool: string }
  /** A decision already taken removes it. */
  | { readonly kind: 'leaving' }
  | { readonly kind: 'not-initialized' }
  /** A policy of the cluster does not let us write it, or its claim, as the condition WriteDenied of the claim says. */
  | { readonly kind: 'write-denied' }
  | { readonly kind: 'do-not-disrupt' }
  | { readonly kind: 'pod-do-not-disrupt'; readonly pod: string }
  /** A PodDisruptionBudget lets none of its pods go now; `known` is false where its status does not say. */
  | { readonly kind: 'pod-budget'; readonly pod: string; readonly budget: string; readonly known: boolean }
  /** The eviction API refuses pods that two budgets cover. */
  | { readonly kind: 'two-pod-budgets'; readonly pod: string; readonly budgets: ReadonlyArray<string> }
  /** Pods that wait are to come here. */
  | { readonly kind: 'awaits-pods'; readonly pods: number }
  /** It might go, and pods that wait get their nodes first. */
  | { readonly kind: 'pods-first' }
  /** Room on it is kept for a CapacityBuffer. */
  | { readonly kind: 'holds-buffer'; readonly buffer: string }
  /** Its pool has a fixed number of nodes, and another of them is being replaced. */
  | { readonly kind: 'one-by-one'; readonly nodePool: string }
  | { readonly kind: 'static-pool'; readonly nodePool: string }
  | { readonly kind: 'consolidation-off'; readonly nodePool: string }
  /** The NodeClaim does not say Consolidatable, or pods have come and gone within consolidateAfter. */
  | { readonly kind: 'not-consolidatable'; readonly consolidateAfter: string }
  | { readonly kind: 'only-when-empty'; readonly nodePool: string; readonly pods: number }
  /** The catalog has no price for what it is. */
  | { readonly kind: 'unknown-price'; readonly instanceType: string }
  /** It might go, but a brake of its pool holds it now. */
  | { readonly kind: 'pool-braked'; readonly nodePool: string; readonly brake: Brake }
  /** `allowed` nodes of the pool may be in disruption at a time for the reason, and `disrupting` are. */
  | {
      readonly kind: 'node-budget';
      readonly nodePool: string;
      readonly allowed: number;
      readonly disrupting: number;
      readonly error: string | null;
    }
  /** More nodes of the pool are sick than may be replaced: the cause is likely another. */
  | {
      readonly kind: 'too-many-unhealthy';
      readonly nodePool: string;
      readonly unhealthy: number;
      readonly nodes: number;
    }
  /** Where devices are, or would be, only the scheduler can say. */
  | { readonly kind: 'pod-devices'; readonly pod: string }
  /** No other node has room for the pod under its rules, nor can a new one be had. */
  | { readonly kind: 'no-place'; readonly pod: string }
  /**
   * It has to go, and `pod` can go nowhere: per NodePool the rule that keeps it off a new node of it. Null where each
   * pod could go by itself, and all together cannot.
   */
  | {
      readonly kind: 'not-replaced';
      readonly because: DisruptionReason;
      readonly pod: string | null;
      readonly refusals: ReadonlyArray<LeftReason>;
    }
  /**
   * Its pods would find room only on nodes that have none, and that are removed by themselves once their time has come.
   */
  | { readonly kind: 'empty-first' }
  /** It is where pods of nodes that go will be. */
  | { readonly kind: 'receives'; readonly pods: number }
  /** Removing it would save too little for the pods that would move, in micro-USD per hour each. */
  | { readonly kind: 'not-worth'; readonly saving: number; readonly pods: number; readonly least: number }
  /** Its pods have places only for more than it costs, or where those of other nodes go. */
  | { readonly kind: 'nothing-cheaper' }
  /** It could go, and the plan for that broke a rule of its audit: a fault of ours. */
  | { readonly kind: 'plan-refused'; readonly finding: string }
  /** It could go, and there is no order of steps that keeps budgets, spreads and prices on the way. */
  | { readonly kind: 'no-order' };
