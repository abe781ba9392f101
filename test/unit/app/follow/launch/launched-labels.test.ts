import { describe, expect, test } from 'vitest';
import { resumeNow } from '../../../../../shared/app/commit/commit-plan.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { size, zones } from '../../../../kit/core/build.ts';
import { decisionOf, machine, smallCluster } from '../../../../kit/app/small-cluster.ts';

const [zone1, zone2] = zones;
const hashes = {
  'karpenter.azure.com/aksnodeclass-hash': '7',
  'karpenter.azure.com/aksnodeclass-hash-version': 'v3',
};
const D2 = size('Standard_D2_v5', 2, 8, 100_000);
/** With a label that the planned size has not, and without one that it has. */
const E4 = size('Standard_E4_v5', 4, 32, 200_000, {
  labels: { 'kubernetes.io/arch': ['amd64'], 'kubernetes.io/os': ['linux'], 'karpenter.azure.com/sku-family': ['E'] },
});
const D2_LABELS = {
  'kubernetes.io/arch': 'amd64',
  'kubernetes.io/os': 'linux',
  'karpenter.azure.com/sku-family': 'D',
  'karpenter.azure.com/sku-cpu': '2',
  'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  'topology.kubernetes.io/zone': zone1,
  'karpenter.sh/capacity-type': 'on-demand',
};

/**
 * The claim `c` of a decision that was carried out, planned as a D2 in zone 1; `own`: labels that its pool gives it.
 */
async function planned(own: Readonly<Record<string, string>> = {}) {
  const cluster = smallCluster();
  const { ports, outside, server, trace } = cluster;
  outside.types = [D2, E4];
  cluster.addClass('True');
  server.patch('aksnodeclasses', 'default', { metadata: { annotations: hashes } }, 'object');
  cluster.addPool();
  const decision = decisionOf(['c']);
  const claims = decision.plan.claims.map((claim) => ({ ...claim, labels: own }));
  await ports.decisions.put({ ...decision, plan: { ...decision.plan, claims } });
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
  await resumeNow(ports);
  trace.length = 0;
  const writes = (): ReadonlyArray<string> => trace.filter((step) => /^(PATCH|PUT) /.test(step));
  return {
    ...cluster,
    look: () => follow(ports, { kind: 'NodeClaim', name: 'c' }),
    claim: () => server.get('nodeclaims', 'c')?.metadata,
    writes,
  };
}

const CLAIM = '/apis/karpenter.sh/v1/nodeclaims/c';
const asE4 = (claim: string) => ({ ...machine(claim), instanceType: 'Standard_E4_v5', zone: zone2 });

describe('a claim of a decision', () => {
  test('has the labels of what it was planned as and the hash of its class from its creation on', async () => {
    const { claim } = await planned({ team: 'red' });
    const pool = { 'karpenter.sh/nodepool': 'general', 'karpenter.azure.com/aksnodeclass': 'default' };
    expect(claim()?.labels).toEqual({ ...D2_LABELS, ...pool, team: 'red' });
    expect(claim()?.annotations).toMatchObject(hashes);
  });

  test('costs one write when it is launched as planned', async () => {
    const { look, writes, conditionOf } = await planned();
    await look();
    expect(writes()).toEqual([`PATCH ${CLAIM}/status`]);
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
  });

  test('has what it was launched as and its own when that is something else', async () => {
    const { look, writes, outside, claim, azure } = await planned({ team: 'red' });
    outside.launch = ({ claim: name }) => ({ kind: 'accepted', machine: asE4(name) });
    await look();
    expect(writes()).toEqual([`PATCH ${CLAIM}`, `PATCH ${CLAIM}/status`]);
    const { 'karpenter.azure.com/sku-cpu': _, ...kept } = D2_LABELS;
    expect(claim()?.labels).toEqual({
      ...kept,
      'karpenter.azure.com/sku-family': 'E',
      'node.kubernetes.io/instance-type': 'Standard_E4_v5',
      'topology.kubernetes.io/zone': zone2,
      'karpenter.sh/nodepool': 'general',
      'karpenter.azure.com/aksnodeclass': 'default',
      team: 'red',
    });
    expect(azure.orders[0]?.labels).toMatchObject({ team: 'red' });
  });

  test('gives its machine the labels of the offering that is tried, and not of the one that was planned', async () => {
    const { look, outside, azure } = await planned();
    outside.launch = ({ claim, offering }) =>
      offering.instanceType === 'Standard_E4_v5'
        ? { kind: 'accepted', machine: asE4(claim) }
        : { kind: 'unavailable', scope: 'size', retryAfterMs: 1_000, reason: 'No', message: 'no' };
    await look();
    const last = azure.orders.at(-1);
    expect(last?.offering.instanceType).toBe('Standard_E4_v5');
    expect(last?.labels).toMatchObject({ 'karpenter.azure.com/sku-family': 'E' });
    expect(last?.labels).not.toHaveProperty('karpenter.azure.com/sku-cpu');
  });

  test('has the hash of the class that its machine was made with, which may have changed since', async () => {
    const { look, server, clock, claim } = await planned();
    const changed = { ...hashes, 'karpenter.azure.com/aksnodeclass-hash': '8' };
    server.patch('aksnodeclasses', 'default', { metadata: { annotations: changed } }, 'object');
    clock.advance(1_000);
    await look();
    expect(claim()?.annotations).toMatchObject(changed);
  });

  test('is created without what a class would add that has gone, and with its place', async () => {
    const cluster = smallCluster();
    cluster.addPool();
    const decision = decisionOf(['c']);
    await cluster.ports.decisions.put(decision);
    await cluster.ports.ledger.commit(await cluster.ports.ledger.read(), decision.name);
    await resumeNow(cluster.ports);
    expect(cluster.server.get('nodeclaims', 'c')?.metadata.labels).toEqual({
      'node.kubernetes.io/instance-type': 'Standard_D2_v5',
      'topology.kubernetes.io/zone': zone1,
      'karpenter.sh/capacity-type': 'on-demand',
      'karpenter.sh/nodepool': 'general',
      'karpenter.azure.com/aksnodeclass': 'default',
    });
  });
});

describe('a claim that goes while its machine is made', () => {
  test.each([
    ['has nothing to say but its status', (claim: string) => machine(claim)],
    ['has other labels to say first', asE4],
  ])('takes the machine with it, where its launch %s', async (_, made) => {
    const { look, server, outside, azure } = await planned();
    outside.launch = ({ claim }) => {
      server.delete('nodeclaims', 'c');
      return { kind: 'accepted', machine: made(claim) };
    };
    expect(await look()).toEqual({ kind: 'ended', why: 'its claim has gone meanwhile' });
    expect([azure.deleted, [...azure.machines.keys()]]).toEqual([['c'], []]);
  });

  test('keeps it when somebody else has only written to the claim: that is looked at again', async () => {
    const { look, server, outside, azure } = await planned();
    const { launch } = outside;
    outside.launch = (order) => {
      server.patch('nodeclaims', 'c', { metadata: { labels: { a: 'b' } } }, 'object');
      return launch(order);
    };
    await expect(look()).rejects.toThrow(RetryableError);
    expect(azure.deleted).toEqual([]);
  });
});
