import { describe, expect, test } from 'vitest';
import { lowerBoundOf } from '../../../../../shared/core/disruption/bound/lower-bound.ts';
import type { DisruptionPlan } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import type { Arena, Slot } from '../../../../../shared/core/disruption/search/arena.ts';
import { drawFrom } from '../../../../../shared/core/quantity/draw.ts';
import { onDemand, requirement, shape, size, spec } from '../../../../kit/core/build.ts';
import { disruptable, machine, on, plan } from '../../../../kit/core/build-disruption.ts';

/**
 * What no plan for the cluster can cost less than, micro-USD an hour. Each is a millionth part below the figure, for
 * errors of floating point.
 */

const bound = (parts: Parameters<typeof plan>[0]): DisruptionPlan['lowerBound'] => plan(parts).lowerBound;
/** A CPU costs 50,000 of both, and a GiB 12,500. */
const balanced = { types: [size('Standard_D4s_v5', 4, 16, 200_000), size('Standard_D8s_v5', 8, 32, 400_000)] };
const large = machine('a', { cpu: 8 });

describe('pods that may move cost at least', () => {
  test('their share of CPU where that is what they need most of', () => {
    expect(bound({ machines: [large], shapes: [shape(spec('1', '1Gi'))], pods: on('a', 0, 3), ...balanced })).toBe(
      149_999,
    );
  });

  test('their share of memory where that is what they need most of', () => {
    expect(bound({ machines: [large], shapes: [shape(spec('100m', '4Gi'))], pods: on('a', 0, 3), ...balanced })).toBe(
      149_999,
    );
  });

  test('what sizes of one kind and another cost together, where neither would do alone', () => {
    const types = [
      size('Standard_D8s_v5', 8, 32, 1_000_000),
      size('Standard_F4', 4, 4, 100_000),
      size('Standard_E1', 1, 8, 100_000),
    ];
    // 5 CPU and 11.7 GiB: at 14,285.7 a CPU and 10,714.3 a GiB both small sizes cost what they are worth.
    const shapes = [shape(spec('1', '2400Mi'))];
    expect(bound({ machines: [large], shapes, pods: on('a', 0, 5), types })).toBe(196_986);
  });

  test('as much of the node that they are on, where nothing new is as cheap', () => {
    const types = [size('Standard_D8s_v5', 8, 32, 400_000), size('Standard_D4s_v5', 4, 16, 4_000_000)];
    const requirements = [onDemand, requirement('node.kubernetes.io/instance-type', 'In', 'Standard_D4s_v5')];
    const nodePools = [disruptable('general', {}, { requirements })];
    expect(bound({ machines: [large], shapes: [shape(spec('1', '1Gi'))], pods: on('a', 0, 4), types, nodePools })).toBe(
      199_999,
    );
  });
});

describe('a node that must stay', () => {
  const kept = machine('k', { conditions: [] });
  const small = shape(spec('1', '1Gi'));

  test('costs what it costs, and its pods nothing more', () => {
    expect(bound({ machines: [kept], shapes: [small], pods: on('k', 0, 2), ...balanced })).toBe(199_999);
  });

  test('takes as many pods as it has room for, for nothing', () => {
    const given = { machines: [kept, large], shapes: [small], ...balanced };
    expect(bound({ ...given, pods: [...on('k', 0, 2), ...on('a', 0, 6)] })).toBe(399_999);
    expect(bound({ ...given, pods: [...on('k', 0, 2), ...on('a', 0, 1)] })).toBe(199_999);
  });
});

test('nothing is the least where a size costs nothing, beside what stays', () => {
  const types = [size('Standard_D8s_v5', 8, 32, 400_000), size('Standard_D4s_v5', 4, 16, 0)];
  const machines = [large, machine('k', { cpu: 8, conditions: [] })];
  const shapes = [shape(spec('1', '1Gi'))];
  const pods = [...on('a', 0, 3), ...on('k', 0, 7)];
  expect(bound({ machines, shapes, pods, types })).toBe(399_999);
});

test('nothing is the least of a cluster in which all may go', () => {
  expect(bound({ machines: [large], shapes: [], pods: [], nodePools: [disruptable()], ...balanced })).toBe(0);
});

describe('of drawn clusters the bound is what CPU and memory are worth at most, where no size is worth more than it costs', () => {
  interface Size {
    readonly cpu: number;
    readonly memory: number;
    readonly price: number;
  }

  /** What the demand is worth at the best corner of two sizes, or of one and nothing: all of them are tried. */
  function byHand(sizes: ReadonlyArray<Size>, cpu: number, memory: number): number {
    const corners = sizes.flatMap((a) => [
      { cpu: a.price / a.cpu, memory: 0 },
      { cpu: 0, memory: a.price / a.memory },
      ...sizes.flatMap((b) => {
        const determinant = a.cpu * b.memory - b.cpu * a.memory;
        return determinant === 0
          ? []
          : [
              {
                cpu: (a.price * b.memory - b.price * a.memory) / determinant,
                memory: (a.cpu * b.price - b.cpu * a.price) / determinant,
              },
            ];
      }),
    ]);
    const isFair = (worth: { readonly cpu: number; readonly memory: number }): boolean =>
      worth.cpu >= 0 &&
      worth.memory >= 0 &&
      sizes.every((one) => worth.cpu * one.cpu + worth.memory * one.memory <= one.price * (1 + 1e-12));
    return Math.max(0, ...corners.filter(isFair).map((worth) => worth.cpu * cpu + worth.memory * memory));
  }

  /** A node that may go, with pods of so much and no room beside them; as the bound looks at it. */
  const node = ({ cpu, memory, price }: Size, index: number): Slot =>
    ({
      isCandidate: true,
      node: { price: { plain: price } },
      room: { free: new Float64Array(2) },
      own: [{ shape: index, count: 2 }],
      shape: { cpu, memory },
    }) as never;

  test('is nothing where there is no room, no pod and nothing to buy', () => {
    const full = { ...node({ cpu: 0, memory: 0, price: 1_000 }, 0), own: [] } as unknown as Slot;
    const found = lowerBoundOf({ slots: [full], shapes: new Map() } as unknown as Arena, []);
    expect(found).toBe(0);
  });

  test.each(Array.from({ length: 60 }, (_, seed) => seed))('seed %i', (seed) => {
    const draw = drawFrom(seed);
    const sizes = Array.from({ length: 2 + draw.below(5) }, () => ({
      cpu: 2 * (1 + draw.below(8)),
      memory: 2 * (1 + draw.below(8)),
      price: 1_000 * (1 + draw.below(20)),
    }));
    const shapes = new Map(
      sizes.map(({ cpu, memory }, index) => [index, { requests: Float64Array.of(cpu / 2, memory / 2) }]),
    );
    const [cpu, memory] = [
      sizes.reduce((sum, one) => sum + one.cpu, 0),
      sizes.reduce((sum, one) => sum + one.memory, 0),
    ];
    const expected = byHand(sizes, cpu, memory);
    const found = lowerBoundOf({ slots: sizes.map(node), shapes } as unknown as Arena, []);
    expect(found).toBeLessThanOrEqual(expected);
    expect(found).toBeGreaterThan(expected - 2);
  });
});
