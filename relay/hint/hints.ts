import type { FollowedObject } from '../../shared/contract/messages/messages.ts';
import { isDisrupted } from '../../shared/kubernetes/disrupted-taint.ts';
import { annotation, label, ownAnnotations, taint } from '../../shared/contract/names.ts';
import { isOwnClass, isOwnPool } from '../../shared/contract/own-class.ts';
import { isDedicated } from '../../shared/kubernetes/dedicated-taint.ts';
import type { ObjectChange, SnapshotBuilder, SnapshotChange } from '../../shared/contract/snapshot/builder.ts';
import type { PodState } from '../../shared/contract/snapshot/pod-table.ts';
import { referredResources, type ReducedObject } from '../../shared/contract/snapshot/reduced/reduced.ts';
import { claimNameOf, poolNameOf, type HintView } from '../watch/cluster-index.ts';
import { signalsOf, type Signal } from './signals.ts';

/** What to tell the functions. All are hints: doubled, late or lost they do no harm. */
export type Hint =
  | { readonly kind: 'pods'; readonly reason: string; readonly delayMs: number }
  | {
      readonly kind: 'object';
      readonly object: FollowedObject;
      readonly reason: string;
      readonly delayMs: number;
    }
  | { readonly kind: 'signal'; readonly signal: Signal };

type Node = ReducedObject<'nodes'>;
type NodeClaim = ReducedObject<'nodeclaims'>;

/**
 * The scheduler binds the pods of a node one after the other, and some may have gone elsewhere: those that came are
 * told together.
 */
const ARRIVAL_DELAY_MS = 3_000;

/** Once all have come the node can be opened; in a burst many nodes get their last pods within one another's time. */
const ALL_CAME_DELAY_MS = 250;

/** A scale-down takes many pods away, and a Job that ends makes room for many; the snapshot has them all by then. */
const UNWANTED_DELAY_MS = 1_500;

/** Pods leave a node in bursts; the drain looks once per burst. */
const DRAIN_DELAY_MS = 250;

/** A pool's status counts its nodes; Karpenter too writes it at most once in 5 s. */
const NODE_COUNT_DELAY_MS = 5_000;

/** Volumes are bound in bursts, and the scheduler looks at their pods again by itself first. */
const VOLUME_DELAY_MS = 1_000;

function podsHint(reason: string, delayMs = 0): Hint {
  return { kind: 'pods', reason, delayMs };
}

function objectHint(kind: FollowedObject['kind'], name: string, reason: string, delayMs = 0): Hint {
  return { kind: 'object', object: { kind, name }, reason, delayMs };
}

/** True when two parts of reduced objects differ; reduction makes equal content equal text. */
function differ(before: unknown, after: unknown): boolean {
  return JSON.stringify(before) !== JSON.stringify(after);
}

/** The hints that a change gives, with the view taken after the change. Pure. */
export function hintsOf(change: SnapshotChange, view: HintView): ReadonlyArray<Hint> {
  if (change.kind === 'pod') return podHints(change.before, change.after, view);
  return change.kind === 'object' ? objectHints(change, view) : [];
}

/** A pod that waits for its volume stays Unschedulable when the volume comes: nothing of the pod itself changes. */
const volumeResources: ReadonlySet<string> = new Set([
  'persistentvolumeclaims',
  'persistentvolumes',
  'storageclasses',
  'csinodes',
]);

/** What a CapacityBuffer refers to. Changes of what none refers to are not told. */
const templateResources: ReadonlySet<string> = new Set(referredResources);

/** Pods come in bursts, and templates change with their buffers; room that was taken is made again once per burst. */
const BUFFER_DELAY_MS = 1_000;

/** So does one that waits for devices, when a driver publishes some or a claim gives some back. */
const deviceResources: ReadonlySet<string> = new Set([
  'resourceslices',
  'deviceclasses',
  'resourceclaims',
  'resourceclaimtemplates',
]);

