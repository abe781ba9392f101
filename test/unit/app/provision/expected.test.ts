import { expect, test } from 'vitest';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { decisionOf, smallCluster } from '../../../kit/app/small-cluster.ts';

/** Two pods that wait, and a claim in flight that was made for so many of them. */
async function withPromised(count: number) {
  const cluster = smallCluster();
  const { ports, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const pods = [cluster.addPod('a'), cluster.addPod('b', '2')];
  const decision = decisionOf(['general-1'], pods.slice(0, count));
  await ports.decisions.put(decision);
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
  await resumeNow(ports);
  clock.advance(20_000);
  return { ...cluster, generation: async () => (await ports.ledger.read()).generation };
}

test('while each pod that waits is promised to a claim in flight, nothing is planned', async () => {
  const { ports, generation, server } = await withPromised(2);
  const claims = server.list('nodeclaims');
  expect(await provision(ports)).toEqual({ kind: 'expected' });
  expect([await generation(), server.list('nodeclaims'), server.list('events')]).toEqual([1, claims, []]);
});

test('a pod that is promised to nobody is planned for, and the promised ones keep their place', async () => {
  const { ports, generation, server } = await withPromised(1);
  expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
  expect([await generation(), server.list('nodeclaims').length]).toEqual([2, 2]);
});

test('a pod that finds room on a node that is on its way is planned for once, until somebody decides', async () => {
  const { ports, server, addPod, clock } = await withPromised(1);
  server.remove('pods', 'default/b');
  addPod('small', '100m');
  clock.advance(11_000);
  expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 0 });
  expect(await provision(ports)).toEqual({ kind: 'expected' });
  server.delete('nodeclaims', 'general-1');
  expect((await provision(ports)).kind).toBe('provisioned');
});

test('what was promised by a claim that is being removed is promised no more', async () => {
  const { ports, server } = await withPromised(2);
  server.delete('nodeclaims', 'general-1');
  expect((await provision(ports)).kind).toBe('provisioned');
});

test('what was promised by a claim that is given up is promised no more, also where a policy denies its deletion', async () => {
  const { ports, server } = await withPromised(2);
  const annotations = { 'nodewright.dev/given-up': 'LaunchTimeout' };
  server.patch('nodeclaims', 'general-1', { metadata: { annotations } }, 'object');
  expect((await provision(ports)).kind).toBe('provisioned');
});
