import { open, trailOf } from '../search/trail.ts';
import type { Arena, Move, Slot } from '../search/arena.ts';
import type { Ends } from './ends.ts';
import { isOfferingOf, type PoolOffering } from '../search/pool-offerings.ts';

/** An arena where nothing has moved yet, with what is to become of it. */
export interface Replay {
  readonly arena: Arena;
  /** Slots to take away, with where their pods go. */
  readonly going: ReadonlyMap<Slot, ReadonlyArray<Move>>;
  /** New slots that the pods of each of them go to. */
  readonly toNew: ReadonlyMap<Slot, ReadonlyArray<Slot>>;
  /** New slots by name, there and empty. */
  readonly created: ReadonlyMap<string, Slot>;
}

/** Makes ready what `ends` says, in an arena that is as the cluster is now. */
export function replayOf(arena: Arena, offerings: ReadonlyArray<PoolOffering>, ends: Ends): Replay {
  const byName = new Map(arena.slots.map((slot) => [slot.room.capacity.name, slot]));
  const trail = trailOf(arena);
  const created = new Map<string, Slot>();
  for (const [name, wanted] of ends.created) {
    const offering = offerings.find((one) => isOfferingOf(one, wanted.nodePool, wanted));
    if (offering !== undefined) created.set(name, open(trail, offering));
  }
  const going = new Map<Slot, ReadonlyArray<Move>>();
  for (const slot of [...ends.gone].flatMap((name) => byName.get(name) ?? [])) {
    const counts = new Map<string, { target: number; shape: number; count: number }>();
    for (const { uid, shape } of slot.node?.moving ?? []) {
      const home = ends.homes.get(uid) ?? '';
      const target = (created.get(home) ?? byName.get(home))?.index ?? -1;
      const key = `${target}/${shape}`;
      const known = counts.get(key) ?? { target, shape, count: 0 };
      counts.set(key, { ...known, count: known.count + 1 });
    }
    going.set(slot, [...counts.values()]);
  }
  const toNew = new Map<Slot, ReadonlyArray<Slot>>();
  for (const [slot, moves] of going) {
    const fresh = new Set(
      moves.flatMap(({ target }) => arena.slots[target] ?? []).filter(({ offering }) => offering !== null),
    );
    toNew.set(slot, [...fresh]);
  }
  return { arena, going, toNew, created };
}