function objectHints(change: ObjectChange, view: HintView): ReadonlyArray<Hint> {
  if (change.resource === 'nodes') return nodeHints(change.before, change.after, view);
  if (change.resource === 'nodeclaims') return claimHints(change.before, change.after, view);
  if (change.resource === 'nodepools') return poolHints(change.before, change.after, view);
  if (change.resource === 'aksnodeclasses') return classHints(change.before, change.after, view);
  if (change.resource === 'capacitybuffers') return bufferHints(change.before, change.after);
  if (change.resource === 'nodeoverlays') {
    // Also where no pod waits: whether overlays are well and agree is told in their status.
    return differ(change.before?.spec, change.after?.spec) ? [podsHint('overlay-changed')] : [];
  }
  return partHints(change, view);
}

/** Of what pods and buffers refer to. */
function partHints(change: ObjectChange, view: HintView): ReadonlyArray<Hint> {
  if (templateResources.has(change.resource)) return [podsHint('buffer-template-changed', BUFFER_DELAY_MS)];
  if (!view.podsWait()) return [];
  if (deviceResources.has(change.resource)) return [podsHint('devices-changed', VOLUME_DELAY_MS)];
  const isVolumeNews = volumeResources.has(change.resource) && change.after !== null;
  return isVolumeNews ? [podsHint('volume-changed', VOLUME_DELAY_MS)] : [];
}

function podHints(before: PodState | null, after: PodState | null, view: HintView): ReadonlyArray<Hint> {
  const isNews = isWaiting(after) && !isWaiting(before);
  return [
    ...(isNews ? [podsHint('pods-unschedulable')] : []),
    ...takenHints(before, after, view),
    ...unwantedHints(before, after, view),
    ...arrivalHints(before, after, view),
    ...drainHints(before, after, view),
  ];
}

/** A pod that comes to a node may have taken the room of a buffer. */
function takenHints(before: PodState | null, after: PodState | null, view: HintView): ReadonlyArray<Hint> {
  const hasCome = (after?.nodeName ?? null) !== null && (before?.nodeName ?? null) === null;
  return hasCome && view.hasBuffers() ? [podsHint('room-taken', BUFFER_DELAY_MS)] : [];
}

/**
 * A pod that waited is gone, or has come to a node that was not made for it, while a node is on its way: nobody may
 * wait for that any more. Whoever comes to a node that starts has mostly waited for it; but where several nodes are
 * kept for pods that are alike, and nobody waits any more, those that come later are not needed.
 */
function unwantedHints(before: PodState | null, after: PodState | null, view: HintView): ReadonlyArray<Hint> {
  if (!isWaiting(before) || before?.deleting === true || !view.awaitsNodes()) return [];
  if (after?.deleting === false) {
    if (after.nodeName === null) return [];
    if (view.isStarting(after.nodeName) && view.podsWait()) return [];
  }
  return [podsHint('pod-waits-no-more', UNWANTED_DELAY_MS)];
}

/** The node is opened to everybody when the pods have come that it is kept for. */
function arrivalHints(before: PodState | null, after: PodState | null, view: HintView): ReadonlyArray<Hint> {
  const nodeName = after?.nodeName ?? null;
  if (nodeName === null || before?.nodeName === nodeName) return [];
  const dedicated = view.dedicatedTo(nodeName);
  if (dedicated === null) return [];
  const delayMs = dedicated.missing > 0 ? ARRIVAL_DELAY_MS : ALL_CAME_DELAY_MS;
  return [objectHint('NodeClaim', dedicated.claim, 'pods-came', delayMs)];
}

type Buffer = ReducedObject<'capacitybuffers'>;

/** A buffer's status is ours. One that is gone wants nothing, and what it held is free. */
function bufferHints(before: Buffer | null, after: Buffer | null): ReadonlyArray<Hint> {
  if (after === null || after.metadata.deletionTimestamp !== undefined) return [];
  return differ(before?.spec, after.spec) ? [podsHint('buffer-changed')] : [];
}

function isWaiting(pod: PodState | null): boolean {
  return pod?.provisionable === true;
}

