import { expect, test } from 'vitest';
import type { Arena } from '../../../../../shared/core/disruption/search/arena.ts';
import { allOfferings, offeringsOf } from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import {
  admits,
  ANYWHERE,
  isAllowed,
  stuckPod,
  whileGone,
  type Rescheduling,
} from '../../../../../shared/core/disruption/search/reschedule.ts';
import { close, open, take, trailOf, undoTo } from '../../../../../shared/core/disruption/search/trail.ts';
import { drawFrom } from '../../../../../shared/core/quantity/draw.ts';
import { shape, spec, zones } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { CONSOLIDATABLE, machine, on } from '../../../../kit/core/build-disruption.ts';

/** So many nodes that stay, each fuller than the one before, and one that goes with one pod. */
function many(nodes: number): Arena {
  const names = Array.from({ length: nodes }, (_, index) => `n${String(index).padStart(3, '0')}`);
  return arenaOf({
    machines: [machine('a'), ...names.map((name) => machine(name, { cpu: 8, conditions: [] }))],
    shapes: [shape(spec('50m', '64Mi')), shape(spec('3', '1Gi'))],
    pods: [...on('a', 0, 1), ...names.flatMap((name, index) => on(name, 0, (index % 20) + 1)), ...on('n019', 1, 2)],
  });
}

/** Where the pod of `a` goes. */
function targetIn(arena: Arena, rescheduling: Partial<Rescheduling>): string | undefined {
  const trail = trailOf(arena);
  const a = slotOf(arena, 'a');
  take(trail, a, { ...ANYWHERE, ...rescheduling });
  const [target] = a.moves.map((move) => arena.slots[move.target]?.node?.name);
  undoTo(trail, 0);
  return target;
}

test.each([40, 80])(
  'of %i nodes a pod goes to the fullest, of some to the fullest of these, and roughly judged to others',
  (nodes) => {
    const arena = many(nodes);
    expect(targetIn(arena, {})).toBe('n019');
    const among = ['n003', 'n007', 'n005'].map((name) => slotOf(arena, name));
    expect(targetIn(arena, { among })).toBe('n007');
    expect(targetIn(arena, { first: slotOf(arena, 'n002') })).toBe('n002');
    const noise = drawFrom(5);
    const targets = new Set(Array.from({ length: 30 }, () => targetIn(arena, { noise })));
    expect(targets.size).toBeGreaterThan(3);
  },
);

test('a node that has none left of what a pod does not ask for takes it, and as many as it has room for', () => {
  const gpu = { containers: [{ resources: { requests: { cpu: '100m', memory: '16Mi', 'nvidia.com/gpu': '1' } } }] };
  const arena = arenaOf({
    machines: [machine('a'), machine('b', { conditions: [] }), machine('c')],
    shapes: [shape(spec('500m', '1Gi')), shape(gpu)],
    pods: [...on('a', 0, 3), ...on('c', 1, 1)],
  });
  const b = slotOf(arena, 'b');
  const index = b.room.free.findIndex((amount) => amount === 0);
  for (const left of [0, -1]) {
    b.room.free[index] = left;
    const trail = trailOf(arena);
    const a = slotOf(arena, 'a');
    expect(take(trail, a, { ...ANYWHERE, mayFill: true, among: [b] })).toEqual({ kind: 'taken' });
    expect(a.moves).toEqual([{ target: b.index, shape: 0, count: 3 }]);
    undoTo(trail, 0);
  }
});

test('whether a new node would do for a pod is asked again when its slot has become another', () => {
  const arena = arenaOf({
    machines: [machine('a')],
    shapes: [shape(spec('500m', '1Gi', { nodeSelector: { 'topology.kubernetes.io/zone': zones[1] } }))],
    pods: on('a', 0, 1),
  });
  const need = arena.shapes.get(0)?.least;
  if (need === undefined) throw new Error('there is no need');
  const trail = trailOf(arena);
  const answers = [zones[0], zones[1], zones[0]].map((zone) => {
    const offering = allOfferings(offeringsOf(arena.workspace)).find((one) => one.zone === zone);
    if (offering === undefined) throw new Error('there is no offering');
    const slot = open(trail, offering);
    const answer = admits(arena, need, slot);
    close(trail, slot);
    return [slot.index, answer];
  });
  expect(answers).toEqual([
    [1, false],
    [1, true],
    [1, false],
  ]);
});

test('a pod that goes nowhere is allowed nowhere', () => {
  const arena = arenaOf({ machines: [machine('a')], shapes: [shape(spec('1', '1Gi'))], pods: on('a', 0, 1) });
  expect([-1, 0].map((target) => isAllowed(arena, { target, shape: 0 }))).toEqual([false, true]);
});

test('a pod goes where as much is met of what it prefers as on its own node, or anywhere where it may give that up', () => {
  const preferring = (zone: string) =>
    shape(
      spec('500m', '1Gi', {
        affinity: {
          nodeAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              {
                weight: 1,
                preference: {
                  matchExpressions: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: [zone] }],
                },
              },
            ],
          },
        },
      }),
    );
  const goes = (zone: string, mayRelax: boolean): boolean => {
    const arena = arenaOf({
      machines: [machine('a', { conditions: [CONSOLIDATABLE] }), machine('b', { zone: zones[1], conditions: [] })],
      shapes: [preferring(zone), shape(spec('500m', '1Gi'))],
      pods: [...on('a', 0, 1), ...on('b', 1, 1)],
    });
    return take(trailOf(arena), slotOf(arena, 'a'), { ...ANYWHERE, mayRelax }).kind === 'taken';
  };
  expect([goes(zones[0], false), goes(zones[0], true)]).toEqual([false, true]);
  expect([goes(zones[1], false), goes(zones[2], false)]).toEqual([true, true]);
});

test('looking whether pods would find a place, or what is so while their node is gone, changes nothing', () => {
  const arena = arenaOf({
    machines: [machine('a'), machine('b', { conditions: [] })],
    shapes: [shape(spec('1', '1Gi'))],
    pods: [...on('a', 0, 2), ...on('b', 0, 1)],
  });
  const [a, b] = [slotOf(arena, 'a'), slotOf(arena, 'b')];
  const state = () => [a.state, a.moves, b.received, [...b.room.free]];
  const before = structuredClone(state());
  expect([stuckPod(arena, a, ANYWHERE), stuckPod(arena, a, { ...ANYWHERE, among: [] })]).toEqual([
    null,
    'default/s0-a-0000',
  ]);
  expect(state()).toEqual(before);
  expect(whileGone(arena, a, () => a.state)).toBe('gone');
  expect(state()).toEqual(before);
});
