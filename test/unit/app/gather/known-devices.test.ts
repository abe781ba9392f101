import { describe, expect, test } from 'vitest';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { createDeviceMemory } from '../../../../shared/adapters/storage/device-memory.ts';
import { knownDevices } from '../../../../shared/app/gather/known-devices.ts';
import type { NodePool } from '../../../../shared/kubernetes/manifest.ts';
import { pool } from '../../../kit/core/build.ts';
import { driver, gpus, nodeSlice, sliceSpec } from '../../../kit/core/build-devices.ts';

const labels = {
  'karpenter.sh/nodepool': 'a',
  'node.kubernetes.io/instance-type': 'N8',
  'karpenter.sh/initialized': 'true',
};
const nodes = [{ metadata: { name: 'x', labels } }];

function stating(content: object): NodePool {
  const given = pool('a');
  const annotations = { 'nodewright.dev/resource-slices': JSON.stringify(content) };
  return { ...given, metadata: { ...given.metadata, annotations } };
}

const stated = stating({ N8: [{ driver, devices: gpus(4) }] });
const remembered = new Map([['a', new Map([['N8', [sliceSpec('<node>', gpus(8))]]])]]);
const none = { nodes: [], nodePools: [pool('a')], resourceSlices: [] };

function countOf({ templates }: ReturnType<typeof knownDevices>): number | undefined {
  return templates.get('a')?.get('N8')?.[0]?.devices?.length;
}

describe('of the devices of a node to come', () => {
  test('what a node publishes counts before what is stated: a promise that it did not keep is not made again', () => {
    const known = knownDevices({ nodes, nodePools: [stated], resourceSlices: [nodeSlice('x', gpus(2))] }, remembered);
    expect(countOf(known)).toBe(2);
  });

  test('what is stated counts before what nodes published that are gone', () => {
    expect(countOf(knownDevices({ ...none, nodePools: [stated] }, remembered))).toBe(4);
  });

  test('what nodes published that are gone counts where nothing else is known', () => {
    expect(countOf(knownDevices(none, remembered))).toBe(8);
  });

  test('a statement with a mistake counts for nothing', () => {
    const wrong = stating({ N8: [{ driver, devices: gpus(4) }], N9: 4 });
    expect(countOf(knownDevices({ ...none, nodePools: [wrong] }, new Map()))).toBeUndefined();
  });

  test('a pool that is gone is forgotten', () => {
    expect(knownDevices({ ...none, nodePools: [] }, remembered).learned).toEqual(new Map());
  });

  test('what is stated is not remembered: it goes with its pool', () => {
    expect(knownDevices({ ...none, nodePools: [stated] }, new Map()).learned).toBeNull();
  });
});

describe('what is remembered', () => {
  test('outlives the nodes, and is written once', async () => {
    const memory = createDeviceMemory(new MemoryBlobs(), 'c');
    const cluster = { nodes, nodePools: [pool('a')], resourceSlices: [nodeSlice('x', gpus(2))] };
    const first = knownDevices(cluster, await memory.read());
    expect(first.learned).not.toBeNull();
    await memory.write(first.learned ?? new Map());
    expect(knownDevices(cluster, await memory.read()).learned).toBeNull();
    const later = knownDevices(none, await memory.read());
    expect(countOf(later)).toBe(2);
    expect(later.learned).toBeNull();
  });

  test('is not written over what another instance wrote since it was read', async () => {
    const blobs = new MemoryBlobs();
    const [mine, theirs] = [createDeviceMemory(blobs, 'c'), createDeviceMemory(blobs, 'c')];
    await Promise.all([mine.read(), theirs.read()]);
    await theirs.write(remembered);
    await mine.write(new Map());
    expect(await mine.read()).toEqual(remembered);
  });

  test('is nothing where the blob cannot be read: it is learned again', async () => {
    const blobs = new MemoryBlobs();
    await blobs.write('c/devices.json.gz', new Uint8Array([1, 2, 3]), 'any');
    expect(await createDeviceMemory(blobs, 'c').read()).toEqual(new Map());
  });
});
