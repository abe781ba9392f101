import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { POOL_HASH_VERSION, poolHash } from '../../../../../shared/app/facts/api-rules.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import type { NodePool } from '../../../../../shared/kubernetes/manifest.ts';
import { START, smallCluster } from '../../../../kit/app/small-cluster.ts';

const hashKey = 'karpenter.sh/nodepool-hash';
const versionKey = 'karpenter.sh/nodepool-hash-version';
const ofPool = { 'karpenter.sh/nodepool': 'general' };

/** The pool `general`, which nobody has judged, of a class of which Ready is as said. */
function judging(ready: string | null = 'True') {
  const cluster = smallCluster();
  const { server } = cluster;
  cluster.addClass(ready);
  cluster.addPool('general', 'default', null);
  const read = () => server.get('nodepools', 'general');
  return {
    ...cluster,
    read,
    look: () => follow(cluster.ports, { kind: 'NodePool', name: 'general' }),
    says: (type: string) => cluster.conditionOf('general', type, 'nodepools'),
    writes: () => cluster.trace.filter((step) => !step.startsWith('GET')),
    change: (spec: Fields) => server.patch('nodepools', 'general', { spec }, 'object'),
  };
}

describe('a pool', () => {
  test('is stamped with its hash, and ready when its class is [J12]', async () => {
    const { look, read, says } = judging();
    expect(await look()).toEqual({ kind: 'wait', for: 'a change', lookAgainMs: null });
    const pool = read() as unknown as NodePool;
    expect(pool.metadata.annotations).toMatchObject({ [hashKey]: poolHash(pool), [versionKey]: POOL_HASH_VERSION });
    expect(says('Ready')).toMatchObject({ status: 'True' });
    expect(says('NodeRegistrationHealthy')).toMatchObject({ status: 'Unknown' });
  });

  test.each([
    ['False', 'False', 'NodeClassNotReady', 'as the test says'],
    ['Unknown', 'Unknown', 'NodeClassReadinessUnknown', 'AKSNodeClass default is not ready yet'],
    [null, 'Unknown', 'NodeClassReadinessUnknown', 'AKSNodeClass default is not ready yet'],
  ])('of a class whose Ready is %s is %s [J12]', async (ready, status, reason, message) => {
    const { look, says } = judging(ready);
    await look();
    expect(says('NodeClassReady')).toMatchObject({ status, reason, message });
    expect(says('Ready')).toMatchObject({ status });
  });

  test('is not ready while its class does not exist or is being deleted [J12]', async () => {
    const gone = judging();
    gone.server.remove('aksnodeclasses', 'default');
    await gone.look();
    expect(gone.says('NodeClassReady')).toMatchObject({ status: 'False', reason: 'NodeClassNotFound' });
    const going = judging();
    going.server.patch('aksnodeclasses', 'default', { metadata: { finalizers: ['other'] } }, 'object');
    going.server.delete('aksnodeclasses', 'default');
    await going.look();
    expect(going.says('NodeClassReady')).toMatchObject({ status: 'False', reason: 'NodeClassTerminating' });
  });

  test('with a mistake that the API server cannot see is not ready, and says what it is', async () => {
    const { look, says, change } = judging();
    change({ template: { metadata: { labels: { 'karpenter.sh/nodepool': 'mine' } } } });
    await look();
    expect(says('ValidationSucceeded')).toMatchObject({ status: 'False', reason: 'NodePoolValidationFailed' });
    expect(says('ValidationSucceeded')?.['message']).not.toBe('');
    expect(says('Ready')).toMatchObject({ status: 'False' });
  });

  test('that asks for a capacity type that does not exist is not ready, one that asks for a known one is [J12]', async () => {
    const { look, says, server, change } = judging();
    const asks = (...values: ReadonlyArray<string>): void => {
      const requirements = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values }];
      const spec = server.get('nodepools', 'general')?.spec?.['template'] as Fields;
      change({ template: { spec: { ...(spec['spec'] as Fields), requirements } } });
    };
    asks('free');
    await look();
    expect(says('ValidationSucceeded')).toMatchObject({ status: 'False', reason: 'NodePoolValidationFailed' });
    expect(says('ValidationSucceeded')?.['message']).toContain('karpenter.sh/capacity-type');
    asks('spot', 'on-demand');
    await look();
    expect([says('ValidationSucceeded')?.['status'], says('Ready')?.['status']]).toEqual(['True', 'True']);
  });

  test('of another provider’s class is left alone', async () => {
    const { look, change, writes } = judging();
    change({
      template: { spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } } },
    });
    expect(await look()).toMatchObject({ kind: 'ended', why: 'its node class is a EC2NodeClass.karpenter.k8s.aws' });
    expect(writes()).toEqual([]);
  });

  test('that is not there is no error', async () => {
    const { ports } = smallCluster();
    expect(await follow(ports, { kind: 'NodePool', name: 'nobody' })).toMatchObject({ kind: 'ended' });
  });

  test('that is as it was is not written', async () => {
    const { look, writes, trace, addClaim } = judging();
    addClaim('a', { labels: ofPool, status: { providerID: 'azure://a', capacity: { cpu: '2' } } });
    await look();
    trace.length = 0;
    await look();
    expect(writes()).toEqual([]);
  });

  test('that somebody else writes meanwhile is looked at again', async () => {
    const { look, outside, server } = judging();
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH') server.patch('nodepools', 'general', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
  });
});

