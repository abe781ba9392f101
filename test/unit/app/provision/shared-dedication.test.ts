import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { gather } from '../../../../shared/app/gather/gather.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { TerminalError } from '../../../../shared/ports/errors.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';

/** Pods of which each fills a node, planned for together: the claims, each with the pod that it was planned for. */
async function planned(cpus: ReadonlyArray<string> = ['1500m', '1500m', '1500m']) {
  const cluster = smallCluster();
  const { server, ports, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const added = cpus.map((cpu, index) => cluster.addPod(`p${index}`, cpu));
  clock.advance(11_000);
  expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: cpus.length });
  const decision = await ports.decisions.get((await ports.ledger.read()).decision ?? '');
  const claims = (decision?.claimNames ?? []).map((name, index) => ({
    name,
    pod: decision?.plan.claims[index]?.pods[0]?.name.slice('default/'.length) ?? '',
  }));
  const fieldsOf = (resource: string, name: string, field: string): ReadonlyArray<Fields> =>
    (server.get(resource, name)?.spec?.[field] ?? []) as ReadonlyArray<Fields>;
  const look = (claim: string) => follow(ports, { kind: 'NodeClaim', name: claim });
  return {
    ...cluster,
    added,
    decision,
    claims,
    look,
    /** Its node has joined, is ready, and was looked at. */
    join: async (claim: string) => {
      const allocatable = { cpu: '2', memory: '8Gi', pods: '110' };
      cluster.addNode(claim, {
        taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
        labels: { 'topology.kubernetes.io/zone': 'westeurope-1' },
        status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable, capacity: allocatable },
      });
      return look(claim);
    },
    dedicatedAs: (claim: string) => fieldsOf('nodes', `aks-${claim}`, 'taints').map(({ value }) => value),
    passes: (pod: string) => fieldsOf('pods', `default/${pod}`, 'tolerations').map(({ value }) => value),
    nominated: (pod: string) => server.get('pods', `default/${pod}`)?.status?.['nominatedNodeName'],
    bind: (pod: string, claim: string) =>
      server.patch('pods', `default/${pod}`, { spec: { nodeName: `aks-${claim}` } }, 'object'),
    pods: async () => {
      const gathered = await gather(ports, await ports.ledger.read(), false);
      return Object.fromEntries(
        [...(gathered?.input.inFlight ?? [])].map(([name, { pods }]) => [
          name,
          pods.map((uid) => added.find((pod) => pod.uid === uid)?.name ?? uid),
        ]),
      );
    },
  };
}

type Planned = Awaited<ReturnType<typeof planned>>;

function threeOf({ claims }: Planned) {
  const [a, b, c] = claims;
  if (a === undefined || b === undefined || c === undefined) throw new Error('three claims were planned');
  return { a, b, c };
}

