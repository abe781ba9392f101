import { describe, expect, test } from 'vitest';
import { mergeTemplates, toTemplateSlices } from '../../../../shared/core/model/device-templates.ts';
import { observedTemplates } from '../../../../shared/core/devices/observed-templates.ts';
import type { PublishedDevice, ResourceSlice } from '../../../../shared/kubernetes/device-manifest.ts';
import type { Node } from '../../../../shared/kubernetes/manifest.ts';
import { driver, gpus, nodeSlice, sharedSlice, sliceSpec } from '../../../kit/core/build-devices.ts';

/** An initialized node of pool `a`, created at `minute`. */
function seen(name: string, minute: number, parts: Partial<Node['metadata']> = {}): Node {
  const labels = {
    'karpenter.sh/nodepool': 'a',
    'node.kubernetes.io/instance-type': 'N8',
    'karpenter.sh/initialized': 'true',
  };
  const creationTimestamp = `2026-08-01T00:${String(minute).padStart(2, '0')}:00Z`;
  return { metadata: { name, labels, creationTimestamp, ...parts } };
}

function templateOf(nodes: ReadonlyArray<Node>, resourceSlices: ReadonlyArray<ResourceSlice>) {
  return observedTemplates({ nodes, resourceSlices }).get('a')?.get('N8');
}

function devicesOf(nodes: ReadonlyArray<Node>, resourceSlices: ReadonlyArray<ResourceSlice>) {
  return templateOf(nodes, resourceSlices)?.flatMap(({ devices = [] }) => devices);
}

const card = (name: string, attributes: PublishedDevice['attributes']): PublishedDevice => ({
  name,
  ...(attributes === undefined ? {} : { attributes }),
});

describe('what is learned of a node', () => {
  test('is its devices without their place, in a pool of a node that has no name yet', () => {
    expect(templateOf([seen('x', 1)], [nodeSlice('x', gpus(1, { nodeName: 'x' }))])).toEqual([
      {
        driver,
        pool: { name: '<node>', generation: 1, resourceSliceCount: 1 },
        devices: [{ name: 'gpu-0', attributes: {}, capacity: {} }],
      },
    ]);
  });

  test('is of its own NodePool and instance type only', () => {
    const learned = observedTemplates({ nodes: [seen('x', 1)], resourceSlices: [nodeSlice('x', gpus(1))] });
    expect([...learned].map(([pool, types]) => [pool, [...types.keys()]])).toEqual([['a', ['N8']]]);
  });

  test('is every slice of a whole pool at its newest generation', () => {
    const part = (generation: number) => ({ pool: { name: 'x', generation, resourceSliceCount: 2 } });
    const [one, two] = [nodeSlice('x', gpus(1), part(2)), nodeSlice('x', [{ name: 'more' }], part(2))];
    const old = { ...nodeSlice('x', gpus(3), part(1)), metadata: { name: 'old' } };
    const all = [one, { ...two, metadata: { name: 'slice-y' } }, old];
    expect(devicesOf([seen('x', 1)], all)?.map(({ name }) => name)).toEqual(['gpu-0', 'more']);
  });

  test.each([
    ['is not initialized', [seen('x', 1, { labels: {} })], [nodeSlice('x', gpus(1))]],
    ['is being deleted', [seen('x', 1, { deletionTimestamp: '2026-08-01T01:00:00Z' })], [nodeSlice('x', gpus(1))]],
    [
      'has published half of a pool',
      [seen('x', 1)],
      [nodeSlice('x', gpus(1), { pool: { name: 'x', generation: 1, resourceSliceCount: 2 } })],
    ],
    ['reaches devices that others reach too', [seen('x', 1)], [sharedSlice('net', gpus(1), { allNodes: true })]],
  ])('is nothing while it %s', (_, nodes, slices) => {
    expect(templateOf(nodes, slices)).toBeUndefined();
  });
});

