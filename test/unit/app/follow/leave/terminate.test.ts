import { describe, expect, test } from 'vitest';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { START, machine, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

const finalizer = 'karpenter.sh/termination';
const deadlineKey = 'karpenter.sh/nodeclaim-termination-timestamp';
const replacementDue = 'nodewright.dev/replacement-due';
const interruption = 'nodewright.dev/interruption';
const replacedBy = 'nodewright.dev/replaced-by';
const protectedPod = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => since(START, type));
/** The drain has begun a minute before: no pod is on its way to the node any more. */
const draining = since(START - 60_000, 'Drained', 'Unknown');
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/** A claim `c` that is being deleted since the start, with its machine and its node. A look is one run of `follow`. */
function leaving(
  given: {
    readonly annotations?: Fields;
    readonly spec?: Fields;
    readonly finalizers?: ReadonlyArray<string>;
    readonly withNode?: boolean;
    readonly withMachine?: boolean;
    readonly nodeId?: string;
    readonly nodeReady?: string;
    readonly status?: Fields;
  } = {},
) {
  const cluster = smallCluster();
  const { server, azure, ports } = cluster;
  cluster.addClaim('c', {
    annotations: given.annotations ?? {},
    spec: given.spec ?? {},
    finalizers: given.finalizers ?? [finalizer],
    status: given.status ?? { providerID: 'azure://c', conditions: [...conditions, draining] },
  });
  if (given.withMachine ?? true) azure.machines.set('c', machine('c'));
  if (given.withNode ?? true) {
    cluster.addNode('c', {
      id: given.nodeId ?? 'c',
      ready: given.nodeReady ?? 'True',
      finalizers: [finalizer],
      labels: { mine: 'too' },
    });
  }
  server.delete('nodeclaims', 'c');
  return {
    ...cluster,
    deleted: azure.deleted,
    look: (through = ports) => follow(through, { kind: 'NodeClaim', name: 'c' }),
    node: () => server.get('nodes', 'aks-c'),
    evicted: () => server.list('pods').filter(({ metadata }) => metadata.deletionTimestamp !== undefined).length,
    attach: (name: string, nodeName: string, source: Fields) =>
      server.create('volumeattachments', { metadata: { name }, spec: { nodeName, source } }),
  };
}

