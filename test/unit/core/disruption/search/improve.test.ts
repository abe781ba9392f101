import { describe, expect, test } from 'vitest';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import {
  drawSample,
  improve,
  newSample,
  patienceFor,
  slackLeft,
  slackOf,
  slotsAbout,
  takeAllSingles,
} from '../../../../../shared/core/disruption/search/improve.ts';
import { offeringsOf } from '../../../../../shared/core/disruption/search/pool-offerings.ts';
import { setDisruptionCost } from '../../../../../shared/core/disruption/search/slots.ts';
import type { Means } from '../../../../../shared/core/disruption/search/take-away.ts';
import { trailOf } from '../../../../../shared/core/disruption/search/trail.ts';
import { drawFrom } from '../../../../../shared/core/quantity/draw.ts';
import { offering, onDemand, shape, size, spec, zones } from '../../../../kit/core/build.ts';
import { arenaOf, slotOf } from '../../../../kit/core/build-arena.ts';
import { CONSOLIDATABLE, disruptable, machine, on, types } from '../../../../kit/core/build-disruption.ts';

/** How far a search strays, for how long, and what it looks at. */

const pod = shape(spec('500m', '1Gi'));

function meansFor({ workspace }: Arena, spotToSpot = false): Means {
  return { offerings: offeringsOf(workspace), spotToSpot, successorOf: () => null, mayDiscount: () => true };
}

describe('the slack of a search', () => {
  test('falls from all to none with its patience', () => {
    expect([0, 50, 100].map((vain) => slackLeft([vain, 100], [8, 8]))).toEqual([1, 0.25, 0]);
  });

  test('is used up with the work allowed, however much patience is left', () => {
    expect([8, 4, 0].map((left) => slackLeft([0, 100], [left, 8]))).toEqual([1, 0.25, 0]);
    expect(slackLeft([75, 100], [4, 8])).toBe(0.0625);
  });

  test('is at first four thousandths of what all nodes cost that are there', () => {
    const slots = (['there', 'gone', 'there', 'absent'] as const).map((state, index) => ({
      state,
      price: 10 ** index,
    }));
    expect(slackOf({ slots: slots as unknown as ReadonlyArray<Slot> } as never)).toBeCloseTo(0.004 * 101, 9);
  });
});

