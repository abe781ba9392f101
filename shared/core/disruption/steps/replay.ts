import { open, trailOf } from '../search/trail.ts';
import type { Arena, Move, Place } from '../search/arena.ts';
import type { Ends } from '../search/ends.ts';
import { isOfferOf, type Offer } from '../search/offers.ts';

/** An arena where nothing has moved yet, with what is to become of it. */
export interface Replay {
  readonly arena: Arena;
  /** Places to take away, with where their pods go. */
  readonly going: ReadonlyMap<Place, ReadonlyArray<Move>>;
  /** Of them those whose pods go to new places, with these. */
  readonly toNew: ReadonlyMap<Place, ReadonlyArray<Place>>;
  /** New places by name, there and empty. */
  readonly created: ReadonlyMap<string, Place>;
}

/** Makes ready what `ends` says, in an arena that is as the cluster is now. */
export function replayOf(arena: Arena, offers: ReadonlyArray<Offer>, ends: Ends): Replay {
  const byName = new Map(arena.places.map((place) => [place.room.capacity.name, place]));
  const trail = trailOf(arena);
  const created = new Map<string, Place>();
  for (const [name, wanted] of ends.created) {
    const offer = offers.find((one) => isOfferOf(one, wanted.nodePool, wanted));
    if (offer !== undefined) created.set(name, open(trail, offer));
  }
  const going = new Map<Place, ReadonlyArray<Move>>();
  for (const name of ends.gone) {
    const place = byName.get(name);
    if (place?.node === null || place === undefined) continue;
    const counts = new Map<string, { target: number; shape: number; count: number }>();
    for (const { uid, shape } of place.node.moving) {
      const home = ends.homes.get(uid) ?? '';
      const target = (created.get(home) ?? byName.get(home))?.index ?? -1;
      const key = `${target}/${shape}`;
      const known = counts.get(key) ?? { target, shape, count: 0 };
      counts.set(key, { ...known, count: known.count + 1 });
    }
    going.set(place, [...counts.values()]);
  }
  const toNew = new Map<Place, ReadonlyArray<Place>>();
  for (const [place, moves] of going) {
    const fresh = new Set(
      moves.flatMap(({ target }) => arena.places[target] ?? []).filter(({ offer }) => offer !== null),
    );
    if (fresh.size > 0) toNew.set(place, [...fresh]);
  }
  return { arena, going, toNew, created };
}
