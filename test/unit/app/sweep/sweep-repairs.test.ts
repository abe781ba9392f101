import { describe, expect, test } from 'vitest';
import { POOL_HASH_VERSION } from '../../../../shared/app/facts/api-rules.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { KARPENTER_POLICY } from '../../../../shared/core/model/provisioning-input.ts';
import { RetryableError, TerminalError } from '../../../../shared/ports/errors.ts';
import { START, machine, namesIn, nicItem, since, smallCluster, vmItem } from '../../../kit/app/small-cluster.ts';

const finalizer = 'karpenter.sh/termination';
const CLASS_STAMP = 'karpenter.azure.com/aksnodeclass-hash-version';

type Cluster = ReturnType<typeof smallCluster>;

function hintedIn({ sent }: Cluster): ReadonlyArray<string> {
  return sent.flatMap(({ hint }) => ('objects' in hint ? hint.objects.map(({ kind, name }) => `${kind} ${name}`) : []));
}

const withStaticPools: Ports['policy'] = {
  ...KARPENTER_POLICY,
  gates: { ...KARPENTER_POLICY.gates, staticCapacity: true },
};

/** A pool that is to have `replicas` nodes, and has claims without a machine of these names. */
function staticPool(replicas: number, names: ReadonlyArray<string>) {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  cluster.server.patch('nodepools', 'general', { spec: { replicas } }, 'object');
  for (const name of names) cluster.addClaim(name, { labels: { 'karpenter.sh/nodepool': 'general' } });
  return {
    ...cluster,
    ports: { ...cluster.ports, policy: withStaticPools },
    leaving: () => names.filter((name) => cluster.stateOf(name) !== 'there'),
  };
}

describe('a static pool', () => {
  test('loses what it has too many of, and no more', async () => {
    const { ports, leaving } = staticPool(1, ['a', 'b', 'c']);
    await sweep(ports);
    expect(leaving()).toEqual(['a', 'b']);
  });

  test('loses nothing when it has as many as it wants', async () => {
    const { ports, leaving, trace } = staticPool(3, ['a', 'b', 'c']);
    await sweep(ports);
    expect(leaving()).toEqual([]);
    // Nor is anything read again for it.
    expect(trace.filter((step) => step.includes('/nodepools'))).toEqual([]);
  });

  test('loses nothing when it wants more by now than the snapshot says', async () => {
    const { ports, leaving, server } = staticPool(1, ['a', 'b']);
    const old = await ports.snapshots.list();
    server.patch('nodepools', 'general', { spec: { replicas: 2 } }, 'object');
    await sweep({ ...ports, snapshots: { ...ports.snapshots, latest: () => Promise.resolve(old) } });
    expect(leaving()).toEqual([]);
  });

  test('loses nothing that is too much only by a snapshot whose claims have begun to leave since', async () => {
    const { ports, leaving, server } = staticPool(1, ['a', 'b']);
    const old = await ports.snapshots.list();
    server.delete('nodeclaims', 'b');
    await sweep({ ...ports, snapshots: { ...ports.snapshots, latest: () => Promise.resolve(old) } });
    expect(leaving()).toEqual(['b']);
  });

  test('loses nothing while what replaces one of its nodes is there and that is not marked yet', async () => {
    const { ports, leaving } = staticPool(1, ['a', 'b']);
    const state = { ...(await ports.ledger.read()), decision: '000000001-d', executed: false };
    const ledger = { ...ports.ledger, read: () => Promise.resolve(state) };
    // Provisioning, which comes after, would go on with that decision.
    await expect(sweep({ ...ports, ledger })).rejects.toThrow('3 decisions were committed meanwhile');
    expect(leaving()).toEqual([]);
  });

  test('does not count one that is marked to go, though its node does not show it yet', async () => {
    const { ports, leaving, server } = staticPool(1, ['a', 'b']);
    const annotations = { 'nodewright.dev/disruption': '000000001-d' };
    server.patch('nodeclaims', 'b', { metadata: { annotations } }, 'object');
    await sweep(ports);
    expect(leaving()).toEqual([]);
  });

  test('loses twenty nodes in one sweep at most', async () => {
    const names = Array.from({ length: 23 }, (_, index) => `c-${index}`);
    const { ports, leaving } = staticPool(0, names);
    await sweep(ports);
    expect(leaving()).toHaveLength(20);
  });

  test('loses nothing while static pools are not enabled', async () => {
    const { ports, leaving } = staticPool(0, ['a', 'b']);
    await sweep({ ...ports, policy: KARPENTER_POLICY });
    expect(leaving()).toEqual([]);
  });

  test('tells of what it loses once, and not of what has gone meanwhile', async () => {
    const { ports, outside, server } = staticPool(0, ['a', 'b']);
    const logged: Array<unknown> = [];
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/a')) server.remove('nodeclaims', 'a');
    };
    await sweep({ ...ports, log: (event, facts) => void logged.push([event, facts['claim']]) });
    expect(logged).toContainEqual(['surplus-deleted', 'b']);
    expect(logged).not.toContainEqual(['surplus-deleted', 'a']);
  });
});

