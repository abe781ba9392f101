import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { begunReplacement, consolidated } from '../../../kit/app/consolidated.ts';

/** The claims that are there, but for the node that is marked and what was to replace it. */
async function begun() {
  const cluster = await begunReplacement();
  const known = new Set(['large', cluster.replacement]);
  const others = (): ReadonlyArray<string> =>
    cluster.server.list('nodeclaims').flatMap(({ metadata: { name } }) => (known.has(name) ? [] : name));
  return { ...cluster, others };
}

test('pods of a marked node whose replacement has failed get no other: the mark comes off, and they stay [L10]', async () => {
  const { ports, server, replacement, others } = await begun();
  server.remove('nodeclaims', replacement);
  expect(await provision(ports, { mayList: true })).toEqual({ kind: 'nothing-to-launch', left: 0 });
  expect(others()).toEqual([]);
});

test('a pod that waits meanwhile gets its own node, and none for the pods that stay [L10]', async () => {
  const { ports, server, replacement, others, addPod, clock } = await begun();
  server.remove('nodeclaims', replacement);
  addPod('late', '1500m');
  clock.advance(15_000);
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
  const [name = ''] = others();
  expect(server.get('nodeclaims', name)?.spec).toMatchObject({ resources: { requests: { cpu: '1500m' } } });
});

test('a pod that waits is not sent to a marked node, which takes none until the mark is off', async () => {
  const { ports, server, replacement, others, addPod, clock } = await begun();
  server.remove('nodeclaims', replacement);
  addPod('late', '1');
  clock.advance(15_000);
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(others()).toHaveLength(1);
});

test('pods of a node that somebody removes get their nodes, whatever it was marked for', async () => {
  const { ports, server, replacement, others } = await begun();
  server.remove('nodeclaims', replacement);
  server.delete('nodeclaims', 'large');
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1 });
  expect(others()).toHaveLength(1);
});

describe('a pool as large as its limit', () => {
  /** Of its two nodes of two CPUs each, one is marked to go, and a pod waits that only that one has room for. */
  async function full(limits: Fields) {
    const cluster = consolidated();
    cluster.server.patch('nodepools', 'general', { spec: { limits } }, 'object');
    expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    cluster.addPod('late', '1500m');
    cluster.clock.advance(15_000);
    const claims = (): number => cluster.server.list('nodeclaims').length;
    return { ...cluster, claims };
  }

  test.each([[{ cpu: '4' }], [{ nodes: '2' }]])(
    'gets no node in place of one that is only marked: %j',
    async (limits) => {
      const { ports, claims, server, clock, stateOf } = await full(limits);
      expect(await provision(ports, { mayList: true })).toEqual({ kind: 'nothing-to-launch', left: 1 });
      // The node stays: its limit has not been passed.
      const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
      server.patch('nodes', 'aks-spare', { metadata: { annotations } }, 'object');
      clock.advance(60_000);
      expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
      expect([stateOf('spare'), claims()]).toEqual(['there', 2]);
      expect(await provision(ports, { mayList: true })).toEqual({ kind: 'nothing-to-launch', left: 0 });
    },
  );

  test('gets one as soon as that is being deleted', async () => {
    const { ports, server } = await full({ cpu: '4' });
    server.delete('nodeclaims', 'spare');
    expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
  });

  test('gets one as soon as Azure takes that back', async () => {
    const { ports, server } = await full({ cpu: '4' });
    const annotations = { 'nodewright.dev/interruption': 'preempt by then' };
    server.patch('nodeclaims', 'spare', { metadata: { annotations } }, 'object');
    expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
  });
});
