import { expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { Maintenance } from '../../../../../shared/ports/maintenance.ts';
import { smallCluster } from '../../../../kit/app/small-cluster.ts';

const image = (definition: string, version: string) => ({
  id: `/CommunityGalleries/g/images/${definition}/versions/${version}`,
  requirements: [],
});

const nightly: Maintenance = {
  kind: 'scheduled',
  schedule: {
    name: 'aksManagedNodeOSUpgradeSchedule',
    recurrence: { kind: 'daily', every: 1 },
    firstDay: null,
    countedFromDay: null,
    startMinutes: 22 * 60,
    durationMinutes: 240,
    offsetMinutes: 0,
    blockedDays: [],
  },
};

/** A class that was judged with images of version 1, and Azure has those of version 2; it is `hour` o'clock in UTC. */
async function withNewer(maintenance: Maintenance, hour: number) {
  const cluster = smallCluster();
  const { outside, clock, ports } = cluster;
  cluster.addClass(null);
  outside.images = [image('gen2', '1'), image('arm', '1')];
  const look = () => follow(ports, { kind: 'AKSNodeClass', name: 'default' });
  await look();
  outside.images = [image('gen2', '2'), image('arm', '2')];
  outside.maintenance = maintenance;
  const dayMs = 24 * 3_600_000;
  clock.advance(Math.ceil(clock.now() / dayMs) * dayMs - clock.now() + hour * 3_600_000);
  const status = () => cluster.server.get('aksnodeclasses', 'default')?.status as Readonly<Record<string, unknown>>;
  const versions = () =>
    (status()['images'] as ReadonlyArray<{ readonly id: string }>).map(({ id }) => id.split('/').slice(4).join('/'));
  return { ...cluster, look, versions, says: () => cluster.conditionOf('default', 'ImagesReady', 'aksnodeclasses') };
}

test('images are replaced by newer ones at once where no maintenance is planned', async () => {
  const { look, versions, says } = await withNewer({ kind: 'any-time' }, 12);
  await look();
  expect(versions()).toEqual(['gen2/versions/2', 'arm/versions/2']);
  expect(says()).toMatchObject({ status: 'True', message: '' });
});

test('images wait for the window, their condition says when it opens, and within it they are taken', async () => {
  const { look, versions, says, clock } = await withNewer(nightly, 12);
  await look();
  expect(versions()).toEqual(['gen2/versions/1', 'arm/versions/1']);
  expect(says()).toMatchObject({
    status: 'True',
    message: `newer images wait for a maintenance window: aksManagedNodeOSUpgradeSchedule opens at ${new Date(clock.now() + 10 * 3_600_000).toISOString()}`,
  });
  clock.advance(10 * 3_600_000);
  await look();
  expect(versions()).toEqual(['gen2/versions/2', 'arm/versions/2']);
  expect(says()).toMatchObject({ message: '' });
});

test('images wait while windows are not known, and the condition says what to do', async () => {
  const { look, versions, says } = await withNewer({ kind: 'unknown', message: 'give it the right' }, 23);
  await look();
  expect(versions()).toEqual(['gen2/versions/1', 'arm/versions/1']);
  expect(says()).toMatchObject({
    message: 'newer images are held back because the maintenance windows cannot be read: give it the right',
  });
});

test('of a schedule without another window that is said', async () => {
  if (nightly.kind !== 'scheduled') throw new Error('it is');
  const blocked = { ...nightly.schedule, blockedDays: [{ first: 0, last: 1e6 }] };
  const { look, says } = await withNewer({ kind: 'scheduled', schedule: blocked }, 12);
  await look();
  expect(says()).toMatchObject({
    message: 'newer images wait for a maintenance window: aksManagedNodeOSUpgradeSchedule has no upcoming window',
  });
});

test('an image that the class did not have comes at once, one that it should not have goes', async () => {
  const { look, versions, outside } = await withNewer(nightly, 12);
  outside.images = [image('gen2', '2'), image('fips', '2')];
  await look();
  expect(versions()).toEqual(['gen2/versions/1', 'fips/versions/2']);
});

test('a class that was changed takes the newest at once', async () => {
  const { look, versions, server } = await withNewer(nightly, 12);
  server.patch('aksnodeclasses', 'default', { spec: { osDiskSizeGB: 64 } }, 'object');
  await look();
  expect(versions()).toEqual(['gen2/versions/2', 'arm/versions/2']);
});

test('with a new version of Kubernetes the newest come at once', async () => {
  const { look, versions, server } = await withNewer(nightly, 12);
  server.patch('aksnodeclasses', 'default', { status: { kubernetesVersion: '1.30.0' } }, 'status');
  await look();
  expect(versions()).toEqual(['gen2/versions/2', 'arm/versions/2']);
});

test('nobody asks for windows while there is nothing newer', async () => {
  const { look, ports, outside } = await withNewer(nightly, 12);
  outside.images = [image('gen2', '1'), image('arm', '1')];
  ports.nodeClassFacts.maintenance = () => Promise.reject(new Error('asked'));
  expect(await look()).toMatchObject({ kind: 'wait' });
});
