import type { LeftReason } from '../model/left-reason.ts';
import { opensIn } from '../telling/reasons/explain.ts';
import { reasonsFor } from '../telling/tell-plan.ts';
import { podName } from '../model/pod-name.ts';
import { factsOf, type Arena, type Slot } from './search/arena.ts';
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
    const hindered = slot.own.find(({ shape }) => !hasRoomFor(arena, shape) && !canOpenFor(arena, shape));
    const pod = slot.node?.moving.find(({ shape }) => shape === hindered?.shape);
    if (pod === undefined) return null;
    return {
      pod: podName(workspace.input.cluster, pod),
      refusals: reasonsFor(workspace, [pod]).get(pod.shape) ?? [],
    };
  });
}

function canOpenFor(arena: Arena, shape: number): boolean {
  const { workspace } = arena;
  return workspace.pools.some((state) => opensIn(workspace, state, factsOf(arena, shape).least));
}