describe('what a pool holds [J12]', () => {
  test('is what its nodes have, else what their claims expect, of those that stay [M02]', async () => {
    const { look, read, addClaim, addNode, server } = judging();
    const holds = (name: string, cpu: string) =>
      addClaim(name, { labels: ofPool, status: { providerID: `azure://${name}`, capacity: { cpu } } });
    holds('joined', '2');
    addNode('joined', { id: 'JOINED', labels: ofPool, status: { capacity: { cpu: '3' } } });
    holds('booting', '4');
    holds('leaving', '8');
    server.delete('nodeclaims', 'leaving');
    addClaim('wanted', { labels: ofPool });
    addClaim('other', {
      labels: { 'karpenter.sh/nodepool': 'other' },
      status: { providerID: 'o', capacity: { cpu: '16' } },
    });
    await look();
    expect(read()?.status).toMatchObject({ resources: { cpu: '7', nodes: '2' }, nodes: 2 });
  });

  test('is forgotten when it holds it no more [M02]', async () => {
    const { look, read, addClaim, server } = judging();
    addClaim('a', {
      labels: ofPool,
      status: { providerID: 'azure://a', capacity: { cpu: '2', 'nvidia.com/gpu': '1' } },
    });
    await look();
    expect(read()?.status?.['resources']).toEqual({ cpu: '2', 'nvidia.com/gpu': '1', nodes: '1' });
    server.remove('nodeclaims', 'a');
    await look();
    expect(read()?.status?.['resources']).toEqual({ nodes: '0' });
  });
});

