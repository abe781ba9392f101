import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { START, machine, namesIn, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

const hashes = (hash: string): Fields => ({
  'karpenter.sh/nodepool-hash': hash,
  'karpenter.sh/nodepool-hash-version': 'v3',
});

/** A claim `c` at rest whose pool lets its nodes be consolidated so long after the last pod event. */
function atRest(
  given: { readonly after?: string; readonly poolHash?: string; readonly conditions?: ReadonlyArray<Fields> } = {},
) {
  const cluster = smallCluster();
  const { server, ports, azure, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: given.after ?? '30s' } } }, 'object');
  server.patch('nodepools', 'general', { metadata: { annotations: hashes(given.poolHash ?? '1') } }, 'object');
  const labels = {
    'karpenter.sh/nodepool': 'general',
    'karpenter.sh/capacity-type': 'on-demand',
    'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  };
  const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));
  cluster.addClaim('c', {
    labels,
    annotations: hashes('1'),
    status: { providerID: 'azure://c', conditions: [...conditions, ...(given.conditions ?? [])] },
  });
  azure.machines.set('c', machine('c'));
  cluster.addNode('c', { labels: { 'karpenter.sh/initialized': 'true' } });
  return {
    ...cluster,
    look: (afterMs = 0, podEventMs?: number) => {
      clock.advance(START + afterMs - clock.now());
      return follow(ports, { kind: 'NodeClaim', name: 'c', ...(podEventMs === undefined ? {} : { podEventMs }) });
    },
    shown: (type: string) => cluster.conditionOf('c', type)?.['status'] as string | undefined,
    asked: () => cluster.sent.map(({ hint, atMs, key }) => [namesIn(hint), (atMs ?? 0) - START, key] as const),
    writes: () => cluster.trace.filter((step) => !step.startsWith('GET')),
  };
}