/** Pods that come to or leave a node that is being emptied bring its drain on. */
function drainHints(before: PodState | null, after: PodState | null, view: HintView): ReadonlyArray<Hint> {
  if (before?.nodeName === after?.nodeName && before?.deleting === after?.deleting) return [];
  const nodes = [...new Set([before?.nodeName, after?.nodeName])].filter((name) => typeof name === 'string');
  return nodes
    .map((node) => view.emptyingClaim(node))
    .filter((claim) => claim !== null)
    .map((claim) => objectHint('NodeClaim', claim, 'pods-left', DRAIN_DELAY_MS));
}

interface WithConditions {
  readonly status?: { readonly conditions?: ReadonlyArray<{ readonly type: string; readonly status: string }> };
}

function conditionOf(object: WithConditions | null, type: string): string {
  return object?.status?.conditions?.find((one) => one.type === type)?.status ?? 'Unknown';
}

function nodeHints(before: Node | null, after: Node | null, view: HintView): ReadonlyArray<Hint> {
  const node = after ?? before;
  const claim = node === null ? null : claimNameOf(node);
  const reason = stepReason(before, after);
  const isOurs = claim !== null && reason !== null && view.hasClaim(claim);
  return [
    ...newSignals(before, after),
    ...(isOurs ? [objectHint('NodeClaim', claim, reason)] : []),
    ...nodeCountHints(poolNameOf(before), poolNameOf(after)),
    ...nodePodsHints(before, after, view),
  ];
}

function nodeCountHints(before: string | null, after: string | null): ReadonlyArray<Hint> {
  if (before === after) return [];
  const pools = [before, after].filter((pool) => pool !== null);
  return pools.map((pool) => objectHint('NodePool', pool, 'node-count', NODE_COUNT_DELAY_MS));
}

function nodePodsHints(before: Node | null, after: Node | null, view: HintView): ReadonlyArray<Hint> {
  if (isDisrupted(after) && !isDisrupted(before)) return [podsHint('node-disrupted')];
  if (!view.wantsRoom()) return [];
  if (after === null) return [podsHint('node-lost')];
  // Pods that were planned for this node and still wait did not fit: they need another.
  const isNews = before !== null && isInitialized(after) && !isInitialized(before);
  return isNews ? [podsHint('node-initialized')] : [];
}

/**
 * Why a node's claim should be looked at; null when its next step does not depend on what changed, or it is our own
 * doing that comes back. A node is registered once it is ready; what else it must have, to be initialized, counts until
 * it is.
 */
function stepReason(before: Node | null, after: Node | null): string | null {
  if (after === null) return 'node-gone';
  if (before === null) return conditionOf(after, 'Ready') === 'True' || isLeaving(after) ? 'node-appeared' : null;
  if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp) return 'node-deleted';
  if (conditionOf(before, 'Ready') !== conditionOf(after, 'Ready')) return 'node-ready';
  if (before.spec?.providerID !== after.spec?.providerID) return 'node-provider-id';
  return isRegistered(after) && !isInitialized(after) ? startReason(before, after) : null;
}

/** Of a node that has still to show that it can be used. */
function startReason(before: Node, after: Node): string | null {
  const isKept = isDedicated(after);
  if (differ(taintsThatMatter(before, isKept), taintsThatMatter(after, isKept))) return 'node-taints';
  return differ(before.status?.allocatable, after.status?.allocatable) ? 'node-allocatable' : null;
}

function isLeaving({ metadata }: Node): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Those that our own steps put on a node and take off again are no news, nor, while it is kept for its planned pods,
 * are those that Kubernetes takes off when it becomes ready: the pods come then, and that is told.
 */
function taintsThatMatter(node: Node, isKept: boolean): unknown {
  return (node.spec?.taints ?? []).filter(
    ({ key }) => key !== taint.unregistered.key && key !== taint.dedicated.key && !(isKept && isConditionTaint(key)),
  );
}