describe('nodes of one decision whose pods are all alike', () => {
  test('are kept for all of them: they are let in when the machine is launched, before that is on record', async () => {
    const cluster = await planned();
    const { a, b } = threeOf(cluster);
    const value = cluster.decision?.reservations?.[0] ?? '';
    expect(value).toMatch(new RegExp(`^${cluster.decision?.name ?? ''}\\.\\d+$`));
    expect(cluster.decision?.reservations).toEqual([value, value, value]);
    cluster.trace.length = 0;
    await cluster.look(a.name);
    expect([cluster.passes(a.pod), cluster.passes(b.pod)]).toEqual([[value], []]);
    const writes = cluster.trace.filter((step) => step.startsWith('PATCH'));
    expect(writes.findIndex((step) => step.endsWith(`/pods/${a.pod}`))).toBe(0);
    expect(writes.some((step) => step.endsWith(`/nodeclaims/${a.name}/status`))).toBe(true);
    await cluster.join(a.name);
    expect(cluster.dedicatedAs(a.name)).toEqual([value]);
  });

  test('ask nothing of the pods when they register', async () => {
    const cluster = await planned();
    const { a } = threeOf(cluster);
    await cluster.look(a.name);
    cluster.trace.length = 0;
    await cluster.join(a.name);
    expect(cluster.trace.filter((step) => step.includes('/pods'))).toEqual([]);
  });

  test('are opened when as many have come as were planned, whoever they are', async () => {
    const cluster = await planned();
    const { a, b, c } = threeOf(cluster);
    for (const { name } of [a, b, c]) await cluster.look(name);
    await cluster.join(a.name);
    expect((await cluster.look(a.name)).kind).toBe('wait');
    expect(cluster.dedicatedAs(a.name)).toHaveLength(1);
    cluster.bind(b.pod, a.name);
    await cluster.look(a.name);
    expect(cluster.dedicatedAs(a.name)).toEqual([]);
  });

  test('stay kept for the others while the pod that one was planned for is on another', async () => {
    const cluster = await planned();
    const { a, b, c } = threeOf(cluster);
    for (const { name } of [a, b, c]) await cluster.look(name);
    await cluster.join(b.name);
    cluster.bind(a.pod, b.name);
    await cluster.join(a.name);
    await cluster.look(a.name);
    expect(cluster.dedicatedAs(a.name)).toHaveLength(1);
    cluster.bind(b.pod, c.name);
    cluster.bind(c.pod, c.name);
    await cluster.look(a.name);
    expect(cluster.dedicatedAs(a.name)).toEqual([]);
  });

  test('let in who was not let in at its launch, and nominate who has not come in time', async () => {
    const cluster = await planned();
    const { a } = threeOf(cluster);
    await cluster.look(a.name);
    cluster.server.patch('pods', `default/${a.pod}`, { spec: { tolerations: [] } }, 'object');
    await cluster.join(a.name);
    await cluster.look(a.name);
    expect(cluster.passes(a.pod)).toEqual(cluster.decision?.reservations?.slice(0, 1));
    cluster.clock.advance(30_000);
    await cluster.look(a.name);
    expect([cluster.dedicatedAs(a.name), cluster.nominated(a.pod)]).toEqual([[], `aks-${a.name}`]);
  });

  test('wait for their own pods while there is no snapshot that tells who waits', async () => {
    const cluster = await planned();
    const { a, b } = threeOf(cluster);
    await cluster.look(a.name);
    await cluster.join(a.name);
    cluster.ports.snapshots.latest = () => Promise.resolve(null);
    await cluster.look(a.name);
    expect(cluster.dedicatedAs(a.name)).toHaveLength(1);
    cluster.bind(a.pod, b.name);
    await cluster.look(a.name);
    expect(cluster.dedicatedAs(a.name)).toEqual([]);
  });

  test('stay kept where the snapshot is old and whoever is asked has just come to another', async () => {
    const cluster = await planned(Array.from({ length: 12 }, () => '1500m'));
    const [first, ...others] = cluster.claims;
    if (first === undefined) throw new Error('claims were planned');
    for (const { name } of cluster.claims) await cluster.look(name);
    await cluster.join(first.name);
    const old = await cluster.ports.snapshots.latest();
    cluster.ports.snapshots.latest = () => Promise.resolve(old);
    const come = (count: number): void => {
      for (const { name, pod } of [first, ...others].slice(0, count))
        cluster.bind(pod, name === first.name ? 'x' : name);
    };
    for (const count of [1, 7, 8, 11]) {
      come(count);
      expect((await cluster.look(first.name)).kind).toBe('wait');
      expect(cluster.dedicatedAs(first.name)).toHaveLength(1);
    }
    cluster.clock.advance(30_000);
    await cluster.look(first.name);
    expect(cluster.dedicatedAs(first.name)).toEqual([]);
  });

  test('are opened where their pods may not be let in', async () => {
    const cluster = await planned();
    const { a } = threeOf(cluster);
    cluster.outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && /\/pods\/[^/]+$/.test(path)) throw new TerminalError('pods is forbidden');
    };
    await cluster.look(a.name);
    await cluster.join(a.name);
    await cluster.look(a.name);
    expect([cluster.dedicatedAs(a.name), cluster.nominated(a.pod)]).toEqual([[], `aks-${a.name}`]);
  });

  test('ask for no pod at all where none are to be kept: RESERVE_NODES=false', async () => {
    const cluster = await planned();
    const { a } = threeOf(cluster);
    Object.assign(cluster.ports, { dedicatesNodes: false });
    await cluster.look(a.name);
    expect(cluster.passes(a.pod)).toEqual([]);
    await cluster.join(a.name);
    expect([cluster.dedicatedAs(a.name), cluster.nominated(a.pod)]).toEqual([[], `aks-${a.name}`]);
  });

  test('have places for those who wait, also when somebody else has taken theirs', async () => {
    const cluster = await planned();
    const { a, b, c } = threeOf(cluster);
    const nameOf = ({ pod }: { readonly pod: string }): string => `default/${pod}`;
    expect(await cluster.pods()).toEqual({ [a.name]: [nameOf(a)], [b.name]: [nameOf(b)], [c.name]: [nameOf(c)] });
    cluster.bind(b.pod, a.name);
    expect(await cluster.pods()).toEqual({ [a.name]: [nameOf(b)], [b.name]: [nameOf(a)], [c.name]: [nameOf(c)] });
    cluster.server.remove('pods', nameOf(a));
    expect(await cluster.pods()).toEqual({ [a.name]: [nameOf(b)], [b.name]: [], [c.name]: [nameOf(c)] });
  });

  test.each([
    [
      'is closed',
      { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
      { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: '2', memory: '8Gi', pods: '110' } },
    ],
    [
      'has turned out smaller than planned',
      {},
      { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: '1', memory: '8Gi', pods: '110' } },
    ],
  ])('have no places where the node %s: those who wait have what is left on others', async (_, spec, status) => {
    const cluster = await planned();
    const { a, b, c } = threeOf(cluster);
    const nameOf = ({ pod }: { readonly pod: string }): string => `default/${pod}`;
    await cluster.look(a.name);
    await cluster.join(a.name);
    cluster.bind(b.pod, c.name);
    expect(await cluster.pods()).toEqual({ [a.name]: [nameOf(a)], [b.name]: [nameOf(c)], [c.name]: [nameOf(b)] });
    cluster.server.patch('nodes', `aks-${a.name}`, { spec }, 'object');
    cluster.server.patch('nodes', `aks-${a.name}`, { status }, 'status');
    expect(await cluster.pods()).toEqual({ [a.name]: [], [b.name]: [nameOf(a)], [c.name]: [nameOf(b)] });
  });
});

test('nodes whose pods differ are kept for their own, and so is the only node of its kind', async () => {
  const { decision } = await planned(['1500m', '1600m']);
  expect(decision?.claimNames).toHaveLength(2);
  expect(decision?.reservations).toBeUndefined();
  const three = await planned(['1500m', '1600m', '1500m']);
  const own = three.claims.findIndex(({ pod }) => pod === 'p1');
  expect(three.decision?.reservations?.[own]).toBe(three.claims[own]?.name);
  expect(new Set(three.decision?.reservations).size).toBe(2);
});
