import { describe, expect, test } from 'vitest';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { consolidated } from '../../../kit/app/consolidated.ts';
import { denying, smallCluster } from '../../../kit/app/small-cluster.ts';

/** Pods that wait, planned for. `told`: what each has been told of its place. */
function waiting(...names: ReadonlyArray<string>) {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  for (const name of names) cluster.addPod(name);
  // Nobody else is about to come.
  cluster.clock.advance(60_000);
  const events = (): ReadonlyArray<Fields> =>
    (cluster.server.list('events') as ReadonlyArray<Fields>).filter(({ reason }) => reason === 'Nominated');
  const told = (): ReadonlyArray<readonly [string, string]> =>
    events().map(({ involvedObject, message }) => [involvedObject.name, message]);
  return { ...cluster, events, told };
}

describe('a pod for which a node is on its way', () => {
  test('is told by which NodeClaim, and what that is planned as and costs', async () => {
    const { ports, told, events, server } = waiting('a');
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    const [claim] = server.list('nodeclaims');
    expect(told()).toEqual([
      [
        'a',
        `Pod should schedule on: nodeclaim/${claim?.metadata.name}, planned as Standard_D2_v5 (on-demand) in westeurope-1 at EUR 0.1 an hour`,
      ],
    ]);
    expect(events()[0]).toMatchObject({ type: 'Normal', source: { component: 'karpenter' } });
  });

  test('is told once, however many looks there are', async () => {
    const { ports, told, clock } = waiting('a');
    await provision(ports);
    clock.advance(5_000);
    await provision(ports);
    expect(told().filter(([, message]) => message.includes('planned as'))).toHaveLength(1);
    expect(told().length).toBeLessThanOrEqual(2);
  });

  test('is told nothing where its claim could not be created', async () => {
    const { ports, told, outside } = waiting('a');
    outside.deny = denying('POST', '/nodeclaims');
    await provision(ports);
    expect(told()).toEqual([]);
  });

  test('is told nothing while it runs on a node that is to go', async () => {
    const { ports, server } = consolidated();
    server.patch('nodeclaims', 'used', { metadata: { finalizers: ['karpenter.sh/termination'] } }, 'object');
    await ports.kubernetes.delete('NodeClaim', { name: 'used', namespace: null });
    expect(await provision(ports)).toMatchObject({ kind: 'nothing-to-launch', left: 0 });
    expect(server.list('events')).toEqual([]);
  });
});

test('a refusal stays and the nomination comes behind it; once it holds again, it comes behind the nomination', async () => {
  const { ports, server, clock, outside } = waiting('a');
  const { types } = outside;
  const newest = (): ReadonlyArray<string> =>
    (server.list('events') as ReadonlyArray<Fields>)
      .filter(({ involvedObject }) => involvedObject.kind === 'Pod')
      .toSorted((a, b) => Date.parse(a['lastTimestamp']) - Date.parse(b['lastTimestamp']))
      .map(({ reason, count }) => `${reason} x${count}`);
  outside.types = [];
  await provision(ports);
  expect(newest()).toEqual(['FailedScheduling x1']);
  outside.types = types;
  clock.advance(60_000);
  await provision(ports);
  expect(newest()).toEqual(['FailedScheduling x1', 'Nominated x1']);
  for (const { metadata } of server.list('nodeclaims'))
    await ports.kubernetes.delete('NodeClaim', { name: metadata.name, namespace: null });
  outside.types = [];
  clock.advance(5 * 60_000);
  await provision(ports);
  expect(newest()).toEqual(['Nominated x1', 'FailedScheduling x2']);
});

test('a NodePool says what the last decision made of it, for how many pods and at what cost', async () => {
  const { ports, server } = waiting('a', 'b');
  await provision(ports);
  const told = (server.list('events') as ReadonlyArray<Fields>).filter(
    ({ involvedObject }) => involvedObject.kind === 'NodePool',
  );
  expect(told.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
    expect.stringMatching(
      /^Provisioned: Decision \S+ creates 1 node \(Standard_D2_v5\) for 2 pods at EUR 0.1 an hour$/,
    ),
  ]);
});