/** Set and taken away by the node controllers as the node's conditions are. */
function isConditionTaint(key: string): boolean {
  return key.startsWith('node.kubernetes.io/') || key.startsWith('node.cloudprovider.kubernetes.io/');
}

function isRegistered(node: Node): boolean {
  return node.metadata.labels?.[label.registered] === 'true';
}

function isInitialized(node: Node | null): boolean {
  return node?.metadata.labels?.[label.initialized] === 'true';
}

/**
 * The notices in a node's conditions that were not there before: type, status and message, for no other part changes.
 */
function newSignals(before: Node | null, after: Node | null): ReadonlyArray<Hint> {
  const known = new Set(signalsOf(before).map(({ key }) => key));
  return signalsOf(after)
    .filter(({ key }) => !known.has(key))
    .map((signal) => ({ kind: 'signal', signal }));
}

function claimHints(before: NodeClaim | null, after: NodeClaim | null, view: HintView): ReadonlyArray<Hint> {
  if (after === null) return goneClaimHints(before, view);
  const reason = claimReason(before, after);
  if (reason === null) return [];
  // Nothing is planned onto one that is deleted: whoever waits need not wait until it is gone.
  const isLost = reason === 'claim-deleted' && view.wantsRoom();
  return [objectHint('NodeClaim', after.metadata.name, reason), ...(isLost ? [podsHint('claim-lost')] : [])];
}

function goneClaimHints(before: NodeClaim | null, view: HintView): ReadonlyArray<Hint> {
  const pool = poolNameOf(before);
  const isWanted = view.wantsRoom() || (pool !== null && view.isStatic(pool));
  const reference = before?.spec.nodeClassRef;
  const nodeClass = reference !== undefined && isOwnClass(reference) ? reference.name : '';
  return [
    ...(isWanted ? [podsHint('claim-lost')] : []),
    // A class that is to go does so after the last of its claims.
    ...(view.isLeavingClass(nodeClass) ? [objectHint('AKSNodeClass', nodeClass, 'claim-gone')] : []),
  ];
}

/**
 * Why a claim should be looked at. Its status is written by us, so that alone is no reason but for what we never
 * change.
 */
function claimReason(before: NodeClaim | null, after: NodeClaim): string | null {
  // One that a decision made was hinted at by whoever carried the decision out.
  if (before === null) return annotation.decision in (after.metadata.annotations ?? {}) ? null : 'claim-created';
  if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp) return 'claim-deleted';
  if (before.status?.providerID !== undefined && before.status.providerID !== after.status?.providerID) {
    return 'claim-provider-id';
  }
  if (differ(before.spec, after.spec)) return 'claim-changed';
  // Until it is registered, labels on a claim are ours: what the launch chose. Then they are synced to the node.
  const withLabels = conditionOf(before, 'Registered') === 'True' && conditionOf(after, 'Registered') === 'True';
  return differ(foreignMetadata(before, withLabels), foreignMetadata(after, withLabels)) ? 'claim-changed' : null;
}

function foreignMetadata({ metadata }: NodeClaim, withLabels: boolean): unknown {
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => !ownAnnotations.has(key));
  return [annotations, metadata.finalizers, withLabels ? metadata.labels : null];
}

type Definition = ReducedObject<'nodepools'> | ReducedObject<'aksnodeclasses'>;

/** Why a pool or class should be looked at: null when only its status changed. */
function definitionReason(before: Definition | null, after: Definition | null): string | null {
  if (before === null) return 'created';
  if (after === null) return 'gone';
  if (before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp) return 'deleted';
  if (before.metadata.generation !== after.metadata.generation || differ(before.spec, after.spec)) return 'changed';
  if (differ(statedBy(before), statedBy(after))) return 'changed';
  // The hashes are ours; whoever else writes them, such as an older version of us, has them put right.
  return differ(hashesOf(before), hashesOf(after)) && hasHashes(before) ? 'restamped' : null;
}

/** What a pool states by annotations, so that no generation tells of a change. */
const stating = [annotation.resourceSlices, annotation.evictionCost, annotation.moveCost] as const;

