import { expect, test } from 'vitest';
import { asStarted, disruptionOf, switchDisruption } from '../../../../../sandbox/start/steer/disruption-switch.ts';
import type { Connection } from '../../../../../sandbox/kubernetes/client/connection.ts';

const PAUSE = 'nodewright.dev/pause-disruption';

function pools(...paused: ReadonlyArray<boolean>) {
  const items = paused.map((is, index) => ({
    metadata: { name: `p${index}`, annotations: is ? { [PAUSE]: 'true' } : {} },
  }));
  const patched: Array<unknown> = [];
  const connection = {
    get: () => Promise.resolve({ items }),
    patch: (path: string, _kind: string, body: { metadata: { annotations: object } }) => {
      patched.push([path.slice(path.lastIndexOf('/') + 1), body.metadata.annotations]);
      return Promise.resolve();
    },
  } as unknown as Connection;
  return { connection, patched };
}

test('where a pool is paused, all are let go on; where none is, all are paused', async () => {
  const some = pools(true, false);
  expect(await switchDisruption(some.connection, {})).toContain('are removed from now on');
  expect(some.patched).toEqual([
    ['p0', { [PAUSE]: null }],
    ['p1', { [PAUSE]: null }],
  ]);
  const none = pools(false);
  expect(await switchDisruption(none.connection, {})).toContain('paused');
  expect(none.patched).toEqual([['p0', { [PAUSE]: 'true' }]]);
});

test('without a pool there is nothing to switch', async () => {
  await expect(switchDisruption(pools().connection, {})).rejects.toThrow('no NodePool');
});

test('where no node ever goes by order, the switch says so and changes nothing', async () => {
  const { connection, patched } = pools(true);
  await expect(switchDisruption(connection, { DISRUPTION: 'off' })).rejects.toThrow('started with DISRUPTION=off');
  expect(patched).toEqual([]);
});

test('nodes go unless a pool is paused or the order says otherwise', () => {
  const pool = (annotations: object) => new Map([['p', { metadata: { name: 'p', annotations } } as never]]);
  expect(disruptionOf(pool({}), {})).toBe('on');
  expect(disruptionOf(pool({ [PAUSE]: 'true' }), {})).toBe('paused');
  expect(disruptionOf(pool({}), { DISRUPTION: 'off' })).toBe('off');
});

test('pools of the demo are paused at first, but for one that says otherwise, and nothing else is changed', () => {
  const manifest = (kind: string, annotations: object) => ({
    origin: 'a.yaml',
    object: { apiVersion: 'v1', kind, metadata: { name: 'a', annotations } },
  });
  const given = [manifest('NodePool', {}), manifest('NodePool', { [PAUSE]: 'false' }), manifest('Pod', {})];
  const annotations = asStarted(given, { files: null, settings: {} }).map(
    ({ object }) => (object.metadata as { annotations?: unknown }).annotations,
  );
  expect(annotations).toEqual([{ [PAUSE]: 'true' }, { [PAUSE]: 'false' }, {}]);
  // Who brings pools, or says of disruption what it is to be, decides alone.
  expect(asStarted(given, { files: ['a.yaml'], settings: {} })).toEqual(given);
  expect(asStarted(given, { files: null, settings: { DISRUPTION: 'on' } })).toEqual(given);
});
