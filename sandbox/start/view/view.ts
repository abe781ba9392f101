import type { QuotaShortage } from '../../quota/find-shortages.ts';

/** Where a node is in its life, as one word and its reason. */
export type NodeState =
  /** Azure has been asked, or is about to be. */
  | { readonly kind: 'launching' }
  /** Azure has accepted the VM; its kubelet has not joined. */
  | { readonly kind: 'booting' }
  /** The Node is there and not yet ready for pods. */
  | { readonly kind: 'joining' }
  /** It is ready but for a startup taint, `KEY:EFFECT`, which somebody in the cluster takes off. */
  | { readonly kind: 'tainted'; readonly taint: string }
  | { readonly kind: 'ready' }
  /** It is being emptied and removed; `waitsFor` is what keeps its pods, null where nothing does. */
  | { readonly kind: 'leaving'; readonly takenBack: boolean; readonly waitsFor: string | null };

/** A part of a whole, in the resource's own unit. */
export interface Share {
  readonly used: number;
  readonly of: number;
}

/** One node, from the moment its NodeClaim exists. */
export interface NodeRow {
  readonly name: string;
  /** VM size, without `Standard_`; empty while unknown. */
  readonly size: string;
  /** `1`, `2`, `3`, or `-`. */
  readonly zone: string;
  readonly capacityType: 'spot' | 'on-demand' | '';
  /** Null when the price list has none. */
  readonly microUsdPerHour: number | null;
  readonly state: NodeState;
  /** Since the NodeClaim was first seen, milliseconds. */
  readonly ageMs: number;
  readonly pods: number;
  /** Requested millicores of allocatable ones. */
  readonly cpu: Share;
  /** Requested bytes of allocatable ones. */
  readonly memory: Share;
}

/** Pods by what they are doing. System pods are left out. */
export interface PodCounts {
  readonly running: number;
  /** On a node, not running yet. */
  readonly starting: number;
  /** Without a node. */
  readonly pending: number;
}

/** Pods that cannot be placed, and why. */
export interface Waiting {
  readonly reason: string;
  readonly pods: ReadonlyArray<string>;
}

/** Everything that the display shows of the cluster at one moment. */
export interface View {
  /** In the order in which they appeared. */
  readonly nodes: ReadonlyArray<NodeRow>;
  readonly pods: PodCounts;
  readonly waiting: ReadonlyArray<Waiting>;
  /** Quotas that keep pods of these waiting. */
  readonly shortages: ReadonlyArray<QuotaShortage>;
  /** Of all machines that Azure has been asked for and has not deleted. */
  readonly microUsdPerHour: number;
}

/** Something that happened, in one sentence. */
export interface Sentence {
  /** Since the start, milliseconds. */
  readonly atMs: number;
  readonly tone: 'plain' | 'good' | 'warn' | 'bad';
  readonly text: string;
}
