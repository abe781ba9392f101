import { describe, expect, test } from 'vitest';
import { gather } from '../../../../shared/app/gather/gather.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Snapshot } from '../../../../shared/contract/snapshot/parse.ts';
import { requirement } from '../../../kit/core/build.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';

/**
 * What a plan is made from: the snapshot, with what the scheduler, the overlays, the pools and earlier decisions say
 * about it.
 */

/** A cluster in which nodes can be had, looked at as `change` makes it. */
function cluster(...pods: ReadonlyArray<readonly [name: string, cpu: string]>) {
  const made = smallCluster();
  made.addClass('True');
  made.addPool();
  for (const [name, cpu] of pods) made.addPod(name, cpu);
  made.clock.advance(10_000);
  const seen = (change: (snapshot: Snapshot) => Snapshot): Ports => ({
    ...made.ports,
    snapshots: { ...made.ports.snapshots, latest: async () => change(await made.ports.snapshots.list()) },
  });
  const gathered = async (change: (snapshot: Snapshot) => Snapshot = (snapshot) => snapshot) => {
    const found = await gather(seen(change), await made.ports.ledger.read(), false);
    if (found === null) throw new Error('there is a snapshot');
    return found;
  };
  return { ...made, gathered, claims: () => made.server.list('nodeclaims').map(({ metadata }) => metadata.name) };
}

test('what pools say that an eviction costs is planned with, and nothing for those that say nothing usable', async () => {
  const { gathered, addPool, server } = cluster();
  addPool('dear');
  addPool('wrong');
  const saying = (name: string, text: string) =>
    server.patch('nodepools', name, { metadata: { annotations: { 'nodewright.dev/eviction-cost': text } } }, 'object');
  saying('dear', '2h');
  saying('wrong', 'two hours');
  expect((await gathered()).input.evictionCostMs).toEqual(new Map([['dear', 7_200_000]]));
});

test('an overlay with a mistake changes nothing [M03]', async () => {
  const { gathered } = cluster();
  const overlay = (name: string, key: string) => ({
    metadata: { name },
    spec: { requirements: [requirement(key, 'In', 'x')], price: '0.05' },
  });
  const both = [overlay('wrong', 'karpenter.sh/unheard-of'), overlay('right', 'node.kubernetes.io/instance-type')];
  const { input } = await gathered((snapshot) => ({ ...snapshot, nodeOverlays: both }));
  expect(input.cluster.nodeOverlays.map(({ metadata }) => metadata.name)).toEqual(['right']);
});

test('a pod that the scheduler has not judged yet waits as its like does, which it has refused', async () => {
  const { gathered } = cluster(['a', '1'], ['b', '1'], ['c', '2']);
  const unjudged = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    pods: snapshot.pods.map((pod) => (pod.name.endsWith('a') ? pod : { ...pod, unschedulable: false })),
  });
  const { input } = await gathered(unjudged);
  const waiting = input.cluster.pods.filter(({ unschedulable }) => unschedulable).map(({ name }) => name.slice(-1));
  expect(waiting).toEqual(['a', 'b']);
});

describe('what a decision has promised', () => {
  test('holds for each of its claims, for the pods and as the offering of that claim [M01]', async () => {
    const { ports, gathered, claims } = cluster(['a', '2'], ['b', '2']);
    await provision(ports);
    const { inFlight } = (await gathered()).input;
    expect([...inFlight.keys()].toSorted()).toEqual(claims().toSorted());
    const promised = [...inFlight.values()];
    expect(promised).toMatchObject([{ instanceType: 'Standard_D2_v5' }, { instanceType: 'Standard_D2_v5' }]);
    expect(promised.map(({ pods }) => pods.length)).toEqual([1, 1]);
  });

  test('ends when the claim is to go [M01]', async () => {
    const { ports, gathered, claims, server } = cluster(['a', '1']);
    await provision(ports);
    expect((await gathered()).input.inFlight.size).toBe(1);
    server.delete('nodeclaims', claims()[0] ?? '');
    expect(claims()).toHaveLength(1);
    expect((await gathered()).input.inFlight.size).toBe(0);
  });

  test('is nothing for a claim that says nothing of a decision', async () => {
    const { gathered, addClaim } = cluster();
    addClaim('stray');
    const bare = (snapshot: Snapshot): Snapshot => ({
      ...snapshot,
      nodeClaims: snapshot.nodeClaims.map(({ spec }) => ({ metadata: { name: 'stray' }, spec })),
    });
    expect((await gathered(bare)).input.inFlight.size).toBe(0);
  });
});