test('without a snapshot a sweep looks at machines and claims, and touches no pool', async () => {
  const cluster = staticPool(0, ['a']);
  cluster.clock.advance(60_000);
  const snapshots = { latest: () => Promise.resolve(null), list: () => Promise.resolve(null) };
  const ports = { ...cluster.ports, snapshots: { ...cluster.ports.snapshots, ...snapshots } } as unknown as Ports;
  expect(await sweep(ports)).toEqual({ orphansDeleted: 0, hinted: 1, provision: 'no-snapshot' });
  expect(cluster.leaving()).toEqual([]);
});

describe('a node that is on its way out', () => {
  test('is asked about when its claim has gone before it and our finalizer holds it', async () => {
    const cluster = smallCluster();
    cluster.addNode('gone', { finalizers: [finalizer] });
    cluster.server.delete('nodes', 'aks-gone');
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual(['NodeClaim gone']);
  });

  test.each([
    ['its claim is there', true, [finalizer]],
    ['somebody else holds it', false, ['other/finalizer']],
  ])('is not asked about when %s', async (_, withClaim, finalizers) => {
    const cluster = smallCluster();
    if (withClaim) {
      const conditions = [since(START, 'Ready')];
      cluster.addClaim('c', { status: { conditions } });
      cluster.server.delete('nodeclaims', 'c');
    }
    cluster.addNode('c', { finalizers });
    cluster.azure.machines.set('c', machine('c'));
    cluster.server.delete('nodes', 'aks-c');
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual([]);
  });

  test('is nobody’s business of ours when its name is not that of a machine of ours', async () => {
    const cluster = smallCluster();
    cluster.server.create('nodes', { metadata: { name: 'other-1', finalizers: [finalizer] }, spec: {} });
    cluster.server.delete('nodes', 'other-1');
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual([]);
  });
});

test('a node that stays is not asked about, though it has our finalizer and no claim', async () => {
  const cluster = smallCluster();
  cluster.addNode('c', { finalizers: [finalizer] });
  await sweep(cluster.ports);
  expect(hintedIn(cluster)).toEqual([]);
});

test('a claim at rest whose node is on its way out has lost it', async () => {
  const cluster = smallCluster();
  cluster.addClaim('c', { status: { conditions: [since(START, 'Ready')] } });
  cluster.azure.machines.set('c', machine('c'));
  cluster.addNode('c', { finalizers: [finalizer] });
  cluster.server.delete('nodes', 'aks-c');
  await sweep(cluster.ports);
  expect(hintedIn(cluster)).toEqual(['NodeClaim c']);
});

test('a claim that has been on its way out for 20 s is asked about, though it was at rest before', async () => {
  const cluster = smallCluster();
  cluster.addClaim('c', { status: { conditions: [since(START, 'Ready')] } });
  cluster.azure.machines.set('c', machine('c'));
  cluster.addNode('c');
  cluster.server.delete('nodeclaims', 'c');
  cluster.clock.advance(20_000);
  await sweep(cluster.ports);
  expect(hintedIn(cluster)).toEqual(['NodeClaim c']);
});

describe('pools and classes', () => {
  test('are asked about when nobody has judged them for 20 s, and not before', async () => {
    const cluster = smallCluster();
    cluster.addClass(null);
    cluster.addPool('general', 'default', null);
    cluster.clock.advance(19_999);
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual([]);
    cluster.clock.advance(1);
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual(['NodePool general', 'AKSNodeClass default']);
  });

  test('are left alone while they are ready', async () => {
    const cluster = smallCluster();
    cluster.addClass('True');
    cluster.addPool();
    cluster.clock.advance(3_600_000);
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual([]);
  });

  test.each([
    ['nodepools', 'general', 'karpenter.sh/nodepool-hash-version', 'NodePool general'],
    ['aksnodeclasses', 'default', CLASS_STAMP, 'AKSNodeClass default'],
  ])('of %s one that another version of us has stamped is asked about', async (resource, name, key, asked) => {
    const cluster = smallCluster();
    cluster.addClass('True');
    cluster.addPool();
    cluster.server.patch(resource, name, { metadata: { annotations: { [key]: 'v0' } } }, 'object');
    await sweep(cluster.ports);
    expect(hintedIn(cluster)).toEqual([asked]);
  });
});

test('what this version of us has stamped, or nobody, is not asked about for its stamp', async () => {
  const cluster = smallCluster();
  cluster.addClass('True');
  cluster.addPool();
  const annotations = { 'karpenter.sh/nodepool-hash-version': POOL_HASH_VERSION };
  cluster.server.patch('nodepools', 'general', { metadata: { annotations } }, 'object');
  await sweep(cluster.ports);
  expect(hintedIn(cluster)).toEqual([]);
});

test('a claim at rest whose NIC alone is left has lost its machine', async () => {
  const cluster = smallCluster();
  cluster.addClaim('c', { status: { conditions: [since(START, 'Ready')] } });
  cluster.addNode('c');
  cluster.outside.inventory = () => [nicItem('c')];
  await sweep(cluster.ports);
  expect(hintedIn(cluster)).toEqual(['NodeClaim c']);
});

