/** Chances in percent, per launch. */
export interface AzureFaults {
  readonly refusal: number;
  readonly asyncFailure: number;
  /** `size/zone/capacityType` that Azure never has while the faults last. */
  readonly soldOut: ReadonlySet<string>;
}

/** Chances in percent, per message. */
export interface QueueFaults {
  readonly lose: number;
  readonly delay: number;
  readonly duplicate: number;
  /** Chance that a lock is lost while the message is worked on, so that it is delivered a second time beside that. */
  readonly loseLock: number;
  /** The queue's clock is this much ahead of the workers': what is scheduled arrives early. */
  readonly aheadMs: number;
  /** Chance that what a worker did not finish is not delivered again: lost at whichever await that worker came to. */
  readonly loseUnfinished: number;
}

/** Chances in percent, per call of a port; each draws before the effect and after it. */
export interface CallFaults {
  readonly failBefore: number;
  readonly failAfter: number;
  /** The process ends, as by kill -9. */
  readonly crash: number;
  /** The call takes half a minute. */
  readonly stall: number;
}

/** Chances in percent, per minute. */
export interface Events {
  readonly spotEviction: number;
  /** Of all spot machines of a zone, or of a family in it, at once. */
  readonly spotStorm: number;
  /** Of one machine, announced minutes ahead. */
  readonly maintenance: number;
  readonly relayDies: number;
  /** It publishes nothing and says nothing for a while, and goes on then. */
  readonly relayStalls: number;
  readonly allNodesLost: number;
  readonly userDeletesClaim: number;
  readonly userDeletesNode: number;
  /** A claim is deleted and its finalizer removed by hand. */
  readonly userStripsClaim: number;
  readonly malformedMessage: number;
  /** A notice that nobody at Azure sent, or not about that machine. */
  readonly forgedSignal: number;
  /** A notice of what has passed by minutes, about a machine that is well. */
  readonly staleSignal: number;
  /** By whom it may be: a life-cycle rule, or a storage account that was made anew. */
  readonly decisionLost: number;
  readonly snapshotLost: number;
  readonly snapshotDamaged: number;
  readonly heartbeatLost: number;
  /** What is kept of refusals and spot evictions. */
  readonly catalogLost: number;
}

/** What our requests ask of an object. `status`: to patch its status. */
export type PolicyVerb = 'create' | 'patch' | 'status' | 'delete' | 'evict';

/** A policy that denies one kind of request of ours. */
export interface Policy {
  readonly verb: PolicyVerb;
  /** In the plural. */
  readonly resource: string;
  /**
   * `first`: of the object alone that is asked for first. `pool`: of the NodeClaims of the pool alone whose claim is
   * asked for first.
   */
  readonly scope: 'first' | 'pool' | 'all';
  /** From the start of the run. */
  readonly fromMs: number;
  /** Null: for good. */
  readonly forMs: number | null;
  readonly by: 'cluster-policy' | 'webhook';
}

/** Chances in percent, per node that joins. Each comes right by itself after some minutes, or does not. */
export interface NodeFaults {
  readonly withoutProviderId: number;
  readonly neverReady: number;
  /** Its startup taints stay. */
  readonly keepsTaints: number;
  /** It has half of the CPU that its size promises, and keeps it so. */
  readonly small: number;
}

/** By how much clocks are ahead of those of the functions, the queues and Azure; below 0 for behind. */
export interface Clocks {
  readonly relayMs: number;
  readonly apiServerMs: number;
}

/** What people ask for, and what makes nodes hard to remove. */
export interface Wishes {
  /** A static pool with pods on it: open to all, or to a workload of its own that may be nowhere else. */
  readonly usedStaticPool: 'by all' | 'by its own' | null;
  /** Chance in percent that a workload's pods are not to be disrupted, or that its budget lets none go. */
  readonly protectedPods: number;
  readonly closedBudgets: number;
  /** Chance in percent that what protects pods does so for good. */
  readonly forGood: number;
  /** How long nodes live; null for ever. */
  readonly expireAfterMinutes: number | null;
}

export interface Faults {
  readonly azure: AzureFaults;
  readonly queues: QueueFaults;
  readonly calls: CallFaults;
  readonly events: Events;
  /** How long no relay can run from the start; its first hints come after that. */
  readonly relayComesAfterMs: number;
  readonly policies: ReadonlyArray<Policy>;
  readonly nodes: NodeFaults;
  readonly clocks: Clocks;
  readonly wishes: Wishes;
  /** While the trouble lasts, some of the API servers are one version back. */
  readonly olderApiServers: boolean;
}

export const noFaults: Faults = {
  azure: { refusal: 0, asyncFailure: 0, soldOut: new Set() },
  queues: { lose: 0, delay: 0, duplicate: 0, loseLock: 0, aheadMs: 0, loseUnfinished: 0 },
  calls: { failBefore: 0, failAfter: 0, crash: 0, stall: 0 },
  events: {
    spotEviction: 0,
    spotStorm: 0,
    maintenance: 0,
    relayDies: 0,
    relayStalls: 0,
    allNodesLost: 0,
    userDeletesClaim: 0,
    userDeletesNode: 0,
    userStripsClaim: 0,
    malformedMessage: 0,
    forgedSignal: 0,
    staleSignal: 0,
    decisionLost: 0,
    snapshotLost: 0,
    snapshotDamaged: 0,
    heartbeatLost: 0,
    catalogLost: 0,
  },
  relayComesAfterMs: 0,
  policies: [],
  nodes: { withoutProviderId: 0, neverReady: 0, keepsTaints: 0, small: 0 },
  clocks: { relayMs: 0, apiServerMs: 0 },
  wishes: { usedStaticPool: null, protectedPods: 0, closedBudgets: 0, forGood: 0, expireAfterMinutes: null },
  olderApiServers: false,
};
