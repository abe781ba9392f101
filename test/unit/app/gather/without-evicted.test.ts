import { expect, test } from 'vitest';
import { withKnownReasons } from '../../../../shared/app/interruption/known-reasons.ts';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { withoutEvicted } from '../../../../shared/app/gather/without-evicted.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import { size } from '../../../kit/core/build.ts';
import { START } from '../../../kit/app/small-cluster.ts';
import { at, disrupted, interruption, longNotice, running } from '../../../kit/app/running.ts';

const catalog = new Map([['general', [size('Standard_D2_v5', 2, 8, 100_000), size('Standard_D4_v5', 4, 16, 200_000)]]]);

/** A claim of `Standard_D2_v5` in `westeurope-1`. */
const claim = (annotations: Record<string, string>, deletedMs: number | null = START): NodeClaim =>
  ({
    metadata: {
      name: 'c',
      annotations,
      labels: { 'node.kubernetes.io/instance-type': 'Standard_D2_v5', 'topology.kubernetes.io/zone': 'westeurope-1' },
      ...(deletedMs === null ? {} : { deletionTimestamp: at(deletedMs) }),
    },
    spec: {},
  }) as unknown as NodeClaim;

/** What cannot be bought of `all`, as `size zone capacityType`. */
const missing = (nodeClaims: ReadonlyArray<NodeClaim>, nowMs = START): ReadonlyArray<string> =>
  [...withoutEvicted(catalog, { nodeClaims }, nowMs).values()].flatMap((types) =>
    types.flatMap(({ name, offerings }) =>
      offerings
        .filter(({ available }) => !available)
        .map(({ zone, capacityType }) => `${name} ${zone} ${capacityType}`),
    ),
  );

const before = missing([]);

test('the very spot offering that is being taken back is not bought, and all others are', () => {
  expect(missing([claim({ [interruption]: 'preempt by then' })])).toEqual([
    ...before,
    'Standard_D2_v5 westeurope-1 spot',
  ]);
});

test.each([
  ['whose machine is only mended', claim({ [interruption]: 'reboot by then' }), START],
  ['that nobody takes back', claim({}), START],
  ['that was taken back ten minutes ago', claim({ [interruption]: 'preempt by then' }), START + 600_000],
])('one is bought as before of a claim %s', (_, one, nowMs) => {
  expect(missing([one], nowMs)).toEqual(before);
});

test('one that is about to be deleted counts, too', () => {
  expect(missing([claim({ [interruption]: 'preempt by then' }, null)])).toHaveLength(before.length + 1);
});

test('pools that share a list go on sharing it', () => {
  const [types = []] = catalog.values();
  const shared = new Map([
    ['a', types],
    ['b', types],
  ]);
  const narrowed = withoutEvicted(shared, { nodeClaims: [claim({ [interruption]: 'preempt by then' })] }, START);
  expect(narrowed.get('a')).toBe(narrowed.get('b'));
  expect(withoutEvicted(shared, { nodeClaims: [] }, START)).toBe(shared);
});

test('where an image shows a closed node and not yet why, the claims are asked for', async () => {
  const { ports, server, trace } = running();
  await interrupt(ports, longNotice());
  const snapshot = await ports.snapshots.list();
  const early = { ...snapshot, nodeClaims: [{ ...snapshot.nodeClaims[0], metadata: { name: 'c' } } as NodeClaim] };
  const asked = (): number => trace.filter((step) => step.startsWith('GET') && /nodeclaims(\?|$)/.test(step)).length;
  const first = asked();
  expect((await withKnownReasons(ports, early)).nodeClaims[0]?.metadata.annotations?.[interruption]).toContain(
    'preempt',
  );
  expect(asked()).toBe(first + 1);
  expect(await withKnownReasons(ports, snapshot)).toBe(snapshot);
  server.patch('nodes', 'aks-c', { spec: { taints: [] } }, 'object');
  const open = await ports.snapshots.list();
  expect(await withKnownReasons(ports, { ...open, nodeClaims: early.nodeClaims })).toMatchObject({
    nodeClaims: early.nodeClaims,
  });
  expect(asked()).toBe(first + 1);
});

test('a plan from such an image buys nothing that is taken back', async () => {
  const { ports, others, outside, server } = running();
  server.patch(
    'nodepools',
    'general',
    {
      spec: { template: { spec: { requirements: [] } } },
    },
    'object',
  );
  outside.types = [size('Standard_D2_v5', 2, 8, 100_000)];
  const early = (await ports.snapshots.list()).nodeClaims;
  await interrupt(ports, longNotice());
  const latest: Ports['snapshots']['latest'] = async () => ({ ...(await ports.snapshots.list()), nodeClaims: early });
  await provision({ ...ports, snapshots: { ...ports.snapshots, latest } });
  const bought = others().map(
    (name) => server.get('nodeclaims', name)?.metadata.annotations?.['nodewright.dev/planned-offering'],
  );
  expect(bought).toHaveLength(1);
  expect(bought[0]).not.toContain('Standard_D2_v5/westeurope-1/spot');
  expect(server.get('nodes', 'aks-c')?.spec?.['taints']).toEqual([disrupted]);
});
