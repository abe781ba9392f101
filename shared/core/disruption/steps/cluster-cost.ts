import { microUsdPerHour } from '../../quantity/units.ts';
import type { JudgedNode } from '../candidates/judged-node.ts';
import type { ClusterCost, DisruptionStep, PlannedReplacement } from '../plan/disruption-plan.ts';

/** Nodes of NodePools only, as far as prices are known. */
export function costOf(nodes: ReadonlyArray<JudgedNode>): ClusterCost {
  const own = nodes.filter(({ nodePool }) => nodePool !== null);
  return { nodes: own.length, cost: microUsdPerHour(own.reduce((sum, { price }) => sum + (price?.plain ?? 0), 0)) };
}

/** What the cluster costs once the steps have been carried out. */
export function costAfter(
  nodes: ReadonlyArray<JudgedNode>,
  steps: ReadonlyArray<DisruptionStep>,
  replacements: ReadonlyArray<PlannedReplacement>,
): ClusterCost {
  const removed = new Set(steps.flatMap(({ remove }) => remove));
  const stays = costOf(nodes.filter(({ name }) => !removed.has(name)));
  const bought = replacements.reduce((sum, { price }) => sum + price, 0);
  return { nodes: stays.nodes + replacements.length, cost: microUsdPerHour(stays.cost + bought) };
}
