import { describe, expect, test } from 'vitest';
import type { PlannedReplacement } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import { offeringsIn, readCourse, readRound } from '../../../../../shared/core/disruption/read-round.ts';
import type { Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import { NO_ENDS } from '../../../../../shared/core/disruption/steps/ends.ts';
import { replayOf } from '../../../../../shared/core/disruption/steps/replay.ts';
import { sequence } from '../../../../../shared/core/disruption/steps/sequence.ts';
import type { PodShape } from '../../../../../shared/core/model/cluster.ts';
import { instant, microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import { shape, size, spec } from '../../../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on } from '../../../../kit/core/build-disruption.ts';

/** How an end that is given is cut into steps: what goes, what comes, and what the arena is then. */

type Parts = Parameters<typeof disruptionInput>[0];

interface End {
  /** By name of node, in the order in which they go: where its pods go. */
  readonly homes: Readonly<Record<string, string>>;
  /** By uid of pod, where one goes elsewhere than the others of its node. */
  readonly apart?: Readonly<Record<string, string>>;
  /** CPUs of new nodes, by name. */
  readonly created?: Readonly<Record<string, number>>;
  readonly mostTried?: number;
}

const small = shape(spec('100m', '128Mi'));
const drifted = [{ type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' }];
const balanced = (...budgets: ReadonlyArray<string>) =>
  disruptable('general', {
    consolidationPolicy: 'Balanced',
    ...(budgets.length === 0 ? {} : { budgets: budgets.map((nodes) => ({ nodes })) }),
  });

/** Pods of `app` that keep away from each other. */
function apart(app: string): PodShape {
  const term = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app } } };
  const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
  return shape(spec('100m', '128Mi', { affinity: { podAntiAffinity } }), { app });
}

function replacement(name: string, cpu: number): PlannedReplacement {
  const price = microUsdPerHour(cpu * 50_000);
  const instanceType = `Standard_D${cpu}s_v5`;
  return { name, nodePool: 'general', instanceType, zone: 'westeurope-1', capacityType: 'on-demand', price };
}

function cut(parts: Parts, { homes, apart: single = {}, created = {}, mostTried }: End) {
  const course = readCourse(disruptionInput(parts), instant(NOW));
  const round = readRound(course, NO_ENDS);
  const ends = {
    gone: new Set(Object.keys(homes)),
    created: new Map(Object.entries(created).map(([name, cpu]) => [name, replacement(name, cpu)])),
    homes: new Map(
      parts.pods.flatMap(({ uid, nodeName }) => [[uid, single[uid] ?? homes[nodeName ?? ''] ?? ''] as const]),
    ),
  };
  const replay = replayOf(round.arena, offeringsIn(round), ends);
  const { steps, dropped } = sequence(replay, course.pools, mostTried);
  const names = new Map([...replay.created].map(([name, slot]) => [slot, name]));
  const nameOf = (slot: Slot): string => names.get(slot) ?? slot.room.capacity.name;
  return {
    steps: steps.map(({ remove }) => remove.map(nameOf)),
    created: steps.map(({ create }) => create.map(nameOf)),
    dropped: dropped.map(nameOf),
    gone: round.arena.slots.filter(({ state }) => state === 'gone').map(nameOf),
    received: Object.fromEntries(
      round.arena.slots.flatMap((slot) => (slot.received > 0 ? [[nameOf(slot), slot.received]] : [])),
    ),
  };
}

test('where all goes in one step, nothing is left', () => {
  const parts = { machines: [machine('a'), machine('b')], shapes: [small], pods: on('a', 0, 2) };
  expect(cut(parts, { homes: { a: 'b' } })).toEqual({
    steps: [['a']],
    created: [[]],
    dropped: [],
    gone: ['a'],
    received: { b: 2 },
  });
});

test('new nodes of a step are named in the order in which they were found, whichever node they are for', () => {
  const parts = {
    machines: [machine('a', { cpu: 8 }), machine('b', { cpu: 8 })],
    shapes: [small],
    pods: [...on('a', 0, 1), ...on('b', 0, 1)],
  };
  const made = cut(parts, { homes: { a: 'new-2', b: 'new-1' }, created: { 'new-1': 2, 'new-2': 4 } });
  expect([made.steps, made.created]).toEqual([[['a', 'b']], [['new-1', 'new-2']]]);
});

describe('of a Balanced NodePool', () => {
  /** Nodes of 100,000 each with so many pods, which go to one of the two of 400,000 that stay. */
  const full = (counts: Readonly<Record<string, number>>, nodePool = balanced()): Parts => ({
    machines: [
      ...Object.keys(counts).map((name) => machine(name, { cpu: 2 })),
      machine('y', { cpu: 8 }),
      machine('z', { cpu: 8 }),
    ],
    shapes: [small],
    pods: Object.entries({ ...counts, y: 4, z: 1 }).flatMap(([name, count]) => on(name, 0, count)),
    nodePools: [nodePool],
  });

  test.each([
    ['after', { few: 'z', many: 'z' }],
    ['before', { many: 'z', few: 'z' }],
  ])(
    'the node that saves least for its pods stays where all together save too little, taken %s the other',
    (_, homes) => {
      expect(cut(full({ few: 5, many: 20 }), { homes })).toMatchObject({
        steps: [['few']],
        dropped: ['many'],
        gone: ['few'],
        received: { z: 5 },
      });
    },
  );

  test('it is the one that stays, and the others go in one step: of two alike the one that comes first', () => {
    const homes = { a: 'z', b: 'z', few: 'z', less: 'z' };
    const some = (a: number, b: number) => cut(full({ a, b, few: 2, less: 1 }), { homes, mostTried: 0 });
    expect([some(20, 12), some(12, 20), some(20, 20)].map(({ steps, dropped }) => [steps, dropped])).toEqual([
      [[['less', 'few', 'b']], ['a']],
      [[['less', 'few', 'a']], ['b']],
      [[['less', 'few', 'b']], ['a']],
    ]);
  });

  test('that lets one go at a time, those go first that save most for their pods, though one stays in the end', () => {
    const homes = { some: 'z', few: 'z', many: 'z' };
    const made = cut(full({ few: 3, many: 20, some: 5 }, balanced('1')), { homes });
    expect([made.steps, made.dropped]).toEqual([[['few'], ['some']], ['many']]);
  });

  test('a node goes that saves half as large a share as it disrupts, and no less: a quarter for a half of all', () => {
    const pool = (count: number): Parts => ({
      machines: [machine('a'), machine('b'), machine('z', { cpu: 8 })],
      shapes: [small],
      pods: [...on('a', 0, count), ...on('b', 0, 2), ...on('z', 0, 4)],
      nodePools: [balanced()],
    });
    expect([7, 8].map((count) => cut(pool(count), { homes: { a: 'z' } }).steps)).toEqual([[['a']], []]);
  });

  test('a node that costs nothing stays, as nothing is saved', () => {
    const free = { types: [size('Standard_D2s_v5', 2, 8, 0), size('Standard_D8s_v5', 8, 32, 400_000)] };
    const made = (nodePool: ReturnType<typeof disruptable>) =>
      cut({ ...full({ a: 3 }, nodePool), ...free }, { homes: { a: 'z' } });
    expect([made(balanced()).steps, made(disruptable()).steps]).toEqual([[], [['a']]]);
  });
});

describe('a step that must be smaller than all that goes', () => {
  test('is without those that buy for nothing, and has all others, however few are looked at one by one', () => {
    const parts = {
      machines: [machine('a'), machine('b', { cpu: 2 }), machine('c', { cpu: 2 }), machine('z', { cpu: 8 })],
      shapes: [small],
      pods: ['a', 'b', 'c'].flatMap((name) => on(name, 0, 1)),
    };
    const homes = { a: 'new-1', b: 'z', c: 'z' };
    const made = cut(parts, { homes, created: { 'new-1': 8 }, mostTried: 0 });
    expect([made.steps, made.created, made.dropped]).toEqual([[['b', 'c']], [[]], ['a']]);
  });

  test('is first without those whose pods may not be where they go: what is left is worth what it buys', () => {
    const parts = {
      machines: [
        machine('a', { cpu: 2 }),
        machine('b', { cpu: 8 }),
        machine('c', { cpu: 2 }),
        machine('z', { cpu: 8 }),
      ],
      shapes: [small, apart('x')],
      pods: [...on('a', 1, 1), ...on('z', 1, 1), ...on('a', 0, 1), ...on('b', 0, 1), ...on('c', 0, 1)],
    };
    // A pod of `a` goes to `z`, where one is that it keeps away from; the other to a node that costs more than `a`.
    const homes = { a: 'new-1', b: 'new-2', c: 'z' };
    const end = { homes, apart: { 's1-a-0000': 'z' }, created: { 'new-1': 8, 'new-2': 4 } };
    expect(cut(parts, { ...end, mostTried: 0 })).toMatchObject({ steps: [['b', 'c']], created: [['new-2']] });
  });

  describe('of nodes that must go, the pods of two of which would wait for them', () => {
    const hostSpread = {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: { app: 'web' } },
    };
    const old = { cpu: 2, conditions: drifted } as const;
    /** Two pods of `web` on each of `a`, `b` and `z`, one of which may be disrupted. */
    const parts = {
      machines: [...['a', 'b', 'c', 'd'].map((name) => machine(name, old)), machine('z', { cpu: 8 })],
      shapes: [
        small,
        shape(spec('100m', '128Mi', { topologySpreadConstraints: [hostSpread] }), { app: 'web' }),
        apart('x'),
      ],
      pods: [...['a', 'b', 'z'].flatMap((name) => on(name, 1, 2)), ...on('c', 0, 1), ...on('d', 0, 1)],
      podDisruptionBudgets: [
        {
          metadata: { name: 'web', namespace: 'default' },
          spec: { selector: { matchLabels: { app: 'web' } } },
          status: { disruptionsAllowed: 1 },
        },
      ],
    };
    const end = {
      homes: { a: 'new-1', b: 'new-2', c: 'z', d: 'z' },
      created: { 'new-1': 2, 'new-2': 2 },
      mostTried: 0,
    };

    test('has one, where budgets of pods let no more wait, beside all that need not', () => {
      expect(cut(parts, end).steps).toEqual([['a', 'c', 'd'], ['b']]);
    });

    test('has the one whose pods may be there once both have gone, where those of the other may not', () => {
      const kept = { ...parts, pods: [...parts.pods, ...on('a', 2, 1), ...on('z', 2, 1)] };
      const made = cut(kept, { ...end, apart: { 's2-a-0000': 'z' } });
      expect([made.steps, made.dropped]).toEqual([[['b', 'c', 'd']], ['a']]);
    });
  });
});