describe('a pool whose spec has changed', () => {
  test('has its claims looked at for drift, when nobody has the old one any more, and once', async () => {
    const { look, change, addClaim, sent, says, read } = judging();
    await look();
    addClaim('a', { labels: ofPool });
    change({ weight: 5 });
    expect(sent).toEqual([]);
    await look();
    expect(sent).toMatchObject([{ hint: { objects: [{ kind: 'NodeClaim', name: 'a' }] }, atMs: START + 1_000 }]);
    expect(says('ValidationSucceeded')?.['observedGeneration']).toBe(read()?.metadata.generation);
    await look();
    expect(sent).toHaveLength(1);
  });

  test('has them looked at by the next attempt when the write of its status fails', async () => {
    const { look, change, addClaim, sent, outside } = judging();
    await look();
    addClaim('a', { labels: ofPool });
    change({ weight: 5 });
    outside.onRequest = ({ path }) => {
      if (path.endsWith('/status')) throw new RetryableError('busy');
    };
    await expect(look()).rejects.toThrow('busy');
    outside.onRequest = () => undefined;
    await look();
    expect(sent).toHaveLength(2);
  });

  test('knows nothing of how its nodes register any more [J12]', async () => {
    const { look, change, server, says } = judging();
    await look();
    const healthy = {
      type: 'NodeRegistrationHealthy',
      status: 'True',
      reason: 'r',
      message: '',
      observedGeneration: 1,
    };
    const conditions: ReadonlyArray<Fields> = server.get('nodepools', 'general')?.status?.['conditions'] ?? [];
    const others = conditions.filter(({ type }) => type !== healthy.type);
    server.patch('nodepools', 'general', { status: { conditions: [...others, healthy] } }, 'status');
    await look();
    expect(says('NodeRegistrationHealthy')).toMatchObject({ status: 'True' });
    change({ weight: 5 });
    await look();
    expect(says('NodeRegistrationHealthy')).toMatchObject({ status: 'Unknown' });
  });

  test.each<readonly [string, Fields]>([
    ['annotations', { metadata: { annotations: { 'example.com/a': 'b' } } }],
    ['labels', { metadata: { labels: { team: 'red' } } }],
    ['taints', { spec: { taints: [{ key: 'team', effect: 'NoSchedule' }] } }],
    ['startup taints', { spec: { startupTaints: [{ key: 'driver', effect: 'NoSchedule' }] } }],
    ['lifetime', { spec: { expireAfter: '24h' } }],
    ['termination grace period', { spec: { terminationGracePeriod: '5m' } }],
    ['class', { spec: { nodeClassRef: { name: 'another' } } }],
  ])(
    'has another hash where the %s of its nodes changed, and the same where it is taken back [J10] [J11]',
    async (_, to) => {
      const { look, read, server } = judging();
      const template = server.get('nodepools', 'general')?.spec?.['template'] as Fields;
      const write = (given: Fields): void =>
        void server.patch('nodepools', 'general', { spec: { template: given } }, 'object');
      const hash = async (): Promise<unknown> => {
        await look();
        return read()?.metadata.annotations?.[hashKey];
      };
      const before = await hash();
      write(to);
      expect(await hash()).not.toBe(before);
      // A merge patch takes away what it names with null.
      const none = Object.fromEntries(
        ['expireAfter', 'terminationGracePeriod', 'taints', 'startupTaints'].map((key) => [key, null]),
      );
      write({ metadata: null, spec: { ...none, ...(template['spec'] as Fields) } });
      expect(await hash()).toBe(before);
    },
  );

  test.each<readonly [string, Fields]>([
    ['weight', { weight: 5 }],
    ['limits', { limits: { cpu: '10' } }],
    ['disruption', { disruption: { consolidateAfter: '5m', budgets: [{ nodes: '1' }] } }],
    [
      'requirements',
      { template: { spec: { requirements: [{ key: 'kubernetes.io/os', operator: 'In', values: ['linux'] }] } } },
    ],
  ])('keeps its hash where its %s changed: that says nothing of what nodes are [J11]', async (_, spec) => {
    const { look, read, change } = judging();
    await look();
    const before = read()?.metadata.annotations?.[hashKey];
    change(spec);
    await look();
    expect(before).toBeDefined();
    expect(read()?.metadata.annotations?.[hashKey]).toBe(before);
  });

  test('is stamped anew, and its claims keep the hash that they were made with [J11]', async () => {
    const { look, read, change, addClaim, server } = judging();
    await look();
    addClaim('a', { labels: ofPool, annotations: { [hashKey]: 'old', [versionKey]: POOL_HASH_VERSION } });
    const before = read()?.metadata.annotations?.[hashKey];
    change({ template: { metadata: { labels: { team: 'red' } } } });
    await look();
    expect(read()?.metadata.annotations?.[hashKey]).not.toBe(before);
    expect(server.get('nodeclaims', 'a')?.metadata.annotations?.[hashKey]).toBe('old');
  });
});

