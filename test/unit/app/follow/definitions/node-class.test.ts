import { describe, expect, test } from 'vitest';
import { CLASS_HASH_VERSION, classHash } from '../../../../../shared/app/facts/api-rules.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RefusedError, RetryableError } from '../../../../../shared/ports/errors.ts';
import type { NodeClass } from '../../../../../shared/ports/kubernetes.ts';
import { START, denying as policyDenying, smallCluster } from '../../../../kit/app/small-cluster.ts';

const finalizer = 'karpenter.azure.com/termination';
const hashKey = 'karpenter.azure.com/aksnodeclass-hash';
const versionKey = 'karpenter.azure.com/aksnodeclass-hash-version';

/** The class `default`, which nobody has judged, and what looks at it bring. */
function judging() {
  const cluster = smallCluster();
  const { server } = cluster;
  cluster.addClass(null);
  const read = () => server.get('aksnodeclasses', 'default');
  return {
    ...cluster,
    read,
    look: () => follow(cluster.ports, { kind: 'AKSNodeClass', name: 'default' }),
    says: (type: string) => cluster.conditionOf('default', type, 'aksnodeclasses'),
    writes: () => cluster.trace.filter((step) => !step.startsWith('GET')),
    asked: () =>
      cluster.sent.map(({ hint, atMs }) => [
        'objects' in hint ? hint.objects.map(({ kind, name }) => `${kind} ${name}`) : [],
        atMs,
      ]),
  };
}

