import { at } from '../../quantity/at.ts';
import { optionsFor } from '../../placing/state/workspace.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import type { Arena, Place } from './arena.ts';

/** What the pods of nodes that go ask of a new one, and what they take together. */
export interface OwnPods {
  readonly asks: ReadonlySet<Need>;
  readonly load: Float64Array;
}

/** Of all the nodes together. */
export function ownPods(arena: Arena, places: ReadonlyArray<Place>): OwnPods {
  const [only] = places;
  if (only !== undefined && places.length === 1) return ownOf(arena, only);
  const load = new Float64Array(arena.worth.length);
  const asks = new Set<Need>();
  for (const place of places) {
    const own = ownOf(arena, place);
    for (const ask of own.asks) asks.add(ask);
    for (let k = 0; k < load.length; k++) load[k] = at(load, k) + at(own.load, k);
  }
  return { asks, load };
}

function ownOf(arena: Arena, place: Place): OwnPods {
  const known = arena.ownPods.get(place);
  if (known !== undefined) return known;
  const load = new Float64Array(arena.worth.length);
  const asks = new Set<Need>();
  for (const { shape, count } of place.own) {
    addAsk(arena, asks, shape);
    const requests = arena.shapes.get(shape)?.requests ?? load;
    for (let k = 0; k < load.length; k++) load[k] = at(load, k) + count * at(requests, k);
  }
  const own = { asks, load };
  arena.ownPods.set(place, own);
  return own;
}

/** Adds what pods of a shape ask at least; one ask stands for all that the same offerings would do for. */
export function addAsk(arena: Arena, asks: Set<Need>, shape: number): void {
  const ask = arena.shapes.get(shape)?.asks.at(-1);
  if (ask !== undefined) asks.add(standInFor(arena, ask));
}

function standInFor({ workspace, standIns }: Arena, ask: Need): Need {
  const known = standIns.get(ask);
  if (known !== undefined) return known;
  const options = workspace.pools.map((state) =>
    optionsFor(workspace, state, ask).map(({ offered }) => offered.join()),
  );
  const key = options.map((ofPool) => ofPool.join('+')).join('/');
  const standIn = standIns.get(key) ?? ask;
  standIns.set(key, standIn);
  standIns.set(ask, standIn);
  return standIn;
}
