import { labelKey } from '../../../kubernetes/labels.ts';
import { mostNodes, nodeLimit } from '../../finishing/static-pools.ts';
import type { Instant } from '../../quantity/units.ts';
import type { Cluster } from '../../model/cluster.ts';
import { isLeaving, machinesOf, type Machine } from '../../present/existing-capacity.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';
import { nodeBudgets } from './node-budgets.ts';

/** What pools say about how many of their nodes may go, and about savings. */
export interface Pools {
  /** How many nodes of the pool may be in disruption at once for the reason, of so many in all. */
  readonly budget: (pool: string, reason: DisruptionReason, nodes?: number) => number;
  /**
   * How many more nodes of the pool may be in disruption for the reason, of so many in all, those on their way out too;
   * unless said, of `nodes`.
   */
  readonly allowed: (pool: string, reason: DisruptionReason, nodes?: number) => number;
  /** How many it has in all: complete ones, until their machine is being deleted. */
  readonly nodes: (pool: string) => number;
  /** How many of them are on their way out. */
  readonly leaving: (pool: string) => number;
  /** How many of them are in disruption: not ready, or on their way out. */
  readonly disrupting: (pool: string) => number;
  /**
   * How many more may be followed by another now that they must go: of a pool with a fixed number of nodes one, beside
   * those that are marked to go, so that it has one more than its number at most; and none while there would be more
   * than its limit, those that drain counted: what is sick does not wait for a drain that may have no end.
   */
  readonly replaceable: (pool: string, reason: DisruptionReason) => number;
  /** The same whose successors are there already: one beside none that is marked to go. */
  readonly succeeded: (pool: string, reason: DisruptionReason) => number;
  readonly error: (pool: string) => string | null;
  readonly isBalanced: (pool: string) => boolean;
}

export function poolsFor({ nodePools, ...cluster }: Cluster, now: Instant): Pools {
  const budgets = new Map(nodePools.map((pool) => [pool.metadata.name, nodeBudgets(pool, now)]));
  const policies = new Map(
    nodePools.map(({ metadata, spec }) => [metadata.name, spec.disruption?.consolidationPolicy]),
  );
  const all = machinesOf(cluster);
  const machines = all.filter(isComplete);
  const byPool = Map.groupBy(machines, ({ node }) => node?.metadata.labels?.[labelKey.nodePool] ?? '');
  const counted = (isOne: (machine: Machine) => boolean): ((pool: string) => number) => {
    const counts = new Map([...byPool].map(([pool, own]) => [pool, own.filter(isOne).length]));
    return (pool) => counts.get(pool) ?? 0;
  };
  const complete = counted(() => true);
  const marked = counted((machine) => isLeaving(machine) && !isBeingDeleted(machine));
  const present = Map.groupBy(all, ({ node, claim }) => (claim ?? node)?.metadata.labels?.[labelKey.nodePool]);
  const fixed = nodePools.filter(({ spec }) => spec.replicas !== undefined);
  // One beside all that it is to have comes in the place of another, and those that drain count until they have gone.
  const unused = new Map(
    fixed.map((pool) => {
      const { name } = pool.metadata;
      const most = Math.max(nodeLimit(pool), mostNodes(pool) + 1);
      return [name, most - (present.get(name)?.length ?? 0)] as const;
    }),
  );
  const disrupting = counted((machine) => isLeaving(machine) || !isReady(machine));
  const budget: Pools['budget'] = (pool, reason, nodes = complete(pool)) =>
    budgets.get(pool)?.allowed(reason, nodes) ?? 0;
  const succeeded: Pools['succeeded'] = (pool, reason) =>
    unused.has(pool) && SUCCEEDED.has(reason) ? Math.max(0, 1 - marked(pool)) : Infinity;
  return {
    budget,
    allowed: (pool, reason, nodes) => Math.max(0, budget(pool, reason, nodes) - disrupting(pool)),
    nodes: complete,
    leaving: counted(isLeaving),
    disrupting,
    replaceable: (pool, reason) => {
      const most = succeeded(pool, reason);
      return most === Infinity || reason === 'Unhealthy' ? most : Math.max(0, Math.min(most, unused.get(pool) ?? 0));
    },
    succeeded,
    error: (pool) => budgets.get(pool)?.error ?? null,
    isBalanced: (pool) => policies.get(pool) === 'Balanced',
  };
}

/** What Karpenter counts: initialized nodes of ours, but those whose machine is being deleted. */
function isComplete({ node, claim }: Machine): boolean {
  if (node === null || claim === null || node.metadata.labels?.[labelKey.initialized] !== 'true') return false;
  const conditions = claim.status?.conditions ?? [];
  return !conditions.some(({ type, status }) => type === 'InstanceTerminating' && status === 'True');
}

/** Where nothing is said, it is taken for ready. */
function isReady({ node }: Machine): boolean {
  const ready = node?.status?.conditions?.find(({ type }) => type === 'Ready');
  return ready === undefined || ready.status === 'True';
}

function isBeingDeleted({ node, claim }: Machine): boolean {
  return [node, claim].some((one) => one?.metadata.deletionTimestamp !== undefined);
}

/** For these a pool with a fixed number makes another node. */
const SUCCEEDED: ReadonlySet<DisruptionReason> = new Set(['Drifted', 'Expired', 'Unhealthy']);
