import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../simulation/world/api-server.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { Snapshot } from '../../../../shared/contract/snapshot/parse.ts';
import { onDemand, size } from '../../../kit/core/build.ts';
import { START, machine, namesIn, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const WINDOW_MS = 10_000;

/** A cluster in which nodes can be had, and pods that came so long ago that no more are waited for. */
function cluster(...pods: ReadonlyArray<string>) {
  const made = smallCluster();
  const { server } = made;
  made.addClass('True');
  made.addPool();
  for (const name of pods) made.addPod(name);
  made.clock.advance(WINDOW_MS);
  return {
    ...made,
    claims: () => server.list('nodeclaims').map(({ metadata }) => metadata.name),
    reported: () =>
      server.list('events').flatMap((event) => {
        const { reason, message, involvedObject } = event as unknown as Fields;
        return reason === 'FailedScheduling'
          ? [{ pod: involvedObject.name as string, message: message as string }]
          : [];
      }),
    woken: () =>
      made.sent.flatMap(({ hint, atMs, key }) => (hint.kind === 'pods' ? [{ reason: hint.reason, atMs, key }] : [])),
  };
}

function withSnapshot(ports: Ports, snapshot: Snapshot | null): Ports {
  const latest = (): Promise<Snapshot | null> => Promise.resolve(snapshot);
  return { ...ports, snapshots: { ...ports.snapshots, latest } };
}

function withoutCommit(ports: Ports): Ports {
  return { ...ports, ledger: { ...ports.ledger, commit: () => Promise.resolve({ kind: 'lost' }) } };
}

describe('nothing is planned', () => {
  test('before anybody has published what there is', async () => {
    const { ports, claims, sent } = cluster('a');
    expect(await provision(withSnapshot(ports, null))).toEqual({ kind: 'no-snapshot' });
    expect([claims(), sent]).toEqual([[], []]);
  });

  test('while no pod waits', async () => {
    const { ports, claims, sent, trace } = cluster();
    expect(await provision(ports)).toEqual({ kind: 'idle' });
    expect([claims(), sent, trace.filter((step) => step.startsWith('PATCH'))]).toEqual([[], [], []]);
  });

  test('for a pod that is on its way out', async () => {
    const { ports, claims, server } = cluster('a');
    server.patch('pods', 'default/a', { metadata: { deletionTimestamp: new Date(START).toISOString() } }, 'object');
    expect(await provision(ports)).toEqual({ kind: 'idle' });
    expect(claims()).toEqual([]);
  });

  test('for a pod that has a node', async () => {
    const { ports, claims, addRunning } = cluster();
    addRunning('web', 'somebody');
    expect(await provision(ports)).toEqual({ kind: 'idle' });
    expect(claims()).toEqual([]);
  });

  test('while more pods are about to come; it is looked at again then', async () => {
    const { ports, claims, addPod, woken, clock } = cluster();
    addPod('a');
    const untilMs = clock.now() + 300;
    expect(await provision(ports)).toEqual({ kind: 'waiting', untilMs });
    expect([claims(), woken()]).toEqual([
      [],
      [{ reason: 'window-closed', atMs: untilMs, key: `window-closed/${untilMs}` }],
    ]);
  });

  test('by who comes before the window closes, but for 250 ms that a clock may be ahead', async () => {
    const { ports, addPod, clock } = cluster();
    addPod('a');
    const seen = withSnapshot(ports, await ports.snapshots.list());
    clock.advance(49);
    expect((await provision(seen)).kind).toBe('waiting');
    clock.advance(1);
    expect((await provision(seen)).kind).toBe('provisioned');
  });
});

describe('a plan', () => {
  test('becomes claims, and a machine is asked for each', async () => {
    const { ports, claims, sent } = cluster('a');
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1, left: 0 });
    expect(sent.map(({ hint }) => [hint.kind, namesIn(hint)])).toEqual([['launches', claims()]]);
  });

  test('that loses to another makes nothing, and it is looked at again 250 ms later', async () => {
    const { ports, claims, woken, clock } = cluster('a');
    expect(await provision(withoutCommit(ports))).toEqual({ kind: 'lost' });
    expect([claims(), woken()]).toMatchObject([[], [{ reason: 'lost', atMs: clock.now() + 250 }]]);
  });

  test('that loses is told as lost, one that holds as holding', async () => {
    const { ports } = cluster('a');
    const fates: Array<unknown> = [];
    const watched: Ports = { ...ports, log: (event, { fate }) => void (event === 'planned' && fates.push(fate)) };
    await provision(withoutCommit(watched));
    await provision(watched);
    expect(fates).toEqual(['lost', 'holds']);
  });

  test('made twice from one snapshot makes its claims once, as the newest claims are read when the snapshot lacks them', async () => {
    const { ports, claims } = cluster('a');
    const old = withSnapshot(ports, await ports.snapshots.list());
    await provision(old);
    const first = claims();
    expect((await provision(old)).kind).toBe('expected');
    expect(claims()).toEqual(first);
  });

  test('is told with its figures', async () => {
    const { ports, addPod, clock } = cluster('a');
    addPod('large', '64');
    clock.advance(WINDOW_MS);
    const logged = new Map<string, object>();
    await provision({ ...ports, log: (event, facts) => void logged.set(event, facts) });
    expect(logged.get('provisioned')).toMatchObject({
      claims: 1,
      pods: 1,
      bufferPods: 0,
      left: 1,
      longestWaitMs: 2 * WINDOW_MS,
      costMicroPerHour: 100_000,
      currency: 'EUR',
    });
  });
});

