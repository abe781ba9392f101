import type { LeftReason } from '../model/left-reason.ts';
import { opensIn } from '../telling/reasons/explain.ts';
import { reasonsFor } from '../telling/tell-plan.ts';
import type { Arena, Slot } from './search/arena.ts';
import { hasRoomFor, whileGone } from './search/reschedule.ts';

/** A pod for which a node that has to go stays, and per NodePool the rule that keeps it off a new node of it. */
export interface HinderedPod {
  readonly pod: string;
  readonly refusals: ReadonlyArray<LeftReason>;
}

/**
 * The first pod of a node, largest first, that has no room on the nodes that are there and for which no NodePool can
 * launch one, whatever it gives up of what it prefers. Null where each could go by itself. Changes nothing.
 */
export function hinderedPod(arena: Arena, slot: Slot): HinderedPod | null {
  const { workspace } = arena;
  return whileGone(arena, slot, () => {
    for (const { shape } of slot.own) {
      const facts = arena.shapes.get(shape);
      const need = facts?.needs.at(-1);
      const pod = slot.node?.moving.find((one) => one.shape === shape);
      if (facts === undefined || need === undefined || pod === undefined) continue;
      if (hasRoomFor(arena, facts, need) || workspace.pools.some((state) => opensIn(workspace, state, need))) continue;
      const namespace = workspace.input.cluster.shapes[shape]?.namespace ?? '';
      return { pod: `${namespace}/${pod.name}`, refusals: reasonsFor(workspace, [pod]).get(shape) ?? [] };
    }
    return null;
  });
}
