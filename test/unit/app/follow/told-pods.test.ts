import { describe, expect, test } from 'vitest';
import { tellPlanned } from '../../../../shared/app/follow/join/tell-planned.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { START, decisionOf, machine, since, smallCluster } from '../../../kit/app/small-cluster.ts';

/** What pods hear of nodes that they were promised and do not get. */

const MINUTE_MS = 60_000;
const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  'topology.kubernetes.io/zone': 'westeurope-1',
};

function cluster() {
  const small = smallCluster();
  small.addClass('True');
  small.addPool();
  const told = (): ReadonlyArray<readonly [unknown, unknown, unknown]> =>
    (small.server.list('events') as ReadonlyArray<Fields>)
      .filter(({ involvedObject, reason }) => involvedObject.kind === 'Pod' && reason !== 'Nominated')
      .map(({ involvedObject, reason, message }) => [involvedObject.name, reason, message]);
  return { ...small, told };
}

describe('the pods that a node was made for, which does not come,', () => {
  async function givenUp(names: ReadonlyArray<string>, change: (small: ReturnType<typeof cluster>) => void) {
    const small = cluster();
    const pods = names.map((name) => small.addPod(name));
    await small.ports.decisions.put(decisionOf(['c'], pods));
    small.addClaim('c', {
      labels,
      annotations: { 'nodewright.dev/decision': '000000001-d' },
      status: { providerID: 'azure://c', conditions: [since(START, 'Launched')] },
    });
    small.azure.machines.set('c', machine('c'));
    change(small);
    small.clock.advance(15 * MINUTE_MS + 1_000);
    await follow(small.ports, { kind: 'NodeClaim', name: 'c' });
    expect(small.stateOf('c')).toBe('leaving');
    return small.told();
  }

  test('are told why, and that they are planned for again', async () => {
    const message =
      'NodeClaim c, which was created for this pod, has failed: its node did not join within 15 minutes. The pod will be planned again';
    expect(await givenUp(['a', 'b'], () => undefined)).toEqual([
      ['a', 'NodeGivenUp', message],
      ['b', 'NodeGivenUp', message],
    ]);
  });

  test('are told nothing where they have come to another, are on their way out, or are others of that name', async () => {
    const told = await givenUp(['placed', 'leaving', 'other', 'waiting'], ({ server, addPod }) => {
      server.patch('pods', 'default/placed', { spec: { nodeName: 'elsewhere' } }, 'object');
      server.patch('pods', 'default/leaving', { metadata: { finalizers: ['a/b'] } }, 'object');
      server.patch('pods', 'default/leaving', { metadata: { deletionTimestamp: '2026-12-01T00:00:00Z' } }, 'object');
      server.remove('pods', 'default/other');
      addPod('other');
    });
    expect(told.map(([name]) => name)).toEqual(['waiting']);
  });
});

describe('a pod whose place is on a node that has registered and is not in use', () => {
  const told = async (afterMs: number, conditions: ReadonlyArray<Fields>) =>
    (await toldBy(afterMs, conditions, 1)).told();

  function withSlowNode(conditions: ReadonlyArray<Fields>, pods = 1) {
    const small = cluster();
    const driver = { key: 'driver', effect: 'NoSchedule' };
    small.addClaim('c', {
      labels,
      spec: { startupTaints: [driver] },
      status: { providerID: 'azure://c', nodeName: 'aks-c', conditions },
    });
    const amounts = { cpu: '2', memory: '800Gi', pods: '200' };
    small.addNode('c', {
      labels: { ...labels, 'karpenter.sh/registered': 'true' },
      taints: [driver],
      status: { conditions: [since(START, 'Ready')], allocatable: amounts, capacity: amounts },
    });
    small.addPod('p', '1m');
    for (let pod = 1; pod < pods; pod++) small.addPod(`p-${pod}`, '1m');
    return small;
  }

  async function toldBy(afterMs: number, conditions: ReadonlyArray<Fields>, looks: number, pods = 1) {
    const small = withSlowNode(conditions, pods);
    small.clock.advance(afterMs);
    for (let look = 0; look < looks; look++) {
      // One after the other.
      expect(await provision(small.ports)).toEqual({ kind: 'nothing-to-launch', left: 0 });
    }
    const requests = small.trace.filter((step) => step.startsWith('POST') && step.endsWith('/events')).length;
    // Each is told where its place is, too, and once.
    const nominated = (small.server.list('events') as ReadonlyArray<Fields>).filter(
      ({ reason }) => reason === 'Nominated',
    );
    const posted = () => requests - nominated.length;
    return { told: small.told, posted };
  }

  const waiting = {
    ...since(START, 'Initialized', 'Unknown'),
    message: 'startup taint driver:NoSchedule is still there',
  };
  const registered = [since(START, 'Launched'), since(START, 'Registered')];

  test('is told after ten minutes what the node waits for, and not before', async () => {
    expect(await told(10 * MINUTE_MS - 1, [...registered, waiting])).toEqual([]);
    const text = `This pod will run on the node of NodeClaim c, which is not initialized yet: ${waiting.message}`;
    expect(await told(10 * MINUTE_MS, [...registered, waiting])).toEqual([['p', 'NodeNotInUse', text]]);
  });

  test('is told once an hour, however many looks there are', async () => {
    const { posted } = await toldBy(10 * MINUTE_MS, [...registered, waiting], 3);
    expect(posted()).toBe(1);
  });

  test('is told by the next look where a hundred others are told first', async () => {
    expect((await toldBy(10 * MINUTE_MS, [...registered, waiting], 1, 101)).posted()).toBe(100);
    expect((await toldBy(10 * MINUTE_MS, [...registered, waiting], 2, 101)).posted()).toBe(101);
  });

  test('is told when machines for the others are on their way', async () => {
    const small = withSlowNode([...registered, waiting]);
    for (const name of ['large-1', 'large-2']) small.addPod(name, '1500m');
    small.clock.advance(10 * MINUTE_MS);
    expect(await provision(small.ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    const first = small.trace.find((step) => /^POST .*\/(nodeclaims|events)$/.test(step));
    expect(first).toMatch(/nodeclaims$/);
    expect(small.told().map(([name, reason]) => [name, reason])).toContainEqual(['p', 'NodeNotInUse']);
  });

  test('is told nothing once it is in use', async () => {
    expect(await told(10 * MINUTE_MS, [...registered, since(START, 'Initialized')])).toEqual([]);
  });
});

test('a hundred pods of a node that does not come are told, as each is a request, and one that is gone keeps no other', async () => {
  const small = cluster();
  const pods = Array.from({ length: 102 }, (_, index) => small.addPod(`p${index}`));
  await small.ports.decisions.put(decisionOf(['c'], pods));
  small.addClaim('c', { labels, annotations: { 'nodewright.dev/decision': '000000001-d' } });
  small.server.remove('pods', 'default/p0');
  const claim = small.server.get('nodeclaims', 'c') as never;
  await tellPlanned(small.ports, claim, 'no capacity');
  const names = small.told().map(([name]) => name);
  expect([names.length, names.includes('p0'), names.includes('p99'), names.includes('p100')]).toEqual([
    99,
    false,
    true,
    false,
  ]);
});