describe('a node at rest', () => {
  test('may be consolidated when its time has come, and is looked at then', async () => {
    const { look, shown, asked } = atRest();
    expect(await look(1_000)).toMatchObject({ kind: 'wait', lookAgainMs: null });
    expect([shown('Consolidatable'), asked()]).toEqual([
      undefined,
      [[['c'], 30_000, `consolidatable/${(START + 30_000) / 1_000}`]],
    ]);
    await look(30_000);
    expect([shown('Consolidatable'), asked().length]).toEqual(['True', 1]);
  });

  test('may not any more when a pod has come or gone since, and when that was is noted', async () => {
    const { look, shown, server } = atRest();
    await look(30_000);
    await look(40_000, START + 40_000);
    expect(shown('Consolidatable')).toBeUndefined();
    expect(server.get('nodeclaims', 'c')?.status?.['lastPodEventTime']).toBe('2026-12-01T00:00:40Z');
    await look(69_000);
    expect(shown('Consolidatable')).toBeUndefined();
    await look(70_000);
    expect(shown('Consolidatable')).toBe('True');
  });

  test('is looked at when what was denied may be tried again, and says nothing of it then', async () => {
    const message = `Tried again from ${new Date(START + 600_000).toISOString()}: the policy says no`;
    const { look, shown } = atRest({
      conditions: [{ type: 'WriteDenied', status: 'True', reason: 'DeniedByPolicy', message }],
    });
    expect(await look(1_000)).toMatchObject({ kind: 'wait', lookAgainMs: START + 600_000 });
    expect(shown('WriteDenied')).toBe('True');
    expect(await look(600_000)).toMatchObject({ kind: 'wait', lookAgainMs: null });
    expect(shown('WriteDenied')).toBeUndefined();
  });

  test('is looked at in the next second when it is told of a little early, not in one that has been used', async () => {
    const { look, asked } = atRest();
    await look(29_900);
    expect(asked().map(([, atMs]) => atMs)).toEqual([31_000]);
  });

  test('is never looked at for it where its pool does not want that', async () => {
    const { look, shown, asked } = atRest({ after: 'Never' });
    await look(3_600_000);
    expect([shown('Consolidatable'), asked()]).toEqual([undefined, []]);
  });

  test('has noted when a pod came or went, though nothing else about it changes [J09]', async () => {
    const { look, server } = atRest({ after: 'Never' });
    await look(1_000);
    await look(5_000, START + 5_000);
    expect(server.get('nodeclaims', 'c')?.status?.['lastPodEventTime']).toBe('2026-12-01T00:00:05Z');
  });

  test('has drifted when its pool has changed, and no more when that is taken back [J10]', async () => {
    const { look, shown, server, conditionOf } = atRest({ poolHash: '2' });
    await look(1_000);
    expect(conditionOf('c', 'Drifted')).toMatchObject({ status: 'True', reason: 'NodePoolDrifted' });
    server.patch('nodepools', 'general', { metadata: { annotations: hashes('1') } }, 'object');
    await look(3_000);
    expect(shown('Drifted')).toBeUndefined();
  });

  test('has drifted when its size is not offered any more', async () => {
    const { look, conditionOf, outside } = atRest();
    await look(1_000);
    expect(conditionOf('c', 'Drifted')).toBeUndefined();
    const [first] = outside.types;
    if (first === undefined) throw new Error('no size is offered');
    outside.types = [{ ...first, name: 'Standard_D4_v5' }];
    await look(2_000);
    expect(conditionOf('c', 'Drifted')).toMatchObject({ status: 'True', reason: 'InstanceTypeNotFound' });
  });

  test('has drifted when new nodes get another identity than its kubelet has', async () => {
    const { look, shown, conditionOf, outside, server } = atRest();
    const labels = { 'kubernetes.azure.com/kubelet-identity-client-id': 'old' };
    server.patch('nodes', 'aks-c', { metadata: { labels } }, 'object');
    outside.kubeletIdentity = 'old';
    await look(1_000);
    expect(shown('Drifted')).toBeUndefined();
    outside.kubeletIdentity = 'new';
    await look(2_000);
    expect(conditionOf('c', 'Drifted')).toMatchObject({ status: 'True', reason: 'KubeletIdentityDrift' });
  });

  test('says nothing of itself but what is so', async () => {
    const { look, server } = atRest();
    const types = (): ReadonlyArray<unknown> => {
      const all = (server.get('nodeclaims', 'c')?.status?.['conditions'] ?? []) as ReadonlyArray<Fields>;
      return all.map(({ type }) => type);
    };
    await look(1_000, START + 500);
    expect(types()).toEqual(['Launched', 'Registered', 'Initialized', 'Ready']);
    await look(31_000);
    expect(types()).toEqual(['Launched', 'Registered', 'Initialized', 'Ready', 'Consolidatable']);
  });

  test('is not written to when it is as it was', async () => {
    const { look, trace, writes } = atRest();
    await look(30_000);
    trace.length = 0;
    await look(31_000);
    expect(writes()).toEqual([]);
  });

  test('says when it has much less than its claim expects, once, and no more when that is mended [J09]', async () => {
    const { look, server, conditionOf, writes, trace } = atRest();
    server.patch('nodeclaims', 'c', { spec: { resources: { requests: { cpu: '1' } } } }, 'object');
    server.patch('nodeclaims', 'c', { status: { capacity: { cpu: '4' } } }, 'status');
    server.patch('nodes', 'aks-c', { status: { capacity: { cpu: '2' } } }, 'status');
    const [type, reason] = ['ConsistentStateFound', 'FailedConsistencyCheck'];
    const message = 'expected 4 of resource cpu, but found 2 (50% of expected)';
    await look(31_000);
    expect(conditionOf('c', type)).toMatchObject({ status: 'False', reason, message });
    expect(server.list('events')).toMatchObject([{ type: 'Warning', reason, message, involvedObject: { name: 'c' } }]);
    trace.length = 0;
    await look(32_000);
    expect(writes()).toEqual([]);
    server.patch('nodes', 'aks-c', { status: { capacity: { cpu: '4' } } }, 'status');
    await look(33_000);
    expect(conditionOf('c', type)).toBeUndefined();
  });

  test('is only told of: nothing is removed, whatever has become of it', async () => {
    const { look, azure, stateOf, server } = atRest({ poolHash: '2', after: '0s' });
    await look(3_600_000);
    expect([azure.deleted, stateOf('c'), server.get('nodes', 'aks-c')?.metadata.deletionTimestamp]).toEqual([
      [],
      'there',
      undefined,
    ]);
  });

  test('of no class that is there says nothing of drift, and forgets what was said', async () => {
    const { look, shown, server } = atRest({ poolHash: '2', conditions: [since(START, 'Drifted')] });
    server.remove('aksnodeclasses', 'default');
    await look(1_000);
    expect(shown('Drifted')).toBeUndefined();
  });
});