describe('a machine that is to go', () => {
  test('stays until the last pod has left it, and goes then with its node and its claim [J06]', async () => {
    const { look, addRunning, server, deleted, node, stateOf, conditionOf, clock, trace } = leaving();
    addRunning('web', 'c');
    expect(await look()).toEqual({
      kind: 'wait',
      for: '1 pods are left on aks-c',
      lookAgainMs: clock.now() + 10_000,
    });
    expect([deleted, stateOf('c'), conditionOf('c', 'Drained')?.['status']]).toEqual([[], 'leaving', 'Unknown']);
    server.remove('pods', 'default/web');
    expect((await look()).kind).toBe('ended');
    expect([deleted, stateOf('c'), node()]).toEqual([['c'], 'gone', null]);
    expect(trace.filter((step) => step.startsWith('DELETE') && step.includes('/nodes/'))).toHaveLength(1);
  });

  test('is announced on its node before the first pod is asked to leave [K01]', async () => {
    const { look, addRunning, node, trace } = leaving();
    addRunning('web', 'c');
    await look();
    expect(node()).toMatchObject({
      metadata: {
        labels: { 'node.kubernetes.io/exclude-from-external-load-balancers': 'karpenter' },
        finalizers: [finalizer],
      },
      spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
    });
    expect(node()?.metadata.deletionTimestamp).toBeDefined();
    const [patch, removal, eviction] = ['PATCH /api/v1/nodes/', 'DELETE /api/v1/nodes/', 'POST /api/v1/namespaces'].map(
      (start) => trace.findIndex((step) => step.startsWith(start)),
    );
    expect(patch).toBeGreaterThan(-1);
    expect(removal).toBeGreaterThan(patch ?? 0);
    expect(eviction).toBeGreaterThan(removal ?? 0);
  });

  test('is announced once', async () => {
    const { look, addRunning, trace } = leaving();
    addRunning('web', 'c');
    await look();
    trace.length = 0;
    await look();
    expect(trace.filter((step) => /^(PATCH|DELETE) .*\/nodes\//.test(step))).toEqual([]);
  });

  test('keeps the other taints of its node, and has the one of the disruption once', async () => {
    const { look, addRunning, server, node } = leaving();
    const taints = [
      { key: 'own', effect: 'NoSchedule' },
      { key: 'karpenter.sh/disrupted', effect: 'NoExecute' },
    ];
    server.patch('nodes', 'aks-c', { spec: { taints } }, 'object');
    addRunning('web', 'c');
    await look();
    expect(node()?.spec?.['taints']).toEqual([taints[0], { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]);
  });

  test('is announced again when its node changes meanwhile, and what was put on that stays', async () => {
    const { look, addRunning, server, outside, node } = leaving();
    addRunning('web', 'c');
    const own = { key: 'own', effect: 'NoSchedule' };
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodes/aks-c')) return;
      outside.onRequest = () => undefined;
      server.patch('nodes', 'aks-c', { spec: { taints: [own] } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
    await look();
    expect(node()?.spec?.['taints']).toEqual([own, { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]);
  });

  test('whose node has not got our finalizer yet is held before it is deleted', async () => {
    const { look, addRunning, server, node } = leaving();
    server.patch('nodes', 'aks-c', { metadata: { finalizers: ['other'] } }, 'object');
    addRunning('web', 'c');
    await look();
    expect(node()?.metadata.finalizers).toEqual(['other', finalizer]);
    expect(node()?.metadata.deletionTimestamp).toBeDefined();
  });

  test('is emptied though its node is on its way out already and takes no finalizer any more', async () => {
    const { look, addRunning, server, evicted, node } = leaving();
    server.patch('nodes', 'aks-c', { metadata: { finalizers: ['other'] } }, 'object');
    server.delete('nodes', 'aks-c');
    addRunning('web', 'c');
    expect((await look()).kind).toBe('wait');
    expect(evicted()).toBe(1);
    expect(node()?.metadata.finalizers).toEqual(['other']);
  });

  test('is emptied though its node is not ready, as long as Azure has it [K04]', async () => {
    const { look, addRunning, evicted, deleted } = leaving({ nodeReady: 'Unknown' });
    addRunning('web', 'c');
    expect((await look()).kind).toBe('wait');
    expect([evicted(), deleted]).toEqual([1, []]);
  });

  test('takes no other node with it that has got the name of its node meanwhile', async () => {
    const { look, addNode, server, outside, node } = leaving();
    outside.onRequest = ({ method, path }) => {
      if (method !== 'DELETE' || !path.endsWith('/nodes/aks-c')) return;
      server.remove('nodes', 'aks-c');
      addNode('c', { id: 'new' });
    };
    outside.remove = () => 'deleting';
    await look();
    expect(node()?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('is told of when its node is emptied, and when it is gone', async () => {
    const { look, ports, clock } = leaving();
    const told: Array<unknown> = [];
    clock.advance(7_000);
    await look({ ...ports, log: (...line) => void told.push(line) });
    expect(told).toMatchObject([
      ['node-draining', { claim: 'c', node: 'aks-c' }],
      ['nodeclaim-terminated', { claim: 'c', afterMs: 7_000 }],
    ]);
  });

  test('goes at once when it has no node [J06]', async () => {
    const { look, deleted, stateOf } = leaving({ withNode: false });
    expect((await look()).kind).toBe('ended');
    expect([deleted, stateOf('c')]).toEqual([['c'], 'gone']);
  });

  test('of a claim that we do not hold is not touched', async () => {
    const { look, addRunning, trace, deleted, evicted } = leaving({ finalizers: ['other'] });
    addRunning('web', 'c');
    trace.length = 0;
    expect(await look()).toEqual({ kind: 'ended', why: 'not ours to hold' });
    expect(trace.filter((step) => !step.startsWith('GET'))).toEqual([]);
    expect([deleted, evicted()]).toEqual([[], 0]);
  });
});

describe('what holds a drain', () => {
  test('a protected pod does: it is not moved, its machine stays, and people are told', async () => {
    const { look, addRunning, deleted, evicted, server, clock } = leaving();
    addRunning('web', 'c', protectedPod);
    expect(await look()).toEqual({
      kind: 'wait',
      for: 'pod default/web has karpenter.sh/do-not-disrupt',
      lookAgainMs: clock.now() + 5_000,
    });
    clock.advance(24 * 3_600_000);
    await look();
    expect([deleted, evicted()]).toEqual([[], 0]);
    expect(server.list('events')).toMatchObject([{ reason: 'FailedDraining', involvedObject: { name: 'aks-c' } }]);
  });

  test('a disruption budget does, and the eviction is asked for again and never forced [K03]', async () => {
    const { look, addRunning, deleted, evicted, server, trace } = leaving();
    addRunning('web', 'c', { metadata: { labels: { app: 'web' } } });
    server.create('poddisruptionbudgets', {
      metadata: { name: 'web', namespace: 'default' },
      spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
    });
    await look();
    await look();
    expect(trace.filter((step) => step.endsWith('/eviction'))).toHaveLength(2);
    expect(trace.filter((step) => step.startsWith('DELETE') && step.includes('/pods/'))).toEqual([]);
    expect([deleted, evicted()]).toEqual([[], 0]);
    server.remove('poddisruptionbudgets', 'default/web');
    await look();
    expect(evicted()).toBe(1);
  });

  test('two budgets of one pod do, people are told, and the other pods go all the same [K08]', async () => {
    const { look, addRunning, server, clock } = leaving();
    addRunning('web', 'c', { metadata: { labels: { app: 'web' } } });
    addRunning('plain', 'c', { metadata: { labels: { app: 'other' } } });
    for (const name of ['one', 'two']) {
      server.create('poddisruptionbudgets', {
        metadata: { name, namespace: 'default' },
        spec: { minAvailable: 0, selector: { matchLabels: { app: 'web' } } },
      });
    }
    const why = 'pod default/web: This pod has more than one PodDisruptionBudget.';
    expect(await look()).toEqual({ kind: 'wait', for: why, lookAgainMs: clock.now() + 5_000 });
    const told = server.list('events') as unknown as ReadonlyArray<Fields>;
    expect(told.map((event) => event['reason'])).toEqual(['Evicted', 'FailedDraining']);
  });

  test('nothing is said to hold it while all pods are on their way', async () => {
    const { look, addRunning, server } = leaving();
    addRunning('web', 'c');
    await look();
    await look();
    expect(server.list('events').map((event) => (event as unknown as Fields)['reason'])).toEqual(['Evicted']);
  });
});

describe('a node that was open to pods until its claim was deleted [K03]', () => {
  const status = { providerID: 'azure://c', conditions };

  test('is kept for 5 s, though no pod is on it: one may be on its way', async () => {
    const { look, deleted, conditionOf, clock } = leaving({ status });
    const text = 'a pod may still be on its way to aks-c';
    expect(await look()).toEqual({ kind: 'wait', for: text, lookAgainMs: START + 5_000 });
    expect(conditionOf('c', 'Drained')).toMatchObject({ status: 'Unknown', reason: 'Draining', message: text });
    clock.advance(4_999);
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 5_000 });
    expect(deleted).toEqual([]);
    clock.advance(1);
    await look();
    expect(deleted).toEqual(['c']);
  });

  test('asks a pod to leave that comes meanwhile', async () => {
    const { look, addRunning, evicted, deleted, clock } = leaving({ status });
    await look();
    addRunning('late', 'c');
    clock.advance(5_000);
    await look();
    expect([evicted(), deleted]).toEqual([1, []]);
  });

  test('is kept as long where a notice tainted it a moment before', async () => {
    const annotations = { [interruption]: 'preempt by then' };
    const { look, server, deleted } = leaving({ status, annotations });
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    server.patch('nodes', 'aks-c', { spec: { taints } }, 'object');
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: START + 5_000 });
    expect(deleted).toEqual([]);
  });

  test('is not kept when it was tainted long before, as the disruption does', async () => {
    const { look, server, deleted } = leaving({ status });
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    server.patch('nodes', 'aks-c', { spec: { taints } }, 'object');
    await look();
    expect(deleted).toEqual(['c']);
  });
});

describe('a claim with a termination grace period [J06] [K06]', () => {
  const spec = { terminationGracePeriod: '10m' };

  test('has a deadline so long after its deletion, on the claim, before anything else is written', async () => {
    const { look, addRunning, server, clock, trace } = leaving({ spec });
    addRunning('web', 'c');
    clock.advance(60_000);
    trace.length = 0;
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.annotations?.[deadlineKey]).toBe(at(START + 600_000));
    expect(trace.find((step) => !step.startsWith('GET'))).toMatch(/^PATCH .*\/nodeclaims\/c$/);
  });

  test('tells on its node and on itself by when all pods go, at the first look and no other [K06]', async () => {
    const { look, server, addRunning, conditionOf, trace } = leaving({
      spec: { terminationGracePeriod: '1h' },
      status: { providerID: 'azure://c', conditions },
    });
    addRunning('web', 'c', protectedPod);
    await look();
    const told = () =>
      server
        .list('events')
        .map((event) => event as unknown as { reason: string; message: string; involvedObject: { kind: string } })
        .filter(({ reason }) => reason === 'TerminationGracePeriodExpiring')
        .map(({ message, involvedObject }) => [involvedObject.kind, message]);
    const message = `All pods will be deleted by ${at(START + 3_600_000)}`;
    expect(told()).toEqual([
      ['Node', message],
      ['NodeClaim', message],
    ]);
    expect(conditionOf('c', 'Drained')?.['status']).toBe('Unknown');
    const before = trace.filter((step) => step.startsWith('POST') && step.endsWith('/events')).length;
    await look();
    // What holds the drain, which is told by the same event each time.
    expect(trace.filter((step) => step.startsWith('POST') && step.endsWith('/events')).length - before).toBe(1);
    expect(leaving().server.list('events')).toEqual([]);
  });

  test('keeps the deadline that it has', async () => {
    const { look, addRunning, server } = leaving({ spec, annotations: { [deadlineKey]: at(START + 30_000) } });
    addRunning('web', 'c');
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.annotations?.[deadlineKey]).toBe(at(START + 30_000));
  });

  test('keeps the one that it gets from somebody else at the same time', async () => {
    const { look, addRunning, server, outside } = leaving({ spec });
    addRunning('web', 'c');
    const annotations = { [deadlineKey]: at(START + 30_000) };
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/c'))
        server.patch('nodeclaims', 'c', { metadata: { annotations } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.annotations).toEqual(annotations);
  });

  test('has protected pods deleted when the deadline leaves them their own grace, and not before', async () => {
    const { look, addRunning, evicted, deleted, clock } = leaving({ spec });
    addRunning('web', 'c', protectedPod);
    clock.advance(600_000 - 30_000);
    await look();
    expect(evicted()).toBe(0);
    clock.advance(1);
    await look();
    expect([evicted(), deleted]).toEqual([1, []]);
  });

  test('brings a look at the very moment from which a pod would lose of its own grace, asked for once that is near', async () => {
    const { look, addRunning, sent, clock } = leaving({ spec });
    addRunning('web', 'c', protectedPod);
    const asked = () =>
      sent.flatMap(({ hint, atMs }) => ('reason' in hint && hint.reason === 'drain-deadline' ? [atMs] : []));
    const dueMs = START + 600_000 - 30_000;
    clock.advance(600_000 - 30_000 - 15_001);
    await look();
    expect(asked()).toEqual([]);
    clock.advance(1);
    await look();
    expect(asked()).toEqual([dueMs + 250]);
    clock.advance(15_250);
    await look();
    expect(asked()).toEqual([dueMs + 250]);
  });

  test('is not written to when it has none', async () => {
    const { look, addRunning, server } = leaving();
    addRunning('web', 'c');
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.annotations).toEqual({});
  });
});

describe('volumes [K07]', () => {
  const volume = { persistentVolumeName: 'pv' };

  test('that are attached keep the machine, and are looked at again', async () => {
    const { look, attach, server, deleted, conditionOf, clock, stateOf } = leaving();
    attach('a', 'aks-c', volume);
    clock.advance(24 * 3_600_000);
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 5_000 });
    expect([deleted, stateOf('c')]).toEqual([[], 'leaving']);
    expect(conditionOf('c', 'Drained')).toMatchObject({ status: 'True' });
    expect(conditionOf('c', 'VolumesDetached')).toMatchObject({
      status: 'Unknown',
      reason: 'AwaitingVolumeDetachment',
      message: '1 volumes are still attached',
    });
    server.remove('volumeattachments', 'a');
    await look();
    expect(deleted).toEqual(['c']);
  });

  test('of other nodes, and those that no persistent volume stands for, keep nothing', async () => {
    const { look, attach, deleted } = leaving();
    attach('a', 'aks-other', volume);
    attach('b', 'aks-c', { inlineVolumeSpec: {} });
    await look();
    expect(deleted).toEqual(['c']);
  });

  const tolerant = [{ key: 'karpenter.sh/disrupted', operator: 'Exists' }];

  test.each<readonly [string, Fields]>([
    ['by its claim', { persistentVolumeClaim: { claimName: 'data' } }],
    ['as one of its own', { ephemeral: {} }],
  ])('of a pod that stays with its node are not waited for: %s', async (_, source) => {
    const { look, attach, addRunning, server, deleted } = leaving();
    const name = 'ephemeral' in source ? 'agent-store' : 'data';
    server.create('persistentvolumeclaims', { metadata: { name, namespace: 'default' }, spec: { volumeName: 'pv' } });
    addRunning('agent', 'c', { spec: { tolerations: tolerant, volumes: [{ name: 'store', ...source }] } });
    attach('a', 'aks-c', volume);
    attach('b', 'aks-c', { persistentVolumeName: 'of-another' });
    expect(await look()).toMatchObject({ kind: 'wait', for: '1 volumes are still attached' });
    expect(deleted).toEqual([]);
    server.remove('volumeattachments', 'b');
    await look();
    expect(deleted).toEqual(['c']);
  });

  test('of a pod that has ended are, until they are detached', async () => {
    const { look, attach, addRunning, server, deleted } = leaving();
    server.create('persistentvolumeclaims', {
      metadata: { name: 'data', namespace: 'default' },
      spec: { volumeName: 'pv' },
    });
    addRunning('job', 'c', {
      spec: { volumes: [{ name: 'store', persistentVolumeClaim: { claimName: 'data' } }, { name: 'scratch' }] },
    });
    server.patch('pods', 'default/job', { status: { phase: 'Succeeded' } }, 'status');
    attach('a', 'aks-c', volume);
    expect(await look()).toMatchObject({ for: '1 volumes are still attached' });
    expect(deleted).toEqual([]);
  });

  test('whose claim is not there, or is bound to none, excuse no attachment, nor do those without a claim', async () => {
    const { look, attach, addRunning, server } = leaving();
    server.create('persistentvolumeclaims', { metadata: { name: 'unbound', namespace: 'default' }, spec: {} });
    const metadata = { name: 'agent-scratch', namespace: 'default' };
    server.create('persistentvolumeclaims', { metadata, spec: { volumeName: 'pv' } });
    const volumes = ['gone', 'unbound'].map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } }));
    addRunning('agent', 'c', { spec: { tolerations: tolerant, volumes: [...volumes, { name: 'scratch' }] } });
    attach('a', 'aks-c', volume);
    expect(await look()).toMatchObject({ for: '1 volumes are still attached' });
  });

  test('cost no question where none is attached', async () => {
    const { look, trace } = leaving();
    trace.length = 0;
    await look();
    expect(trace.filter((step) => step.startsWith('GET') && step.includes('/pods'))).toHaveLength(1);
  });

  test('keep the machine up to the deadline and no longer', async () => {
    const { look, attach, deleted, conditionOf, clock, outside } = leaving({ spec: { terminationGracePeriod: '1m' } });
    attach('a', 'aks-c', volume);
    outside.remove = () => 'deleting';
    clock.advance(60_000);
    await look();
    expect(deleted).toEqual([]);
    clock.advance(1);
    await look();
    expect(deleted).toEqual(['c']);
    expect(conditionOf('c', 'VolumesDetached')).toMatchObject({
      status: 'False',
      reason: 'TerminationGracePeriodElapsed',
    });
  });

  test('that go once the machine is being removed change nothing of what was said of them', async () => {
    const { look, attach, conditionOf, clock, outside, server } = leaving({ spec: { terminationGracePeriod: '1m' } });
    attach('a', 'aks-c', volume);
    outside.remove = () => 'deleting';
    clock.advance(61_000);
    await look();
    server.remove('volumeattachments', 'a');
    await look();
    expect(conditionOf('c', 'VolumesDetached')).toMatchObject({ status: 'False' });
  });

  test('that have been detached are said to be', async () => {
    const { look, conditionOf, outside } = leaving();
    outside.remove = () => 'deleting';
    await look();
    expect(conditionOf('c', 'VolumesDetached')).toMatchObject({ status: 'True', reason: 'VolumesDetached' });
    expect(conditionOf('c', 'Drained')).toMatchObject({ status: 'True', reason: 'Drained' });
  });
});

