import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../../shared/app/disrupt/disrupt.ts';
import { haltRollout } from '../../../../../shared/app/disrupt/brakes/halt-rollouts.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { consolidated } from '../../../../kit/app/consolidated.ts';
import { denying, since, START } from '../../../../kit/app/small-cluster.ts';

const MINUTE = 60_000;
const BAKE = 'nodewright.dev/bake-time';
const HALTED = 'nodewright.dev/rollout-halted';
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');

/**
 * Three full nodes behind a new image, found so at the start, in a pool whose canaries bake for half an hour unless it
 * says else.
 */
function behind(given: { readonly bake?: string | null; readonly reason?: string } = {}) {
  const cluster = consolidated();
  const { server, ports } = cluster;
  server.remove('nodeclaims', 'spare');
  server.remove('nodes', 'aks-spare');
  const owner = (uid: string) => [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: uid, uid, controller: true }];
  const addFull = (pod: string, node: string, uid: string, metadata: Fields = {}): void => {
    cluster.addRunning(pod, node, {
      metadata: { ownerReferences: owner(uid), ...metadata },
      spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] },
    });
  };
  const drift = (name: string, reason = given.reason ?? 'ImageDrift', ms = START): void => {
    const known = (server.get('nodeclaims', name)?.status?.['conditions'] ?? []) as ReadonlyArray<Fields>;
    const kept = known.filter(({ type }) => type !== 'Drifted');
    const drifted = { ...since(ms, 'Drifted'), reason };
    server.patch('nodeclaims', name, { status: { conditions: [...kept, drifted] } }, 'status');
  };
  server.remove('pods', 'default/web');
  cluster.addReady('old');
  cluster.addReady('older');
  for (const name of ['used', 'old', 'older']) drift(name);
  addFull('a', 'used', 'shop');
  addFull('b', 'old', 'shop');
  addFull('c', 'older', 'bank');
  const bake = given.bake === undefined ? '30m' : given.bake;
  server.patch('nodepools', 'general', { metadata: { annotations: { [BAKE]: bake } } }, 'object');
  /** A node of the new image that has become ready now. */
  const addFresh = (name: string): void => {
    cluster.addReady(name);
    const ready = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(ports.now(), type));
    server.patch('nodeclaims', name, { status: { conditions: ready } }, 'status');
  };
  const condition = (): Fields | undefined => {
    const all = (server.get('nodepools', 'general')?.status?.['conditions'] ?? []) as ReadonlyArray<Fields>;
    return all.find(({ type }) => type === 'RolloutHealthy');
  };
  const halted = (): unknown => server.get('nodepools', 'general')?.metadata.annotations?.[HALTED];
  const marked = (): ReadonlyArray<string> =>
    server
      .list('nodeclaims')
      .filter(({ metadata }) => metadata.annotations?.['nodewright.dev/disruption'] !== undefined)
      .map(({ metadata }) => metadata.name);
  const sicken = (name: string, ms: number): void => {
    const conditions = [{ ...since(ms, 'Ready'), status: 'False' }];
    server.patch('nodes', `aks-${name}`, { status: { conditions } }, 'status');
  };
  const crash = (pod: string, containerStatuses: ReadonlyArray<Fields>): void =>
    void server.patch('pods', `default/${pod}`, { status: { containerStatuses } }, 'status');
  return { ...cluster, addFresh, addFull, drift, condition, halted, marked, sicken, crash };
}

const CRASHING = [{ restartCount: 1, state: { waiting: { reason: 'CrashLoopBackOff' } } }];

