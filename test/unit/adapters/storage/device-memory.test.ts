import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { MemoryBlobs } from '../../../simulation/world/memory-blobs.ts';
import { createDeviceMemory } from '../../../../shared/adapters/storage/device-memory.ts';
import type { ResourceSliceSpec } from '../../../../shared/kubernetes/device-manifest.ts';

const slices = [{ driver: 'gpu.example.com' }] as unknown as ReadonlyArray<ResourceSliceSpec>;
const templates = new Map([['general', new Map([['Standard_D4', slices]])]]);
const other = new Map([['other', new Map([['Standard_D4', slices]])]]);

test('what nodes published is read as it was written, by any instance', async () => {
  const blobs = new MemoryBlobs();
  const writer = createDeviceMemory(blobs, 'c');
  expect((await writer.read()).size).toBe(0);
  await writer.write(templates);
  expect(await createDeviceMemory(blobs, 'c').read()).toEqual(templates);
  expect((await createDeviceMemory(blobs, 'another').read()).size).toBe(0);
  expect(blobs.readNow('c/devices.json.gz')).not.toBeNull();
});

test('who read before another wrote does not write over it, and does so once it has read again', async () => {
  const blobs = new MemoryBlobs();
  const [first, second] = [createDeviceMemory(blobs, 'c'), createDeviceMemory(blobs, 'c')];
  await Promise.all([first.read(), second.read()]);
  await first.write(templates);
  await second.write(other);
  expect(await first.read()).toEqual(templates);
  await second.read();
  await first.write(other);
  await second.write(templates);
  expect(await second.read()).toEqual(other);
  await second.write(templates);
  expect(await first.read()).toEqual(templates);
});

test('who never read writes only where there is nothing', async () => {
  const blobs = new MemoryBlobs();
  await createDeviceMemory(blobs, 'c').write(templates);
  await createDeviceMemory(blobs, 'c').write(other);
  expect(await createDeviceMemory(blobs, 'c').read()).toEqual(templates);
});

test.for([
  ['is of a later version', gzipSync(JSON.stringify({ version: 2, pools: { general: {} } }))],
  ['is not packed', new TextEncoder().encode(JSON.stringify({ version: 1, pools: { general: {} } }))],
  ['is no record', gzipSync('[')],
  ['is null', gzipSync('null')],
] as const)('a record that %s is learned again', async ([, bytes]) => {
  const blobs = new MemoryBlobs();
  blobs.writeNow('c/devices.json.gz', bytes, 'any');
  const memory = createDeviceMemory(blobs, 'c');
  expect((await memory.read()).size).toBe(0);
  await memory.write(templates);
  expect(await memory.read()).toEqual(templates);
});
