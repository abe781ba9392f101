import { expect, test } from 'vitest';
import { pods, shape, spec } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { CONSOLIDATABLE, evenOverZones, machine, on } from '../../../../kit/core/build-disruption.ts';

const small = shape(spec('500m', '1Gi'));

test('a node that may go has its pods to move, and one that stays has those that rules count, of none that leave', () => {
  const arena = arenaOf({
    machines: [machine('stays', { conditions: [] }), machine('may')],
    shapes: [small, evenOverZones],
    pods: [
      ...on('stays', 0, 1),
      ...on('stays', 1, 2),
      ...on('stays', 1, 1, { name: 'leaving', uid: 'leaving', deleting: true }),
      ...on('may', 1, 3),
      ...on('may', 0, 1),
    ],
  });
  const [stays, may] = [slotOf(arena, 'stays'), slotOf(arena, 'may')];
  expect([stays.isCandidate, stays.own, stays.bound]).toEqual([false, [], [{ shape: 1, count: 2 }]]);
  // Those with rules first.
  const groups = [
    { shape: 1, count: 3 },
    { shape: 0, count: 1 },
  ];
  expect([may.isCandidate, may.own, may.bound]).toEqual([true, groups, []]);
});

test('pods that are to come take their room, whatever no other pod is like, and disturb nobody when the node goes', () => {
  const coming = pods(1, 2);
  const arena = arenaOf(
    { machines: [machine('a')], shapes: [small, shape(spec('1', '1Gi'))], pods: [...on('a', 0, 1), ...coming] },
    new Map([['a', coming]]),
  );
  const a = slotOf(arena, 'a');
  expect([a.received, a.receivedCost, arena.shapes.get(1)?.cost]).toEqual([2, 0, 1]);
  const { requests = new Float64Array() } = arena.shapes.get(1) ?? {};
  const without = slotOf(arenaOf({ machines: [machine('a')], shapes: [small], pods: on('a', 0, 1) }), 'a');
  expect([...a.room.free].slice(0, 2)).toEqual(
    [...without.room.free].slice(0, 2).map((free, k) => free - 2 * (requests[k] ?? 0)),
  );
});

test('a claim without a node is no slot, though a node has its name', () => {
  const { claim } = machine('x');
  const named = { ...claim, metadata: { ...claim.metadata, name: 'a' }, status: { ...claim.status, nodeName: 'x' } };
  const arena = arenaOf({
    machines: [machine('a'), { claim: named, node: machine('b').node }],
    shapes: [small],
    pods: on('a', 0, 1),
  });
  expect(arena.slots.map(({ node }) => node?.name)).toEqual(['a', 'b']);
});

test('what no node has any of left is worth nothing', () => {
  const full = arenaOf({
    machines: [machine('a', { cpu: 2 })],
    shapes: [shape(spec('2', '1Gi'))],
    pods: on('a', 0, 1),
  });
  expect([...full.worth].filter((worth) => worth === 0)).toHaveLength(1);
  expect([...full.worth].every(Number.isFinite)).toBe(true);
});

test('a pod has rules if it has any at one level of what it prefers, and is single where it has ports', () => {
  const preferred = { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'web' } } };
  const apart = { preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 1, podAffinityTerm: preferred }] };
  const ports = [{ containerPort: 80, hostPort: 80 }];
  const { containers } = spec('1', '1Gi');
  const arena = arenaOf({
    machines: [machine('a')],
    shapes: [
      small,
      shape(spec('1', '1Gi', { affinity: { podAntiAffinity: apart } })),
      shape(spec('1', '1Gi', { containers: containers.map((one) => ({ ...one, ports })) })),
    ],
    pods: [0, 1, 2].flatMap((index) => on('a', index, 1)),
  });
  const facts = [0, 1, 2].map((index) => arena.shapes.get(index));
  expect(facts.map((one) => [one?.isRuled, one?.isSingle])).toEqual([
    [false, false],
    [true, false],
    [false, true],
  ]);
});

test.each([
  [
    'is ready',
    [
      { type: 'MemoryPressure', status: 'False' },
      { type: 'Ready', status: 'True' },
    ],
    true,
  ],
  ['says nothing of it', [], true],
  ['is not ready', [{ type: 'Ready', status: 'False' }], false],
])('a node that %s takes pods: %o', (_, nodeConditions, takes) => {
  const parts = { nodeConditions, conditions: [CONSOLIDATABLE] };
  const arena = arenaOf({ machines: [machine('a', parts)], shapes: [small], pods: on('a', 0, 1) });
  expect(slotOf(arena, 'a').takesPods).toBe(takes);
});

test('a node that has to go takes no pods, and only one that is empty and may soon go does so by itself', () => {
  const kept = { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } };
  const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
  const arena = arenaOf({
    machines: [
      machine('may'),
      machine('must', { conditions: [CONSOLIDATABLE, drifted] }),
      machine('never', kept),
      machine('soon', { conditions: [] }),
      machine('used', { conditions: [] }),
    ],
    shapes: [small],
    pods: on('used', 0, 1),
  });
  expect(arena.slots.map(({ node, takesPods, goesByItself }) => [node?.name, takesPods, goesByItself])).toEqual([
    ['may', true, false],
    ['must', false, false],
    ['never', true, false],
    ['soon', true, true],
    ['used', true, false],
  ]);
});
