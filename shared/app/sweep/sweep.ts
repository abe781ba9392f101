import { isOwnPool } from '../../contract/own-class.ts';
import type { Snapshot } from '../../contract/snapshot/parse.ts';
import type { NodeClaim } from '../../kubernetes/manifest.ts';
import { surplusClaims } from '../../core/finishing/static-pools.ts';
import type { InventoryItem, QuotaInUse } from '../../ports/cloud.ts';
import { RefusedError, RetryableError, TerminalError } from '../../ports/errors.ts';
import type { LedgerState } from '../../ports/store.ts';
import { isMarked } from '../../core/disruption/second-look/begun.ts';
import { hintStalled } from './hint-stalled.ts';
import { alone, inParallel } from '../ports/in-parallel.ts';
import { endNotices, openWordless } from './left-halfway.ts';
import type { Ports } from '../ports/ports.ts';
import { type ProvisionOutcome, provision } from '../provision/provision.ts';
import { readSnapshot } from '../gather/read-snapshot.ts';
import { tellCluster } from './tell-cluster.ts';
import { tellDenied } from '../tell/tell-denied.ts';

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

/**
 * Repairs what events missed: machines without a claim, claims that stand still, pods that wait while the relay is
 * silent. Each step does what it can with what could be read, whatever became of the others; the first failure is
 * thrown when all have had their turn.
 */
export async function sweep(ports: Ports): Promise<SweepOutcome> {
  const failures: Array<unknown> = [];
  const attempt = async <Answer>(step: string, work: () => Promise<Answer>): Promise<Answer | null> => {
    try {
      return await work();
    } catch (error) {
      failures.push(error);
      ports.log('sweep-step-failed', { step, why: error instanceof Error ? error.message : String(error) });
      return null;
    }
  };
  // Machines first: one created after its claim was listed would look like an orphan.
  const inventory = await attempt('inventory', () => ports.cloud.inventory());
  const claims = await attempt('claims', () => ports.kubernetes.list('NodeClaim'));
  const snapshot = await attempt('snapshot', () => readSnapshot(ports, true));
  const isKnown = inventory !== null && claims !== null;
  const orphansDeleted = isKnown ? await attempt('orphans', () => deleteOrphans(ports, inventory, claims)) : null;
  if (claims !== null) await attempt('left-halfway', () => endNotices(ports, claims));
  // It may wait for a word, and nothing else waits for it.
  const opened = claims === null ? null : attempt('left-halfway', () => openWordless(ports, { claims, snapshot }));
  const hinted = await attempt('hints', () => hintStalled(ports, { claims: claims ?? [], inventory, snapshot }));
  if (inventory !== null) await attempt('equipment', () => equipMachines(ports, inventory));
  await attempt('surplus', () => deleteSurplus(ports, snapshot));
  await attempt('facts', () => refreshFacts(ports));
  const provisioned = await attempt('provision', () => provision(ports, { mayList: true }));
  await attempt('cluster', () => tellCluster(ports, snapshot, claims));
  await opened;
  const [orphans, hints] = [orphansDeleted ?? 0, hinted ?? 0];
  const kind = provisioned?.kind ?? 'failed';
  if (orphans > 0 || hints > 0) ports.log('swept', { orphansDeleted: orphans, hinted: hints, provision: kind });
  const [first] = failures;
  if (first !== undefined || provisioned === null) throw first;
  return { orphansDeleted: orphans, hinted: hints, provision: provisioned.kind };
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

/**
 * True when the removal has begun. One that cannot be removed now is the next sweep's, and keeps nothing else waiting.
 */
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

/**
 * Takes from static pools what they have too many of. While a decision is being executed none has: what comes in place
 * of a node is made before that is marked. Doing it twice deletes the same claims.
 */
async function deleteSurplus(ports: Ports, snapshot: Snapshot | null): Promise<void> {
  if (snapshot === null || !ports.policy.gates.staticCapacity) return;
  if (ownSurplus(snapshot).length === 0) return;
  const before = await ports.ledger.read();
  if (isExecuting(before)) return;
  // The snapshot may be old: what is deleted must be too much now.
  const nodePools = await ports.kubernetes.list('NodePool');
  const nodeClaims = await ports.kubernetes.list('NodeClaim');
  // What was decided while they were read may be in them by half.
  if ((await ports.ledger.read()).generation !== before.generation) return;
  const names = ownSurplus({ ...snapshot, nodePools, nodeClaims }).slice(0, SURPLUS_MAX);
  await inParallel(names, DELETIONS_AT_ONCE, async (name) => {
    const about = { kind: 'NodeClaim', key: { name, namespace: null } } as const;
    const deleted = await alone(() => ports.kubernetes.delete('NodeClaim', about.key));
    if (deleted.kind === 'failed') {
      ports.log('surplus-kept', { claim: name, why: deleted.error.message });
      if (deleted.error instanceof RefusedError) await tellDenied(ports, deleted.error.refusal, [about]);
    } else if (deleted.answer === 'deleted') ports.log('surplus-deleted', { claim: name });
  });
}

function isExecuting({ decision, executed }: LedgerState): boolean {
  return decision !== null && !executed;
}

/** Claims that are marked to go are on their way out, whether their nodes show it yet or not. */
function ownSurplus(snapshot: Snapshot): ReadonlyArray<string> {
  const nodePools = snapshot.nodePools.filter(isOwnPool);
  const nodeClaims = snapshot.nodeClaims.filter((claim) => !isMarked(claim));
  return surplusClaims({ ...snapshot, nodePools, nodeClaims });
}
