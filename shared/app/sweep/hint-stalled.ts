import type { FollowedObject } from '../../contract/messages/messages.ts';
import { parsePast } from '../../core/quantity/told-time.ts';
import { isUntimely } from '../claims/timely-claim.ts';
import { digest } from '../../contract/digest.ts';
import { annotation, finalizer, label } from '../../contract/names.ts';
import { isOwnClass, isOwnPool } from '../../contract/own-class.ts';
import { isDedicated } from '../../kubernetes/dedicated-taint.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { Condition, Node, NodeClaim } from '../../kubernetes/manifest.ts';
import type { InventoryItem } from '../../ports/cloud.ts';
import { CLASS_HASH_VERSION, POOL_HASH_VERSION } from '../facts/api-rules.ts';
import { conditionOf, isTrue } from '../facts/conditions.ts';
import { judgeConsolidatable, lastPodEvent } from '../follow/judge/consolidatable.ts';
import { findDrift } from '../follow/judge/drift.ts';
import { toNodeClass } from '../gather/gather.ts';
import { hintObjects } from '../ports/hint-objects.ts';
import { claimOfVm } from '../../contract/vm-name.ts';
import { nodeNameOf } from '../facts/node-name.ts';
import type { Ports } from '../ports/ports.ts';

/** What a sweep has read. */
export interface Seen {
  readonly claims: ReadonlyArray<NodeClaim>;
  /** Null where Azure could not be asked: whether machines are there is then not judged. */
  readonly inventory: ReadonlyArray<InventoryItem> | null;
  readonly snapshot: Snapshot | null;
}

/**
 * Asks for a look at claims, pools and classes that are not at rest, in case what would have moved them got lost, and
 * at a share of those that are: a message about them may be lost as well. Returns how many.
 */
export async function hintStalled(ports: Ports, seen: Seen): Promise<number> {
  const nowMs = ports.now();
  const { nodePools = [], nodeClasses = [] } = seen.snapshot ?? {};
  const stalled: ReadonlyArray<FollowedObject> = [
    ...stalledClaims(seen, nowMs).map(({ metadata: { name } }) => ({ kind: 'NodeClaim' as const, name })),
    ...leftNodes(seen).map((name) => ({ kind: 'NodeClaim' as const, name })),
    ...nodePools
      .filter(isOwnPool)
      .filter((pool) => needsLook(pool, nowMs) || isOutdated(pool, annotation.nodePoolHashVersion, POOL_HASH_VERSION))
      .map(({ metadata: { name } }) => ({ kind: 'NodePool' as const, name })),
    ...nodeClasses
      .filter((one) => needsLook(one, nowMs) || isOutdated(one, annotation.nodeClassHashVersion, CLASS_HASH_VERSION))
      .map(({ metadata: { name } }) => ({ kind: 'AKSNodeClass' as const, name })),
  ];
  const minute = Math.floor(nowMs / MINUTE_MS);
  await hintObjects(ports, stalled, { reason: 'sweep', occasion: `sweep/${minute}` });
  return stalled.length;
}

const MINUTE_MS = 60_000;

/** Every object is looked at in one of so many minutes: once an hour where the sweep comes each minute. */
const ROUND_MINUTES = 60;

/**
 * Is it the object's turn? Nothing is remembered, so that any instance finds the same: its name says in which minute of
 * the hour, and each hour it is one minute earlier, so that a sweep that comes less often comes to all of them too,
 * later.
 */
function isItsTurn({ metadata: { name } }: Pick<NodeClaim, 'metadata'>, nowMs: number): boolean {
  const minute = Math.floor(nowMs / MINUTE_MS);
  const place = Number.parseInt(digest(name).slice(-6), 36);
  return (place + minute + Math.floor(minute / ROUND_MINUTES)) % ROUND_MINUTES === 0;
}

/** Of a pool or a class: it stands still, or nobody has looked at what it asks for now, or it is its turn. */
function needsLook(object: Followable & Pick<NodeClaim, 'metadata'>, nowMs: number): boolean {
  return isStalled(object, nowMs) || isUnseen(object) || isItsTurn(object, nowMs);
}

/** Has its spec changed since its status was written? */
function isUnseen({ metadata, status }: Followable): boolean {
  const seen = conditionOf(status?.conditions, 'Ready')?.observedGeneration;
  return seen !== undefined && metadata.generation !== undefined && seen !== metadata.generation;
}

