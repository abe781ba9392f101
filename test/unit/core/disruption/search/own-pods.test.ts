import { expect, test } from 'vitest';
import { addNeed, ownPods } from '../../../../../shared/core/disruption/search/own-pods.ts';
import type { Need } from '../../../../../shared/core/placing/state/compile-shape.ts';
import { shape, spec } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { machine, on } from '../../../../kit/core/build-disruption.ts';

/** Node `a` has two pods of half a CPU and one of two CPUs that needs a zone, `b` one of a quarter and no rule. */
function arena() {
  const zone = { 'topology.kubernetes.io/zone': 'westeurope-1' };
  return arenaOf({
    machines: [machine('a'), machine('b')],
    shapes: [shape(spec('500m', '1Gi')), shape(spec('2', '1Gi', { nodeSelector: zone })), shape(spec('250m', '1Gi'))],
    pods: [...on('a', 0, 2), ...on('a', 1, 1), ...on('b', 2, 1)],
  });
}

const needsOf = (of: { readonly needs: ReadonlySet<Need> }) => [...of.needs].map(({ shape: { index } }) => index);

test('what pods of nodes take is summed, of one and of several', () => {
  const all = arena();
  const [a, b] = [slotOf(all, 'a'), slotOf(all, 'b')];
  const loads = [ownPods(all, [a]), ownPods(all, [b]), ownPods(all, [a, b]), ownPods(all, [])].map(({ load }) => [
    ...load,
  ]);
  const [ofA = [], ofB = [], both, none] = loads;
  expect(both).toEqual(ofA.map((amount, k) => amount + (ofB[k] ?? 0)));
  const [cpu, ...others] = ofB;
  expect(ofA).toEqual([12 * (cpu ?? 0), ...others.map((amount) => 3 * amount)]);
  expect(none).toEqual(ofA.map(() => 0));
});

test('pods for which the same offerings would do need one and the same', () => {
  const all = arena();
  const [a, b] = [slotOf(all, 'a'), slotOf(all, 'b')];
  expect([ownPods(all, [a]), ownPods(all, [b]), ownPods(all, [b, a])].map(needsOf)).toEqual([[1, 0], [0], [0, 1]]);
  const needs = new Set<Need>();
  addNeed(all, needs, 2);
  addNeed(all, needs, 0);
  expect(needsOf({ needs })).toEqual([0]);
});
