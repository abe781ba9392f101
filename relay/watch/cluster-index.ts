import { claimOfVm } from '../../shared/contract/vm-name.ts';
import { parseGoDuration } from '../../shared/kubernetes/text/go-duration.ts';
import { annotation, label } from '../../shared/contract/names.ts';
import { isOwnClassNamed, isOwnPool } from '../../shared/contract/own-class.ts';
import { isDedicated } from '../../shared/kubernetes/dedicated-taint.ts';
import type { SnapshotBuilder, SnapshotChange } from '../../shared/contract/snapshot/builder.ts';
import type { ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { createPodsByNode } from './pods-by-node.ts';
import { createWaitingPods, type WaitingPods } from './waiting-pods.ts';

type Node = ReducedObject<'nodes'>;

/** What deriving hints needs to know besides the change itself. */
export interface HintView {
  /** True while a pod waits for provisioning. */
  readonly podsWait: () => boolean;
  /** True while there are CapacityBuffers. */
  readonly hasBuffers: () => boolean;
  /** Either: new capacity, or the loss of some, is of interest. */
  readonly wantsRoom: () => boolean;
  readonly hasClaim: (name: string) => boolean;
  /** The claim of a node that is being emptied: it, or its claim, is being deleted. Null for other nodes. */
  readonly emptyingClaim: (nodeName: string) => string | null;
  /**
   * The claim of a node that is kept for the pods it was made for, and how many of them have not come. Null for other
   * nodes.
   */
  readonly dedicatedTo: (nodeName: string) => { readonly claim: string; readonly missing: number } | null;
  /** True while a claim that a decision made has no node that has registered. */
  readonly awaitsNodes: () => boolean;
  /** True for a node of ours that is not in use yet, or kept for the pods it was made for. */
  readonly isStarting: (nodeName: string) => boolean;
  /** The claim of any node of ours. Null for foreign nodes. */
  readonly claimOf: (nodeName: string) => string | null;
  /**
   * What the pool of a claim says of `consolidateAfter`; null when it has none, or its nodes are never consolidated.
   */
  readonly consolidateAfterMs: (claim: string) => number | null;
  /** The pools that use a node class. */
  readonly poolsOf: (nodeClass: string) => ReadonlyArray<string>;
  /** True for a node class that is being deleted. */
  readonly isLeavingClass: (name: string) => boolean;
  /** True for pools with a fixed number of nodes, which want nodes without pods. */
  readonly isStatic: (pool: string) => boolean;
}

/** The claim that a node says it is of: by its owner, else by its VM, else by its own name. Null for foreign nodes. */
export function claimNameOf(node: Node): string | null {
  const owner = node.metadata.ownerReferences?.find(({ kind }) => kind === 'NodeClaim');
  if (owner !== undefined) return owner.name;
  const providerId = node.spec?.providerID;
  const vm = providerId === undefined ? node.metadata.name : providerId.slice(providerId.lastIndexOf('/') + 1);
  return claimOfVm(vm);
}

/** Follows changes to answer a view's questions without reading all objects each time. */
export interface ClusterIndex {
  /** Takes in a change, seen at `atMs` since the epoch. Do it before hints are derived from it. */
  readonly apply: (change: SnapshotChange, atMs: number) => void;
  readonly view: HintView;
  readonly waiting: Omit<WaitingPods, 'apply'>;
}

/** Makes an index that knows nothing yet; `builder` is asked for objects that a change does not carry. */
export function createClusterIndex(
  builder: Pick<SnapshotBuilder, 'has' | 'object' | 'objects' | 'count'>,
): ClusterIndex {
  const waiting = createWaitingPods();
  const deletingNodes = new Map<string, string>();
  const deletingClaims = new Set<string>();
  const awaitedClaims = new Set<string>();
  const claimOfNode = new Map<string, string>();
  /** Those that a node can have been made for. */
  const arrived = createPodsByNode((pod) => !pod.placedByOwner);

  function applyNode(key: string, after: Node | null): void {
    const claim = after === null ? null : claimNameOf(after);
    if (claim === null) claimOfNode.delete(key);
    else claimOfNode.set(key, claim);
    if (claim !== null && after?.metadata.deletionTimestamp !== undefined) deletingNodes.set(key, claim);
    else deletingNodes.delete(key);
  }

  function apply(change: SnapshotChange, atMs: number): void {
    waiting.apply(change, atMs);
    if (change.kind === 'pod') arrived.apply(change);
    if (change.kind !== 'object') return;
    if (change.resource === 'nodes') applyNode(change.key, change.after);
    if (change.resource === 'nodeclaims') {
      if (change.after?.metadata.deletionTimestamp !== undefined) deletingClaims.add(change.key);
      else deletingClaims.delete(change.key);
      if (isAwaited(change.after)) awaitedClaims.add(change.key);
      else awaitedClaims.delete(change.key);
    }
  }

  const podsWait = (): boolean => waiting.size() > 0;
  const hasBuffers = (): boolean => builder.count('capacitybuffers') > 0;
  return {
    apply,
    waiting,
    view: {
      podsWait,
      hasBuffers,
      wantsRoom: () => podsWait() || hasBuffers(),
      hasClaim: (name) => builder.has('nodeclaims', name),
      emptyingClaim(nodeName) {
        const claim = claimOfNode.get(nodeName);
        if (claim === undefined) return null;
        return deletingNodes.has(nodeName) || deletingClaims.has(claim) ? claim : null;
      },
      dedicatedTo(nodeName) {
        const claim = claimOfNode.get(nodeName);
        if (claim === undefined || !isDedicated(builder.object('nodes', nodeName))) return null;
        const planned = builder.object('nodeclaims', claim)?.metadata.annotations?.[annotation.plannedPods];
        return { claim, missing: Math.max(0, Number(planned ?? 0) - arrived.on(nodeName)) };
      },
      awaitsNodes: () => awaitedClaims.size > 0,
      isStarting(nodeName) {
        if (!claimOfNode.has(nodeName)) return false;
        const node = builder.object('nodes', nodeName);
        return isDedicated(node) || node?.metadata.labels?.[label.initialized] !== 'true';
      },
      claimOf: (nodeName) => claimOfNode.get(nodeName) ?? null,
      consolidateAfterMs(claim) {
        const pool = builder.object('nodepools', poolNameOf(builder.object('nodeclaims', claim)) ?? '');
        // A fixed number of nodes is not consolidated.
        if (pool === null || pool.spec.replicas !== undefined) return null;
        return parseGoDuration(pool.spec.disruption?.consolidateAfter ?? '0s');
      },
      poolsOf: (nodeClass) =>
        [...builder.objects('nodepools')]
          .filter((pool) => isOwnClassNamed(pool.spec.template.spec.nodeClassRef, nodeClass))
          .map((pool) => pool.metadata.name),
      isLeavingClass: (name) => builder.object('aksnodeclasses', name)?.metadata.deletionTimestamp !== undefined,
      isStatic(name) {
        const pool = builder.object('nodepools', name);
        return pool !== null && isOwnPool(pool) && pool.spec.replicas !== undefined;
      },
    },
  };
}

/** Has a decision made the claim, and is its node still to come? */
function isAwaited(claim: ReducedObject<'nodeclaims'> | null): boolean {
  if (claim === null || claim.metadata.deletionTimestamp !== undefined) return false;
  const isRegistered = claim.status?.conditions?.some(({ type, status }) => type === 'Registered' && status === 'True');
  return isRegistered !== true && annotation.decision in (claim.metadata.annotations ?? {});
}

/** The pool that a node or claim says it is of. */
export function poolNameOf(object: { readonly metadata: Node['metadata'] } | null): string | null {
  return object?.metadata.labels?.[label.nodePool] ?? null;
}
