import { judgeNodes } from '../../../shared/core/disruption/candidates/judge-nodes.ts';
import type { Arena, Slot } from '../../../shared/core/disruption/search/arena.ts';
import { arenaFor, type ArenaInput } from '../../../shared/core/disruption/search/read-arena.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { disruptionInput, NOW } from './build-disruption.ts';

/** The arena of a cluster in which nothing has moved. */
export function arenaOf(
  parts: Parameters<typeof disruptionInput>[0],
  awaited: ArenaInput['awaited'] = new Map(),
): Arena {
  const given = disruptionInput(parts);
  const { provisioning, policy } = given;
  return arenaFor({ provisioning, nodes: judgeNodes(given, instant(NOW)), awaited, searchSteps: policy.searchSteps });
}

/** The slot of the node of that name. */
export function slotOf({ slots }: Arena, name: string): Slot {
  const slot = slots.find(({ node }) => node?.name === name);
  if (slot === undefined) throw new Error(`there is no slot of ${name}`);
  return slot;
}
