import type { ProvisioningInput } from './provisioning-input.ts';

/** What an operator can set about disruption. */
export interface DisruptionPolicy {
  /**
   * What moving a pod costs, as a share of what the pool pays on average per node and pod, times the root of how many
   * nodes the cluster has: in a large one a plan of many moves is asked for more per move. A Balanced pool asks for its
   * own share if that is more.
   */
  readonly moveCost: number;
  /** By NodePool that says so: its own share, whatever the number of nodes. */
  readonly moveCostOf: ReadonlyMap<string, number>;
  /** NodePools whose nodes are exempt from voluntary disruption now, by name. */
  readonly brakes: ReadonlyMap<string, Brake>;
  /**
   * NodePools with a bake time that have nodes behind a new image or Kubernetes version, by name: what those wait for.
   */
  readonly rollouts: ReadonlyMap<string, Rollout>;
  /** Spot nodes may be replaced by other spot nodes, with as many cheaper sizes left as keep it from sliding down. */
  readonly spotToSpot: boolean;
  /** Bounds the search, counted in nodes looked at for a pod and never in time. */
  readonly searchSteps: number;
  /** Conditions of nodes that mean it is sick, and after how long; as in Karpenter, the provider says which. */
  readonly repairs: ReadonlyArray<RepairPolicy>;
  /** `forced`: only what goes whatever it saves. The rest waits, as pods that wait may need its room. */
  readonly goes: 'all' | 'forced';
  /** Nodes that are left out of this plan, by name: what was to come in their place has just not held up. */
  readonly leftOut: ReadonlySet<string>;
  /** Nodes that a policy of the cluster has not let us write lately, by name. */
  readonly denied: ReadonlySet<string>;
}

/** What holds back the nodes of a pool. Times are as Kubernetes writes them; null: nobody knows, or for ever. */
export type Brake =
  /** Somebody has paused it. */
  | { readonly kind: 'paused'; readonly until: string | null }
  /** Somebody has said something about pausing it that cannot be read. */
  | { readonly kind: 'pause-unread'; readonly given: string }
  /** It does not go well. */
  | { readonly kind: 'breaker'; readonly until: string | null; readonly why: string }
  /** Nodes behind a new image or Kubernetes version wait. */
  | { readonly kind: 'rollout'; readonly rollout: Rollout };

/** What nodes behind a new image or Kubernetes version wait for, in a NodePool with a bake time. */
export type Rollout =
  /** One of them may go: what replaces it is the canary. */
  | { readonly kind: 'canary' }
  /** The first claim of the new one has no node that can be used yet. */
  | { readonly kind: 'starting'; readonly claim: string }
  /** Its first node is watched. */
  | { readonly kind: 'baking'; readonly claim: string; readonly until: string }
  /** What is new does worse than what was there. */
  | { readonly kind: 'halted'; readonly why: string };

export interface RepairPolicy {
  readonly conditionType: string;
  readonly conditionStatus: string;
  readonly tolerationMs: number;
}

const MINUTE_MS = 60_000;

/**
 * What AKS calls a sick node, and for how long it may be: karpenter-provider-azure 2026-08, RepairPolicies. That a
 * machine is about to be evicted is left to the interruption, which knows the deadline.
 */
export const AKS_REPAIRS: ReadonlyArray<RepairPolicy> = [
  { conditionType: 'Ready', conditionStatus: 'False', tolerationMs: 10 * MINUTE_MS },
  { conditionType: 'Ready', conditionStatus: 'Unknown', tolerationMs: 10 * MINUTE_MS },
  { conditionType: 'kubernetes.azure.com/NodeHealthy', conditionStatus: 'False', tolerationMs: 0 },
];

export const DEFAULT_DISRUPTION: DisruptionPolicy = {
  moveCost: 0.065,
  moveCostOf: new Map(),
  brakes: new Map(),
  rollouts: new Map(),
  spotToSpot: false,
  searchSteps: 12_000_000,
  repairs: [],
  goes: 'all',
  leftOut: new Set(),
  denied: new Set(),
};

/** Everything a disruption decision depends on but the time. */
export interface DisruptionInput {
  readonly provisioning: ProvisioningInput;
  readonly policy: DisruptionPolicy;
}
