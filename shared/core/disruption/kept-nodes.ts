import type { JudgedNode } from './candidates/judged-node.ts';
import type { KeptReason } from './plan/kept-reason.ts';
import type { Arena, Slot } from './search/arena.ts';
import { hinderedPod } from './hindered-pod.ts';
import { ANYWHERE, stuckPod } from './search/reschedule.ts';

/** Why nodes that might go stay, by name, in an arena that is as the plan leaves the cluster. */
export function keptReasons(arena: Arena, dropped: ReadonlySet<Slot>): ReadonlyMap<string, KeptReason> {
  const reasons = new Map<string, KeptReason>();
  for (const slot of arena.slots) {
    const { node } = slot;
    if (slot.state !== 'there' || node === null || !slot.isCandidate) continue;
    reasons.set(node.name, dropped.has(slot) ? { kind: 'no-order' } : reasonOf(arena, slot, node));
  }
  return reasons;
}

function reasonOf(arena: Arena, slot: Slot, { verdict, moving, disruption }: JudgedNode): KeptReason {
  if (slot.received > 0) return { kind: 'receives', pods: slot.received };
  if (verdict.kind === 'must') {
    const { pod, refusals } = hinderedPod(arena, slot) ?? { pod: null, refusals: [] };
    return { kind: 'not-replaced', because: verdict.reason, pod, refusals };
  }
  if (slot.price <= slot.disruptionCost && slot.disruptionCost > 0) {
    return {
      kind: 'not-worth',
      saving: Math.floor(slot.price / disruption),
      pods: moving.length,
      least: Math.ceil(slot.disruptionCost / disruption),
    };
  }
  const pod = stuckPod(arena, slot, ANYWHERE);
  if (pod === null) return { kind: 'nothing-cheaper' };
  return stuckPod(arena, slot, { ...ANYWHERE, mayFill: true }) === null
    ? { kind: 'empty-first' }
    : { kind: 'no-place', pod };
}
