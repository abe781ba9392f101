import { podName } from '../../../core/model/pod-name.ts';
import type { Decision, Mover } from '../../../ports/store.ts';
import { nodeNameOf } from '../../facts/node-name.ts';
import { isWaiting } from '../dedications.ts';
import type { PlannedPod } from '../planned-pods.ts';
import { kindOf, kindOfMover, moversOf, plannedElsewhere, plannedIn, plannedOn, type Present } from './planned.ts';

/**
 * Pods that wait, whose place is on another node of the decision, as they were planned for it or are successors of who
 * was, and that are alike to pods which are to move to the node of `claim` and have not left yet: as many as these,
 * less those that have come so. Each may have the other's place. With a spread the one that waits may have to come
 * first to this very node, and a budget may let no pod leave before it has.
 */
export function matesOf(decision: Decision | null, claim: string, snapshot: Present): ReadonlyArray<PlannedPod> {
  const places = placesOf(decision, claim, snapshot);
  if (places.size === 0) return [];
  const elsewhere = plannedElsewhere(decision, claim);
  const waiting = snapshot.pods.filter(isWaiting);
  const planned = new Set(plannedIn(decision));
  return [...Map.groupBy(waiting, ({ shape }) => kindOf(snapshot, shape))].flatMap(([kind, alike]) => {
    const place = places.get(kind);
    if (place === undefined) return [];
    const successors = alike.filter(({ uid }) => !planned.has(uid));
    // Its own come first, as among its heirs.
    const theirs = successors.slice(place.own, place.own + place.theirs);
    const mates = [...alike.filter(({ uid }) => elsewhere.has(uid)), ...theirs].slice(0, Math.max(0, place.free));
    return mates.map((pod) => ({ name: podName(snapshot, pod), uid: pod.uid }));
  });
}

/** Of pods that are alike: how many places on the node may be another's now, and who waits for a place. */
interface Places {
  /** Of those who are to move there and have not left, less those who have come in their place. */
  free: number;
  /** Successors that are to come to the node itself, and to others of the decision. */
  own: number;
  theirs: number;
}

/** By owner and shape, of those alike to a pod that is to move to the claim's node and has not left. */
function placesOf(decision: Decision | null, claim: string, snapshot: Present): ReadonlyMap<string, Places> {
  const present = new Map(snapshot.pods.map((pod) => [pod.uid, pod]));
  const isStaying = ({ uid }: Mover): boolean => present.get(uid)?.deleting === false;
  const own = moversOf(decision, claim);
  const places = new Map<string, Places>();
  for (const mover of own.filter(isStaying)) {
    const place = places.get(kindOfMover(mover)) ?? { free: 0, own: 0, theirs: 0 };
    places.set(kindOfMover(mover), { ...place, free: place.free + 1 });
  }
  if (places.size === 0) return places;
  const isOwn = new Set(own.map(({ uid }) => uid));
  // Where that other node is no more there is nobody's place.
  const living = new Set(snapshot.nodeClaims.map(({ metadata }) => metadata.name));
  const made = (decision?.claimNames ?? []).filter((name) => living.has(name));
  const isThere = new Set(made.flatMap((name) => plannedOn(decision, name)));
  for (const mover of decision?.movers ?? []) {
    const place = places.get(kindOfMover(mover));
    if (place === undefined || isStaying(mover)) continue;
    if (isOwn.has(mover.uid)) place.own++;
    else if (isThere.has(mover.uid)) place.theirs++;
  }
  noteCome(places, decision, claim, snapshot);
  return places;
}

/** Takes away those who have come: on the node its own successors first, and then who took another's place. */
function noteCome(
  places: ReadonlyMap<string, Places>,
  decision: Decision | null,
  claim: string,
  snapshot: Present,
): void {
  const nodes = new Map(snapshot.nodeClaims.map((one) => [nodeNameOf(one), one.metadata.name]));
  const made = new Set(decision?.claimNames);
  const plannedHere = new Set(plannedOn(decision, claim));
  const planned = new Set(plannedIn(decision));
  for (const { uid, nodeName, deleting, shape } of snapshot.pods) {
    const on = nodes.get(nodeName ?? '');
    const place = on === undefined || deleting || !made.has(on) ? undefined : places.get(kindOf(snapshot, shape));
    if (place === undefined || plannedHere.has(uid)) continue;
    if (on !== claim) {
      if (!planned.has(uid)) place.theirs--;
    } else if (planned.has(uid)) place.free--;
    else if (place.own > 0) place.own--;
    else {
      place.free--;
      place.theirs--;
    }
  }
  for (const place of places.values()) place.theirs = Math.max(0, place.theirs);
}