describe('a class', () => {
  test('is held and stamped before it is judged, and is ready when Azure has what it names', async () => {
    const { look, read, says, clock } = judging();
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 15 * 60_000 });
    const nodeClass = read() as unknown as NodeClass;
    expect(nodeClass.metadata).toMatchObject({
      finalizers: [finalizer],
      annotations: { [hashKey]: classHash(nodeClass), [versionKey]: CLASS_HASH_VERSION },
    });
    expect(says('Ready')).toMatchObject({ status: 'True' });
    expect(read()?.status).toMatchObject({
      kubernetesVersion: '1.36.3',
      images: [{ id: 'image' }],
      localDNSState: 'Disabled',
    });
  });

  test.each([
    ['1.36.3', '1.35.10'],
    ['1.36.10', '1.36.9'],
  ])('keeps %s of Kubernetes while an API server that is yet to be upgraded answers %s', async (known, said) => {
    const { look, read, ports } = judging();
    const version = { is: known };
    ports.kubernetes.serverVersion = () => Promise.resolve(version.is);
    await look();
    version.is = said;
    await look();
    expect(read()?.status).toMatchObject({ kubernetesVersion: known });
    version.is = '1.37.0';
    await look();
    expect(read()?.status).toMatchObject({ kubernetesVersion: '1.37.0' });
  });

  test('is not ready without an image, and is looked at again in a minute', async () => {
    const { look, says, outside, clock } = judging();
    outside.images = [];
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 60_000 });
    expect(says('ImagesReady')).toMatchObject({ status: 'False', reason: 'ImagesNotFound' });
    expect(says('Ready')).toMatchObject({ status: 'False' });
  });

  test('is not ready without its subnet, and says what Azure says', async () => {
    const { look, says, outside } = judging();
    outside.subnet = { kind: 'refused', reason: 'SubnetNotFound', message: 'there is none' };
    await look();
    expect(says('SubnetsReady')).toMatchObject({ status: 'False', reason: 'SubnetNotFound', message: 'there is none' });
    expect(says('Ready')).toMatchObject({ status: 'False' });
  });

  describe.for([
    ['SubnetsReady', 'subnet'],
    ['ImagesReady', 'images'],
  ] as const)('%s', ([type, fact]) => {
    const denied = new RetryableError('403 the app lacks the right x', { because: 'forbidden' });
    const denying = (cluster: ReturnType<typeof judging>) => ({
      ...cluster.ports,
      nodeClassFacts: { ...cluster.ports.nodeClassFacts, [fact]: () => Promise.reject(denied) },
    });

    test('says which right is missing, and comes by itself when it is there', async () => {
      const { look, says, clock, ...cluster } = judging();
      const outcome = await follow(denying({ look, says, clock, ...cluster }), {
        kind: 'AKSNodeClass',
        name: 'default',
      });
      expect(outcome).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 60_000 });
      expect(says(type)).toMatchObject({
        status: 'False',
        reason: 'AuthorizationFailed',
        message: '403 the app lacks the right x',
      });
      await look();
      expect(says('Ready')).toMatchObject({ status: 'True' });
    });

    test('stays for a class that is in order: it is asked again, and its nodes are made as before', async () => {
      const cluster = judging();
      await cluster.look();
      const again = follow(denying(cluster), { kind: 'AKSNodeClass', name: 'default' });
      await expect(again).rejects.toBe(denied);
      expect(cluster.says('Ready')).toMatchObject({ status: 'True' });
    });
  });

  test('is not ready while the deployment lacks what nodes are made with, and says what', async () => {
    const { look, says, outside } = judging();
    const message = 'app setting SSH_PUBLIC_KEY is missing';
    outside.deployment = { kind: 'refused', reason: 'SettingsMissing', message };
    await look();
    expect(says('ValidationSucceeded')).toMatchObject({ status: 'False', reason: 'SettingsMissing', message });
    expect(says('Ready')).toMatchObject({ status: 'False' });
  });

  test('keeps the finalizers of others', async () => {
    const { look, read, server } = judging();
    server.patch('aksnodeclasses', 'default', { metadata: { finalizers: ['other'] } }, 'object');
    await look();
    expect(read()?.metadata.finalizers).toEqual(['other', finalizer]);
  });

  test.each([
    ['Required', 'Enabled'],
    ['Preferred', 'Disabled'],
    ['Disabled', 'Disabled'],
  ])('with the local DNS %s has it %s', async (mode, state) => {
    const { look, read, server } = judging();
    server.patch('aksnodeclasses', 'default', { spec: { localDNS: { mode } } }, 'object');
    await look();
    expect(read()?.status?.['localDNSState']).toBe(state);
  });

  test('that is as it was is not written, and nobody is told', async () => {
    const { look, writes, trace, sent, addPool, addClaim } = judging();
    addPool();
    addClaim('a');
    await look();
    trace.length = 0;
    sent.length = 0;
    await look();
    expect([writes(), sent]).toEqual([[], []]);
  });

  test('whose status has changed is told to its pools at once, and to its claims when nobody has the old one any more', async () => {
    const { look, asked, addPool, addClaim, addClass } = judging();
    addClass(null, 'other');
    addPool();
    addPool('others', 'other');
    addClaim('a');
    addClaim('b', { spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'other' } } });
    await look();
    expect(asked()).toEqual([
      [['NodePool general'], null],
      [['NodeClaim a'], START + 1_000],
    ]);
  });

  test.each<readonly [string, (cluster: ReturnType<typeof judging>) => void]>([
    ['its images', ({ outside }) => (outside.images = [{ id: 'newer', requirements: [] }])],
    ['its spec', ({ server }) => server.patch('aksnodeclasses', 'default', { spec: { osDiskSizeGB: 64 } }, 'object')],
  ])('is written again when %s changed, though it stays ready', async (_, change) => {
    const cluster = judging();
    await cluster.look();
    cluster.trace.length = 0;
    change(cluster);
    await cluster.look();
    expect(cluster.writes()).toContainEqual(expect.stringMatching(/^PATCH .*\/status$/));
    expect(cluster.says('Ready')).toMatchObject({
      status: 'True',
      observedGeneration: cluster.read()?.metadata.generation,
    });
  });

  test('is stamped anew when its spec has changed, and its claims keep the hash that they were made with', async () => {
    const { look, read, server, addClaim } = judging();
    await look();
    addClaim('a', { annotations: { [hashKey]: 'old', [versionKey]: CLASS_HASH_VERSION } });
    const before = read()?.metadata.annotations?.[hashKey];
    server.patch('aksnodeclasses', 'default', { spec: { osDiskSizeGB: 64 } }, 'object');
    await look();
    expect(read()?.metadata.annotations?.[hashKey]).not.toBe(before);
    expect(server.get('nodeclaims', 'a')?.metadata.annotations?.[hashKey]).toBe('old');
  });

  test('that somebody else writes meanwhile is looked at again', async () => {
    const { look, outside, server } = judging();
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH') server.patch('aksnodeclasses', 'default', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
  });

  test('that is not there is no error', async () => {
    const { ports } = smallCluster();
    expect(await follow(ports, { kind: 'AKSNodeClass', name: 'nobody' })).toMatchObject({ kind: 'ended' });
  });
});