describe('a pod that fits nowhere', () => {
  test('is told why, and no claim is made', async () => {
    const { ports, claims, addPod, reported, clock } = cluster();
    addPod('large', '64');
    clock.advance(WINDOW_MS);
    expect(await provision(ports)).toEqual({ kind: 'nothing-to-launch', left: 1 });
    expect([claims(), reported().map(({ pod }) => pod)]).toEqual([[], ['large']]);
    expect(reported()[0]?.message).toMatch(/^Failed to schedule pod, general: /);
  });

  test('is told nothing while its pool has not been judged', async () => {
    const { ports, server, addPod, reported, clock } = cluster();
    server.patch('nodepools', 'general', { status: { conditions: [] } }, 'status');
    addPod('large', '64');
    clock.advance(WINDOW_MS);
    await provision(ports);
    expect(reported()).toEqual([]);
    clock.advance(60_000);
    await provision(ports);
    expect(reported().map(({ pod }) => pod)).toEqual(['large']);
  });

  test('is one of a hundred at most that are told at one time', async () => {
    const { ports, addPod, reported, clock } = cluster();
    for (let index = 0; index < 103; index++) addPod(`large-${index}`, '64');
    clock.advance(WINDOW_MS);
    expect(await provision(ports)).toMatchObject({ left: 103 });
    expect(reported()).toHaveLength(100);
  });

  test('is looked at again when the first refusal of Azure’s ends, and not before', async () => {
    const { ports, addPod, woken, clock } = cluster();
    addPod('large', '64');
    clock.advance(WINDOW_MS);
    const endsMs = clock.now() + 60_000;
    const catalogs = { ...ports.catalogs, nextRetryMs: () => Promise.resolve(endsMs) };
    await provision({ ...ports, catalogs });
    expect(woken()).toMatchObject([{ reason: 'capacity-may-be-back', atMs: endsMs + 250 }]);
  });

  test('is not waited with for a refusal when there is none', async () => {
    const { ports, addPod, woken, clock } = cluster();
    addPod('large', '64');
    clock.advance(WINDOW_MS);
    await provision(ports);
    expect(woken()).toEqual([]);
  });
});

test('refusals of Azure’s wake nobody when every pod has its place', async () => {
  const { ports, woken } = cluster('a');
  const catalogs = { ...ports.catalogs, nextRetryMs: () => Promise.resolve(START + 99_000) };
  await provision({ ...ports, catalogs });
  expect(woken()).toEqual([]);
});

