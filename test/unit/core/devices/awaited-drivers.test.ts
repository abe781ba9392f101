import { expect, test } from 'vitest';
import { awaitedDrivers } from '../../../../shared/core/devices/awaited-drivers.ts';
import { driver, gpus, nodeSlice, sharedSlice } from '../../../kit/core/build-devices.ts';

const half = { pool: { name: 'a', generation: 2, resourceSliceCount: 2 } };
const named = (name: string, slice: ReturnType<typeof nodeSlice>) => ({ ...slice, metadata: { name } });

test.each([
  ['has published nothing', [], [driver]],
  ['has published a whole pool', [nodeSlice('a', gpus(2))], []],
  ['has published half of its slices', [nodeSlice('a', gpus(2), half)], [driver]],
  ['has published all its slices', [nodeSlice('a', gpus(2), half), named('more', nodeSlice('a', [], half))], []],
  ['is replacing what was whole', [nodeSlice('a', gpus(2)), named('newer', nodeSlice('a', gpus(1), half))], [driver]],
  ['has published for another node', [nodeSlice('b', gpus(2))], [driver]],
  ['has published what all nodes reach', [sharedSlice('net', gpus(2), { allNodes: true })], [driver]],
])('a driver that %s is awaited, or is not [J04]', (_, slices, awaited) => {
  expect(awaitedDrivers(driver, slices, 'a')).toEqual(awaited);
});

test('each of several drivers is awaited for itself [J04]', () => {
  expect(awaitedDrivers(`${driver},net.example.com`, [nodeSlice('a', gpus(1))], 'a')).toEqual(['net.example.com']);
});