describe('nodes behind a new image, in a pool with a bake time', () => {
  test('are replaced one first, the canary, and the others say what they wait for', async () => {
    const { ports, marked, condition, events } = behind();
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
    expect(marked()).toHaveLength(1);
    expect(condition()).toMatchObject({ status: 'Unknown', reason: 'CanaryFirst' });
    expect(events()).toContainEqual([
      'DisruptionBlocked',
      'Another node of NodePool general is replaced first, as the canary of a new image or Kubernetes version',
    ]);
  });

  test('go all at once where the pool has no bake time, and where they drifted for another reason', async () => {
    const plain = behind({ bake: null });
    expect(await disrupt(plain.ports)).toMatchObject({ kind: 'begun' });
    expect([plain.marked().length, plain.condition()]).toEqual([3, undefined]);
    const other = behind({ reason: 'NodePoolDrifted' });
    await disrupt(other.ports);
    expect([other.marked().length, other.condition()]).toEqual([3, undefined]);
  });

  test('wait for a Kubernetes version as for an image', async () => {
    const { ports, marked } = behind({ reason: 'K8sVersionDrift' });
    await disrupt(ports);
    expect(marked()).toHaveLength(1);
  });

  test('wait for the bake time of the first new node, from when it was initialized, and go then', async () => {
    const { ports, addFresh, addFull, marked, condition, clock, events } = behind();
    clock.advance(MINUTE);
    addFresh('new');
    addFull('d', 'new', 'shop');
    clock.advance(30 * MINUTE - 1);
    expect((await disrupt(ports)).kind).toBe('idle');
    const until = at(START + 31 * MINUTE);
    const message = `NodeClaim new, the first of NodePool general with a new image or Kubernetes version, is watched until ${until}`;
    expect([marked(), condition()]).toMatchObject([[], { status: 'Unknown', reason: 'CanaryFirst', message }]);
    expect(events()).toContainEqual(['CanaryFirst', message]);
    clock.advance(1);
    expect((await disrupt(ports)).kind).toBe('begun');
    expect([marked().length, condition()]).toMatchObject([3, { status: 'True' }]);
    expect(events()).toContainEqual(['RolloutGoesOn', 'The rollout continues: nodes no longer wait for a canary']);
  });

  test('wait for the first new claim to become a node', async () => {
    const { ports, server, addFresh, condition, marked } = behind();
    addFresh('new');
    server.patch('nodeclaims', 'new', { status: { conditions: [since(START, 'Launched')] } }, 'status');
    await disrupt(ports);
    expect([marked(), condition()?.['message']]).toEqual([
      [],
      'NodeClaim new, the first of NodePool general with a new image or Kubernetes version, is not initialized yet',
    ]);
  });

  test('get another canary when a newer release comes, for which the first is behind too', async () => {
    const { ports, addFresh, addFull, drift, marked, clock } = behind();
    clock.advance(MINUTE);
    addFresh('new');
    addFull('d', 'new', 'shop');
    clock.advance(10 * MINUTE);
    drift('new', 'ImageDrift', START + 11 * MINUTE);
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    expect(marked()).toHaveLength(1);
  });

  test('that were starting when it came, and are found behind when they are there, wait for the canary that was made by then', async () => {
    const { server, ports, addFresh, addFull, drift, marked, clock } = behind();
    clock.advance(MINUTE);
    addFresh('new');
    addFull('d', 'new', 'shop');
    const patch = { metadata: { annotations: { 'nodewright.dev/created-for': 'Drifted' } } };
    server.patch('nodeclaims', 'new', patch, 'object');
    server.patch('nodeclaims', 'new', { status: { imageID: 'newer' } }, 'status');
    for (const name of ['used', 'old', 'older']) {
      drift(name, 'ImageDrift', START + 2 * MINUTE);
      server.patch('nodeclaims', name, { status: { imageID: 'older' } }, 'status');
    }
    clock.advance(2 * MINUTE);
    expect((await disrupt(ports)).kind).toBe('idle');
    // One of the same image is not what comes after them, and nobody has looked at it yet.
    server.patch('nodeclaims', 'new', { status: { imageID: 'older' } }, 'status');
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    expect(marked()).toHaveLength(1);
  });

  test('do not take a node for new that was there before they were found behind', async () => {
    const { ports, drift, addReady, addFull, marked, clock } = behind();
    addReady('unmoved');
    clock.advance(MINUTE);
    for (const name of ['used', 'old', 'older']) drift(name, 'ImageDrift', START + MINUTE);
    addFull('d', 'unmoved', 'shop');
    await disrupt(ports);
    expect(marked()).toHaveLength(1);
  });

  test('that have no pods go without a canary: nothing comes in their place', async () => {
    const { ports, server, marked, addFresh, addFull } = behind();
    addFresh('new');
    addFull('d', 'new', 'shop');
    server.remove('pods', 'default/c');
    await disrupt(ports);
    expect(marked()).toEqual(['older']);
  });
});

