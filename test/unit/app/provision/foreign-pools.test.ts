import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { namesIn, smallCluster } from '../../../kit/app/small-cluster.ts';

/** Another provider's class has the name that ours has, and its pool is ready. */
const FOREIGN = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** References that are not to our class: of another group, and of another kind. */
const references = [{ ...FOREIGN, kind: 'AKSNodeClass' }, { ...FOREIGN, group: 'karpenter.azure.com' }, FOREIGN];

/** Longer than a pod waits for more like it, shorter than a pool that nobody has judged is waited for. */
const A_WHILE_MS = 20_000;

function clusterWith(nodeClassRef: object, spec: object = {}) {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.server.create('nodepools', {
    metadata: { name: 'theirs' },
    spec: { ...spec, template: { spec: { nodeClassRef, requirements: [] } } },
  });
  return cluster;
}

test('a pool whose class is not there says which one was probably meant', async () => {
  const { ports, server, addClass, addPool } = smallCluster();
  addClass('True', 'general');
  addPool('a', 'genral');
  await follow(ports, { kind: 'NodePool', name: 'a' });
  expect(server.get('nodepools', 'a')?.status?.['conditions']).toContainEqual(
    expect.objectContaining({
      type: 'NodeClassReady',
      message:
        'AKSNodeClass genral does not exist: create it, or correct spec.template.spec.nodeClassRef.name (did you mean general?)',
    }),
  );
});

describe('a pool of another provider', () => {
  test.each(references)('gets no node of ours: $group $kind', async (reference) => {
    const { ports, server, clock, azure, addPod } = clusterWith(reference);
    addPod('a');
    clock.advance(A_WHILE_MS);
    expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 1 });
    expect([azure.orders, server.list('nodeclaims')]).toEqual([[], []]);
  });

  test('is told to a pod that finds no place, at once, by the kind of its class', async () => {
    const { ports, server, clock, addPod } = clusterWith(FOREIGN);
    addPod('a');
    clock.advance(A_WHILE_MS);
    await provision(ports);
    const [event] = server.list('events') as unknown as ReadonlyArray<{ readonly message: string }>;
    expect(event?.message).toContain(
      'theirs: the NodePool uses EC2NodeClass of karpenter.k8s.aws, which is not ours; create a NodePool whose',
    );
  });

  test('keeps nobody from a node of a pool of ours', async () => {
    const { ports, server, clock, addPool, addPod } = clusterWith(FOREIGN);
    addPool();
    addPod('a');
    clock.advance(A_WHILE_MS);
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
    expect(server.list('events')).toMatchObject([{ reason: 'Nominated' }, { reason: 'Provisioned' }]);
  });

  test.each(references)('gets no status: $group $kind', async (reference) => {
    const { ports, server } = clusterWith(reference);
    const before = server.get('nodepools', 'theirs');
    expect(await follow(ports, { kind: 'NodePool', name: 'theirs' })).toMatchObject({ kind: 'ended' });
    expect(server.get('nodepools', 'theirs')).toEqual(before);
  });

  test('is not looked at when the class of the same name changes, nor are its claims, which do not hold that class', async () => {
    const { ports, server, sent, addClaim, addPool } = clusterWith(FOREIGN);
    addPool('ours');
    addClaim('their-claim', { spec: { nodeClassRef: FOREIGN } });
    const ready = () => Promise.resolve({ kind: 'ready' });
    const facts = { images: () => Promise.resolve([]), subnet: ready, deployment: ready };
    await follow({ ...ports, nodeClassFacts: facts } as never, { kind: 'AKSNodeClass', name: 'default' });
    expect(sent.flatMap(({ hint }) => namesIn(hint))).toEqual(['ours']);
    server.delete('aksnodeclasses', 'default');
    await follow(ports, { kind: 'AKSNodeClass', name: 'default' });
    expect(server.get('aksnodeclasses', 'default')).toBeNull();
  });

  test('loses none of its nodes to a sweep, however many it has, and is not looked at by it', async () => {
    const { ports, sent, clock, stateOf, addClaim, server } = clusterWith(FOREIGN, { replicas: 0 });
    addClaim('their-claim', { spec: { nodeClassRef: FOREIGN } });
    server.patch(
      'nodeclaims',
      'their-claim',
      { metadata: { labels: { 'karpenter.sh/nodepool': 'theirs' } } },
      'object',
    );
    clock.advance(600_000);
    const gates = { ...ports.policy.gates, staticCapacity: true };
    await sweep({ ...ports, policy: { ...ports.policy, gates } });
    expect(stateOf('their-claim')).toBe('there');
    expect(sent.flatMap(({ hint }) => namesIn(hint))).not.toContain('theirs');
    expect(sent.flatMap(({ hint }) => namesIn(hint))).not.toContain('their-claim');
  });
});