/** Those that stand still on their way, or have lost their machine or their node at rest, or whose turn it is. */
function stalledClaims({ claims, inventory, snapshot }: Seen, nowMs: number): ReadonlyArray<NodeClaim> {
  const vms = inventory?.filter(({ kind }) => kind === 'vm').map(({ claim }) => claim.toLowerCase());
  const machines = vms === undefined ? null : new Set(vms);
  const living = snapshot?.nodes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const nodes = living === undefined ? null : new Map(living.map((node) => [node.metadata.name, node]));
  const isBereft = (claim: NodeClaim): boolean =>
    machines?.has(claim.metadata.name.toLowerCase()) === false || nodes?.has(nodeNameOf(claim)) === false;
  return claims
    .filter(({ spec }) => isOwnClass(spec.nodeClassRef))
    .filter((claim) => {
      const node = nodes?.get(nodeNameOf(claim)) ?? null;
      if (!isAtRest(claim, node)) return isStalled(claim, nowMs, node);
      if (isItsTurn(claim, nowMs) || isBereft(claim) || isUntimely(claim, nowMs)) return true;
      return isOverdue(claim, snapshot, nowMs) || isDriftUnseen(claim, snapshot);
    });
}

/** How long after its time a node that may be consolidated is left to the look that was asked for then. */
const OVERDUE_MS = 60_000;

/**
 * A node that may be consolidated for a while, and does not say so: the look that should have found it out was lost.
 */
function isOverdue(claim: NodeClaim, snapshot: Snapshot | null, nowMs: number): boolean {
  if (isTrue(claim.status?.conditions, 'Consolidatable')) return false;
  const pool = snapshot?.nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels?.[label.nodePool]);
  const eventMs = lastPodEvent(claim, null, nowMs);
  return judgeConsolidatable(claim, pool ?? null, eventMs, nowMs - OVERDUE_MS).kind === 'since';
}

/**
 * A node that is not what its pool and class ask for any more, and does not say so: the look that should have found it
 * out was lost. Sizes that are gone and another identity are left to the node's own looks, as a snapshot has neither.
 */
function isDriftUnseen(claim: NodeClaim, snapshot: Snapshot | null): boolean {
  if (snapshot === null || isTrue(claim.status?.conditions, 'Drifted')) return false;
  const node = snapshot.nodes.find(({ metadata }) => metadata.name === nodeNameOf(claim));
  const pool = snapshot.nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels?.[label.nodePool]);
  const nodeClass = snapshot.nodeClasses.find(({ metadata }) => metadata.name === claim.spec.nodeClassRef.name);
  if (node === undefined || pool === undefined || nodeClass === undefined) return false;
  const facts = {
    pool,
    nodeClass: toNodeClass(nodeClass),
    node,
    instanceTypes: new Set<string>(),
    kubeletIdentity: null,
  };
  return findDrift(claim, facts) !== null;
}

/** The claims that were, of nodes that still carry our finalizer. */
function leftNodes({ claims, snapshot }: Seen): ReadonlyArray<string> {
  const known = new Set(claims.map((claim) => nodeNameOf(claim)));
  return (snapshot?.nodes ?? [])
    .map(({ metadata }) => metadata)
    .filter(({ deletionTimestamp, finalizers }) => deletionTimestamp !== undefined && finalizers?.includes(finalizer))
    .flatMap(({ name }) => (known.has(name) ? [] : (claimOfVm(name) ?? [])));
}

/**
 * Something that has just moved will move again by itself. Each step is followed by the next within seconds, or by a
 * look at a known time.
 */
const STILL_MS = 20_000;

/** Not at rest, and nothing about it has changed for a while. */
function isStalled(object: Followable, nowMs: number, node: Node | null = null): boolean {
  return !isAtRest(object, node) && nowMs >= lastChangeMs(object, nowMs) + STILL_MS;
}

/**
 * By clocks that are right: what another says of the time to come would keep the object from being looked at until
 * then.
 */
function lastChangeMs({ metadata, status }: Followable, nowMs: number): number {
  const transitions = (status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime);
  const times = [metadata.creationTimestamp, metadata.deletionTimestamp, ...transitions];
  return Math.max(0, ...times.map((time) => parsePast(time, nowMs) ?? 0));
}

/**
 * A node that is kept for some is to be opened to all: in use as it is where it is kept for pods that move, nobody else
 * says so.
 */
function isAtRest({ metadata, status }: Followable, node: Node | null): boolean {
  return metadata.deletionTimestamp === undefined && isTrue(status?.conditions, 'Ready') && !isDedicated(node);
}

/**
 * Stamped by another version of us. It is stamped again before anybody changes it: afterwards, claims would get the
 * hash of what they were not made from, and their drift would go unseen.
 */
function isOutdated({ metadata }: Pick<NodeClaim, 'metadata'>, key: string, ours: string): boolean {
  const version = metadata.annotations?.[key];
  return version !== undefined && version !== ours;
}

/** A claim, a pool, a class, or the image of one in a snapshot. */
interface Followable {
  readonly metadata: Pick<NodeClaim['metadata'], 'creationTimestamp' | 'deletionTimestamp' | 'generation'>;
  readonly status?: { readonly conditions?: ReadonlyArray<Condition> };
}