describe('while Azure removes the machine [J06]', () => {
  test('node and claim stay, until it says that nothing is left', async () => {
    const { look, outside, node, stateOf, conditionOf, clock } = leaving();
    outside.remove = () => 'deleting';
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 5_000 });
    expect(conditionOf('c', 'InstanceTerminating')).toMatchObject({ status: 'True' });
    expect([node()?.metadata.finalizers, stateOf('c')]).toEqual([[finalizer], 'leaving']);
    outside.remove = () => 'gone';
    await look();
    expect([node(), stateOf('c')]).toEqual([null, 'gone']);
  });

  test('nothing is written that is written already', async () => {
    const { look, outside, trace } = leaving();
    outside.remove = () => 'deleting';
    await look();
    trace.length = 0;
    await look();
    expect(trace.filter((step) => !step.startsWith('GET'))).toEqual([]);
  });

  test('an error of Azure’s keeps node and claim', async () => {
    const { look, outside, node, stateOf } = leaving();
    outside.remove = () => {
      throw new RetryableError('Azure is down');
    };
    await expect(look()).rejects.toThrow('Azure is down');
    expect([node()?.metadata.finalizers, stateOf('c')]).toEqual([[finalizer], 'leaving']);
  });

  test('an error of Azure’s when it is asked for a machine whose node is not ready moves no pod', async () => {
    const { look, outside, addRunning, deleted, evicted, stateOf } = leaving({ nodeReady: 'False' });
    outside.observe = () => {
      throw new RetryableError('Azure is down');
    };
    addRunning('web', 'c');
    await expect(look()).rejects.toThrow('Azure is down');
    expect([deleted, evicted(), stateOf('c')]).toEqual([[], 0, 'leaving']);
  });

  test('a node that is in use on the claim’s own machine is emptied though Azure does not answer', async () => {
    const { look, outside, addRunning, evicted } = leaving();
    outside.observe = () => {
      throw new RetryableError('Azure is down');
    };
    addRunning('web', 'c');
    await look();
    expect(evicted()).toBe(1);
  });

  test('finalizers of others stay on the claim and on the node', async () => {
    const { look, server, stateOf, node } = leaving({ finalizers: [finalizer, 'other'] });
    server.patch('nodes', 'aks-c', { metadata: { finalizers: ['other', finalizer] } }, 'object');
    await look();
    expect([stateOf('c'), server.get('nodeclaims', 'c')?.metadata.finalizers]).toEqual(['leaving', ['other']]);
    expect(node()?.metadata.finalizers).toEqual(['other']);
  });

  test('a claim that has changed in the meantime keeps its finalizer until the next look', async () => {
    const { look, server, outside, stateOf } = leaving({ withNode: false });
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/c')) return;
      outside.onRequest = () => undefined;
      server.patch('nodeclaims', 'c', { metadata: { annotations: { somebody: 'else' } } }, 'object');
    };
    await expect(look()).rejects.toThrow('writing c');
    expect(stateOf('c')).toBe('leaving');
    await look();
    expect(stateOf('c')).toBe('gone');
  });

  test('a claim that somebody has let go meanwhile is no error', async () => {
    const { look, server, outside } = leaving({ withNode: false });
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodeclaims/c')) server.remove('nodeclaims', 'c');
    };
    expect((await look()).kind).toBe('ended');
  });
});

