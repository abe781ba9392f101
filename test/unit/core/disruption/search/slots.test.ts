import { expect, test } from 'vitest';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import { farOf, firstInOrder } from '../../../../../shared/core/disruption/search/fullest-first.ts';
import { allOfferings, offeringsOf } from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { ANYWHERE } from '../../../../../shared/core/disruption/search/reschedule.ts';
import { leave, put, restore, setDisruptionCost } from '../../../../../shared/core/disruption/search/slots.ts';
import {
  bring,
  changeOffering,
  close,
  open,
  take,
  trailOf,
  undoTo,
  type Trail,
} from '../../../../../shared/core/disruption/search/trail.ts';
import { mayGo } from '../../../../../shared/core/disruption/search/take-away.ts';
import { drawFrom, type Draw } from '../../../../../shared/core/quantity/draw.ts';
import { daemonSet, shape, spec } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { disruptable, evenOverZones, machine, on, plan, removed } from '../../../../kit/core/build-disruption.ts';
import { mixedCluster } from '../../../../kit/core/mixed-cluster.ts';

/** All that changes in an arena, as data. */
function stateOf({ slots, existing, workspace }: Arena): unknown {
  const { counters, exclusions } = workspace.topology;
  return structuredClone({
    slots: slots.slice(0, existing).map(({ state, room, received, receivedCost, moves, sources }) => {
      const volumes = [...room.attached.volumes].filter(([, there]) => there.size > 0);
      return [state, [...room.free], room.ports, volumes, received, receivedCost, moves, sources];
    }),
    added: slots.slice(existing).map(({ state }) => state === 'there'),
    counts: [...counters.values(), ...exclusions.values()].map(({ total, byDomain }) => [
      total,
      [...byDomain].filter(([, count]) => count !== 0).toSorted(([a], [b]) => (a < b ? -1 : 1)),
    ]),
    limits: workspace.pools.map(({ remaining }) => [...remaining]),
  });
}

/** One change that the search might make. */
function change(trail: Trail, draw: Draw): void {
  const { arena } = trail;
  const offerings = allOfferings(offeringsOf(arena.workspace));
  const slot = arena.slots[draw.below(arena.slots.length)];
  const offering = offerings[draw.below(offerings.length)];
  if (slot === undefined || offering === undefined) return;
  const fresh = arena.slots.filter(({ state, offering: of }) => of !== null && state === 'there');
  const [first = null] = draw.below(2) === 0 ? fresh : [];
  if (draw.below(4) === 0) open(trail, offering);
  else if (mayGo(slot)) take(trail, slot, { ...ANYWHERE, first, mayRelax: draw.below(2) === 0 });
  else if (slot.state === 'gone' && slot.received === 0) bring(trail, slot);
  else if (slot.offering !== null && slot.state === 'there' && slot.received === 0) close(trail, slot);
  else if (slot.offering !== null && slot.state === 'there') changeOffering(trail, slot, offering);
}

test.each([24, 26, 31, 32, 38, 40, 42, 58])(
  'what a trail has changed is counted as what is there, and nothing is left of it when it is undone: cluster %i',
  (seed) => {
    const arena = arenaOf(mixedCluster(seed));
    for (const slot of arena.slots) setDisruptionCost(slot, 1_000 * (slot.index + 1));
    const draw = drawFrom(seed);
    const trail = trailOf(arena);
    const before = stateOf(arena);
    const none = new Float64Array(arena.worth.length);
    for (let turn = 0; turn < 60; turn++) {
      change(trail, draw);
      const costs = arena.slots.map(({ state, offering, price, disruptionCost }) =>
        state === 'gone' ? disruptionCost - price : state === 'there' && offering !== null ? price : 0,
      );
      expect(trail.costChange).toBeCloseTo(costs.reduce((sum, cost) => sum + cost, 0));
      const order: Array<Slot> = [];
      firstInOrder(arena, none, (slot) => order.push(slot) < 0);
      expect(order.map(({ index }) => index)).toEqual(inOrder(arena));
    }
    const half = trail.done.length >> 1;
    undoTo(trail, half);
    expect(trail.done).toHaveLength(half);
    undoTo(trail, 0);
    expect(trail.costChange).toBeCloseTo(0);
    const after = stateOf(arena) as { added: ReadonlyArray<boolean> };
    expect(after.added.every((isThere) => !isThere)).toBe(true);
    expect({ ...after, added: [] }).toEqual(before);
  },
);

/** Slots that take pods, from the fullest on. */
function inOrder({ slots, worth }: Arena): ReadonlyArray<number> {
  const keyOf = (slot: Slot): number =>
    slot.room.free.reduce((sum, one, k) => sum + one * (worth[k] ?? 0), farOf(slot));
  const there = slots.filter(({ state, takesPods }) => state === 'there' && takesPods);
  return there.toSorted((a, b) => keyOf(a) - keyOf(b) || a.index - b.index).map(({ index }) => index);
}

