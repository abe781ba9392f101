import { at } from '../../quantity/at.ts';
import { optionsFor } from '../../placing/state/workspace.ts';
import { compileSelector, selects } from '../../rules/selector.ts';
import type { Need } from '../../placing/state/compile-shape.ts';
import { factsOf, type Arena, type OwnPods, type Slot } from './arena.ts';

/** Of all the nodes together. */
export function ownPods(arena: Arena, slots: ReadonlyArray<Slot>): OwnPods {
  const [only] = slots;
  // Stryker disable next-line ConditionalExpression,EqualityOperator: a shortcut, the sum of one is what it has
  if (only !== undefined && slots.length === 1) return ownOf(arena, only);
  const load = new Float64Array(arena.worth.length);
  const needs = new Set<Need>();
  for (const slot of slots) {
    const own = ownOf(arena, slot);
    for (const need of own.needs) needs.add(need);
    // Stryker disable next-line EqualityOperator: beyond its end nothing is written to a typed array
    for (let k = 0; k < load.length; k++) load[k] = at(load, k) + at(own.load, k);
  }
  return { needs, load };
}

function ownOf(arena: Arena, slot: Slot): OwnPods {
  const known = arena.ownPods.get(slot);
  // Stryker disable next-line ConditionalExpression: what is known is the same when it is worked out again
  if (known !== undefined) return known;
  const load = new Float64Array(arena.worth.length);
  const needs = new Set<Need>();
  for (const { shape, count } of slot.own) {
    addNeed(arena, needs, shape);
    const { requests } = factsOf(arena, shape);
    // Stryker disable next-line EqualityOperator: beyond its end nothing is written to a typed array
    for (let k = 0; k < load.length; k++) load[k] = at(load, k) + count * at(requests, k);
  }
  const own = { needs, load };
  // Stryker disable next-line CallExpression: what is not kept is worked out again
  arena.ownPods.set(slot, own);
  return own;
}

/** Adds what pods of a shape need at least; one need stands for all that the same offerings would do for. */
export function addNeed(arena: Arena, needs: Set<Need>, shape: number): void {
  needs.add(standInFor(arena, factsOf(arena, shape).least));
}

function standInFor({ workspace, standIns }: Arena, need: Need): Need {
  const known = standIns.get(need);
  // Stryker disable next-line ConditionalExpression: what is known is the same when it is worked out again
  if (known !== undefined) return known;
  const options = workspace.pools.map((state) =>
    optionsFor(workspace, state, need).map(({ offered }) => offered.join()),
  );
  const key = options.map((ofPool) => ofPool.join('+')).join('/');
  const standIn = standIns.get(key) ?? need;
  standIns.set(key, standIn);
  // Stryker disable next-line CallExpression: what is not kept is worked out again
  standIns.set(need, standIn);
  return standIn;
}

/**
 * Do the budgets of pods let those of the slots wait together that come once these have gone? At each slot that they
 * move to, as many as their spread over hosts allows come at once.
 */
export function mayWait(arena: Arena, going: ReadonlyArray<Slot>): boolean {
  const { shapes, podDisruptionBudgets } = arena.workspace.input.cluster;
  // Stryker disable next-line ConditionalExpression: a shortcut, where there are no budgets each of them lets all wait
  if (podDisruptionBudgets.length === 0) return true;
  const moves = going.flatMap((slot) => slot.moves.filter(({ shape }) => hostSkewOf(arena, shape) < Infinity));
  return podDisruptionBudgets.every(({ metadata, spec, status }) => {
    const selector = compileSelector(spec?.selector);
    const own = moves.filter(({ shape }) => {
      const { namespace, labels } = shapes[shape] ?? { namespace: '', labels: {} };
      return namespace === (metadata.namespace ?? 'default') && selects(selector, labels);
    });
    const waiting = [...Map.groupBy(own, ({ target }) => target).values()].map((there) => {
      const most = Math.min(...there.map(({ shape }) => hostSkewOf(arena, shape)));
      return Math.max(0, there.reduce((sum, { count }) => sum + count, 0) - most);
    });
    return waiting.reduce((sum, count) => sum + count, 0) <= (status?.disruptionsAllowed ?? 0);
  });
}

/** By how much its pods may differ between hosts; Infinity where they spread over none. */
function hostSkewOf(arena: Arena, shape: number): number {
  const { spread } = factsOf(arena, shape).least.terms;
  return Math.min(Infinity, ...spread.flatMap(({ counter, maxSkew }) => (counter.host < 0 ? [] : [maxSkew])));
}