describe('what is learned of two nodes that differ', () => {
  const both = [seen('x', 1), seen('y', 2)];

  test('is the devices that both publish', () => {
    const slices = [nodeSlice('x', gpus(3)), nodeSlice('y', gpus(2))];
    expect(devicesOf(both, slices)?.map(({ name }) => name)).toEqual(['gpu-0', 'gpu-1']);
  });

  test('is the attributes that are equal, the least capacity, all taints, and shares only where both share', () => {
    const on = (count: number, memory: string, parts: Partial<PublishedDevice>): ReadonlyArray<PublishedDevice> =>
      gpus(1, {
        attributes: { model: { string: 'a100' }, cores: { int: count } },
        capacity: { memory: { value: memory } },
        ...parts,
      });
    const taint = { key: 'sick', effect: 'NoSchedule' };
    const slices = [
      nodeSlice('x', on(1, '80Gi', { allowMultipleAllocations: true })),
      nodeSlice('y', on(2, '79Gi', { taints: [taint] })),
    ];
    expect(devicesOf(both, slices)).toEqual([
      {
        name: 'gpu-0',
        attributes: { model: { string: 'a100' } },
        capacity: { memory: { value: '79Gi' } },
        taints: [taint],
      },
    ]);
  });

  test('has of ids only which devices share them', () => {
    const on = (ids: ReadonlyArray<string>) => ids.map((id, at) => card(`g${at}`, { board: { string: id } }));
    const learned = devicesOf(both, [nodeSlice('x', on(['p', 'p', 'q'])), nodeSlice('y', on(['r', 'r', 's']))]);
    const ids = learned?.map(({ attributes }) => attributes?.['board']?.string);
    expect(ids?.[0]).toBe(ids?.[1]);
    expect(new Set(ids).size).toBe(2);
    expect(ids).not.toContain('p');
    expect(ids).not.toContain('r');
  });

  test('has no ids that group devices of one otherwise than those of the other', () => {
    const on = (ids: ReadonlyArray<string>) => ids.map((id, at) => card(`g${at}`, { board: { string: id } }));
    const learned = devicesOf(both, [nodeSlice('x', on(['p', 'p', 'q'])), nodeSlice('y', on(['r', 's', 's']))]);
    expect(learned?.map(({ attributes }) => attributes)).toEqual([{}, {}, {}]);
  });

  test('has the versions of the newer', () => {
    const on = (version: string) => [card('g', { driver: { version } })];
    expect(devicesOf(both, [nodeSlice('x', on('1.0.0')), nodeSlice('y', on('2.0.0'))])).toEqual([
      { name: 'g', attributes: { driver: { version: '2.0.0' } }, capacity: {} },
    ]);
  });

  test('has no devices of a pool whose counters differ', () => {
    const counters = (value: string) => ({ sharedCounters: [{ name: 'card', counters: { memory: { value } } }] });
    const slices = [nodeSlice('x', gpus(1), counters('40Gi')), nodeSlice('y', gpus(1), counters('80Gi'))];
    expect(devicesOf(both, slices)).toEqual([]);
  });

  test('is of the two newest, whatever the order of the lists', () => {
    const nodes = [seen('old', 1), seen('x', 2), seen('y', 3)];
    const slices = [nodeSlice('old', gpus(1)), nodeSlice('x', gpus(4)), nodeSlice('y', gpus(3))];
    expect(devicesOf(nodes, slices)).toHaveLength(3);
    expect(templateOf(nodes.toReversed(), slices.toReversed())).toEqual(templateOf(nodes, slices));
  });

  test('is of those that run the driver: another says nothing about it', () => {
    const other = { ...nodeSlice('y', [{ name: 'nic' }]), metadata: { name: 'nics' } };
    const nics = { ...other, spec: { ...other.spec, driver: 'net.example.com' } };
    expect(devicesOf(both, [nodeSlice('x', gpus(2)), nics])?.map(({ name }) => name)).toEqual([
      'gpu-0',
      'gpu-1',
      'nic',
    ]);
  });
});

test('of several sources the last decides, driver by driver', () => {
  const of = (...names: ReadonlyArray<string>) => names.map((name) => ({ ...sliceSpec('p', gpus(1)), driver: name }));
  const weak = new Map([['a', new Map([['N8', of('one', 'two')]])]]);
  const strong = new Map([['a', new Map([['N8', [{ ...sliceSpec('p', gpus(5)), driver: 'two' }]]])]]);
  const merged = mergeTemplates(weak, strong).get('a')?.get('N8') ?? [];
  expect(merged.map((slice) => [slice.driver, slice.devices?.length])).toEqual([
    ['one', 1],
    ['two', 5],
  ]);
});

test('slices that are stated of one driver are one whole pool', () => {
  const slices = toTemplateSlices([
    { driver, devices: gpus(1) },
    { driver, devices: [{ name: 'more' }] },
  ]);
  expect(slices.map(({ pool }) => pool)).toEqual(
    Array.from({ length: 2 }, () => ({ name: '<node>', generation: 1, resourceSliceCount: 2 })),
  );
});