/** Lines that every sweep leaves. */
const routine: ReadonlySet<unknown> = new Set(['cluster-seen', 'quotas-read']);

describe('what plans can do without', () => {
  const told = async (catalogs: Partial<Ports['catalogs']>): Promise<ReadonlyArray<unknown>> => {
    const { ports } = smallCluster();
    const logged: Array<unknown> = [];
    const outcome = await sweep({
      ...ports,
      catalogs: { ...ports.catalogs, ...catalogs },
      log: (...line) => void (routine.has(line[0]) || logged.push(line)),
    });
    expect(outcome.provision).toBe('idle');
    return logged;
  };

  test('is asked of Azure, and what it cannot tell is said', async () => {
    expect(
      await told({
        refreshQuotas: () => Promise.resolve({ kind: 'unknown', why: 'no right' }),
        refreshEvictionRates: () => Promise.resolve({ kind: 'unknown', why: 'no graph', fix: 'grant Reader' }),
      }),
    ).toEqual([
      ['quotas-unknown', { why: 'no right' }],
      ['eviction-rates-unknown', { why: 'no graph', fix: 'grant Reader' }],
    ]);
  });

  test('names at most ten words that nobody here can read, and no word when there is none', async () => {
    const unreadable = Array.from({ length: 12 }, (_, index) => `w${index}`);
    expect(await told({ refreshEvictionRates: () => Promise.resolve({ kind: 'read', unreadable }) })).toEqual([
      ['eviction-rates-unreadable', { said: unreadable.slice(0, 10).join(', ') }],
    ]);
    expect(await told({ refreshEvictionRates: () => Promise.resolve({ kind: 'read', unreadable: [] }) })).toEqual([]);
  });
});

test('a sweep plans for pods that wait, from the API server itself when the relay is silent', async () => {
  const { ports, server, addClass, addPool, addPod, clock, sent } = smallCluster();
  addClass('True');
  addPool();
  addPod('a');
  clock.advance(10_000);
  const snapshots = {
    ...ports.snapshots,
    latest: () => Promise.resolve(null),
    heartbeatMs: () => Promise.resolve(null),
  };
  server.patch('aksnodeclasses', 'default', { metadata: { annotations: { [CLASS_STAMP]: 'v0' } } }, 'object');
  expect(await sweep({ ...ports, snapshots })).toMatchObject({ hinted: 1, provision: 'provisioned' });
  expect(server.list('nodeclaims')).toHaveLength(1);
  expect(sent.map(({ hint }) => [hint.kind, namesIn(hint).length])).toEqual([
    ['objects', 1],
    ['launches', 1],
  ]);
});

describe('machines that lack AKS’s extension', () => {
  const bare = (claim: string) => ({ ...vmItem(claim), lacksEquipment: true });

  test('get it from the sweep, and those that have it are left alone', async () => {
    const cluster = smallCluster();
    for (const name of ['a', 'b']) cluster.addClaim(name, { status: { conditions: [since(START, 'Ready')] } });
    cluster.outside.inventory = () => [bare('a'), vmItem('b')];
    await sweep(cluster.ports);
    expect(cluster.azure.asked).toEqual(['equip a']);
  });

  test('are a hundred at most in one sweep', async () => {
    const cluster = smallCluster();
    cluster.outside.inventory = () => Array.from({ length: 130 }, (_, index) => bare(`c${index}`));
    await sweep(cluster.ports);
    expect(cluster.azure.asked).toHaveLength(100);
  });

  test('and cannot be given it keep nothing else waiting, which is said', async () => {
    const cluster = smallCluster();
    const said: Array<string> = [];
    cluster.outside.inventory = () => [bare('a'), bare('b')];
    const equip = (claim: string): Promise<void> =>
      claim === 'a' ? Promise.reject(new RetryableError('Azure is busy')) : cluster.ports.cloud.equip(claim);
    const ports = {
      ...cluster.ports,
      cloud: { ...cluster.ports.cloud, equip },
      log: (event: string, facts: object) => void said.push(`${event} ${JSON.stringify(facts)}`),
    };
    await sweep(ports);
    expect(cluster.azure.asked).toEqual(['equip b']);
    expect(said).toContain('machine-not-equipped {"claim":"a","why":"Azure is busy"}');
  });

  test('and will not be given it any more are told of once an hour', async () => {
    const cluster = smallCluster();
    const said: Array<string> = [];
    cluster.outside.inventory = () => [bare('a')];
    const ports = {
      ...cluster.ports,
      cloud: { ...cluster.ports.cloud, equip: () => Promise.reject(new TerminalError('failed 3 times')) },
      log: (event: string, facts: object) => void said.push(`${event} ${JSON.stringify(facts)}`),
    };
    const line = 'machine-not-equipped {"claim":"a","why":"failed 3 times"}';
    const lines = () => said.filter((one) => one === line).length;
    await sweep(ports);
    await sweep(ports);
    expect(lines()).toBe(1);
    cluster.clock.advance(3_600_000);
    await sweep(ports);
    expect(lines()).toBe(2);
  });
});
