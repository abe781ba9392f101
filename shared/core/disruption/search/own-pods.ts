import { at } from '../../quantity/at.ts';
import { optionsFor } from '../../placing/state/workspace.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import type { Arena, Place } from './arena.ts';

/** What the pods of nodes that go need of a new one, and what they take together. */
export interface OwnPods {
  readonly needs: ReadonlySet<Need>;
  readonly load: Float64Array;
}

/** Of all the nodes together. */
export function ownPods(arena: Arena, places: ReadonlyArray<Place>): OwnPods {
  const [only] = places;
  if (only !== undefined && places.length === 1) return ownOf(arena, only);
  const load = new Float64Array(arena.worth.length);
  const needs = new Set<Need>();
  for (const place of places) {
    const own = ownOf(arena, place);
    for (const need of own.needs) needs.add(need);
    for (let k = 0; k < load.length; k++) load[k] = at(load, k) + at(own.load, k);
  }
  return { needs, load };
}

function ownOf(arena: Arena, place: Place): OwnPods {
  const known = arena.ownPods.get(place);
  if (known !== undefined) return known;
  const load = new Float64Array(arena.worth.length);
  const needs = new Set<Need>();
  for (const { shape, count } of place.own) {
    addNeed(arena, needs, shape);
    const requests = arena.shapes.get(shape)?.requests ?? load;
    for (let k = 0; k < load.length; k++) load[k] = at(load, k) + count * at(requests, k);
  }
  const own = { needs, load };
  arena.ownPods.set(place, own);
  return own;
}

/** Adds what pods of a shape need at least; one need stands for all that the same offerings would do for. */
export function addNeed(arena: Arena, needs: Set<Need>, shape: number): void {
  const need = arena.shapes.get(shape)?.needs.at(-1);
  if (need !== undefined) needs.add(standInFor(arena, need));
}

function standInFor({ workspace, standIns }: Arena, need: Need): Need {
  const known = standIns.get(need);
  if (known !== undefined) return known;
  const options = workspace.pools.map((state) =>
    optionsFor(workspace, state, need).map(({ offered }) => offered.join()),
  );
  const key = options.map((ofPool) => ofPool.join('+')).join('/');
  const standIn = standIns.get(key) ?? need;
  standIns.set(key, standIn);
  standIns.set(need, standIn);
  return standIn;
}