describe('of what can have nodes', () => {
  test.each([
    [
      'a class that is not ready',
      ({ server }: ReturnType<typeof cluster>) =>
        server.patch(
          'aksnodeclasses',
          'default',
          { status: { conditions: [{ type: 'Ready', status: 'False' }] } },
          'status',
        ),
    ],
    [
      'a class that nobody has judged',
      ({ server }: ReturnType<typeof cluster>) =>
        server.patch('aksnodeclasses', 'default', { status: { conditions: [] } }, 'status'),
    ],
    ['a class that is gone', ({ server }: ReturnType<typeof cluster>) => server.remove('aksnodeclasses', 'default')],
    [
      'a class that is being deleted',
      ({ server }: ReturnType<typeof cluster>) => {
        server.patch('aksnodeclasses', 'default', { metadata: { finalizers: ['other'] } }, 'object');
        server.delete('aksnodeclasses', 'default');
      },
    ],
  ])('pools of %s are left out', async (_, change) => {
    const made = cluster('a');
    change(made);
    expect(await provision(made.ports)).toEqual({ kind: 'nothing-to-launch', left: 1 });
    expect(made.claims()).toEqual([]);
  });
});

describe('pods on a node that is being removed', () => {
  function close({ server }: ReturnType<typeof cluster>): void {
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    server.patch('nodes', 'aks-c', { spec: { taints } }, 'object');
  }

  function mark(
    { server }: ReturnType<typeof cluster>,
    { annotations, reason }: { readonly annotations: Readonly<Record<string, string>>; readonly reason: boolean },
  ): void {
    server.patch('nodeclaims', 'c', { metadata: { annotations } }, 'object');
    const conditions = ['Registered', 'Ready', ...(reason ? ['DisruptionReason'] : [])].map((type) =>
      since(START, type),
    );
    server.patch('nodeclaims', 'c', { status: { conditions } }, 'status');
  }

  /** A pod on the node of claim `c`, which is leaving or is to leave. */
  async function moved(change: (made: ReturnType<typeof cluster>) => void) {
    const made = cluster();
    const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.sh/initialized': 'true' };
    const conditions = [since(START, 'Registered'), since(START, 'Ready')];
    made.addClaim('c', { labels, status: { providerID: 'azure://c', nodeName: 'aks-c', conditions } });
    made.azure.machines.set('c', machine('c'));
    made.addNode('c', {
      labels,
      finalizers: ['karpenter.sh/termination'],
      status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
    });
    made.addRunning('web', 'c');
    change(made);
    const outcome = await provision(made.ports);
    return { kind: outcome.kind, claims: made.claims().length - 1 };
  }

  test.each([
    ['its claim is on its way out', ({ server }: ReturnType<typeof cluster>) => server.delete('nodeclaims', 'c')],
    ['the node is on its way out', ({ server }: ReturnType<typeof cluster>) => server.delete('nodes', 'aks-c')],
    [
      'it is closed by a notice',
      (made: ReturnType<typeof cluster>) => {
        close(made);
        mark(made, { annotations: { 'nodewright.dev/interruption': 'preempt by 1' }, reason: false });
      },
    ],
  ])('get another before they are moved when %s', async (_, change) => {
    expect(await moved(change)).toEqual({ kind: 'provisioned', claims: 1 });
  });

  test('get none when disruption has marked it: what comes in its place was decided with the mark', async () => {
    const outcome = await moved((made) => {
      close(made);
      mark(made, { annotations: { 'nodewright.dev/disruption': 'd' }, reason: true });
    });
    expect(outcome).toEqual({ kind: 'nothing-to-launch', claims: 0 });
  });

  // Nodes and claims are seen apart, and marks come off one after the other.
  test.each([
    ['its claim says nothing any more', close],
    [
      'its claim says by which decision only',
      (made: ReturnType<typeof cluster>) => {
        close(made);
        mark(made, { annotations: { 'nodewright.dev/disruption': 'd' }, reason: false });
      },
    ],
    [
      'its claim says a reason only',
      (made: ReturnType<typeof cluster>) => {
        close(made);
        mark(made, { annotations: {}, reason: true });
      },
    ],
  ])('stay where they are when the mark of their node comes off: %s', async (_, change) => {
    expect(await moved(change)).toEqual({ kind: 'idle', claims: 0 });
  });

  test.each([
    ['nothing is said of it', () => undefined],
    [
      'it is merely cordoned',
      ({ server }: ReturnType<typeof cluster>) =>
        server.patch('nodes', 'aks-c', { spec: { unschedulable: true } }, 'object'),
    ],
    [
      'its mark has another effect than ours',
      ({ server }: ReturnType<typeof cluster>) =>
        server.patch(
          'nodes',
          'aks-c',
          { spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoExecute' }] } },
          'object',
        ),
    ],
  ])('stay where they are when %s', async (_, change) => {
    expect(await moved(change)).toEqual({ kind: 'idle', claims: 0 });
  });
});

describe('a snapshot', () => {
  const silent = (heard: number | null) => {
    const made = cluster('a');
    const lists: Array<number> = [];
    const snapshots: Ports['snapshots'] = {
      ...made.ports.snapshots,
      // What was published long ago is no sign of life.
      latest: async () => ({ ...(await made.ports.snapshots.list()), takenAtMs: 0 }),
      heartbeatMs: () => Promise.resolve(heard === null ? null : made.clock.now() - heard),
      list: () => {
        lists.push(1);
        return made.ports.snapshots.list();
      },
    };
    return { ports: { ...made.ports, snapshots }, lists };
  };

  test.each([
    ['45 s ago', 45_000, 0],
    ['longer than 45 s ago', 45_001, 1],
    ['never', null, 1],
  ])('is read from the API server by a sweep when the relay was last heard of %s', async (_, heard, times) => {
    const { ports, lists } = silent(heard);
    await provision(ports, { mayList: true });
    expect(lists).toHaveLength(times);
  });

  test('is never read from there by anybody else: what a dead relay saw last is planned from by nobody', async () => {
    const { ports, lists } = silent(45_001);
    expect(await provision(ports)).toEqual({ kind: 'no-snapshot' });
    expect(lists).toEqual([]);
  });

  test('counts as a sign of life: a relay that has just begun sends hints before its first heartbeat', async () => {
    const made = cluster('a');
    const heartbeatMs = (): Promise<null> => Promise.resolve(null);
    const ports = { ...made.ports, snapshots: { ...made.ports.snapshots, heartbeatMs } };
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned' });
  });

  test('is no sign of life where its relay has a clock that is ahead by more than it may be silent', async () => {
    const { ports, lists } = silent(60_000);
    const from = (aheadMs: number): Ports => ({
      ...ports,
      snapshots: {
        ...ports.snapshots,
        latest: async () => {
          const snapshot = await ports.snapshots.latest();
          return snapshot === null ? null : { ...snapshot, takenAtMs: ports.now() + aheadMs };
        },
      },
    });
    await provision(from(45_000), { mayList: true });
    expect(lists).toHaveLength(0);
    await provision(from(45_001), { mayList: true });
    expect(lists).toHaveLength(1);
  });

  test('nor is a heartbeat, where the storage says that it is still to come', async () => {
    const { ports, lists } = silent(-45_001);
    await provision(ports, { mayList: true });
    expect(lists).toHaveLength(1);
  });

  test('is read from there by a sweep where none was published', async () => {
    const { ports, lists } = silent(0);
    await provision(withSnapshot(ports, null), { mayList: true });
    expect(lists).toHaveLength(1);
  });
});

describe('the pods of a claim keep their place on it [M01]', () => {
  const dedicated = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };

  /** A pod that waits and was promised a claim; what becomes of the look so long after its node has registered. */
  async function promised(afterMs: number, taints: ReadonlyArray<Fields> = [], withNode = true) {
    const made = cluster('a');
    made.outside.types = [size('Standard_D2_v5', 2, 8, 100_000)];
    await provision(made.ports);
    const [name = ''] = made.claims();
    const conditions = [since(made.clock.now(), 'Registered')];
    made.server.patch('nodeclaims', name, { status: { providerID: `azure://${name}`, conditions } }, 'status');
    // It is full by now, which is how a pod can lose the place it was promised.
    const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.sh/initialized': 'true' };
    if (withNode)
      made.addNode(name, { taints, labels, status: { allocatable: { cpu: '100m', memory: '1Gi', pods: '1' } } });
    made.clock.advance(afterMs);
    return (await provision(made.ports)).kind;
  }

  test('until its node has been registered for 20 s', async () => {
    expect(await promised(20_000)).toBe('expected');
    expect(await promised(20_001)).toBe('provisioned');
  });

  test('for as long as its node is kept for them', async () => {
    expect(await promised(3_600_000, [dedicated])).toBe('expected');
  });

  test('while its node is not to be seen', async () => {
    expect(await promised(3_600_000, [], false)).toBe('expected');
  });
});

