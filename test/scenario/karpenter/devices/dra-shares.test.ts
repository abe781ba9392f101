import { describe, expect, test } from 'vitest';
import type { PublishedDevice } from '../../../../shared/kubernetes/device-manifest.ts';
import { node, pods, shape } from '../../../kit/core/build.ts';
import {
  claim,
  driver,
  fromTemplates,
  heldOn,
  nodeSlice,
  request,
  sliceSpec,
  template,
  using,
} from '../../../kit/core/build-devices.ts';
import { planned } from '../../../kit/core/render.ts';
import { given, planOf } from '../kit/dra-kit.ts';

describe('[I16] consumable capacity [M06]', () => {
  const shared = (policy?: object): PublishedDevice => ({
    name: 'g',
    allowMultipleAllocations: true,
    capacity: { memory: { value: '40Gi', ...(policy === undefined ? {} : { requestPolicy: policy }) } },
  });
  const wanting = (memory: string | null) =>
    template('one', {
      requests: [request('gpu', memory === null ? {} : { capacity: { requests: { memory } } })],
    });
  const placedOf = (device: PublishedDevice, memory: string | null, count: number): number => {
    const cluster = given({
      nodes: [node('a', 30, 64)],
      resourceSlices: [nodeSlice('a', [device])],
      resourceClaimTemplates: [wanting(memory)],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, count),
    });
    return planOf(cluster).nominations[0]?.pods.length ?? 0;
  };

  test.each([
    ['claims share a device up to its capacity', undefined, '10Gi', 4],
    ['a claim that does not say takes all of it', undefined, null, 1],
    ['a claim that does not say takes the default', { default: '5Gi' }, null, 8],
    ['a request is rounded up to a valid value', { default: '8Gi', validValues: ['8Gi', '20Gi'] }, '9Gi', 2],
    ['a request is rounded up to a step', { default: '4Gi', validRange: { min: '4Gi', step: '4Gi' } }, '5Gi', 5],
    ['a request below the range takes its minimum', { default: '10Gi', validRange: { min: '10Gi' } }, '1Gi', 4],
    ['a request above the range is not met', { default: '4Gi', validRange: { min: '4Gi', max: '8Gi' } }, '9Gi', 0],
    ['a request above all valid values is not met', { default: '8Gi', validValues: ['8Gi'] }, '9Gi', 0],
  ] as const)('%s', (_, policy, memory, placed) => {
    expect(placedOf(shared(policy), memory, 9)).toBe(placed);
  });

  test('a capacity that the device does not have is not met', () => {
    expect(placedOf({ name: 'g', allowMultipleAllocations: true }, '1Gi', 1)).toBe(0);
  });

  test('shares of pods that run count, and those of pods that go do not', () => {
    const held = (uid: string, memory: string) => ({
      ...claim(uid, {}, heldOn('a', [], [{ uid, name: uid }])),
      status: {
        allocation: {
          devices: {
            results: [{ request: 'gpu', driver, pool: 'a', device: 'g', shareID: uid, consumedCapacity: { memory } }],
          },
        },
        reservedFor: [{ resource: 'pods', uid, name: uid }],
      },
    });
    const cluster = given({
      nodes: [node('a', 30, 64)],
      resourceSlices: [nodeSlice('a', [shared()])],
      resourceClaims: [held('s1-a-0000', '20Gi'), held('s2-a-0000', '10Gi')],
      resourceClaimTemplates: [wanting('10Gi')],
      shapes: [shape(fromTemplates('one')), shape(using('s1-a-0000')), shape(using('s2-a-0000'))],
      pods: [...pods(0, 4), ...pods(1, 1, { nodeName: 'a' }), ...pods(2, 1, { nodeName: 'a', deleting: true })],
    });
    expect(planned(cluster).slice(0, 1)).toEqual(['nominate to node a: s0-0 s0-1']);
  });
});

describe('[I16] partitionable devices [M06]', () => {
  const part = (name: string, memory: string): PublishedDevice => ({
    name,
    attributes: { size: { string: memory } },
    consumesCounters: [{ counterSet: 'card', counters: { memory: { value: memory } } }],
  });
  const partitions = [part('whole', '40Gi'), part('half-0', '20Gi'), part('half-1', '20Gi'), part('odd', '30Gi')];
  const sharedCounters = [{ name: 'card', counters: { memory: { value: '40Gi' } } }];
  const counters = {
    metadata: { name: 'counters' },
    spec: sliceSpec('a', [], {
      nodeName: 'a',
      sharedCounters,
      pool: { name: 'a', generation: 1, resourceSliceCount: 2 },
    }),
  };
  const parts = nodeSlice('a', partitions, { pool: { name: 'a', generation: 1, resourceSliceCount: 2 } });
  const ofSize = (name: string, memory: string) => {
    const expression = `device.attributes["${driver}"].size == "${memory}"`;
    return template(name, { requests: [request('gpu', { selectors: [{ cel: { expression } }] })] });
  };
  const sizes = [ofSize('whole', '40Gi'), ofSize('half', '20Gi'), ofSize('odd', '30Gi')];
  const base = { nodes: [node('a', 30, 64)], resourceSlices: [counters, parts], resourceClaimTemplates: sizes };

  test.each([
    ['two halves fit a card', ['half', 'half'], 2],
    ['a whole and a half do not', ['whole', 'half'], 1],
    ['a part that leaves too little for a half keeps it out', ['odd', 'half'], 1],
    ['three halves do not, though one is asked for by each', ['half', 'half', 'half'], 2],
  ])('%s', (_, names, placed) => {
    const cluster = given({
      ...base,
      shapes: names.map((name) => shape(fromTemplates(name))),
      pods: names.flatMap((__, index) => pods(index, 1)),
    });
    expect(planOf(cluster).nominations[0]?.pods).toHaveLength(placed);
  });

  test('parts in use count against the card', () => {
    const running = pods(1, 1, { nodeName: 'a' });
    const cluster = given({
      ...base,
      resourceClaims: [claim('theirs', {}, heldOn('a', ['half-1'], running))],
      shapes: [shape(fromTemplates('half')), shape(using('theirs'))],
      pods: [...pods(0, 2), ...running],
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0', 'leave s0-1: devices-short']);
  });

  test('a device that names counters which its pool does not have makes the pool unusable', () => {
    const lonely = nodeSlice('a', partitions);
    const cluster = given({
      ...base,
      resourceSlices: [lonely],
      shapes: [shape(fromTemplates('half'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-together']);
  });
});
