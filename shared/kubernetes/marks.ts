/**
 * Annotations by which plans and people say something about nodes that go. Those of a NodePool: what it says of all its
 * nodes.
 */
export const markKey = {
  /** The decision which removes a NodeClaim, while it can still be withdrawn: all with the same go together. */
  disruption: 'nodewright.dev/disruption',
  /** The NodeClaims launched for the pods of one that goes, separated by commas. */
  replacedBy: 'nodewright.dev/replaced-by',
  /**
   * On a NodeClaim to be removed: those of the NodeClaims launched for its pods that Azure had no capacity for,
   * separated by commas.
   */
  replacementUnavailable: 'nodewright.dev/replacement-unavailable',
  /** On a NodeClaim that replaces others: for which reason they go. Metrics count it. */
  createdFor: 'nodewright.dev/created-for',
  /** On a NodeClaim that replaces machines which Azure evicts: when the first of their notices was acted on. */
  noticed: 'nodewright.dev/noticed',
  /**
   * Why a NodeClaim is deleted that did not become a node, or lost its machine: the reason of its event. Metrics count
   * it.
   */
  givenUp: 'nodewright.dev/given-up',
  /** Why a NodeClaim is being removed before its time: written once, so that a second notice changes nothing. */
  interruption: 'nodewright.dev/interruption',
  /** On a NodePool: `true`, or a time until which its nodes are exempt from voluntary disruption. */
  pauseDisruption: 'nodewright.dev/pause-disruption',
  /**
   * On a NodePool: how long the first node of a new image or Kubernetes version is watched before the others are
   * replaced.
   */
  bakeTime: 'nodewright.dev/bake-time',
  /**
   * On a NodePool: why nodes behind a new image or Kubernetes version are not replaced any more. Removing it tries
   * again.
   */
  rolloutHalted: 'nodewright.dev/rollout-halted',
  /**
   * On a NodePool: the last decisions about its nodes whose replacements failed, each with its time. Removing it
   * forgets them.
   */
  disruptionFailures: 'nodewright.dev/disruption-failures',
} as const;

/** Taints by which a node is kept from pods. */
export const markTaint = {
  disrupted: { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' },
  /**
   * Until the planned pods have come, nobody else is let in. Its value is the NodeClaim's name, or one that several
   * share.
   */
  dedicated: { key: 'nodewright.dev/reserved', effect: 'NoSchedule' },
} as const;

/**
 * From the mark of a node to its deletion, milliseconds: the scheduler, which knows the taint within a second, has sent
 * nobody there for so long, and what it had decided before is in the snapshot. Karpenter waits 15 s before it marks;
 * here the mark is what is waited on.
 */
export const QUIET_MS = 5_000;