describe('a claim that somebody', () => {
  test('has let go while its machine was removed is no error', async () => {
    const { look, server, outside } = leaving({ withNode: false });
    outside.remove = () => {
      server.remove('nodeclaims', 'c');
      return 'gone';
    };
    expect((await look()).kind).toBe('ended');
  });

  test('has taken our finalizer from meanwhile is not written to', async () => {
    const { look, server, outside, trace } = leaving({ withNode: false, finalizers: [finalizer, 'other'] });
    outside.remove = () => {
      server.patch('nodeclaims', 'c', { metadata: { finalizers: ['other'] } }, 'object');
      return 'gone';
    };
    trace.length = 0;
    await look();
    expect(trace.filter((step) => !step.startsWith('GET'))).toEqual([]);
  });
});

describe('a machine that is gone before its claim [K04]', () => {
  test('leaves pods that nobody waits for: its node goes with the claim', async () => {
    const { look, addRunning, evicted, node, stateOf } = leaving({ withMachine: false, nodeReady: 'Unknown' });
    addRunning('web', 'c', protectedPod);
    expect((await look()).kind).toBe('ended');
    expect([evicted(), node(), stateOf('c')]).toEqual([0, null, 'gone']);
  });

  test('is not believed to be gone while its node is ready', async () => {
    const { look, addRunning, evicted, deleted, stateOf } = leaving({ withMachine: false });
    addRunning('web', 'c');
    expect((await look()).kind).toBe('wait');
    expect([evicted(), deleted, stateOf('c')]).toEqual([1, [], 'leaving']);
  });
});

