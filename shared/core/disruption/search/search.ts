import type { Arena, Place } from './arena.ts';
import { improve, takeAllSingles } from './improve.ts';
import { cheapestOffer } from './offers.ts';
import { ANYWHERE } from './pour.ts';
import { settleNew, type Means } from './take-away.ts';
import { open, take, trailOf, undoTo, type Trail } from './trail.ts';

/** Looks for the cheapest end of the cluster, moves counted, and leaves the arena in it. */
export function search(arena: Arena, means: Means): void {
  const trail = trailOf(arena);
  takeEmpty(trail);
  takeForced(trail, means);
  // Ends: every turn takes a node away.
  while (takeAllSingles(trail, means) > 0);
  improve(trail, means);
  while (takeAllSingles(trail, means) > 0);
}

/** Nodes without pods that matter go whatever they cost; what pods they have find a place first. */
function takeEmpty(trail: Trail): void {
  for (const place of trail.arena.places) {
    const { verdict } = place.node ?? {};
    if (verdict?.kind === 'may' && verdict.reason === 'Empty' && place.received === 0) take(trail, place, ANYWHERE);
  }
}

/** Nodes that must go, the one that has had to for longest first: their pods fill what room there is, or a new node. */
function takeForced(trail: Trail, means: Means): void {
  const forced = trail.arena.places.flatMap((place) => {
    const { verdict } = place.node ?? {};
    return verdict?.kind === 'must' ? [{ place, sinceMs: verdict.sinceMs }] : [];
  });
  for (const { place } of forced.toSorted((a, b) => a.sinceMs - b.sinceMs || a.place.index - b.place.index)) {
    if (take(trail, place, ANYWHERE)) continue;
    const start = trail.done.length;
    if (!openFor(trail, place, means)) undoTo(trail, start);
  }
}

/** Takes the node away and puts a new one in its place, at any price. */
function openFor(trail: Trail, place: Place, means: Means): boolean {
  const { arena } = trail;
  const load = new Float64Array(arena.worth.length);
  const asks = place.own.flatMap(({ shape, count }) => {
    const facts = arena.shapes.get(shape);
    for (let k = 0; k < load.length; k++) load[k] = (load[k] ?? 0) + count * (facts?.requests[k] ?? 0);
    return facts?.asks.at(-1) ?? [];
  });
  const wanted = { asks, load, below: Infinity, mayBeSpot: true };
  const zones = [place.bin.capacity.labels['topology.kubernetes.io/zone'] ?? null, null];
  for (const zone of zones) {
    const offer = cheapestOffer(arena.workspace, means.offers, { ...wanted, zone });
    if (offer === null) continue;
    const fresh = open(trail, offer);
    if (!take(trail, place, { first: fresh })) continue;
    settleNew(trail, fresh, means);
    return true;
  }
  return false;
}