describe('a canary that was decided on', () => {
  /** The canary is marked, and the claim of what replaces it is there. */
  async function decided() {
    const cluster = behind();
    const { ports, server, marked } = cluster;
    await disrupt(ports);
    const [canary = ''] = marked();
    const replacement = server.get('nodeclaims', canary)?.metadata.annotations?.['nodewright.dev/replaced-by'] ?? '';
    const launch = (): void => {
      server.patch('nodeclaims', replacement, { status: { conditions: [since(START, 'Launched')] } }, 'status');
    };
    return { ...cluster, canary, replacement, launch };
  }

  test('goes when what replaces it is there, though that is new and bakes', async () => {
    const { ports, server, canary, replacement, clock, addReady, stateOf } = await decided();
    const { annotations = {}, creationTimestamp } = server.get('nodeclaims', replacement)?.metadata ?? {};
    server.remove('nodeclaims', replacement);
    addReady(replacement, 2, { annotations, creationTimestamp });
    const ready = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(clock.now(), type));
    server.patch('nodeclaims', replacement, { status: { conditions: ready } }, 'status');
    clock.advance(MINUTE);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf(canary)).toBe('leaving');
  });

  test('whose machine does not become a node halts what is new', async () => {
    const { ports, replacement, clock, halted, launch } = await decided();
    launch();
    clock.advance(10 * MINUTE + 1_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(halted()).toBe(`the machine of NodeClaim ${replacement} did not become a node`);
  });

  test('whose machine Azure never gave halts nothing: that says nothing of the image', async () => {
    const { ports, clock, halted } = behind();
    await disrupt(ports);
    clock.advance(10 * MINUTE + 1_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(halted()).toBeUndefined();
  });

  test('halts nothing for another machine of its pool that is starting', async () => {
    const { ports, clock, halted, addFresh, server } = await decided();
    addFresh('other');
    server.patch('nodeclaims', 'other', { status: { conditions: [since(START, 'Launched')] } }, 'status');
    clock.advance(10 * MINUTE + 1_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(halted()).toBeUndefined();
  });

  test('halts nothing where its node has drifted for another reason', async () => {
    const { ports, server, marked, clock, halted } = behind({ reason: 'NodePoolDrifted' });
    await disrupt(ports);
    const [first = ''] = marked();
    const names = server.get('nodeclaims', first)?.metadata.annotations?.['nodewright.dev/replaced-by']?.split(',');
    for (const name of names ?? [])
      server.patch('nodeclaims', name, { status: { conditions: [since(START, 'Launched')] } }, 'status');
    clock.advance(10 * MINUTE + 1_000);
    await disrupt(ports);
    expect([marked(), halted()]).toEqual([[], undefined]);
  });

  test('stays where its pool has gone, which there is no need to halt', async () => {
    const { ports, server, clock, launch, marked } = await decided();
    launch();
    server.remove('nodepools', 'general');
    clock.advance(10 * MINUTE + 1_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(marked()).toEqual([]);
  });

  /**
   * What is halted when the canary's replacement has been launched and is gone before its time, having said so of
   * itself.
   */
  async function haltedBy(metadata: Fields): Promise<unknown> {
    const { ports, server, replacement, clock, halted, launch } = await decided();
    launch();
    server.patch('nodeclaims', replacement, { metadata }, 'object');
    server.delete('nodeclaims', replacement);
    clock.advance(MINUTE);
    expect((await disrupt(ports)).kind).toMatch(/^(finished|waiting)$/);
    return halted();
  }

  const givenUp = (reason: string): Fields => ({ annotations: { 'nodewright.dev/given-up': reason } });

  test.for(['NodeBootFailed', 'RegistrationTimeout'])('that is given up for %s halts what is new', async (reason) => {
    expect(await haltedBy(givenUp(reason))).toContain('did not become a node');
  });

  test.for([
    ['Azure could not make after all', givenUp('AsyncProvisioningError')],
    ['Azure has taken back', givenUp('InstanceGone')],
    ['somebody has deleted', {}],
  ] as const)('that %s halts nothing', async ([, metadata]) => {
    expect(await haltedBy(metadata)).toBeUndefined();
  });

  test('halts its own pool, and no other whose node was to go by the same decision', async () => {
    const { ports, server, replacement, clock, halted, launch } = await decided();
    launch();
    const labels = { 'karpenter.sh/nodepool': 'other' };
    server.patch('nodeclaims', replacement, { metadata: { labels } }, 'object');
    clock.advance(10 * MINUTE + 1_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(halted()).toBeUndefined();
  });

  test('halts nothing in a pool without a bake time', async () => {
    const { ports, server, marked, clock, halted } = behind({ bake: null });
    await disrupt(ports);
    const [first = ''] = marked();
    const [name = ''] =
      server.get('nodeclaims', first)?.metadata.annotations?.['nodewright.dev/replaced-by']?.split(',') ?? [];
    server.patch('nodeclaims', name, { status: { conditions: [since(START, 'Launched')] } }, 'status');
    clock.advance(10 * MINUTE + 1_000);
    await disrupt(ports);
    expect(halted()).toBeUndefined();
  });

  test('is taken back where what is new does worse meanwhile', async () => {
    const { ports, server, crash, addReady, addFresh, addFull, marked, clock, stateOf, events } = behind();
    await disrupt(ports);
    const [canary = ''] = marked();
    const replacement = server.get('nodeclaims', canary)?.metadata.annotations?.['nodewright.dev/replaced-by'] ?? '';
    const { annotations = {} } = server.get('nodeclaims', replacement)?.metadata ?? {};
    server.remove('nodeclaims', replacement);
    addReady(replacement, 2, { annotations });
    addFresh('new');
    addFull('d', 'new', 'alone');
    crash('d', CRASHING);
    clock.advance(MINUTE);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect([stateOf(canary), marked()]).toEqual(['there', []]);
    expect(events().map(([, message]) => message)).toContainEqual(
      expect.stringContaining('Keeping node: the rollout in NodePool general is halted: pod default/d crashes'),
    );
  });
});

describe('a new image that does worse is halted', () => {
  /** A new node whose bake time is over, with a pod of workload `shop` on it. */
  function baked(uid = 'shop') {
    const cluster = behind();
    cluster.clock.advance(MINUTE);
    cluster.addFresh('new');
    cluster.addFull('d', 'new', uid);
    cluster.clock.advance(31 * MINUTE);
    return cluster;
  }

  test('where a new node is not ready, with the words to go on', async () => {
    const { ports, sicken, halted, marked, condition, events, clock } = baked();
    sicken('new', ports.now());
    clock.advance(MINUTE);
    const lines: Array<unknown> = [];
    expect((await disrupt({ ...ports, log: (event, facts) => void lines.push([event, facts]) })).kind).toBe('idle');
    const why = '1 of 1 new nodes are not ready, aks-new among them, and 0 of 3 old ones';
    const message =
      `The rollout in NodePool general is halted: ${why} (to try again: kubectl annotate nodepool general ` +
      'nodewright.dev/rollout-halted-; to continue without a canary, remove nodewright.dev/bake-time too)';
    expect([halted(), marked(), condition()]).toMatchObject([
      why,
      [],
      { status: 'False', reason: 'RolloutHalted', message },
    ]);
    expect(events()).toContainEqual(['RolloutHalted', message]);
    expect(lines).toContainEqual(['rollout-halted', { nodePool: 'general', why }]);
  });

  test('where none that is new is in use half an hour after it was made, with what it waits for', async () => {
    const waits = (type: string, status: string) => [
      since(START, 'Launched', status),
      { ...since(START, type, 'Unknown'), message: 'startup taint driver:NoSchedule is still there' },
    ];
    for (const [launched, initialized, why] of [
      [
        'True',
        false,
        'NodeClaim new is not initialized after 30 minutes: startup taint driver:NoSchedule is still there',
      ],
      ['Unknown', false, undefined],
      ['True', true, undefined],
    ] as const) {
      const { ports, server, addFresh, halted, clock } = behind();
      addFresh('new');
      server.patch('nodeclaims', 'new', { status: { conditions: waits('Initialized', launched) } }, 'status');
      if (initialized) addFresh('newer');
      clock.advance(30 * MINUTE - 1);
      await disrupt(ports);
      expect(halted()).toBeUndefined();
      clock.advance(1);
      await disrupt(ports);
      expect(halted()).toBe(why);
    }
  });

  test('but not for a heartbeat that was missed, nor where as many old nodes are sick', async () => {
    const short = baked();
    short.sicken('new', short.ports.now());
    short.clock.advance(MINUTE - 1);
    await disrupt(short.ports);
    expect(short.halted()).toBeUndefined();
    const all = baked();
    for (const name of ['new', 'used', 'old', 'older']) all.sicken(name, START);
    await disrupt(all.ports);
    expect(all.halted()).toBeUndefined();
  });

  test.each([
    ['waits to be started again', CRASHING],
    ['has been started again three times', [{ restartCount: 0 }, { restartCount: 3, state: {} }]],
  ])('where a pod on a new node %s', async (_, statuses) => {
    const { ports, crash, halted, marked } = baked();
    crash('d', statuses);
    expect((await disrupt(ports)).kind).toBe('idle');
    expect([halted(), marked()]).toEqual([
      'pod default/d crashes on the new node aks-new, while its siblings on other nodes do not',
      [],
    ]);
  });

  test.each([
    ['it was started again twice', [{ restartCount: 2 }]],
    ['it waits for its image', [{ restartCount: 0, state: { waiting: { reason: 'ContainerCreating' } } }]],
  ])('but not where %s', async (_, statuses) => {
    const { ports, crash, halted } = baked();
    crash('d', statuses);
    expect((await disrupt(ports)).kind).toBe('begun');
    expect(halted()).toBeUndefined();
  });

  test('but not for a pod whose like crash on old nodes too: that was so before', async () => {
    const { ports, crash, halted } = baked();
    crash('d', CRASHING);
    crash('a', CRASHING);
    expect((await disrupt(ports)).kind).toBe('begun');
    expect(halted()).toBeUndefined();
    const other = baked();
    other.crash('d', CRASHING);
    other.crash('c', CRASHING);
    await disrupt(other.ports);
    expect(other.halted()).toBeDefined();
  });

  test('where its like crash on another new node, as they do nowhere else', async () => {
    const { ports, crash, halted, addFresh, addFull } = baked();
    addFresh('newer');
    addFull('e', 'newer', 'shop');
    crash('d', CRASHING);
    crash('e', CRASHING);
    await disrupt(ports);
    expect(halted()).toContain('crashes on the new node');
  });

  test.each([
    ['is on its way out', ({ server }: ReturnType<typeof behind>) => void server.delete('pods', 'default/a')],
    ['has gone', ({ server }: ReturnType<typeof behind>) => void server.remove('pods', 'default/a')],
  ])('where one of its like that crashed on an old node %s when it is asked', async (_, leave) => {
    const cluster = baked();
    const { ports, crash, halted, outside, server } = cluster;
    server.patch('pods', 'default/a', { metadata: { finalizers: ['a/b'] } }, 'object');
    crash('d', CRASHING);
    crash('a', CRASHING);
    outside.onRequest = ({ method, path }) => {
      if (method === 'GET' && path.endsWith('/pods/a')) leave(cluster);
    };
    await disrupt(ports);
    expect(halted()).toBeDefined();
  });

  test('in this look though the word cannot be written on its pool, which the next look does', async () => {
    const { ports, crash, halted, marked, condition, outside } = baked('alone');
    crash('d', CRASHING);
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodepools/general')) throw new RetryableError('busy');
    };
    expect((await disrupt(ports)).kind).toBe('idle');
    expect([halted(), marked(), condition()?.['status']]).toEqual([undefined, [], 'False']);
    outside.onRequest = () => undefined;
    await disrupt(ports);
    expect(halted()).toBeDefined();
  });

  test('in this look though the condition cannot be written on its pool, which the next look does', async () => {
    const { ports, crash, marked, condition, outside } = baked('alone');
    crash('d', CRASHING);
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodepools/general/status')) throw new RetryableError('busy');
    };
    expect((await disrupt(ports)).kind).toBe('idle');
    expect([marked(), condition()]).toEqual([[], undefined]);
    outside.onRequest = () => undefined;
    await disrupt(ports);
    expect(condition()?.['status']).toBe('False');
  });

  test('and no pod of it is asked any more', async () => {
    const { ports, server, trace } = baked();
    server.patch('nodepools', 'general', { metadata: { annotations: { [HALTED]: 'known to be bad' } } }, 'object');
    await disrupt(ports);
    expect(trace.filter((step) => step.includes('fieldSelector=spec.nodeName'))).toEqual([]);
  });

  test('until somebody removes the annotation, and then it is tried again', async () => {
    const { ports, server, crash, halted, marked, condition } = baked('alone');
    crash('d', CRASHING);
    await disrupt(ports);
    crash('d', []);
    expect((await disrupt(ports)).kind).toBe('idle');
    expect(halted()).toBeDefined();
    server.patch('nodepools', 'general', { metadata: { annotations: { [HALTED]: null } } }, 'object');
    expect((await disrupt(ports)).kind).toBe('begun');
    expect([marked().length, condition()?.['status']]).toEqual([3, 'True']);
  });

  test('and is shown until then, though no node is behind any more', async () => {
    const { ports, server, condition } = behind();
    server.patch('nodepools', 'general', { metadata: { annotations: { [HALTED]: 'it was bad' } } }, 'object');
    for (const name of ['used', 'old', 'older']) {
      server.patch('nodeclaims', name, { status: { conditions: [since(START, 'Initialized')] } }, 'status');
    }
    await disrupt(ports);
    expect(condition()).toMatchObject({ status: 'False', reason: 'RolloutHalted' });
    server.patch('nodepools', 'general', { metadata: { annotations: { [BAKE]: null } } }, 'object');
    await disrupt(ports);
    expect(condition()).toMatchObject({ status: 'True' });
  });

  test('and the first reason stays', async () => {
    const { ports, server, crash, halted } = baked('alone');
    server.patch('nodepools', 'general', { metadata: { annotations: { [HALTED]: 'known to be bad' } } }, 'object');
    crash('d', CRASHING);
    expect((await disrupt(ports)).kind).toBe('idle');
    expect(halted()).toBe('known to be bad');
  });
});

describe('looking for pods that crash', () => {
  /** Seven new nodes, the first of which came first, each with a pod. */
  function many() {
    const cluster = behind();
    for (let node = 0; node < 7; node++) {
      cluster.clock.advance(MINUTE);
      cluster.addFresh(`new-${node}`);
      cluster.addFull(`d-${node}`, `new-${node}`, 'alone');
    }
    cluster.trace.length = 0;
    return cluster;
  }

  test('the canary and the newest are looked at, and those that have not started are not', async () => {
    for (const [pod, found] of [
      ['d-0', true],
      ['d-1', false],
      ['d-2', false],
      ['d-3', true],
      ['d-6', true],
    ] as const) {
      const { ports, crash, halted, trace } = many();
      crash(pod, CRASHING);
      await disrupt(ports);
      expect([pod, halted() !== undefined]).toEqual([pod, found]);
      expect(trace.filter((step) => step.includes('fieldSelector=spec.nodeName')).length).toBe(5);
    }
  });

  test('a pod that is on its way out is not asked', async () => {
    const { ports, crash, halted, server } = many();
    crash('d-0', CRASHING);
    server.patch('pods', 'default/d-0', { metadata: { finalizers: ['a/b'] } }, 'object');
    server.delete('pods', 'default/d-0');
    await disrupt(ports);
    expect(halted()).toBeUndefined();
  });

  test('of its like three that run elsewhere are asked, and none that waits', async () => {
    const { ports, crash, halted, addFull, addReady, addPod, drift, server, trace } = many();
    crash('d-0', CRASHING);
    addPod('waits');
    const ownerReferences = server.get('pods', 'default/d-0')?.metadata.ownerReferences;
    server.patch('pods', 'default/waits', { metadata: { ownerReferences } }, 'object');
    for (let node = 0; node < 5; node++) {
      addReady(`there-${node}`);
      drift(`there-${node}`);
      addFull(`e-${node}`, `there-${node}`, 'alone');
    }
    await disrupt(ports);
    expect(halted()).toBeDefined();
    const asked = trace.filter((step) => /^GET \/api\/v1\/namespaces\/default\/pods\/[a-z]/.test(step));
    expect(asked.map((step) => step.split('/').at(-1)?.[0])).toEqual(['e', 'e', 'e']);
  });
});

test('of its like, those on their way out take none of the three places', async () => {
  const { ports, crash, halted, addFull, addReady, drift, server, clock, addFresh } = behind();
  clock.advance(MINUTE);
  addFresh('new');
  addFull('d', 'new', 'alone');
  for (const pod of ['e-0', 'e-1', 'e-2', 'e-3']) {
    addReady(pod);
    drift(pod);
    addFull(pod, pod, 'alone', { finalizers: ['a/b'] });
    if (pod !== 'e-3') server.delete('pods', `default/${pod}`);
  }
  crash('d', CRASHING);
  crash('e-3', CRASHING);
  await disrupt(ports);
  expect(halted()).toBeUndefined();
});

describe('to halt a pool', () => {
  const named = { metadata: { name: 'general' } };

  test('the first reason stays, and a pool that has gone is none to halt', async () => {
    const { ports, server, halted } = behind();
    await haltRollout(ports, named, 'first');
    await haltRollout(ports, named, 'second');
    expect(halted()).toBe('first');
    server.remove('nodepools', 'general');
    await expect(haltRollout(ports, named, 'third')).resolves.toBeUndefined();
  });

  test('is told only once it is written, and people are told where it may not be', async () => {
    const { ports, server, outside, halted } = behind();
    const lines: Array<string> = [];
    const telling = { ...ports, log: (event: string) => void lines.push(event) };
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodepools/general'))
        server.patch('nodepools', 'general', { metadata: { annotations: { changed: 'meanwhile' } } }, 'object');
    };
    await haltRollout(telling, named, 'why');
    outside.onRequest = () => undefined;
    expect([halted(), lines]).toEqual([undefined, []]);
    outside.deny = denying('PATCH', '/nodepools/general');
    await haltRollout(telling, named, 'why');
    expect(lines).toEqual(['write-denied']);
  });
});

