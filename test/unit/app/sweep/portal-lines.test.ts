import { describe, expect, test } from 'vitest';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { reportLeft } from '../../../../shared/app/provision/report-left.ts';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { START, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const [size, zone] = ['node.kubernetes.io/instance-type', 'topology.kubernetes.io/zone'];
const launched = { conditions: [since(START, 'Launched')] };

/** What one sweep says, by event. */
async function said(
  { ports }: ReturnType<typeof smallCluster>,
  other: Partial<Ports> = {},
): Promise<ReadonlyMap<string, unknown>> {
  const lines = new Map<string, unknown>();
  await sweep({ ...ports, ...other, log: (event, facts) => void lines.set(event, facts) });
  return lines;
}

describe('the line about the cluster', () => {
  test('has the price of machines that were launched, and counts those that have none', async () => {
    const cluster = smallCluster();
    const [type] = cluster.outside.types;
    const [offering] = type?.offerings ?? [];
    if (type === undefined || offering === undefined) throw new Error('the cluster has no size');
    const labels = { [size]: type.name, [zone]: offering.zone, 'karpenter.sh/capacity-type': offering.capacityType };
    cluster.addClass('True');
    cluster.addClaim('a', { labels, status: launched });
    cluster.addClaim('b', { labels, status: launched });
    cluster.addClaim('gone-from-the-catalog', { labels: { ...labels, [size]: 'Standard_Old' }, status: launched });
    cluster.addClaim('not-launched', { labels });
    expect((await said(cluster)).get('cluster-seen')).toMatchObject({
      claims: 4,
      readyClaims: 0,
      costMicroPerHour: 2 * offering.price,
      currency: 'EUR',
      unpricedClaims: 1,
    });
  });

  test('counts each kind of claim, and none of another provider', async () => {
    const cluster = smallCluster();
    const [type] = cluster.outside.types;
    const [offering] = type?.offerings ?? [];
    if (type === undefined || offering === undefined) throw new Error('the cluster has no size');
    const at = (place: string, capacityType: string): Record<string, string> => ({
      [size]: type.name,
      [zone]: place,
      'karpenter.sh/capacity-type': capacityType,
    });
    const dear = { ...offering, zone: 'elsewhere', price: microUsdPerHour(7) };
    const cheap = { ...offering, capacityType: 'spot', price: microUsdPerHour(3) } as const;
    // Each of the first two is right by half.
    const decoys = [
      { ...dear, capacityType: 'spot', price: microUsdPerHour(100) },
      { ...offering, price: microUsdPerHour(200) },
    ] as const;
    cluster.outside.types = [{ ...type, offerings: [...decoys, dear, cheap] }];
    cluster.addClass('True');
    cluster.addClaim('a', { labels: at(offering.zone, 'spot'), status: launched });
    cluster.addClaim('b', { labels: at('elsewhere', offering.capacityType), status: launched });
    cluster.addClaim('bare');
    cluster.addClaim('of-no-class', {
      labels: at(offering.zone, 'spot'),
      status: launched,
      spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'nobody' } },
    });
    cluster.addClaim('foreign', {
      spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' } },
    });
    expect((await said(cluster)).get('cluster-seen')).toMatchObject({
      claims: 4,
      spotClaims: 2,
      costMicroPerHour: 10,
      unpricedClaims: 1,
    });
  });

  test('counts no pod that goes, or has a node', async () => {
    const cluster = smallCluster();
    cluster.addPod('waits');
    cluster.addPod('goes');
    cluster.addPod('placed');
    cluster.server.patch('pods', 'default/placed', { spec: { nodeName: 'n' } }, 'object');
    cluster.server.patch('pods', 'default/goes', { metadata: { finalizers: ['a/b'] } }, 'object');
    await cluster.ports.kubernetes.delete('Pod', { namespace: 'default', name: 'goes' });
    expect((await said(cluster)).get('cluster-seen')).toMatchObject({ waitingPods: 1 });
  });

  test('has no wait when there is no snapshot, nor pods', async () => {
    const { ports } = smallCluster();
    const snapshots: Ports['snapshots'] = { ...ports.snapshots, list: () => Promise.resolve(null) } as never;
    expect((await said(smallCluster(), { snapshots })).get('cluster-seen')).toMatchObject({
      waitingPods: 0,
      longestWaitMs: 0,
    });
  });

  test('has how many pods wait, and since when the first of them', async () => {
    const cluster = smallCluster();
    cluster.addClass('True');
    cluster.addPod('a');
    cluster.clock.advance(30_000);
    cluster.addPod('b');
    cluster.clock.advance(5_000);
    expect((await said(cluster)).get('cluster-seen')).toMatchObject({ waitingPods: 2, longestWaitMs: 35_000 });
  });

  test('has how long ago the relay was heard of; null when it never was', async () => {
    const { ports } = smallCluster();
    const heard = (atMs: number | null): Ports['snapshots'] => ({
      ...ports.snapshots,
      heartbeatMs: () => Promise.resolve(atMs),
    });
    expect((await said(smallCluster(), { snapshots: heard(START - 3_000) })).get('cluster-seen')).toMatchObject({
      relayHeardAgoMs: 3_000,
    });
    expect((await said(smallCluster(), { snapshots: heard(null) })).get('cluster-seen')).toMatchObject({
      relayHeardAgoMs: null,
    });
  });
});

test('of quotas the twenty with the smallest part left are told, the tightest first', async () => {
  const cluster = smallCluster();
  const inUse = Array.from({ length: 25 }, (_, index) => ({ name: `f${index}family`, used: index + 1, limit: 25 }));
  const catalogs: Ports['catalogs'] = {
    ...cluster.ports.catalogs,
    refreshQuotas: () => Promise.resolve({ kind: 'read', inUse }),
  };
  const { inUse: text = '' } = (await said(cluster, { catalogs })).get('quotas-read') as { readonly inUse?: string };
  const told = JSON.parse(text) as Readonly<Record<string, unknown>>;
  expect([Object.keys(told).length, Object.keys(told)[0], told['f24family']]).toEqual([
    20,
    'f24family',
    { used: 25, limit: 25 },
  ]);
});

test('pods that are left are counted by the kind of their reasons, each once for a kind', async () => {
  const { ports } = smallCluster();
  const lines: Array<unknown> = [];
  const own: Ports = { ...ports, log: (...line) => void lines.push(line) };
  const pod = (name: string) => ({ name: `default/${name}`, uid: name });
  const none = { kind: 'no-node-pool', nodePool: null } as const;
  const noType = (nodePool: string) =>
    ({ kind: 'no-instance-type', nodePool, conflicts: [], available: 'some', remedies: [] }) as const;
  const left = [
    { pod: pod('a'), refusals: [noType('x'), noType('y')] },
    { pod: pod('b'), refusals: [noType('x'), none] },
  ];
  await reportLeft(own, left, new Set());
  await reportLeft(own, [], new Set());
  expect(lines).toEqual([['pods-left', { pods: 2, reasons: '{"no-instance-type":2,"no-node-pool":1}' }]]);
});
