import type { Cluster } from '../../core/model/cluster.ts';
import type { RepairPolicy } from '../../core/model/disruption-input.ts';
import { conditionOf, isTrue } from '../conditions.ts';
import { NODE_HEALTHY } from '../follow/sickness.ts';
import { transitionMs } from '../follow/node-claim.ts';
import { machinesIn, type Candidate } from './begun.ts';

/** What was found between two looks, which are a minute apart, counts in the next: two minutes have one in any case. */
const HOLDS_MS = 2 * 60_000;

/**
 * Nodes that were sick for long enough and say something else by now, by name with the time of that. One that is to go for it goes on:
 * as in Karpenter, which deletes a claim at the first sight of it. Else one that is well for a moment now and then would stay for ever.
 */
export function foundSickIn(
  cluster: Pick<Cluster, 'nodes' | 'nodeClaims'>,
  repairs: ReadonlyArray<RepairPolicy>,
  nowMs: number,
): ReadonlyMap<string, number> {
  if (repairs.length === 0) return new Map();
  return new Map(
    machinesIn(cluster).flatMap((machine) => {
      const { claim, node } = machine;
      const reason = conditionOf(claim.status?.conditions, 'DisruptionReason');
      if (reason?.status === 'True' && reason.reason === 'Unhealthy') {
        return [[node.metadata.name, transitionMs(claim, 'DisruptionReason')] as const];
      }
      const endedMs = sickUntilMs(machine, repairs);
      return endedMs !== null && nowMs - endedMs < HOLDS_MS ? [[node.metadata.name, endedMs] as const] : [];
    }),
  );
}

/** When a sickness that was noted on the claim ended, by the claim, else by its node; null where none was. */
function sickUntilMs({ claim, node }: Candidate, repairs: ReadonlyArray<RepairPolicy>): number | null {
  const conditions = claim.status?.conditions;
  if (conditionOf(conditions, NODE_HEALTHY) === undefined) return null;
  if (isTrue(conditions, NODE_HEALTHY)) return transitionMs(claim, NODE_HEALTHY);
  const said = repairs.map(({ conditionType }) => conditionOf(node.status?.conditions, conditionType));
  return Math.max(...said.map((one) => Date.parse(one?.lastTransitionTime ?? '') || 0));
}