describe('a search', () => {
  const WORK_PER_TRY = 500;

  /** How many tries it makes with so much patience, and what it saves. What it looks at is less than one try costs. */
  function tries(patience: number, pods: ReadonlyArray<ReturnType<typeof on>[number]>, work = 100_000) {
    const machines = [machine('a', { cpu: 2 }), machine('z', { cpu: 2, conditions: [] })];
    const arena = arenaOf({ machines, shapes: [pod, shape(spec('1500m', '1Gi'))], pods });
    arena.work.left = work;
    const trail = trailOf(arena);
    improve(trail, meansFor(arena), { patience });
    return { made: Math.floor((work - arena.work.left) / WORK_PER_TRY), saved: 0 - trail.costChange };
  }
  /** The pod of `a` finds no other place, or it finds one. */
  const stuck = [...on('a', 1, 1), ...on('z', 1, 1)];
  const free = [...on('a', 0, 1), ...on('z', 1, 1)];

  test('is patient for three thousand tries, and in a large cluster for thirty per candidate', () => {
    expect([1, 100, 101, 1000].map(patienceFor)).toEqual([3000, 3000, 3030, 30_000]);
  });

  test('ends when so many tries have found nothing', () => {
    expect([0, 1, 2, 7].map((patience) => tries(patience, stuck))).toEqual(
      [0, 1, 2, 7].map((made) => ({ made, saved: 0 })),
    );
  });

  test('is as patient again each time it finds something', () => {
    const found = [1, 2, 3, 4, 5, 6, 7, 8].map((patience) => tries(patience, free));
    const first = found.findIndex(({ saved }) => saved > 0);
    expect(first).toBeGreaterThanOrEqual(0);
    // The try that finds it is the one numbered `first + 1`, whatever the patience.
    expect(found.map(({ made, saved }) => [made, saved])).toEqual(
      found.map((_, index) => (index < first ? [index + 1, 0] : [first + 1 + index + 1, 100_000])),
    );
  });

  test('is a third as patient where two new nodes come at once, which is one kind of change of several', () => {
    const arena = arenaOf({
      machines: [machine('a', { cpu: 2 }), machine('z', { cpu: 2, conditions: [] })],
      shapes: [pod, shape(spec('1500m', '1Gi'))],
      pods: stuck,
    });
    const work = 2_000_000;
    const made = (inPairs: boolean): number => {
      arena.work.left = work;
      improve(trailOf(arena), meansFor(arena), { inPairs });
      return Math.floor((work - arena.work.left) / WORK_PER_TRY / 100);
    };
    expect([made(false), made(true)]).toEqual([30, 10]);
  });

  test('takes what is a millionth of a dollar for an error of rounding, and no gain', () => {
    const saved = (price: number): number => {
      const arena = arenaOf({
        machines: [machine('a', { cpu: 2 }), machine('z', { cpu: 4, conditions: [] })],
        shapes: [pod],
        pods: [...on('a', 0, 1), ...on('z', 0, 1)],
        types: [size('Standard_D2s_v5', 2, 8, price), ...types.slice(1)],
      });
      setDisruptionCost(slotOf(arena, 'a'), 0);
      const trail = trailOf(arena);
      improve(trail, meansFor(arena), { patience: 50 });
      return 0 - trail.costChange;
    };
    expect([saved(1), saved(2)]).toEqual([0, 2]);
  });

  test('is about nodes alone that go for what they cost, and is none without them', () => {
    const drifted = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
    const machines = [
      machine('must', { cpu: 8, conditions: [CONSOLIDATABLE, drifted] }),
      machine('stays', { cpu: 8, conditions: [] }),
    ];
    const arena = arenaOf({ machines, shapes: [pod], pods: [...on('must', 0, 1), ...on('stays', 0, 1)] });
    arena.work.left = 100_000;
    improve(trailOf(arena), meansFor(arena), { patience: 7 });
    expect(arena.work.left).toBe(100_000);
  });

  describe('in which two new nodes come in the place of one', () => {
    /** What is saved, and the new nodes: one pod of a large node may not be on spot, and four may, of one family. */
    function saved(inPairs: boolean): unknown {
      const onSpot = (price: number, spot: number) => ({
        offerings: [offering(zones[0], 'on-demand', price), offering(zones[0], 'spot', spot)],
      });
      const arena = arenaOf({
        machines: [machine('a', { cpu: 8 }), machine('e', { cpu: 2 })],
        shapes: [
          shape(spec('1500m', '1Gi', { nodeSelector: { 'karpenter.azure.com/sku-family': 'D' } })),
          shape(spec('1500m', '1Gi', { nodeSelector: { 'karpenter.sh/capacity-type': 'on-demand' } })),
        ],
        pods: [...on('a', 0, 4), ...on('a', 1, 1)],
        types: [
          size('Standard_D2s_v5', 2, 8, 0, onSpot(100_000, 25_000)),
          size('Standard_D8s_v5', 8, 32, 0, onSpot(800_000, 300_000)),
          size('Standard_D9s_v5', 8, 32, 0, onSpot(400_000, 80_000)),
          size('Standard_E8s_v5', 8, 64, 0, onSpot(390_000, 60_000)),
        ],
        nodePools: [disruptable('general', {}, { requirements: [] })],
      });
      for (const slot of arena.slots) setDisruptionCost(slot, 0);
      const trail = trailOf(arena);
      improve(trail, meansFor(arena), { patience: 200, inPairs });
      const come = arena.slots.flatMap(({ state, node, price }) => (state === 'there' && node === null ? price : []));
      return [0 - trail.costChange, come.toSorted((a, b) => a - b)];
    }

    test('has each pod on the cheapest that it may be on, where one new node would be the dearer for all', () => {
      expect(saved(false)).toEqual([500_000, [400_000]]);
      expect(saved(true)).toEqual([720_000, [80_000, 100_000]]);
    });
  });

  test('tries nothing without work, and ends where that is used up', () => {
    expect([0, 1, WORK_PER_TRY + 100].map((work) => tries(7, stuck, work).made)).toEqual([0, 1, 2]);
  });
});