test('a node that a policy lets nobody open takes who has room there beside its own: they may pass its taint', async () => {
  const made = cluster('a');
  made.outside.types = [size('Standard_D2_v5', 2, 8, 100_000)];
  Object.assign(made.ports, { dedicatesNodes: true });
  await provision(made.ports);
  const [name = ''] = made.claims();
  const registered = [since(made.clock.now(), 'Registered'), since(made.clock.now(), 'WriteDenied')];
  made.server.patch(
    'nodeclaims',
    name,
    { status: { providerID: `azure://${name}`, conditions: registered } },
    'status',
  );
  const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.sh/registered': 'true' };
  const dedicated = { key: 'nodewright.dev/reserved', value: name, effect: 'NoSchedule' };
  made.addNode(name, { taints: [dedicated], labels, status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } } });
  made.server.patch('pods', 'default/a', { spec: { nodeName: `aks-${name}` } }, 'object');
  made.addPod('late', '500m');
  const tolerations = () => made.server.get('pods', 'default/late')?.spec?.['tolerations'] as unknown;
  // Whose write is lost is let in a minute later.
  made.outside.deny = ({ method, path }) =>
    method === 'PATCH' && path.endsWith('/pods/late') ? { status: 503, body: {} } : null;
  made.clock.advance(60_000);
  expect(await provision(made.ports)).toMatchObject({ kind: 'nothing-to-launch', left: 0 });
  expect(tolerations()).toBeUndefined();
  made.outside.deny = () => null;
  made.clock.advance(60_000);
  await provision(made.ports);
  expect(tolerations()).toEqual([{ ...dedicated, operator: 'Equal' }]);
});

