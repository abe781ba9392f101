import { expect, test } from 'vitest';
import { judgeNodes } from '../../../../../shared/core/disruption/candidates/judge-nodes.ts';
import type { Arena } from '../../../../../shared/core/disruption/search/arena.ts';
import { offeringsOf } from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { arenaFor } from '../../../../../shared/core/disruption/search/read-arena.ts';
import { ANYWHERE } from '../../../../../shared/core/disruption/search/reschedule.ts';
import { close, open, take, trailOf, undoTo } from '../../../../../shared/core/disruption/search/trail.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { onDemand, shape, spec } from '../../../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on } from '../../../../kit/core/build-disruption.ts';

/** Two nodes of two CPUs each, with as many pods of half a CPU. */
function arenaOf(onFirst: number, onSecond: number): Arena {
  const given = disruptionInput({
    machines: [machine('a', { cpu: 2 }), machine('b', { cpu: 2 })],
    shapes: [shape(spec('500m', '256Mi'))],
    pods: [...on('a', 0, onFirst), ...on('b', 0, onSecond)],
    nodePools: ['general', 'other'].map((name) => disruptable(name, {}, { requirements: [onDemand] })),
  });
  const { provisioning } = given;
  return arenaFor({ provisioning, nodes: judgeNodes(given, instant(NOW)), awaited: new Map(), searchSteps: 0 });
}

test('a node that cannot be taken away says which pod was stuck and how many had a place, and nothing has changed', () => {
  const arena = arenaOf(2, 3);
  const [a, b] = arena.slots;
  if (a === undefined || b === undefined) throw new Error('there are no slots');
  const before = structuredClone([a.state, b.room.free, b.received, a.moves]);
  const trail = trailOf(arena);
  expect(take(trail, a, ANYWHERE)).toEqual({ kind: 'stuck', shape: 0, placed: 1 });
  expect([a.state, b.room.free, b.received, a.moves]).toEqual(before);
  expect([trail.done, trail.costChange]).toEqual([[], 0]);
});

test('pods go to the slots that they are given and to no others', () => {
  const arena = arenaOf(1, 1);
  const [a] = arena.slots;
  if (a === undefined) throw new Error('there are no slots');
  expect(take(trailOf(arena), a, { ...ANYWHERE, among: [] })).toMatchObject({ kind: 'stuck', placed: 0 });
  expect(take(trailOf(arena), a, ANYWHERE)).toEqual({ kind: 'taken' });
});

test('a slot whose second new node is undone is what its first was, its NodePool included', () => {
  const arena = arenaOf(1, 1);
  const [general, other] = offeringsOf(arena.workspace).map(({ list }) => list[0]);
  if (general === undefined || other === undefined) throw new Error('there is no offering');
  const trail = trailOf(arena);
  const first = open(trail, general);
  close(trail, first);
  const before = trail.done.length;
  expect(open(trail, other)).toBe(first);
  expect(first.pool).toBe(other.state.pool.name);
  undoTo(trail, before - 1);
  expect([first.state, first.pool, first.offering]).toEqual(['there', general.state.pool.name, general]);
});
