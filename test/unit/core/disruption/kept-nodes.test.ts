import { expect, test } from 'vitest';
import { keptReasons } from '../../../../shared/core/disruption/kept-nodes.ts';
import type { Arena } from '../../../../shared/core/disruption/search/arena.ts';
import { leave, put, setDisruptionCost } from '../../../../shared/core/disruption/search/slots.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../kit/core/build-arena.ts';
import { CONSOLIDATABLE, machine, on } from '../../../kit/core/build-disruption.ts';

/** Nodes of four CPUs with so many pods of one CPU, of which `stays` may not go; what keeps the others. */
function keptIn(
  counts: Readonly<Record<string, number>>,
  change: (arena: Arena) => void = () => {},
): Readonly<Record<string, string>> {
  const names = Object.keys(counts);
  const arena = arenaOf({
    machines: names.map((name) => machine(name, { conditions: name === 'stays' ? [] : [CONSOLIDATABLE] })),
    shapes: [shape(spec('1', '1Gi'))],
    pods: names.flatMap((name) => on(name, 0, counts[name] ?? 0)),
  });
  change(arena);
  const reasons = keptReasons(arena, new Set(arena.slots.filter(({ node }) => node?.name === 'dropped')));
  return Object.fromEntries([...reasons].map(([name, { kind }]) => [name, kind]));
}

test('only nodes that might go and are there say why they stay', () => {
  const gone = (arena: Arena): void => leave(arena, slotOf(arena, 'b'));
  expect(keptIn({ a: 4, b: 4, stays: 4 }, gone)).toEqual({ a: 'no-place' });
});

test('a node whose pods would find room stays as nothing is cheaper, and others as no order takes them or pods come', () => {
  const come = (arena: Arena): void => put(arena, slotOf(arena, 'b'), 0, 1);
  expect(keptIn({ a: 2, b: 1, dropped: 1 }, come)).toEqual({
    a: 'nothing-cheaper',
    b: 'receives',
    dropped: 'no-order',
  });
});

test('a node is not worth its moves from the price on that they count as', () => {
  const costing = (cost: number) => (arena: Arena) => setDisruptionCost(slotOf(arena, 'a'), cost);
  expect(keptIn({ a: 1, stays: 1 }, costing(200_000))).toEqual({ a: 'not-worth' });
  expect(keptIn({ a: 1, stays: 1 }, costing(199_999))).toEqual({ a: 'nothing-cheaper' });
});

test('a node whose pods have room only where one goes by itself waits for that', () => {
  expect(keptIn({ a: 1, stays: 0 })).toEqual({ a: 'empty-first' });
  expect(keptIn({ a: 1, stays: 4 })).toEqual({ a: 'no-place' });
});

test('the largest pod that finds no place is named, and looking for one changes nothing', () => {
  const arena = arenaOf({
    machines: [machine('a'), machine('b', { cpu: 2, conditions: [] })],
    shapes: [shape(spec('250m', '1Gi'), {}, 'small'), shape(spec('3', '1Gi'), {}, 'large')],
    pods: [...on('a', 0, 1), ...on('a', 1, 1), ...on('b', 0, 1)],
  });
  const before = arena.slots.map(({ state, room, received }) => [state, [...room.free], received]);
  for (let look = 0; look < 2; look++) {
    const reason = keptReasons(arena, new Set()).get('a');
    expect(reason).toEqual({ kind: 'no-place', pod: 'large/s1-a-0000' });
  }
  expect(arena.slots.map(({ state, room, received }) => [state, [...room.free], received])).toEqual(before);
});
