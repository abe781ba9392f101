import type { KeptReason } from './plan/kept-reason.ts';
import type { Arena, Place } from './search/arena.ts';
import { hinderedPod } from './hindered-pod.ts';
import { ANYWHERE, stuckPod } from './search/pour.ts';

/** Why nodes that might go stay, by name, in an arena that is as the plan leaves the cluster. */
export function keptReasons(arena: Arena, dropped: ReadonlySet<Place>): ReadonlyMap<string, KeptReason> {
  const reasons = new Map<string, KeptReason>();
  for (const place of arena.places) {
    if (place.state !== 'there' || place.node === null || !place.isCandidate) continue;
    reasons.set(
      place.node.name,
      dropped.has(place) ? { kind: 'no-order' } : reasonOf(arena, place, place.node.moving.length),
    );
  }
  return reasons;
}

function reasonOf(arena: Arena, place: Place, pods: number): KeptReason {
  if (place.received > 0) return { kind: 'receives', pods: place.received };
  const verdict = place.node?.verdict;
  if (verdict?.kind === 'must') {
    const { pod, refusals } = hinderedPod(arena, place) ?? { pod: null, refusals: [] };
    return { kind: 'not-replaced', because: verdict.reason, pod, refusals };
  }
  if (place.price <= place.toll && verdict?.kind === 'may' && place.toll > 0) {
    const each = place.node?.disruption ?? 1;
    return { kind: 'not-worth', saving: Math.floor(place.price / each), pods, least: Math.ceil(place.toll / each) };
  }
  const pod = stuckPod(arena, place, ANYWHERE);
  if (pod === null) return { kind: 'nothing-cheaper' };
  return stuckPod(arena, place, { ...ANYWHERE, mayFill: true }) === null
    ? { kind: 'empty-first' }
    : { kind: 'no-place', pod };
}