const ports = [{ containerPort: 80, hostPort: 80 }];
const { containers } = spec('500m', '1Gi');
const withVolumes = shape(
  spec('500m', '1Gi', {
    containers: containers.map((one) => ({ ...one, ports })),
    volumes: [
      { name: 'data', persistentVolumeClaim: { claimName: 'data' } },
      { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'disk' } } } },
    ],
  }),
);
const storage = {
  storageClasses: [
    { metadata: { name: 'disk' }, provisioner: 'disk.csi.azure.com', volumeBindingMode: 'WaitForFirstConsumer' },
  ],
  persistentVolumeClaims: [{ metadata: { name: 'data', namespace: 'default' }, spec: { storageClassName: 'disk' } }],
};

/** The ports and volumes that the slot has. */
function apart({ room }: Slot): unknown {
  return [room.ports.map(({ port }) => port), [...(room.attached.volumes.get('disk.csi.azure.com') ?? [])]];
}

test('a pod brings its ports and volumes along, to a new node too, and takes them with it', () => {
  const arena = arenaOf({
    machines: [machine('a'), machine('b')],
    shapes: [withVolumes],
    pods: on('a', 0, 1),
    ...storage,
  });
  const b = slotOf(arena, 'b');
  put(arena, b, 0, 1);
  expect(apart(b)).toEqual([[80], ['default/data', '0/scratch/0']]);
  put(arena, b, 0, 1);
  expect(apart(b)).toEqual([
    [80, 80],
    ['default/data', '0/scratch/0', '0/scratch/1'],
  ]);
  put(arena, b, 0, -1);
  expect(apart(b)).toEqual([[80], ['0/scratch/0']]);
  put(arena, b, 0, -1);
  expect(apart(b)).toEqual([[], []]);

  const [offering, other] = allOfferings(offeringsOf(arena.workspace));
  if (offering === undefined || other === undefined) throw new Error('there is no offering');
  const trail = trailOf(arena);
  const fresh = open(trail, offering);
  put(arena, fresh, 0, 1);
  const free = (): number => fresh.room.free[0] ?? 0;
  const left = free();
  changeOffering(trail, fresh, other);
  expect([apart(fresh), [...(fresh.content ?? [])]]).toEqual([[[80], []], [[0, 1]]]);
  changeOffering(trail, fresh, offering);
  expect(free()).toBe(left);
});

test.each([
  [3, []],
  [4, ['a']],
])('each pod brings a volume of its own: where %i can be attached, of four pods %j goes', (count, gone) => {
  const own = shape(spec('500m', '1Gi', { volumes: withVolumes.spec.volumes?.slice(1) ?? [] }));
  const made = plan({
    machines: [machine('a', { cpu: 8 }), machine('b', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } })],
    shapes: [own, shape(spec('500m', '1Gi'))],
    pods: [...on('a', 0, 4), ...on('b', 1, 1)],
    ...storage,
    csiNodes: [
      { metadata: { name: 'b' }, spec: { drivers: [{ name: 'disk.csi.azure.com', allocatable: { count } }] } },
    ],
    nodePools: [disruptable('general', {}, { limits: { cpu: '12' } })],
  });
  expect(removed(made)).toEqual(gone);
});

test('a new node is no candidate, has no pods and moves none, and its daemons have their ports', () => {
  const daemon = { containers: containers.map((one) => ({ ...one, ports })) };
  const arena = arenaOf({
    machines: [machine('a')],
    shapes: [shape(spec('500m', '1Gi'))],
    pods: on('a', 0, 1),
    daemonSets: [daemonSet('d', daemon)],
  });
  const [offering] = allOfferings(offeringsOf(arena.workspace));
  if (offering === undefined) throw new Error('there is no offering');
  const fresh = open(trailOf(arena), offering);
  expect(fresh).toMatchObject({
    node: null,
    isCandidate: false,
    takesPods: true,
    goesByItself: false,
    own: [],
    bound: [],
    moves: [],
    pool: 'general',
  });
  expect([fresh.room.pods, fresh.room.ports.map(({ port }) => port)]).toEqual([[], [80]]);
});

test('pods that do not move go with their node where rules count them, and come back with it', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' };
  const daemons = { ...shape(spec('100m', '16Mi'), { app: 'web' }), owner };
  const arena = arenaOf({
    machines: [machine('a'), machine('b')],
    shapes: [evenOverZones, daemons],
    pods: [...on('a', 0, 2), ...on('a', 1, 1), ...on('b', 0, 1)],
  });
  const counted = () => [...arena.workspace.topology.counters.values()].map(({ total }) => total);
  const a = slotOf(arena, 'a');
  expect([a.bound, counted()]).toEqual([[{ shape: 1, count: 1 }], [4]]);
  leave(arena, a);
  expect([a.state, counted()]).toEqual(['gone', [1]]);
  restore(arena, a);
  expect([a.state, counted()]).toEqual(['there', [4]]);
});
