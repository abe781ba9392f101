import { markKey, markTaint } from '../kubernetes/marks.ts';

/**
 * Names that live in a user's cluster or subscription: labels, annotations, taints, finalizers, tags. Karpenter's are
 * kept letter for letter, so that what was written for Karpenter or AKS Node Auto Provisioning works unchanged; ours
 * are under `nodewright.dev`.
 */

export const KARPENTER_GROUP = 'karpenter.sh';
export const AZURE_GROUP = 'karpenter.azure.com';

export const label = {
  nodePool: 'karpenter.sh/nodepool',
  capacityType: 'karpenter.sh/capacity-type',
  registered: 'karpenter.sh/registered',
  initialized: 'karpenter.sh/initialized',
  doNotSyncTaints: 'karpenter.sh/do-not-sync-taints',
  nodeClass: 'karpenter.azure.com/aksnodeclass',
  excludeFromLoadBalancers: 'node.kubernetes.io/exclude-from-external-load-balancers',
  instanceType: 'node.kubernetes.io/instance-type',
  zone: 'topology.kubernetes.io/zone',
  region: 'topology.kubernetes.io/region',
  arch: 'kubernetes.io/arch',
  os: 'kubernetes.io/os',
  hostname: 'kubernetes.io/hostname',
  skuName: 'karpenter.azure.com/sku-name',
  skuFamily: 'karpenter.azure.com/sku-family',
  skuSeries: 'karpenter.azure.com/sku-series',
  skuVersion: 'karpenter.azure.com/sku-version',
  skuCpu: 'karpenter.azure.com/sku-cpu',
  skuMemory: 'karpenter.azure.com/sku-memory',
  placementScope: 'karpenter.azure.com/placement-scope',
  azureCluster: 'kubernetes.azure.com/cluster',
  azureMode: 'kubernetes.azure.com/mode',
  scaleSetPriority: 'kubernetes.azure.com/scalesetpriority',
  priority: 'kubernetes.azure.com/priority',
  /** Client id of the identity that the kubelet has. */
  kubeletIdentity: 'kubernetes.azure.com/kubelet-identity-client-id',
} as const;

/** What our own steps write on NodeClaims: that it comes back as a change is no news to anybody. */
const written = {
  nodeClassHash: 'karpenter.azure.com/aksnodeclass-hash',
  nodeClassHashVersion: 'karpenter.azure.com/aksnodeclass-hash-version',
  terminationTimestamp: 'karpenter.sh/nodeclaim-termination-timestamp',
  minValuesRelaxed: 'karpenter.sh/nodeclaim-min-values-relaxed',
  /**
   * DRA drivers whose devices a claim's pods count on, separated by commas: its node is not initialized without them.
   */
  requestedDrivers: 'karpenter.sh/requested-dra-drivers',
  /** The decision that created a NodeClaim: the name of its record in the `decisions` container. */
  decision: 'nodewright.dev/decision',
  /** The offering a NodeClaim was planned for, `size/zone/capacityType`; launch tries it first. */
  plannedOffering: 'nodewright.dev/planned-offering',
  /** On a NodeClaim and its Node: the list price of the machine per hour with its currency, such as `0.388 USD`. */
  pricePerHour: 'nodewright.dev/price-per-hour',
  /** On a NodeClaim and its Node: why the machine has this size, in words. */
  sizeReason: 'nodewright.dev/size-reason',
  /** How many pods a NodeClaim was planned for: until so many have come, there is nothing to see on its node. */
  plannedPods: 'nodewright.dev/planned-pods',
  /**
   * Launches of this NodeClaim minted more than one bootstrap token: all of them are to be found when they are revoked.
   */
  severalTokens: 'nodewright.dev/several-tokens',
  interruption: markKey.interruption,
  noticed: markKey.noticed,
  disruption: markKey.disruption,
  replacementUnavailable: markKey.replacementUnavailable,
  givenUp: markKey.givenUp,
  createdFor: markKey.createdFor,
  /** On a NodeClaim whose pods wait for its replacement: until when that must have been named. */
  replacementDue: 'nodewright.dev/replacement-due',
  replacedBy: markKey.replacedBy,
} as const;

export const annotation = {
  doNotDisrupt: 'karpenter.sh/do-not-disrupt',
  nodePoolHash: 'karpenter.sh/nodepool-hash',
  nodePoolHashVersion: 'karpenter.sh/nodepool-hash-version',
  /** On a NodePool: which devices new nodes of its instance types publish (DRA), as JSON. */
  resourceSlices: 'nodewright.dev/resource-slices',
  /**
   * On a NodePool, and on its claims: what the eviction of a spot node costs, as a duration for which such a node is
   * paid.
   */
  evictionCost: 'nodewright.dev/eviction-cost',
  /** On a NodePool: what moving one of its pods costs, as a share of what the pool pays on average per node and pod. */
  moveCost: 'nodewright.dev/move-cost',
  /**
   * On a pod, or in a NodePool's template: `true` where it serves until a notice leaves it no more than its grace
   * period.
   */
  stayUntilDeadline: 'nodewright.dev/stay-until-deadline',
  pauseDisruption: markKey.pauseDisruption,
  bakeTime: markKey.bakeTime,
  rolloutHalted: markKey.rolloutHalted,
  disruptionFailures: markKey.disruptionFailures,
  ...written,
} as const;

/** Names of the annotations that our own steps write on NodeClaims. */
export const ownAnnotations: ReadonlySet<string> = new Set(Object.values(written));

export const finalizer = 'karpenter.sh/termination';

export const taint = {
  unregistered: { key: 'karpenter.sh/unregistered', effect: 'NoExecute' },
  ...markTaint,
} as const;

/** Tags on VMs and NICs. Azure refuses `/` in tag names, so Karpenter's keys carry `_` in its place. */
export const tag = {
  cluster: 'karpenter.azure.com_cluster',
  nodePool: 'karpenter.sh_nodepool',
  billing: 'compute.aks.billing',
  /** Beside Karpenter's: the decision that the machine comes from, as log lines have it. */
  decision: 'nodewright.dev_decision',
} as const;

/** The Lease that carries the generation: a compare-and-set counter that orders plans and fences late writers. */
export const generationLease = 'nodewright-generation';

/** The Lease whose holder is the relay that publishes. Karpenter's name, which dashboards and suites look for. */
export const relayLease = 'karpenter-leader-election';

/** Blob containers. */
export const container = { snapshots: 'snapshots', decisions: 'decisions', catalog: 'catalog' } as const;