describe('a node that has the name of the claim’s', () => {
  test('and is on a machine that the claim never had is left alone with its pods', async () => {
    const { look, addRunning, evicted, node, stateOf } = leaving({ nodeId: 'somebody-else' });
    addRunning('web', 'c');
    expect((await look()).kind).toBe('ended');
    expect([evicted(), node()?.metadata.deletionTimestamp, node()?.spec?.['taints']]).toEqual([0, undefined, []]);
    expect(stateOf('c')).toBe('gone');
  });

  test('is emptied when it does not say on which machine it is', async () => {
    const { look, addRunning, server, evicted } = leaving();
    server.patch('nodes', 'aks-c', { spec: { providerID: null } }, 'object');
    addRunning('web', 'c');
    await look();
    expect(evicted()).toBe(1);
  });

  test.each([
    ['the claim says another id in another case', { status: { providerID: 'AZURE://C', conditions } }],
    ['the claim was never told what it got', { status: { conditions: [] } }],
    ['the machine of the claim’s name is the node’s', { status: { providerID: 'azure://before', conditions } }],
    ['nobody knows of any machine', { status: { conditions: [] }, withMachine: false }],
  ])('is emptied when %s', async (_, given) => {
    const { look, addRunning, evicted } = leaving(given);
    addRunning('web', 'c');
    await look();
    expect(evicted()).toBe(1);
  });
});

