import type { FollowedObject } from '../contract/messages.ts';
import { annotation, finalizer, label } from '../contract/names.ts';
import { isOwnClass, isOwnPool } from '../contract/own-class.ts';
import type { Snapshot } from '../contract/snapshot/parse.ts';
import type { Condition, NodeClaim } from '../kubernetes/manifest.ts';
import { surplusClaims } from '../core/finishing/static-pools.ts';
import type { InventoryItem, QuotaInUse } from '../ports/cloud.ts';
import { RetryableError, TerminalError } from '../ports/errors.ts';
import { CLASS_HASH_VERSION, POOL_HASH_VERSION } from './api-rules.ts';
import { isTrue } from './conditions.ts';
import { judgeConsolidatable, lastPodEvent } from './follow/consolidatable.ts';
import { findDrift } from './follow/drift.ts';
import { readSnapshot, toNodeClass } from './gather.ts';
import { hintObjects } from './hint-objects.ts';
import { inParallel } from './in-parallel.ts';
import { claimOfVm, nodeNameOf } from './node-name.ts';
import type { Ports } from './ports.ts';
import { type ProvisionOutcome, provision } from './provision.ts';
import { tellCluster } from './tell-cluster.ts';

/** What one sweep found and did. */
export interface SweepOutcome {
  readonly orphansDeleted: number;
  readonly hinted: number;
  readonly provision: ProvisionOutcome['kind'];
}

/**
 * A machine younger than this may belong to a claim that is being created: as Karpenter's Azure provider, five minutes.
 */
const ORPHAN_AGE_MS = 5 * 60_000;

/** Deletions started per sweep. A mistake of ours, or of Azure's list, then costs few machines before people see it. */
const ORPHANS_MAX = 20;
const DELETIONS_AT_ONCE = 5;

/** Repairs what events missed: machines without a claim, claims that stand still, pods that wait while the relay is silent. */
export async function sweep(ports: Ports): Promise<SweepOutcome> {
  // Machines first: one created after its claim was listed would look like an orphan.
  const inventory = await ports.cloud.inventory();
  const claims = await ports.kubernetes.list('NodeClaim');
  const snapshot = await readSnapshot(ports, true);
  const orphansDeleted = await deleteOrphans(ports, inventory, claims);
  const hinted = await hintStalled(ports, { claims, inventory, snapshot });
  await equipMachines(ports, inventory);
  await deleteSurplus(ports, snapshot);
  await refreshFacts(ports);
  const { kind } = await provision(ports, true);
  await tellCluster(ports, snapshot, claims);
  if (orphansDeleted > 0 || hinted > 0) ports.log('swept', { orphansDeleted, hinted, provision: kind });
  return { orphansDeleted, hinted, provision: kind };
}

/** What plans take into account and can do without, and what nodes cannot do without. */
async function refreshFacts(ports: Ports): Promise<void> {
  const [quotas, rates, deployment] = await Promise.all([
    ports.catalogs.refreshQuotas(),
    ports.catalogs.refreshEvictionRates(),
    ports.nodeClassFacts.deployment(),
  ]);
  if (deployment.kind === 'refused')
    ports.log('deployment-not-ready', { reason: deployment.reason, message: deployment.message });
  // Without them Azure refuses what is too much: one more request for a claim, and no harm.
  if (quotas.kind === 'unknown') ports.log('quotas-unknown', { why: quotas.why });
  else ports.log('quotas-read', { inUse: JSON.stringify(tightest(quotas.inUse)) });
  // Without them the cheapest spot size is taken, however soon Azure takes it back.
  if (rates.kind === 'unknown') ports.log('eviction-rates-unknown', { why: rates.why, fix: rates.fix });
  if (rates.kind === 'read' && rates.unreadable.length > 0)
    ports.log('eviction-rates-unreadable', { said: rates.unreadable.slice(0, WORDS_MAX).join(', ') });
}

/** A line must stay readable; what has most left is nobody's concern. */
const QUOTAS_TOLD_MAX = 20;

/** Cores by quota, those with the smallest part left first. */
function tightest(inUse: ReadonlyArray<QuotaInUse>): Readonly<Record<string, Omit<QuotaInUse, 'name'>>> {
  const part = ({ used, limit }: QuotaInUse): number => used / Math.max(limit, 1);
  const sorted = inUse.toSorted((a, b) => part(b) - part(a) || (a.name < b.name ? -1 : 1));
  return Object.fromEntries(sorted.slice(0, QUOTAS_TOLD_MAX).map(({ name, used, limit }) => [name, { used, limit }]));
}

/** Azure has five bands: more words that are none of them than this say no more. */
const WORDS_MAX = 10;