describe('a pool that another version of us has stamped [J11]', () => {
  const annotations = { [hashKey]: 'old', [versionKey]: 'v0' };

  test('has its claims stamped first and with it; what has drifted stays so', async () => {
    const { look, read, server, addClaim } = judging();
    server.patch('nodepools', 'general', { metadata: { annotations } }, 'object');
    addClaim('same', { labels: ofPool, annotations });
    addClaim('drifted', { labels: ofPool, annotations, status: { conditions: [{ type: 'Drifted', status: 'True' }] } });
    addClaim('other', { labels: { 'karpenter.sh/nodepool': 'other' }, annotations });
    await look();
    const hash = read()?.metadata.annotations?.[hashKey];
    const stampsOf = (name: string): unknown => server.get('nodeclaims', name)?.metadata.annotations;
    expect(stampsOf('same')).toEqual({ [hashKey]: hash, [versionKey]: POOL_HASH_VERSION });
    expect(stampsOf('drifted')).toEqual({ [hashKey]: 'old', [versionKey]: POOL_HASH_VERSION });
    expect(stampsOf('other')).toEqual(annotations);
  });

  test('is not stamped while one of its claims could not be', async () => {
    const { look, read, server, addClaim, outside } = judging();
    server.patch('nodepools', 'general', { metadata: { annotations } }, 'object');
    addClaim('same', { labels: ofPool, annotations });
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/nodeclaims/')) throw new RetryableError('busy');
    };
    expect(await look()).toMatchObject({ lookAgainMs: START + 60_000 });
    expect(read()?.metadata.annotations).toEqual(annotations);
    expect(read()?.status?.['conditions']).not.toEqual([]);
  });

  test('stamps no claim when it was never stamped', async () => {
    const { look, server, addClaim } = judging();
    addClaim('a', { labels: ofPool, annotations });
    await look();
    expect(server.get('nodeclaims', 'a')?.metadata.annotations).toEqual(annotations);
  });
});

describe('the status of a pool', () => {
  const statusWrites = (steps: ReadonlyArray<string>) =>
    steps.filter((step) => step.endsWith('/nodepools/general/status'));
  const settled = async () => {
    const made = judging();
    made.addClaim('c', { labels: ofPool, status: { providerID: 'azure://c', capacity: { cpu: '2' } } });
    await made.look();
    await made.look();
    made.trace.length = 0;
    made.sent.length = 0;
    return made;
  };
  const status = ({ read }: Awaited<ReturnType<typeof settled>>) => read()?.status;

  test('is not written again while nothing has changed', async () => {
    const made = await settled();
    await made.look();
    expect(statusWrites(made.writes())).toEqual([]);
  });

  test('is written when its nodes hold more, though they are as many, and no claim need be looked at for that', async () => {
    const made = await settled();
    made.server.patch('nodeclaims', 'c', { status: { capacity: { cpu: '4' } } }, 'status');
    await made.look();
    expect(status(made)).toMatchObject({ resources: { cpu: '4', nodes: '1' }, nodes: 1 });
    expect(made.sent).toEqual([]);
  });

  test('is written when its class has another generation', async () => {
    const made = await settled();
    made.server.patch('aksnodeclasses', 'default', { spec: { osDiskSizeGB: 64 } }, 'object');
    const before = status(made)?.['nodeClassObservedGeneration'];
    made.clock.advance(60_000);
    await made.look();
    expect(statusWrites(made.writes())).toHaveLength(1);
    expect(status(made)?.['nodeClassObservedGeneration']).not.toBe(before);
  });

  test('names no resource any more that its nodes have no longer, and keeps the others', async () => {
    const made = await settled();
    made.server.patch('nodeclaims', 'c', { status: { capacity: { cpu: null, memory: '8Gi' } } }, 'status');
    await made.look();
    expect(Object.keys((status(made)?.['resources'] ?? {}) as Fields).toSorted()).toEqual(['memory', 'nodes']);
  });
});

test('a hash that is right under an old version is stamped anew', async () => {
  const { look, read, server } = judging();
  await look();
  server.patch('nodepools', 'general', { metadata: { annotations: { [versionKey]: 'v0' } } }, 'object');
  await look();
  expect(read()?.metadata.annotations?.[versionKey]).toBe(POOL_HASH_VERSION);
});
