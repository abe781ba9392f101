import { labelKey } from '../../../kubernetes/labels.ts';
import type { Instant } from '../../quantity/units.ts';
import type { Cluster } from '../../model/cluster.ts';
import { isLeaving, machinesOf, type Machine } from '../../present/existing-capacity.ts';
import type { DisruptionReason } from '../plan/disruption-plan.ts';
import { nodeBudgets } from './node-budgets.ts';

/** What pools say about how many of their nodes may go, and about savings. */
export interface Pools {
  /** How many more nodes of the pool may be in disruption for the reason, when it has so many. */
  readonly allowed: (pool: string, reason: DisruptionReason, nodes: number) => number;
  /** How many are now: not ready, or on their way out. */
  readonly disrupting: (pool: string) => number;
  readonly error: (pool: string) => string | null;
  readonly isBalanced: (pool: string) => boolean;
}

export function poolsFor({ nodePools, ...cluster }: Cluster, now: Instant): Pools {
  const budgets = new Map(nodePools.map((pool) => [pool.metadata.name, nodeBudgets(pool, now)]));
  const policies = new Map(
    nodePools.map(({ metadata, spec }) => [metadata.name, spec.disruption?.consolidationPolicy]),
  );
  const disrupting = new Map<string, number>();
  for (const machine of machinesOf({ ...cluster, nodePools })) {
    const pool = machine.node?.metadata.labels?.[labelKey.nodePool];
    if (pool !== undefined && isDisrupting(machine)) disrupting.set(pool, (disrupting.get(pool) ?? 0) + 1);
  }
  return {
    allowed: (pool, reason, nodes) => {
      const allowed = budgets.get(pool)?.allowed(reason, nodes) ?? 0;
      return Math.max(0, allowed === Infinity ? allowed : allowed - (disrupting.get(pool) ?? 0));
    },
    disrupting: (pool) => disrupting.get(pool) ?? 0,
    error: (pool) => budgets.get(pool)?.error ?? null,
    isBalanced: (pool) => policies.get(pool) === 'Balanced',
  };
}

/** As Karpenter counts: complete nodes that are not ready, or that a decision removes. */
function isDisrupting(machine: Machine): boolean {
  const { node, claim } = machine;
  if (node === null || claim === null || node.metadata.labels?.[labelKey.initialized] !== 'true') return false;
  if ((claim.status?.conditions ?? []).some(({ type, status }) => type === 'InstanceTerminating' && status === 'True'))
    return false;
  const ready = node.status?.conditions?.find(({ type }) => type === 'Ready');
  return isLeaving(machine) || (ready !== undefined && ready.status !== 'True');
}