test('a pool whose requirements nobody meets makes no claim', async () => {
  const { ports, server, claims } = cluster('a');
  const requirements = [onDemand, { key: 'karpenter.azure.com/sku-family', operator: 'In', values: ['Z'] }];
  server.patch('nodepools', 'general', { spec: { template: { spec: { requirements } } } }, 'object');
  expect(await provision(ports)).toMatchObject({ kind: 'nothing-to-launch' });
  expect(claims()).toEqual([]);
});

describe('the claims of a snapshot [M02]', () => {
  /** How often claims are read from the API server when the snapshot has seen them up to `seen`, and must up to 99. */
  async function readsAt(seen: string | undefined, wanted: string | null = '99') {
    const { ports, trace } = cluster();
    const snapshot = await ports.snapshots.list();
    const resourceVersions = seen === undefined ? {} : { nodeclaims: seen };
    const read: Ports['ledger']['read'] = async () => ({
      ...(await ports.ledger.read()),
      claimsResourceVersion: wanted,
    });
    trace.length = 0;
    await provision({ ...withSnapshot(ports, { ...snapshot, resourceVersions }), ledger: { ...ports.ledger, read } });
    return trace.filter((step) => step.includes('/nodeclaims?')).length;
  }

  test.each([
    ['99', 0],
    ['100', 0],
    ['98', 1],
    ['9', 1],
    ['no number', 1],
    [undefined, 1],
  ])('count when they are as new as those of the last decision: seen up to %s of 99', async (seen, reads) => {
    expect(await readsAt(seen)).toBe(reads);
  });

  test('are read anew while no decision is known: those of a Lease that somebody has deleted are in no older one', async () => {
    expect(await readsAt('100', null)).toBe(1);
    const { ports, server, claims, addPod, clock } = cluster('a');
    const { nodeClaims } = await ports.snapshots.list();
    await provision(ports);
    for (const { metadata } of server.list('leases')) {
      server.remove('leases', `${metadata.namespace ?? ''}/${metadata.name}`);
    }
    addPod('b', '100m');
    clock.advance(10_000);
    await provision(withSnapshot(ports, { ...(await ports.snapshots.list()), nodeClaims }));
    expect(claims()).toHaveLength(1);
  });
});