async function deleteOrphans(
  ports: Ports,
  inventory: ReadonlyArray<InventoryItem>,
  claims: ReadonlyArray<NodeClaim>,
): Promise<number> {
  const known = new Set(claims.map(({ metadata }) => metadata.name.toLowerCase()));
  const old = ports.now() - ORPHAN_AGE_MS;
  const machines = new Set(inventory.filter(({ kind }) => kind === 'vm').map(({ claim }) => claim));
  // A NIC carries no creation time: it is judged with its VM, or alone when it has none.
  const suspects = inventory.filter(({ kind, claim, createdAtMs }) => {
    if (known.has(claim.toLowerCase())) return false;
    return kind === 'vm' ? createdAtMs !== null && createdAtMs < old : !machines.has(claim);
  });
  const names = [...new Set(suspects.map(({ claim }) => claim))].slice(0, ORPHANS_MAX);
  const deleted = await inParallel(names, DELETIONS_AT_ONCE, (name) => deleteOrphan(ports, name));
  return deleted.filter(Boolean).length;
}

/** True when the removal has begun. One that cannot be removed now is the next sweep's, and keeps nothing else waiting. */
async function deleteOrphan(ports: Ports, name: string): Promise<boolean> {
  try {
    // The list may be old, and the claim new: ask for this one before anything is removed.
    if ((await ports.kubernetes.get('NodeClaim', { name, namespace: null })) !== null) return false;
    await ports.cloud.delete(name);
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
    ports.log('orphan-kept', { claim: name, why: error.message });
    return false;
  }
  ports.log('orphan-deleted', { claim: name });
  return true;
}

/** Azure takes a few writes a second: the rest is the next sweep's. */
const EQUIPPED_MAX = 100;
const EQUIPPED_AT_ONCE = 5;

/** Machines that joined before anybody saw them run. What cannot be done now keeps nothing else waiting. */
async function equipMachines(ports: Ports, inventory: ReadonlyArray<InventoryItem>): Promise<void> {
  const bare = inventory.filter(({ lacksEquipment }) => lacksEquipment).slice(0, EQUIPPED_MAX);
  await inParallel(bare, EQUIPPED_AT_ONCE, async ({ claim }) => {
    try {
      await ports.cloud.equip(claim);
    } catch (error) {
      if (!(error instanceof RetryableError || error instanceof TerminalError)) throw error;
      // What has failed for good is found by every sweep.
      const isNews = error instanceof RetryableError || ports.told.isNews(`equip/${claim}`, ports.now(), TOLD_EVERY_MS);
      if (isNews) ports.log('machine-not-equipped', { claim, why: error.message });
    }
  });
}

const TOLD_EVERY_MS = 60 * 60_000;

/** A mistake in a pool's `replicas` then costs few nodes before people see it. */
const SURPLUS_MAX = 20;

/** Takes from static pools what they have too many of. Doing it twice deletes the same claims. */
async function deleteSurplus(ports: Ports, snapshot: Snapshot | null): Promise<void> {
  if (snapshot === null || !ports.policy.gates.staticCapacity) return;
  if (ownSurplus(snapshot).length === 0) return;
  // The snapshot may be old: what is deleted must be too much now.
  const nodePools = await ports.kubernetes.list('NodePool');
  const nodeClaims = await ports.kubernetes.list('NodeClaim');
  const names = ownSurplus({ ...snapshot, nodePools, nodeClaims }).slice(0, SURPLUS_MAX);
  await inParallel(names, DELETIONS_AT_ONCE, async (name) => {
    const deleted = await ports.kubernetes.delete('NodeClaim', { name, namespace: null });
    if (deleted === 'deleted') ports.log('surplus-deleted', { claim: name });
  });
}

function ownSurplus(snapshot: Snapshot): ReadonlyArray<string> {
  return surplusClaims({ ...snapshot, nodePools: snapshot.nodePools.filter(isOwnPool) });
}

interface Seen {
  readonly claims: ReadonlyArray<NodeClaim>;
  readonly inventory: ReadonlyArray<InventoryItem>;
  readonly snapshot: Snapshot | null;
}

/** Claims, pools and classes that are not at rest, in case what would have moved them got lost. Those at rest cost nothing. */
async function hintStalled(ports: Ports, seen: Seen): Promise<number> {
  const { nodePools = [], nodeClasses = [] } = seen.snapshot ?? {};
  const stalled: ReadonlyArray<FollowedObject> = [
    ...stalledClaims(seen, ports.now()).map(({ metadata: { name } }) => ({ kind: 'NodeClaim' as const, name })),
    ...leftNodes(seen).map((name) => ({ kind: 'NodeClaim' as const, name })),
    ...nodePools
      .filter(isOwnPool)
      .filter(
        (pool) => isStalled(pool, ports.now()) || isOutdated(pool, annotation.nodePoolHashVersion, POOL_HASH_VERSION),
      )
      .map(({ metadata: { name } }) => ({ kind: 'NodePool' as const, name })),
    ...nodeClasses
      .filter(
        (one) => isStalled(one, ports.now()) || isOutdated(one, annotation.nodeClassHashVersion, CLASS_HASH_VERSION),
      )
      .map(({ metadata: { name } }) => ({ kind: 'AKSNodeClass' as const, name })),
  ];
  const minute = Math.floor(ports.now() / 60_000);
  await hintObjects(ports, stalled, { reason: 'sweep', occasion: `sweep/${minute}` });
  return stalled.length;
}