describe('a claim that has been replaced', () => {
  const annotations = { [replacedBy]: 'r1,r2', [deadlineKey]: at(START + 3_600_000) };
  const addReplacements = ({ addClaim }: ReturnType<typeof leaving>, ...initialized: ReadonlyArray<string>): void => {
    for (const name of ['r1', 'r2']) {
      addClaim(name, {
        status: { conditions: [since(START, 'Initialized', initialized.includes(name) ? 'True' : 'Unknown')] },
      });
    }
  };

  test('keeps its pods until all that replace it are ready for them, and is looked at every 1.5 s', async () => {
    const cluster = leaving({ annotations });
    addReplacements(cluster, 'r1');
    cluster.addRunning('web', 'c');
    expect(await cluster.look()).toMatchObject({ kind: 'wait', lookAgainMs: cluster.clock.now() + 1_500 });
    expect([cluster.evicted(), cluster.deleted]).toEqual([0, []]);
  });

  test('moves its pods once they are', async () => {
    const cluster = leaving({ annotations });
    addReplacements(cluster, 'r1', 'r2');
    cluster.addRunning('web', 'c');
    await cluster.look();
    expect(cluster.evicted()).toBe(1);
  });

  test.each(['remove', 'delete'] as const)('does not wait for one that has gone, or is to (%s)', async (how) => {
    const cluster = leaving({ annotations });
    addReplacements(cluster, 'r1');
    cluster.server[how]('nodeclaims', 'r2');
    cluster.addRunning('web', 'c');
    await cluster.look();
    expect(cluster.evicted()).toBe(1);
  });

  test('waits ten minutes at most, and with a notice to its deadline: a startup taint may never go', async () => {
    for (const [more, evicted] of [
      [{}, 1],
      [{ [interruption]: 'redeploy by then' }, 0],
    ] as const) {
      const cluster = leaving({ annotations: { ...annotations, ...more } });
      addReplacements(cluster, 'r1');
      cluster.addRunning('web', 'c');
      cluster.clock.advance(599_000);
      await cluster.look();
      expect(cluster.evicted()).toBe(0);
      cluster.clock.advance(1_000);
      await cluster.look();
      expect(cluster.evicted()).toBe(evicted);
    }
  });

  test('of which it is not said yet what replaces it keeps them as long as that is to come, and no longer', async () => {
    const cluster = leaving({
      annotations: { [replacementDue]: at(START + 30_000), [deadlineKey]: at(START + 600_000) },
    });
    cluster.addRunning('web', 'c');
    expect(await cluster.look()).toMatchObject({ kind: 'wait', lookAgainMs: cluster.clock.now() + 1_500 });
    expect(cluster.evicted()).toBe(0);
    cluster.clock.advance(30_000);
    await cluster.look();
    expect(cluster.evicted()).toBe(1);
  });

  test('of which that is said while it is looked at keeps them until what replaces it is ready', async () => {
    const cluster = leaving({
      annotations: { [replacementDue]: at(START + 30_000), [deadlineKey]: at(START + 600_000) },
    });
    addReplacements(cluster);
    cluster.addRunning('web', 'c');
    await cluster.look();
    let isFirst = true;
    // The call takes half a minute.
    cluster.outside.onRequest = ({ path }) => {
      if (!isFirst || !path.endsWith('/nodes/aks-c')) return;
      isFirst = false;
      const named = { [replacementDue]: null, 'nodewright.dev/replaced-by': 'r1' };
      cluster.server.patch('nodeclaims', 'c', { metadata: { annotations: named } }, 'object');
      cluster.clock.advance(30_000);
    };
    await cluster.look();
    expect([cluster.evicted(), isFirst]).toEqual([0, false]);
  });
});

describe('a node that nobody may close', () => {
  const denied = ({ outside }: ReturnType<typeof leaving>): void => {
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c')) throw new RetryableError('denied by a webhook');
    };
  };

  test('is emptied all the same where Azure takes its machine back, and is not deleted without our finalizer', async () => {
    const cluster = leaving({
      annotations: { [interruption]: 'preempt by then', [deadlineKey]: at(START + 30_000) },
    });
    denied(cluster);
    cluster.addRunning('web', 'c');
    await expect(cluster.look()).rejects.toThrow('denied by a webhook');
    expect([cluster.evicted(), cluster.node()?.metadata.deletionTimestamp]).toEqual([1, undefined]);
  });

  test('keeps its pods where nobody hurries', async () => {
    const cluster = leaving();
    denied(cluster);
    cluster.addRunning('web', 'c');
    await expect(cluster.look()).rejects.toThrow('denied by a webhook');
    expect(cluster.evicted()).toBe(0);
  });
});