describe('what a try looks at in a large cluster', () => {
  const slots = Array.from({ length: 40 }, (_, index) => ({ index, takesPods: index % 4 > 0, moves: [] }));
  const all = { slots } as never;

  test('is some that are drawn of those that take pods, the same in sixteen tries', () => {
    const sample = newSample(10);
    const draw = drawFrom(1);
    const seen = Array.from({ length: 33 }, () => {
      drawSample(all, sample, draw);
      return sample.slots;
    });
    const [first = [], ...others] = new Set(seen);
    expect(seen.map((one) => seen.indexOf(one))).toEqual(seen.map((_, index) => index - (index % 16)));
    expect([first, ...others].flat().filter(({ takesPods }) => !takesPods)).toEqual([]);
    expect(first.length).toBeGreaterThan(5);
    expect(first.length).toBeLessThanOrEqual(10);
  });

  test('are beside these the nodes that the try is about, and those that have their pods', () => {
    const moved = (...targets: ReadonlyArray<number>) => ({ moves: targets.map((target) => ({ target })) }) as never;
    const about: ReadonlyArray<Slot> = [moved(3, 5), moved(3, -1)];
    const [third, fifth] = [slots[3], slots[5]];
    const sample = newSample(39);
    expect(slotsAbout(all, about, sample)).toEqual([...about, third, fifth, third]);
    drawSample(all, sample, drawFrom(1));
    expect(slotsAbout(all, about, sample)).toEqual([...sample.slots, ...about, third, fifth, third]);
  });

  test('are all in a small one', () => {
    expect([39, 40].map((most) => slotsAbout(all, [], newSample(most)) === null)).toEqual([false, true]);
  });
});

describe('nodes that go one by one', () => {
  test('are counted, those that a cheaper one follows too', () => {
    const arena = arenaOf({
      machines: ['a', 'b', 'c'].map((name) => machine(name, { cpu: 8 })),
      shapes: [pod],
      pods: ['a', 'b', 'c'].flatMap((name) => on(name, 0, 1)),
    });
    const trail = trailOf(arena);
    // One stays for the pods of the others.
    expect([takeAllSingles(trail, meansFor(arena)), takeAllSingles(trail, meansFor(arena))]).toEqual([2, 0]);

    const alone = arenaOf({ machines: [machine('a', { cpu: 8 })], shapes: [pod], pods: on('a', 0, 1) });
    expect(takeAllSingles(trailOf(alone), meansFor(alone))).toBe(1);
  });

  describe('of spot', () => {
    const cheap = [offering(zones[0], 'on-demand', 50_000), offering(zones[0], 'spot', 20_000)];
    const many = Array.from({ length: 15 }, (_, index) => size(`Standard_D${20 + index}s_v5`, 2, 8, 100_000 + index));
    const apart = {
      topologyKey: 'karpenter.sh/capacity-type',
      labelSelector: { matchLabels: { app: 'other' } },
    };
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [apart] };

    /** What comes in place of one of 100,000, which pods of `app: other` are beside on another. */
    function follower(spotToSpot: boolean, rules: object, requirements: ReadonlyArray<typeof onDemand> = []): unknown {
      const arena = arenaOf({
        machines: [
          machine('a', { cpu: 8, capacityType: 'spot' }),
          machine('b', { cpu: 4, capacityType: 'spot', conditions: [] }),
        ],
        types: [size('Standard_D2s_v5', 2, 8, 0, { offerings: cheap }), ...many, ...types.slice(1)],
        shapes: [shape(spec('500m', '1Gi', rules)), shape(spec('4', '1Gi'), { app: 'other' })],
        pods: [...on('a', 0, 1), ...on('b', 1, 1)],
        nodePools: [disruptable('general', {}, { requirements })],
      });
      takeAllSingles(trailOf(arena), meansFor(arena, spotToSpot));
      const fresh = arena.slots.find(({ state, node }) => state === 'there' && node === null);
      return [slotOf(arena, 'a').state, fresh?.price];
    }

    test('are followed by spot where that is switched on, and else by none, as in Karpenter', () => {
      expect([follower(true, {}), follower(false, {})]).toEqual([
        ['gone', 20_000],
        ['there', undefined],
      ]);
    });

    test('are followed by what is cheaper on demand where nothing else may come', () => {
      const replaced = ['gone', 50_000];
      expect(follower(false, {}, [onDemand])).toEqual(replaced);
      expect(follower(false, { affinity: { podAntiAffinity } })).toEqual(replaced);
    });
  });
});