test('a static pool gets the nodes that it lacks, though no pod waits', async () => {
  const { ports, server, claims } = cluster();
  server.patch('nodepools', 'general', { spec: { replicas: 2 } }, 'object');
  const { policy } = ports;
  const gates = { ...policy.gates, staticCapacity: true };
  expect((await provision({ ...ports, policy: { ...policy, gates } })).kind).toBe('provisioned');
  expect(claims()).toHaveLength(2);
});

describe('a pod that nothing may evict, on a node that is being deleted', () => {
  const held = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
  /** So long after the look, whose clock is ten seconds on. */
  const deadline = (ms: number): Fields => ({
    'karpenter.sh/nodeclaim-termination-timestamp': new Date(START + 10_000 + ms).toISOString(),
  });

  /** What a look comes to, once the claim of the node of such a pod is deleted. */
  async function looked(annotations: Fields, pod: Fields = held, budget: Fields | null = null) {
    const { ports, server, addClaim, addNode, addRunning } = cluster();
    const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.sh/initialized': 'true' };
    addClaim('c', { labels, annotations, status: { providerID: 'azure://c', nodeName: 'aks-c' } });
    addNode('c', { labels, status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } } });
    addRunning('web', 'c', pod);
    if (budget !== null) server.create('poddisruptionbudgets', budget);
    server.delete('nodeclaims', 'c');
    return (await provision(ports)).kind;
  }

  test('stays with it: a node for it would be empty for as long as it runs [D09]', async () => {
    expect(await looked({})).not.toBe('provisioned');
    expect(await looked(deadline(300_001))).not.toBe('provisioned');
  });

  test('gets another place from five minutes before the node’s deadline on, which spares no pod', async () => {
    expect(await looked(deadline(300_000))).toBe('provisioned');
    expect(await looked(deadline(-1))).toBe('provisioned');
  });

  test('is none that is not held', async () => {
    expect(await looked({}, {})).toBe('provisioned');
  });

  test('is one, too, whose budget lets none go [D09]', async () => {
    const metadata = { name: 'web', namespace: 'default' };
    const none = { metadata, spec: { maxUnavailable: 0, selector: {} } };
    expect(await looked({}, {}, none)).not.toBe('provisioned');
    expect(await looked({}, {}, { metadata, spec: { maxUnavailable: 1, selector: {} } })).toBe('provisioned');
  });
});

test('a claim that its decision does not name has nobody’s promise', async () => {
  const { ports, addClaim, server } = cluster('a');
  await provision(ports);
  const { decision } = await ports.ledger.read();
  addClaim('stray', { annotations: { 'nodewright.dev/decision': decision } });
  addClaim('lost', { annotations: { 'nodewright.dev/decision': 'no-such-decision' } });
  expect(await provision(ports)).toEqual({ kind: 'expected' });
  expect(server.list('nodeclaims')).toHaveLength(3);
});
