import { repairDueMs } from '../../core/disruption/candidates/node-repair.ts';
import type { RepairPolicy } from '../../core/model/disruption-input.ts';
import type { Node, NodeClaim } from '../../kubernetes/manifest.ts';
import { type ConditionChange, conditionOf } from '../conditions.ts';

/** On a NodeClaim: False since its node was sick for longer than is tolerated, True since it is well again. Absent where it never was. */
export const NODE_HEALTHY = 'NodeHealthy';

/** What is to be noted of a node's health, and when it has to be looked at next; null: when something changes. */
export interface Sickness {
  readonly conditions: ReadonlyArray<ConditionChange>;
  readonly dueMs: number | null;
}

/** Judges a node by the conditions that `repairs` call sick. */
export function judgeSickness(
  claim: NodeClaim,
  node: Node,
  repairs: ReadonlyArray<RepairPolicy>,
  nowMs: number,
): Sickness {
  const dueMs = repairDueMs(node, repairs);
  if (dueMs !== null && dueMs <= nowMs) return { conditions: [SICK], dueMs: null };
  const known = conditionOf(claim.status?.conditions, NODE_HEALTHY);
  return { conditions: known === undefined ? [] : [WELL], dueMs };
}

const SICK: ConditionChange = {
  type: NODE_HEALTHY,
  status: 'False',
  reason: 'SickForTooLong',
  message: 'a condition of its node has lasted for longer than is tolerated',
};

const WELL: ConditionChange = { type: NODE_HEALTHY, status: 'True', reason: 'WellAgain', message: '' };