test('that a roll-out goes on is told only once it is written', async () => {
  const { ports, server, outside, clock, addFresh, addFull, condition } = behind();
  const lines: Array<string> = [];
  const look = () => disrupt({ ...ports, log: (event) => void lines.push(event) });
  clock.advance(MINUTE);
  addFresh('new');
  addFull('d', 'new', 'shop');
  await look();
  clock.advance(31 * MINUTE);
  let writes = 0;
  outside.onRequest = ({ method, path }) => {
    if (method !== 'PATCH' || !path.endsWith('/nodepools/general/status')) return;
    server.patch('nodepools', 'general', { metadata: { annotations: { writes: String(writes++) } } }, 'object');
  };
  await look();
  expect([condition()?.['status'], lines.includes('rollout-goes-on')]).toEqual(['Unknown', false]);
});

test('what a roll-out waits for is written once, and again when it waits for something else', async () => {
  const { ports, trace, clock, addFresh, addFull, server, crash } = behind();
  const lines: Array<string> = [];
  const log = (event: string): void => void lines.push(event);
  const told = (): ReadonlyArray<string> =>
    server.list('events').flatMap((event) => {
      const { reason, type } = event as Fields;
      return /^(Canary|Rollout)/.test(reason as string) ? [`${type} ${reason}`] : [];
    });
  const writes = (): number =>
    trace.splice(0).filter((step) => step.startsWith('PATCH') && step.endsWith('/nodepools/general/status')).length;
  const look = async (): Promise<number> => {
    await disrupt({ ...ports, log });
    return writes();
  };
  clock.advance(MINUTE);
  addFresh('new');
  addFull('d', 'new', 'shop');
  expect(await look()).toBeGreaterThan(0);
  expect(await look()).toBe(0);
  expect([told(), lines.filter((line) => line.startsWith('rollout'))]).toEqual([['Normal CanaryFirst'], []]);
  addFresh('newer');
  expect(await look()).toBe(0);
  clock.advance(31 * MINUTE);
  expect(await look()).toBeGreaterThan(0);
  expect(lines.filter((line) => line.startsWith('rollout'))).toEqual(['rollout-goes-on']);
  crash('d', CRASHING);
  await look();
  expect(told().toSorted()).toEqual(['Normal CanaryFirst', 'Normal RolloutGoesOn', 'Warning RolloutHalted']);
  expect(lines.filter((line) => line.startsWith('rollout'))).toEqual(['rollout-goes-on', 'rollout-halted']);
});
