import { expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { START, machine, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

/** What a clock that is a day ahead has written on a claim that goes ends all the same. */

const tomorrow = new Date(START + 86_400_000).toISOString();
const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => since(START, type));

/** A claim that goes, with a pod on its node. */
function leaving(annotations: Fields, spec: Fields = {}, pod: Fields = {}) {
  const cluster = smallCluster();
  const { server, azure, ports } = cluster;
  const finalizers = ['karpenter.sh/termination'];
  cluster.addClaim('c', { annotations, spec, finalizers, status: { providerID: 'azure://c', conditions } });
  azure.machines.set('c', machine('c'));
  cluster.addNode('c', { finalizers });
  cluster.addRunning('web', 'c', pod);
  server.delete('nodeclaims', 'c');
  return {
    ...cluster,
    look: () => follow(ports, { kind: 'NodeClaim', name: 'c' }),
    isTold: () => server.get('pods', 'default/web')?.metadata.deletionTimestamp !== undefined,
  };
}

test('who is to say what comes in its place is waited for no longer than anybody is', async () => {
  const { look, isTold } = leaving({
    'nodewright.dev/replacement-due': tomorrow,
    'nodewright.dev/interruption': 'preempt by x',
  });
  await look();
  expect(isTold()).toBe(true);
});

test('its terminationGracePeriod ends as long after its deletion as it says', async () => {
  const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  const { look, isTold, clock } = leaving(
    { 'karpenter.sh/nodeclaim-termination-timestamp': tomorrow },
    { terminationGracePeriod: '1m' },
    { metadata: { annotations } },
  );
  await look();
  expect(isTold()).toBe(false);
  clock.advance(60_000);
  await look();
  expect(isTold()).toBe(true);
});

test('but a notice that leaves it longer than that counts', async () => {
  const { look, isTold, clock } = leaving(
    {
      'karpenter.sh/nodeclaim-termination-timestamp': new Date(START + 600_000).toISOString(),
      'nodewright.dev/interruption': 'redeploy by x',
    },
    { terminationGracePeriod: '1m' },
    { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } },
  );
  clock.advance(120_000);
  await look();
  expect(isTold()).toBe(false);
});