function statedBy({ metadata: { annotations = {} } }: Definition): ReadonlyArray<string | undefined> {
  return stating.map((key) => annotations[key]);
}

function hashesOf({ metadata: { annotations = {} } }: Definition): ReadonlyArray<string | undefined> {
  return [
    annotations[annotation.nodePoolHash],
    annotations[annotation.nodePoolHashVersion],
    annotations[annotation.nodeClassHash],
    annotations[annotation.nodeClassHashVersion],
  ];
}

/** False for one that is stamped for the first time: that is us, and no news. */
function hasHashes(definition: Definition): boolean {
  return hashesOf(definition).some((one) => one !== undefined);
}

function poolHints(
  before: ReducedObject<'nodepools'> | null,
  after: ReducedObject<'nodepools'> | null,
  view: HintView,
): ReadonlyArray<Hint> {
  const pool = after ?? before;
  if (pool === null || !isOwnPool(pool)) return [];
  const { name } = pool.metadata;
  const reason = definitionReason(before, after);
  const isReadyNow = conditionOf(before, 'Ready') !== conditionOf(after, 'Ready');
  const isWanted = view.wantsRoom() || after?.spec.replicas !== undefined;
  return [
    ...(reason === null ? [] : [objectHint('NodePool', name, `pool-${reason}`)]),
    ...((reason !== null || isReadyNow) && after !== null && isWanted ? [podsHint('pool-changed')] : []),
  ];
}

function classHints(
  before: ReducedObject<'aksnodeclasses'> | null,
  after: ReducedObject<'aksnodeclasses'> | null,
  view: HintView,
): ReadonlyArray<Hint> {
  const name = (after ?? before)?.metadata.name ?? '';
  const reason = definitionReason(before, after);
  const isReadyNow = conditionOf(before, 'Ready') !== conditionOf(after, 'Ready');
  // A pool's own conditions follow its class's.
  const pools = isReadyNow || before === null || after === null ? view.poolsOf(name) : [];
  return [
    ...(reason === null ? [] : [objectHint('AKSNodeClass', name, `class-${reason}`)]),
    ...pools.map((pool) => objectHint('NodePool', pool, 'class-ready')),
    ...((reason !== null || isReadyNow) && after !== null && view.wantsRoom() ? [podsHint('class-changed')] : []),
  ];
}

/**
 * The hints about everything there is, for a relay that begins to publish: its predecessor may not have sent its last.
 */
export function hintsOnStart(objects: SnapshotBuilder['objects'], view: HintView): ReadonlyArray<Hint> {
  const of = (kind: FollowedObject['kind'], all: Iterable<{ readonly metadata: Node['metadata'] }>) =>
    [...all].map(({ metadata }) => objectHint(kind, metadata.name, 'relay-started'));
  return [
    ...(view.wantsRoom() ? [podsHint('relay-started')] : []),
    ...[...objects('nodes')].flatMap(signalsOf).map((signal): Hint => ({ kind: 'signal', signal })),
    ...of('AKSNodeClass', objects('aksnodeclasses')),
    ...of('NodePool', [...objects('nodepools')].filter(isOwnPool)),
    ...of('NodeClaim', objects('nodeclaims')),
  ];
}

/** `urgent` changes are published at once; for the others a second's delay costs nothing. */
export type Urgency = 'urgent' | 'lazy';

/** How soon a change must be in a published snapshot. */
export function urgencyOf(change: SnapshotChange): Urgency {
  if (change.kind === 'pod') {
    return isWaiting(change.after) && !isWaiting(change.before) ? 'urgent' : 'lazy';
  }
  return change.kind === 'object' && isUrgentObject(change) ? 'urgent' : 'lazy';
}

/** Nodes and claims change at every step of their lives: a hint to provision that they bring publishes them with it. */
function isUrgentObject(change: ObjectChange): boolean {
  if (change.resource === 'capacitybuffers') return bufferHints(change.before, change.after).length > 0;
  return ['nodepools', 'aksnodeclasses', 'nodeoverlays'].includes(change.resource);
}
