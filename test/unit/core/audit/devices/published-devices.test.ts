import { describe, expect, test } from 'vitest';
import type { ResourceSlice } from '../../../../../shared/kubernetes/device-manifest.ts';
import {
  devicesInCluster,
  devicesToCome,
  isReachedFrom,
  onlyNodeOf,
  thousandths,
} from '../../../../../shared/core/audit/devices/published-devices.ts';
import type { FinalNode } from '../../../../../shared/core/audit/seen/final-state.ts';
import { labelKey } from '../../../../../shared/kubernetes/labels.ts';
import { input, zones } from '../../../../kit/core/build.ts';
import {
  driver,
  gpus,
  inZone,
  nodeSlice,
  planned,
  sharedSlice,
  sliceSpec,
} from '../../../../kit/core/build-devices.ts';

const [z1, z2] = zones;
const at = (name: string, zone: string = z1): FinalNode => ({
  name,
  labels: new Map([[labelKey.zone, [zone]]]),
  taints: [],
  presentTaints: [],
  allocatable: new Map(),
  capacity: new Map(),
  nodePool: null,
  leaving: false,
  counts: true,
  claim: null,
  plannedIndex: -1,
  pods: new Map(),
});
const found = (...resourceSlices: ReadonlyArray<ResourceSlice>) => [
  ...devicesInCluster(input({ resourceSlices })).values(),
];
const ids = (...slices: ReadonlyArray<ResourceSlice>): ReadonlyArray<string> => found(...slices).map(({ id }) => id);
const part = (generation: number, resourceSliceCount: number, count = 1): ResourceSlice =>
  nodeSlice('n', gpus(count), { pool: { name: 'n', generation, resourceSliceCount } });

describe('devices of a pool [M06]', () => {
  test('are those of its newest generation, wherever that stands in the list', () => {
    const both = [part(1, 1, 3), part(2, 1)];
    for (const all of [both, both.toReversed()]) expect(ids(...all)).toEqual([`${driver}/n/gpu-0`]);
  });

  test('are none as long as a slice is missing', () => {
    expect(ids(part(1, 2))).toEqual([]);
    expect(ids(part(1, 2), part(1, 2, 2))).toEqual([`${driver}/n/gpu-0`, `${driver}/n/gpu-1`]);
  });

  test('have the counters of all its slices', () => {
    const [device] = found(
      nodeSlice('n', gpus(1), {
        sharedCounters: [{ name: 'a', counters: { x: { value: '2' } } }],
        pool: { name: 'n', generation: 1, resourceSliceCount: 2 },
      }),
      nodeSlice('n', [], {
        sharedCounters: [{ name: 'b' }, { name: 'c', counters: { y: { value: '1' } } }],
        pool: { name: 'n', generation: 1, resourceSliceCount: 2 },
      }),
    );
    expect([...(device?.counters ?? [])]).toEqual([
      ['a/x', 2000],
      ['c/y', 1000],
    ]);
  });
});

describe('a device is reached', () => {
  const reached = (slice: ResourceSlice, node: FinalNode, publishes = true): boolean => {
    const [device] = found(slice);
    if (device === undefined) throw new Error('one device');
    return isReachedFrom(device, node, publishes);
  };

  test('from the node of its slice, where what that publishes counts', () => {
    expect(reached(nodeSlice('n', gpus(1)), at('n'))).toBe(true);
    expect(reached(nodeSlice('n', gpus(1)), at('n'), false)).toBe(false);
    expect(reached(nodeSlice('n', gpus(1)), at('m'))).toBe(false);
  });

  test('from all nodes, or from those that are selected', () => {
    expect(reached(sharedSlice('p', gpus(1), { allNodes: true }), at('m', z2), false)).toBe(true);
    expect(reached(sharedSlice('p', gpus(1), { nodeSelector: inZone(z1) }), at('m'))).toBe(true);
    expect(reached(sharedSlice('p', gpus(1), { nodeSelector: inZone(z1) }), at('m', z2))).toBe(false);
    expect(reached(sharedSlice('p', gpus(1), {}), at('m'))).toBe(false);
  });

  test('as it says itself, where its slice leaves that to each', () => {
    const each = (parts: Parameters<typeof gpus>[1]) =>
      sharedSlice('p', gpus(1, parts), { perDeviceNodeSelection: true });
    expect(reached(each({ nodeName: 'n' }), at('n'))).toBe(true);
    expect(reached(each({ nodeName: 'n' }), at('m'))).toBe(false);
    expect(reached(each({ allNodes: true }), at('m'))).toBe(true);
    expect(reached(each({ nodeSelector: inZone(z2) }), at('m'))).toBe(false);
    expect(found(each({ nodeName: 'n' })).map(onlyNodeOf)).toEqual(['n']);
    expect(found(sharedSlice('p', gpus(1, { nodeName: 'n' }), { allNodes: true })).map(onlyNodeOf)).toEqual([null]);
  });
});

test('devices to come are those of the pool and the size, and of nobody where claims are ignored', () => {
  const devices = planned({ Standard_N8_v5: [sliceSpec('own', gpus(1))] });
  const toCome = (nodePool: string | null, instanceType: string, given = input({ devices })) => [
    ...devicesToCome(given, { nodePool, instanceType }, 'planned/0').keys(),
  ];
  expect(toCome('general', 'Standard_N8_v5')).toEqual([`planned/0 to come: ${driver}/own/gpu-0`]);
  expect(toCome('general', 'Standard_D4_v5')).toEqual([]);
  expect(toCome('other', 'Standard_N8_v5')).toEqual([]);
  expect(toCome(null, 'Standard_N8_v5')).toEqual([]);
  expect(toCome('general', 'Standard_N8_v5', input({}))).toEqual([]);
});

test('an amount that cannot be read is too much where it is asked for, and nothing where it is had', () => {
  expect([thousandths('x', 'up'), thousandths('x', 'down')]).toEqual([Number.MAX_SAFE_INTEGER, 0]);
  expect([thousandths('1.0001', 'up'), thousandths('1.0001', 'down')]).toEqual([1001, 1000]);
});