test('a pool whose class says nothing yet has no sizes', async () => {
  const { gathered } = cluster();
  const silent = (snapshot: Snapshot): Snapshot => ({
    ...snapshot,
    nodeClasses: snapshot.nodeClasses.map(({ metadata, spec }) => ({ metadata, spec })),
  });
  expect((await gathered()).input.catalog.get('general')).toHaveLength(1);
  expect((await gathered(silent)).input.catalog.size).toBe(0);
});

test('that the relay is silent is told, with when it was last heard of', async () => {
  const { ports } = cluster();
  const logged: Array<unknown> = [];
  const log: Ports['log'] = (event, facts) => void logged.push([event, facts]);
  const heartbeatMs = (): Promise<number> => Promise.resolve(7);
  const latest = async (): Promise<Snapshot> => ({ ...(await ports.snapshots.list()), takenAtMs: 5 });
  await gather(
    { ...ports, log, snapshots: { ...ports.snapshots, latest, heartbeatMs } },
    await ports.ledger.read(),
    true,
  );
  expect(logged).toEqual([['relay-silent', { lastHeardMs: 7 }]]);
});

describe('a buffer alone', () => {
  const buffered = async (cpu: string, replicas: number) => {
    const made = cluster();
    const spec = { containers: [{ resources: { requests: { cpu, memory: '1Gi' } } }] };
    const metadata = { name: 'spare', namespace: 'default', generation: 1 };
    const withBuffer = (snapshot: Snapshot): Snapshot => ({
      ...snapshot,
      capacityBuffers: [{ metadata, spec: { podTemplateRef: { name: 'room' }, replicas } }],
      podTemplates: [{ metadata: { name: 'room', namespace: 'default', generation: 1 }, template: { spec } }],
    });
    const latest = async (): Promise<Snapshot> => withBuffer(await made.ports.snapshots.list());
    const logged = new Map<string, object>();
    const gates = { ...made.ports.policy.gates, capacityBuffer: true };
    const ports: Ports = {
      ...made.ports,
      policy: { ...made.ports.policy, gates },
      snapshots: { ...made.ports.snapshots, latest },
      catalogs: { ...made.ports.catalogs, nextRetryMs: () => Promise.resolve(1_000) },
      log: (event, facts) => void logged.set(event, facts),
      // Its status is another matter: for that it counts as gone by now.
      kubernetes: {
        ...made.ports.kubernetes,
        get: (kind, key) => (kind === 'CapacityBuffer' ? Promise.resolve(null) : made.ports.kubernetes.get(kind, key)),
      },
    };
    const first = await provision(ports);
    const reasons = made.sent.flatMap(({ hint }) => ('reason' in hint ? [hint.reason] : []));
    return { ...made, ports, first, logged, reasons };
  };

  test('gets its room though no pod waits, and keeps it on the claim that is on its way', async () => {
    const { ports, first, logged, claims, reasons } = await buffered('1', 2);
    expect(first).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
    expect(logged.get('provisioned')).toMatchObject({ pods: 0, bufferPods: 2 });
    expect(reasons).not.toContain('capacity-may-be-back');
    expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 0 });
    expect(claims()).toHaveLength(1);
  });

  test('whose room nothing can give is looked at again when a refusal of Azure’s ends', async () => {
    const { first, reasons } = await buffered('64', 2);
    expect(first).toEqual({ kind: 'nothing-to-launch', left: 0 });
    expect(reasons).toContain('capacity-may-be-back');
  });
});

test('a look that needs no plan leaves nobody', async () => {
  const { ports } = cluster(['a', '1']);
  await provision(ports);
  const logged: Array<object> = [];
  const log: Ports['log'] = (event, facts) => void (event === 'planned' && logged.push(facts));
  expect(await provision({ ...ports, log })).toEqual({ kind: 'expected' });
  expect(logged).toMatchObject([{ unschedulable: 0 }]);
});

test('claims that share a dedication have one array of the pods that they were made for: thousands have thousands', async () => {
  const { gathered, ports, claims } = cluster(['a', '1500m'], ['b', '1500m']);
  await provision(ports);
  const { madeFor } = await gathered();
  const [first, second] = claims().map((name) => madeFor.get(name));
  expect(first?.map(({ name }) => name).toSorted()).toEqual(['default/a', 'default/b']);
  expect(second).toBe(first);
});