describe('a class that another version of us has stamped', () => {
  /**
   * The class with an old stamp, a claim of it that is as it should be, one that has drifted and one of another class.
   */
  async function stamped() {
    const cluster = judging();
    const annotations = { [hashKey]: 'old', [versionKey]: 'v0' };
    cluster.server.patch('aksnodeclasses', 'default', { metadata: { annotations } }, 'object');
    cluster.addClaim('same', { annotations });
    cluster.addClaim('drifted', { annotations, status: { conditions: [{ type: 'Drifted', status: 'True' }] } });
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'other' };
    cluster.addClaim('other', { annotations, spec: { nodeClassRef } });
    const stampsOf = (name: string): ReadonlyArray<string | undefined> => {
      const { annotations: has = {} } = cluster.server.get('nodeclaims', name)?.metadata ?? {};
      return [has[hashKey], has[versionKey]];
    };
    return { ...cluster, stampsOf };
  }

  test('has its claims stamped with it, so that an update of ours is no drift, and what has drifted stays so', async () => {
    const { look, read, stampsOf } = await stamped();
    await look();
    const hash = read()?.metadata.annotations?.[hashKey];
    expect(stampsOf('same')).toEqual([hash, CLASS_HASH_VERSION]);
    expect(stampsOf('drifted')).toEqual(['old', CLASS_HASH_VERSION]);
    expect(stampsOf('other')).toEqual(['old', 'v0']);
  });

  test('is stamped only after all of its claims have been', async () => {
    const { look, read, outside, stampsOf } = await stamped();
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/drifted')) throw new RetryableError('busy');
    };
    expect(await look()).toMatchObject({ lookAgainMs: START + 60_000 });
    expect(read()?.metadata.annotations?.[versionKey]).toBe('v0');
    expect(stampsOf('same')[1]).toBe(CLASS_HASH_VERSION);
  });
});

test('a class that was never stamped stamps no claim', async () => {
  const { look, server, addClaim } = judging();
  const annotations = { [hashKey]: 'old', [versionKey]: 'v0' };
  addClaim('a', { annotations });
  await look();
  expect(server.get('nodeclaims', 'a')?.metadata.annotations).toEqual(annotations);
});

describe('a class that is being deleted', () => {
  /** The class, deleted while these claims use it. */
  function deleted(claims: ReadonlyArray<string>, finalizers: ReadonlyArray<string> = [finalizer]) {
    const cluster = judging();
    cluster.server.patch('aksnodeclasses', 'default', { metadata: { finalizers } }, 'object');
    for (const name of claims) cluster.addClaim(name);
    cluster.server.delete('aksnodeclasses', 'default');
    cluster.trace.length = 0;
    return cluster;
  }

  test('stays while claims use it, even such as are leaving, and says for which it waits', async () => {
    const { look, read, server, clock } = deleted(['a']);
    server.delete('nodeclaims', 'a');
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 600_000 });
    expect(read()?.metadata.finalizers).toEqual([finalizer]);
    expect(server.list('events')).toMatchObject([
      { reason: 'WaitingOnNodeClaimTermination', message: 'Waiting for NodeClaims to be removed: a' },
    ]);
  });

  test('names five of the claims that it waits for', async () => {
    const five = ['a', 'b', 'c', 'd', 'e'];
    expect(await deleted(five).look()).toMatchObject({ for: 'Waiting for NodeClaims to be removed: a, b, c, d, e' });
    expect(await deleted([...five, 'f', 'g']).look()).toMatchObject({
      for: 'Waiting for NodeClaims to be removed: a, b, c, d, e and 2 more',
    });
  });

  test('goes when no claim uses it, whatever uses others', async () => {
    const { look, read, addClaim } = deleted([]);
    addClaim('b', { spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'other' } } });
    expect((await look()).kind).toBe('ended');
    expect(read()).toBeNull();
  });

  test('stays held by whoever begins to hold it while it is let go', async () => {
    const { look, outside, server, read } = deleted([]);
    outside.onRequest = ({ method }) => {
      if (method !== 'PATCH') return;
      server.patch('aksnodeclasses', 'default', { metadata: { annotations: { somebody: 'else' } } }, 'object');
    };
    await look();
    expect(read()?.metadata.finalizers).toEqual([finalizer]);
  });

  test('is let go as far as we hold it, and not touched where we do not', async () => {
    const ours = deleted([], ['other', finalizer]);
    await ours.look();
    expect(ours.read()?.metadata.finalizers).toEqual(['other']);
    const theirs = deleted([], ['other']);
    await theirs.look();
    expect(theirs.writes()).toEqual([]);
  });

  test('is neither judged nor stamped any more', async () => {
    const { look, writes, read } = deleted(['a']);
    await look();
    expect(writes()).toEqual([expect.stringMatching(/^POST .*\/events$/)]);
    expect(read()?.metadata.annotations).toBeUndefined();
  });
});

test('what fails for now is no refusal: the class is left as it is, and looked at again', async () => {
  const { look, says, ports } = judging();
  const images = (): Promise<never> => Promise.reject(new RetryableError('Azure is busy'));
  ports.nodeClassFacts.images = images;
  await expect(look()).rejects.toThrow('Azure is busy');
  expect(says('ImagesReady')).toBeUndefined();
});

test('a class whose finalizer a policy keeps says so, and does not count as let go', async () => {
  const { look, read, server, outside } = judging();
  await look();
  server.delete('aksnodeclasses', 'default');
  outside.deny = policyDenying('PATCH', '/aksnodeclasses/default');
  await expect(look()).rejects.toThrow(RefusedError);
  expect(read()?.metadata.finalizers).toEqual([finalizer]);
});