/** Those that stand still on their way, or have lost their machine or their node at rest. */
function stalledClaims({ claims, inventory, snapshot }: Seen, nowMs: number): ReadonlyArray<NodeClaim> {
  const machines = new Set(inventory.filter(({ kind }) => kind === 'vm').map(({ claim }) => claim.toLowerCase()));
  const living = snapshot?.nodes.filter(({ metadata }) => metadata.deletionTimestamp === undefined);
  const nodes = living === undefined ? null : new Set(living.map(({ metadata }) => metadata.name));
  const isBereft = (claim: NodeClaim): boolean =>
    !machines.has(claim.metadata.name.toLowerCase()) || nodes?.has(nodeNameOf(claim)) === false;
  return claims
    .filter(({ spec }) => isOwnClass(spec.nodeClassRef))
    .filter(
      (claim) =>
        isStalled(claim, nowMs) ||
        (isAtRest(claim) && (isBereft(claim) || isOverdue(claim, snapshot, nowMs) || isDriftUnseen(claim, snapshot))),
    );
}

/** How long after its time a node that may be consolidated is left to the look that was asked for then. */
const OVERDUE_MS = 60_000;

/** A node that may be consolidated for a while, and does not say so: the look that should have found it out was lost. */
function isOverdue(claim: NodeClaim, snapshot: Snapshot | null, nowMs: number): boolean {
  if (isTrue(claim.status?.conditions, 'Consolidatable')) return false;
  const pool = snapshot?.nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels?.[label.nodePool]);
  const eventMs = lastPodEvent(claim, null, nowMs);
  return judgeConsolidatable(claim, pool ?? null, eventMs, nowMs - OVERDUE_MS).kind === 'since';
}

/**
 * A node that is not what its pool and class ask for any more, and does not say so: the look that should have found it out was lost.
 * Sizes that are gone are left to the node's own looks, as the list of them is no part of a snapshot.
 */
function isDriftUnseen(claim: NodeClaim, snapshot: Snapshot | null): boolean {
  if (snapshot === null || isTrue(claim.status?.conditions, 'Drifted')) return false;
  const node = snapshot.nodes.find(({ metadata }) => metadata.name === nodeNameOf(claim));
  const pool = snapshot.nodePools.find(({ metadata }) => metadata.name === claim.metadata.labels?.[label.nodePool]);
  const nodeClass = snapshot.nodeClasses.find(({ metadata }) => metadata.name === claim.spec.nodeClassRef.name);
  if (node === undefined || pool === undefined || nodeClass === undefined) return false;
  const facts = { pool, nodeClass: toNodeClass(nodeClass), node, instanceTypes: new Set<string>() };
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
 * Something that has just moved will move again by itself. Each step is followed by the next within seconds, or by a look at
 * a known time.
 */
const STILL_MS = 20_000;

/** Not at rest, and nothing about it has changed for a while. */
function isStalled(object: Pick<NodeClaim, 'metadata'> & { readonly status?: Conditioned }, nowMs: number): boolean {
  return !isAtRest(object) && nowMs >= lastChangeMs(object) + STILL_MS;
}

function lastChangeMs({ metadata, status }: Pick<NodeClaim, 'metadata'> & { readonly status?: Conditioned }): number {
  const transitions = (status?.conditions ?? []).map(({ lastTransitionTime }) => lastTransitionTime);
  const times = [metadata.creationTimestamp, metadata.deletionTimestamp, ...transitions];
  return Math.max(0, ...times.map((time) => Date.parse(time ?? '') || 0));
}

function isAtRest({ metadata, status }: Pick<NodeClaim, 'metadata'> & { readonly status?: Conditioned }): boolean {
  return metadata.deletionTimestamp === undefined && isTrue(status?.conditions, 'Ready');
}

/**
 * Stamped by another version of us. It is stamped anew before anybody changes it: afterwards, claims would get the hash
 * of what they were not made from, and their drift would go unseen.
 */
function isOutdated({ metadata }: Pick<NodeClaim, 'metadata'>, key: string, ours: string): boolean {
  const version = metadata.annotations?.[key];
  return version !== undefined && version !== ours;
}

interface Conditioned {
  readonly conditions?: ReadonlyArray<Condition>;
}
