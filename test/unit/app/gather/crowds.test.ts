import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { gather } from '../../../../shared/app/gather/gather.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { emptied } from '../../../kit/app/consolidated.ts';
import { since, START } from '../../../kit/app/small-cluster.ts';

/** A node that has drifted, with three pods of a spread over hosts, and what replaces it. */

const MINUTE = 60_000;
const labels = { app: 'shop' };
const metadata: Fields = {
  labels,
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'shop', uid: 'shop', controller: true }],
};
const spec: Fields = {
  containers: [{ resources: { requests: { cpu: '250m', memory: '1Gi' } } }],
  topologySpreadConstraints: [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'DoNotSchedule',
      labelSelector: { matchLabels: labels },
    },
  ],
};

async function drifted() {
  const cluster = emptied();
  const { server, ports } = cluster;
  cluster.addReady('old');
  const drift = { type: 'Drifted', status: 'True', reason: 'NodePoolDrifted', lastTransitionTime: new Date(START) };
  const known = server.get('nodeclaims', 'old')?.status?.['conditions'] ?? [];
  server.patch('nodeclaims', 'old', { status: { conditions: [...known, drift] } }, 'status');
  for (const name of ['a', 'b', 'c']) cluster.addRunning(name, 'old', { metadata, spec });
  const outcome = await disrupt(ports);
  const claim = server.list('nodeclaims').find((one) => one.metadata.name !== 'old')?.metadata.name ?? '';
  const decision = server.get('nodeclaims', 'old')?.metadata.annotations?.['nodewright.dev/disruption'] ?? '';
  const join = (): void => {
    const made = server.get('nodeclaims', claim)?.metadata;
    server.remove('nodeclaims', claim);
    cluster.addReady(claim, 2, { annotations: made?.annotations });
    const registered = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(ports.now(), type));
    server.patch('nodeclaims', claim, { status: { conditions: registered } }, 'status');
    const taints = [{ key: 'nodewright.dev/reserved', value: claim, effect: 'NoSchedule' }];
    server.patch('nodes', `aks-${claim}`, { spec: { taints } }, 'object');
  };
  /** The pod is evicted, and its successor waits. */
  const evict = (name: string): void => {
    server.remove('pods', `default/${name}`);
    server.create('pods', { metadata: { name: `${name}2`, namespace: 'default', ...metadata }, spec });
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }];
    server.patch('pods', `default/${name}2`, { status: { phase: 'Pending', conditions } }, 'status');
  };
  const crowds = async () => [...((await gather(ports, await ports.ledger.read(), true))?.input.crowds ?? [])];
  return { ...cluster, outcome, claim, decision, join, evict, crowds };
}

test('one node comes for all of them, and the decision says how many may share it', async () => {
  const { outcome, ports, decision } = await drifted();
  expect(outcome).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
  expect((await ports.decisions.get(decision))?.crowds).toMatchObject([{ owner: 'shop', most: 3 }]);
});

describe('while the node goes', () => {
  async function going() {
    const cluster = await drifted();
    cluster.join();
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'finished', removed: 1 });
    for (const name of ['a', 'b', 'c']) cluster.evict(name);
    cluster.server.patch('pods', 'default/a2', { spec: { nodeName: `aks-${cluster.claim}` } }, 'object');
    cluster.clock.advance(2_000);
    return cluster;
  }

  test('nothing is bought for those that wait until it has gone, and they are told for which node', async () => {
    const { ports, server, events, claim } = await going();
    expect(await provision(ports)).toMatchObject({ kind: 'nothing-to-launch', left: 0 });
    await provision(ports);
    expect(server.list('nodeclaims')).toHaveLength(2);
    const message = `This pod will run on node aks-${claim} once node aks-old has been removed: until then its topology spread counts it as a host without such pods`;
    const told = events().filter(([reason]) => reason === 'WaitingForNodeRemoval');
    expect(told).toEqual([
      ['WaitingForNodeRemoval', message],
      ['WaitingForNodeRemoval', message],
    ]);
  });

  test('nor in the moment after it has gone, when the scheduler has not tried again', async () => {
    const { ports, server, clock, claim } = await going();
    clock.advance(30_000);
    server.remove('nodes', 'aks-old');
    server.remove('nodeclaims', 'old');
    server.patch('nodes', `aks-${claim}`, { spec: { taints: [] } }, 'object');
    expect(await provision(ports)).toMatchObject({ kind: 'nothing-to-launch', left: 0 });
  });

  test('but where it has not gone after 15 minutes it counts as any other', async () => {
    const { ports, clock, crowds, server } = await going();
    clock.advance(15 * MINUTE - 9_000);
    expect(await crowds()).not.toEqual([]);
    clock.advance(9_000);
    expect(await crowds()).toEqual([]);
    await provision(ports);
    expect(server.list('nodeclaims')).toHaveLength(4);
  });
});
