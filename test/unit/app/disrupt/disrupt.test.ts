import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { follow } from '../../../../shared/app/follow/follow.ts';
import type { ApiServer, Fields } from '../../../simulation/world/api-server.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { begunReplacement, consolidated, DISRUPTED, emptied, sick } from '../../../kit/app/consolidated.ts';
import { size } from '../../../kit/core/build.ts';
import { since, START } from '../../../kit/app/small-cluster.ts';

const UNMARKED = { tainted: false, decision: false, reason: undefined };

describe('a node that is empty', () => {
  test('is marked first, and goes only when the scheduler has had its time to heed that [L06]', async () => {
    const { ports, marks, stateOf, clock, sent, events, server } = consolidated();
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 0 });
    expect([marks('spare'), stateOf('spare')]).toEqual([{ tainted: true, decision: true, reason: 'Empty' }, 'there']);
    expect(await disrupt(ports)).toMatchObject({ kind: 'waiting' });
    clock.advance(6_000);
    expect(await disrupt(ports)).toEqual({ kind: 'finished', removed: 1, takenBack: 0 });
    expect([stateOf('spare'), stateOf('used')]).toEqual(['leaving', 'there']);
    expect(events()).toContainEqual(['DisruptionTerminating', 'Disrupting NodeClaim: Empty']);
    // A claim that is made of the same name later is another occasion.
    const { uid } = server.get('nodeclaims', 'spare')?.metadata ?? {};
    const told = sent.filter(({ hint }) => 'objects' in hint && hint.objects.some(({ name }) => name === 'spare'));
    expect(told.map(({ key }) => key)).toContain(`disrupted/${uid}`);
  });

  test('goes to its end with pods whose evictions count as nothing, which have a place on another node', async () => {
    const { ports, stateOf, clock, server, addRunning } = consolidated();
    server.remove('pods', 'default/web');
    const annotations = { 'controller.kubernetes.io/pod-deletion-cost': '-2147483647' };
    addRunning('cheap', 'spare', { metadata: { annotations } });
    addRunning('web', 'used', { spec: { containers: [{ resources: { requests: { cpu: '900m', memory: '1Gi' } } }] } });
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
    clock.advance(6_000);
    expect(await disrupt(ports)).toEqual({ kind: 'finished', removed: 1, takenBack: 0 });
    expect([stateOf('spare'), stateOf('used')]).toEqual(['leaving', 'there']);
  });

  describe('goes only on a view from after the wait', () => {
    /** Since the mark nothing has been published. */
    async function silent(held: (markedAtMs: number) => number | null) {
      const cluster = consolidated();
      const { ports, clock } = cluster;
      await disrupt(ports);
      const old = await ports.snapshots.list();
      const snapshots = {
        ...ports.snapshots,
        latest: () => Promise.resolve(old),
        heldMs: (version: string) => Promise.resolve(version === old.version ? held(old.takenAtMs) : null),
      };
      // What came since is not in it: a pod that must not be disrupted.
      clock.advance(30_000);
      return { ...cluster, ports: { ...ports, snapshots } };
    }

    test.each([
      ['of whose time nothing else is said', () => null],
      ['that the relay has said holds a moment before its end', (atMs: number) => atMs + 4_999],
    ])('and so not on one %s, however late it is', async (_, held) => {
      const { ports, marks, stateOf, addRunning } = await silent(held);
      addRunning('kept', 'spare', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } });
      expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'the scheduler to see the taint' });
      expect([marks('spare').tainted, stateOf('spare')]).toEqual([true, 'there']);
    });

    test('and so not on one whose relay has a clock an hour ahead', async () => {
      const { ports, clock, marks } = consolidated();
      await disrupt(ports);
      const latest = async () => ({ ...(await ports.snapshots.list()), takenAtMs: clock.now() + 3_600_000 });
      clock.advance(4_000);
      expect(await disrupt({ ...ports, snapshots: { ...ports.snapshots, latest } })).toMatchObject({ kind: 'waiting' });
      expect(marks('spare').tainted).toBe(true);
    });

    test('and so on an old one that the relay says still holds', async () => {
      const { ports, stateOf } = await silent((atMs) => atMs + 5_000);
      expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
      expect(stateOf('spare')).toBe('leaving');
    });
  });

  test('stays when a pod has come to it meanwhile, and takes pods again [L06]', async () => {
    const { ports, marks, stateOf, clock, addRunning, events } = consolidated();
    await disrupt(ports);
    addRunning('late', 'spare');
    clock.advance(6_000);
    expect(await disrupt(ports)).toEqual({ kind: 'finished', removed: 0, takenBack: 1 });
    expect([marks('spare'), stateOf('spare')]).toEqual([UNMARKED, 'there']);
    expect(events().map(([reason]) => reason)).toContain('DisruptionBlocked');
  });

  test('stays when somebody has said so meanwhile [L06]', async () => {
    const { ports, marks, server, stateOf, clock } = consolidated();
    await disrupt(ports);
    server.patch(
      'nodes',
      'aks-spare',
      { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } },
      'object',
    );
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ takenBack: 1 });
    expect([marks('spare'), stateOf('spare')]).toEqual([UNMARKED, 'there']);
  });

  test('stays when budgets let none go any more, until they do [L06]', async () => {
    const { ports, server, stateOf, clock } = consolidated();
    const budget = (nodes: string) =>
      server.patch('nodepools', 'general', { spec: { disruption: { budgets: [{ nodes }] } } }, 'object');
    await disrupt(ports);
    budget('0');
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'waiting', for: expect.stringContaining('budgets') });
    expect(stateOf('spare')).toBe('there');
    budget('100%');
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
  });

  test('stays while disruption is switched off, and what has begun is taken back', async () => {
    const { ports, marks, stateOf, trace } = consolidated();
    const off = { ...ports, disruption: { ...ports.disruption, isOn: false } };
    expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 0 });
    expect(trace.filter((step) => step.includes('/nodes') && !step.startsWith('GET'))).toEqual([]);
    await disrupt(ports);
    expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 1 });
    expect([marks('spare'), stateOf('spare')]).toEqual([UNMARKED, 'there']);
  });

  test('is not touched while it is being removed by somebody else: not its deadline, not its taint', async () => {
    const { ports, server, clock, stateOf, marks } = consolidated();
    await disrupt(ports);
    const annotations = { 'nodewright.dev/interruption': 'preempt', 'nodewright.dev/replaced-by': 'other' };
    server.patch('nodeclaims', 'spare', { metadata: { annotations } }, 'object');
    server.delete('nodeclaims', 'spare');
    clock.advance(6_000);
    await disrupt({ ...ports, disruption: { ...ports.disruption, isOn: false } });
    expect([stateOf('spare'), marks('spare').tainted]).toEqual(['leaving', true]);
    expect(server.get('nodeclaims', 'spare')?.metadata.annotations).toMatchObject(annotations);
  });

  test('that is only tainted is left alone: an interruption does that a moment before it deletes the claim', async () => {
    const { ports, server, taintOf } = withTaint();
    server.patch(
      'nodeclaims',
      'spare',
      { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } },
      'object',
    );
    expect((await disrupt(ports)).kind).toBe('idle');
    expect(taintOf()).toEqual([DISRUPTED]);
  });
});

function withTaint() {
  const cluster = consolidated();
  cluster.server.patch('nodes', 'aks-spare', { spec: { taints: [DISRUPTED] } }, 'object');
  return { ...cluster, taintOf: () => cluster.server.get('nodes', 'aks-spare')?.spec?.['taints'] };
}

test('what a NodePool says that moves cost is heeded: what saves too little for that stays', async () => {
  const { ports, server, marks, addReady, addRunning } = consolidated();
  server.remove('nodes', 'aks-spare');
  server.remove('nodeclaims', 'spare');
  addReady('other');
  addRunning('small', 'other', { spec: { containers: [{ resources: { requests: { cpu: '200m' } } }] } });
  const saying = (cost: string) =>
    server.patch('nodepools', 'general', { metadata: { annotations: { 'nodewright.dev/move-cost': cost } } }, 'object');
  saying('10');
  expect((await disrupt(ports)).kind).toBe('idle');
  saying('0');
  expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
  expect(marks('other').reason ?? marks('used').reason).toBe('Underutilized');
});

test('pods that wait get their nodes before any is removed [L10]', async () => {
  const { ports, addPod, marks, sent } = consolidated({ types: 2 });
  addPod('large', '6');
  expect(await disrupt(ports)).toMatchObject({ kind: 'waiting', for: 'nodes for pods that wait' });
  expect(marks('spare')).toEqual(UNMARKED);
  expect(sent.map(({ hint }) => hint.kind)).toContain('pods');
});

describe('while pods arrive that need nodes, look after look', () => {
  /** Before each look two more pods come, of which the empty node can hold one at most. */
  function arriving(cpu: string, types: number) {
    const cluster = consolidated({ types });
    let count = 0;
    const look = (): ReturnType<typeof disrupt> => {
      for (let more = 0; more < 2; more++) cluster.addPod(`arrival-${count++}`, cpu);
      return disrupt(cluster.ports);
    };
    return { ...cluster, look };
  }

  test('a node that has expired is replaced, by nodes for its own pods alone', async () => {
    const { look, server, marks, clock, stateOf, addReady } = arriving('1500m', 1);
    server.patch('nodeclaims', 'used', { spec: { expireAfter: '1h' } }, 'object');
    clock.advance(3_600_000);
    expect(await look()).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
    expect(marks('used').reason).toBe('Expired');
    const isNew = (name: string): boolean => name !== 'used' && name !== 'spare';
    const replacement = server.list('nodeclaims').find(({ metadata: { name } }) => isNew(name))?.metadata.name ?? '';
    server.remove('nodeclaims', replacement);
    addReady(replacement);
    clock.advance(6_000);
    expect(await look()).toMatchObject({ kind: 'finished', removed: 1 });
    expect([stateOf('used'), stateOf('spare')]).toEqual(['leaving', 'there']);
  });

  test('what must go does so before what is empty, whose step would come first, and whose room they may need', async () => {
    const { look, server, marks, clock, addReady } = arriving('1500m', 1);
    addReady('old');
    server.patch('nodeclaims', 'old', { spec: { expireAfter: '1h' } }, 'object');
    clock.advance(3_600_000);
    expect(await look()).toMatchObject({ kind: 'begun', nodes: 1 });
    expect([marks('old').reason, marks('spare')]).toEqual(['Expired', UNMARKED]);
  });

  test('a node stays whose going is about money', async () => {
    const { look, server, marks, clock } = arriving('6', 2);
    for (let count = 0; count < 3; count++) {
      expect(await look()).toEqual({ kind: 'waiting', for: 'nodes for pods that wait' });
      clock.advance(60_000);
    }
    expect([marks('spare'), server.list('nodeclaims').length]).toEqual([UNMARKED, 2]);
  });
});

test('nodes that go count against limits while provisioning plans for their pods, as they may stay', async () => {
  const { ports } = consolidated();
  const held: Array<ReadonlyArray<string>> = [];
  const planner: typeof ports.planner = (input, now) => {
    held.push(input.held.map(({ nodePool }) => nodePool));
    return ports.planner(input, now);
  };
  expect(await disrupt({ ...ports, planner })).toMatchObject({ kind: 'begun', nodes: 1 });
  expect(held).toEqual([[], ['general']]);
});

test('a decision whose executor died before it marked anything is marked by who finds it', async () => {
  const { ports, marks, outside, clock, stateOf } = consolidated();
  outside.onRequest = ({ method, path }) => {
    if (method === 'PATCH' && path.includes('/nodeclaims/spare')) throw new Error('the process died');
  };
  await expect(disrupt(ports)).rejects.toThrow('the process died');
  expect(marks('spare')).toEqual(UNMARKED);
  outside.onRequest = () => undefined;
  expect(await disrupt(ports)).toEqual({ kind: 'executing' });
  await resumeNow(ports);
  expect(marks('spare')).toEqual({ tainted: true, decision: true, reason: 'Empty' });
  clock.advance(6_000);
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
  expect(stateOf('spare')).toBe('leaving');
});

describe('a node that is sick', () => {
  test('is replaced after ten minutes, and its drain has no time to lose [L15]', async () => {
    const { ports, says, clock, stateOf, server } = sick();
    says('Unknown');
    clock.advance(11 * 60_000);
    await disrupt(ports);
    clock.advance(6_000);
    await disrupt(ports);
    // Its pod has the room of the empty node: no new one is made.
    expect([stateOf('used'), stateOf('spare')]).toEqual(['leaving', 'there']);
    const deadline = server.get('nodeclaims', 'used')?.metadata.annotations?.[
      'karpenter.sh/nodeclaim-termination-timestamp'
    ];
    expect(Date.parse(deadline ?? '')).toBeLessThanOrEqual(clock.now());
  });

  test('stays for the ten minutes that it has to get well [L15]', async () => {
    const { ports, says, clock, marks } = sick();
    says('Unknown');
    clock.advance(9 * 60_000);
    await disrupt(ports);
    expect([marks('used'), marks('spare').reason]).toEqual([UNMARKED, 'Empty']);
  });

  test('stays when it is well again before it goes', async () => {
    const { ports, says, clock, marks, stateOf } = sick();
    says('Unknown');
    clock.advance(11 * 60_000);
    await disrupt(ports);
    expect(marks('used').reason).toBe('Unhealthy');
    says('True');
    clock.advance(6_000);
    await disrupt(ports);
    expect([marks('used'), stateOf('used')]).toEqual([UNMARKED, 'there']);
  });

  test.each([
    ['keeps no deadline of a removal that failed', {}, undefined],
    ['keeps the deadline of a notice', { 'nodewright.dev/interruption': 'preempt by then' }, expect.any(String)],
  ])('%s when it is well again', async (_, annotations, kept) => {
    const { ports, says, clock, outside, server } = sick();
    says('Unknown');
    clock.advance(11 * 60_000);
    await disrupt(ports);
    clock.advance(6_000);
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/nodeclaims/used')) throw new RetryableError('429');
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'waiting' });
    const deadline = () =>
      server.get('nodeclaims', 'used')?.metadata.annotations?.['karpenter.sh/nodeclaim-termination-timestamp'];
    expect(deadline()).toBeDefined();
    server.patch('nodeclaims', 'used', { metadata: { annotations } }, 'object');
    says('True');
    await disrupt(ports);
    expect(deadline()).toEqual(kept);
  });
});

test('a mark that somebody else writes over all the time is taken off by the next look, and told only then', async () => {
  const { ports, marks, outside, server, addRunning, clock, events } = consolidated();
  await disrupt(ports);
  addRunning('late', 'spare');
  clock.advance(6_000);
  let writes = 0;
  outside.onRequest = ({ method, path }) => {
    if (method !== 'PATCH' || !path.endsWith('/nodeclaims/spare')) return;
    server.patch('nodeclaims', 'spare', { metadata: { labels: { team: String(writes++) } } }, 'object');
  };
  expect(await disrupt(ports)).toMatchObject({ kind: 'waiting' });
  outside.onRequest = () => undefined;
  expect(events().map(([reason]) => reason)).not.toContain('DisruptionBlocked');
  clock.advance(60_000);
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
  expect(marks('spare')).toEqual(UNMARKED);
});

test('a claim that is gone by the time its mark is taken off is no error, and nothing is told about it', async () => {
  const { ports, outside, server, addRunning, clock, events } = consolidated();
  await disrupt(ports);
  addRunning('late', 'spare');
  clock.advance(6_000);
  outside.onRequest = ({ method, path }) => {
    if (method === 'PATCH' && path.endsWith('/nodeclaims/spare')) server.remove('nodeclaims', 'spare');
  };
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
  expect(events().map(([reason]) => reason)).not.toContain('DisruptionBlocked');
});

test('other taints of a node stay, when it is marked and when the mark is taken off', async () => {
  const { ports, server, clock, addRunning } = consolidated();
  const own = { key: 'team', value: 'shop', effect: 'PreferNoSchedule' };
  server.patch('nodes', 'aks-spare', { spec: { taints: [own] } }, 'object');
  const taints = (): unknown => server.get('nodes', 'aks-spare')?.spec?.['taints'];
  await disrupt(ports);
  expect(taints()).toEqual([own, DISRUPTED]);
  addRunning('late', 'spare');
  clock.advance(6_000);
  await disrupt(ports);
  expect(taints()).toEqual([own]);
});

test('pods of others that wait, for which no node can be made, do not keep an empty node [L05]', async () => {
  const { ports, addPod, clock, stateOf } = consolidated();
  addPod('huge', '64');
  expect(await disrupt(ports)).toMatchObject({ kind: 'begun' });
  clock.advance(6_000);
  expect(await disrupt(ports)).toMatchObject({ removed: 1 });
  expect(stateOf('spare')).toBe('leaving');
});

test('a mark is taken off the node as it is now, whatever an older snapshot shows of it', async () => {
  const { ports, server, marks } = consolidated();
  await disrupt(ports);
  const old = await ports.snapshots.latest();
  if (old === null) throw new Error('there is a snapshot');
  const nodes = old.nodes.map((node) => ({ ...node, spec: { ...node.spec, taints: [] } }));
  const snapshots = { ...ports.snapshots, latest: () => Promise.resolve({ ...old, nodes }) };
  const off = { ...ports, snapshots, disruption: { ...ports.disruption, isOn: false } };
  expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 1 });
  expect(marks('spare')).toEqual(UNMARKED);
  expect(server.get('nodes', 'aks-spare')).not.toBeNull();
});

test('where no relay is heard of the cluster is read from the API server, whether disruption is on or off', async () => {
  const { ports, marks } = consolidated();
  const snapshots = {
    ...ports.snapshots,
    latest: () => Promise.resolve(null),
    heartbeatMs: () => Promise.resolve(null),
  };
  const silent = { ...ports, snapshots };
  expect(await disrupt(silent)).toMatchObject({ kind: 'begun', nodes: 1 });
  const off = { ...silent, disruption: { ...ports.disruption, isOn: false } };
  expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 1 });
  expect(marks('spare')).toEqual(UNMARKED);
});

test('where disruption is switched off, a mark that cannot come off is not counted, and comes off later', async () => {
  const { ports, outside, marks } = consolidated();
  await disrupt(ports);
  const off = { ...ports, disruption: { ...ports.disruption, isOn: false } };
  outside.onRequest = ({ method, path }) => {
    if (method === 'PATCH' && path.endsWith('/nodes/aks-spare')) throw new RetryableError('busy');
  };
  expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 0 });
  outside.onRequest = () => undefined;
  expect(await disrupt(off)).toEqual({ kind: 'off', takenBack: 1 });
  expect(marks('spare')).toEqual(UNMARKED);
});

test('pods are planned for first where some of them wait for nodes, and nobody is called where none does', async () => {
  const called = ({ sent }: ReturnType<typeof consolidated>): boolean =>
    sent.some(({ hint }) => 'reason' in hint && hint.reason === 'pods-before-disruption');
  const quiet = consolidated();
  expect(await disrupt(quiet.ports)).toMatchObject({ kind: 'begun' });
  expect(called(quiet)).toBe(false);
  const busy = consolidated();
  busy.addPod('elsewhere');
  const nodeSelector = { 'topology.kubernetes.io/zone': 'westeurope-2' };
  busy.server.patch('pods', 'default/elsewhere', { spec: { nodeSelector } }, 'object');
  expect(await disrupt(busy.ports)).toEqual({ kind: 'waiting', for: 'nodes for pods that wait' });
  expect(called(busy)).toBe(true);
});

describe('between the decision and its marks', () => {
  const commits = ({ method, path }: { readonly method: string; readonly path: string }): boolean =>
    method === 'PATCH' && path.includes('/leases/nodewright-generation');

  test.for([
    ['is being deleted', (server: ApiServer): void => void server.delete('nodeclaims', 'spare')],
    ['is gone', (server: ApiServer): void => void server.remove('nodeclaims', 'spare')],
    ['has lost its node', (server: ApiServer): void => void server.remove('nodes', 'aks-spare')],
  ] as const)('a claim that %s is not marked', async ([, change]) => {
    const { ports, marks, outside, server, trace } = consolidated();
    outside.onRequest = (request) => {
      if (!commits(request)) return;
      outside.onRequest = () => undefined;
      change(server);
    };
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun' });
    expect(marks('spare')).toEqual(UNMARKED);
    expect(trace.filter((step) => /^PATCH .*(nodeclaims|nodes)\//.test(step))).toEqual([]);
  });

  test('a claim that is another of the same name is not marked', async () => {
    const { ports, marks, outside, server, addReady } = consolidated();
    outside.onRequest = (request) => {
      if (!commits(request)) return;
      outside.onRequest = () => undefined;
      server.remove('nodeclaims', 'spare');
      server.remove('nodes', 'aks-spare');
      addReady('spare');
    };
    await disrupt(ports);
    expect(marks('spare')).toEqual(UNMARKED);
  });

  test('what was marked is known to who decides next, even from an older snapshot', async () => {
    const { ports, server } = consolidated();
    await disrupt(ports);
    const { claimsResourceVersion } = await ports.ledger.read();
    expect(claimsResourceVersion).toBe(server.get('nodeclaims', 'spare')?.metadata.resourceVersion);
  });
});

test('who was held up removes nothing that another has taken the mark off meanwhile', async () => {
  for (const change of ['claim', 'node'] as const) {
    const { ports, server, stateOf, clock } = consolidated();
    await disrupt(ports);
    clock.advance(6_000);
    const old = await ports.snapshots.list();
    const annotations = { 'nodewright.dev/disruption': null };
    if (change === 'claim') server.patch('nodeclaims', 'spare', { metadata: { annotations } }, 'object');
    else server.patch('nodes', 'aks-spare', { spec: { taints: [] } }, 'object');
    const snapshots = { ...ports.snapshots, latest: () => Promise.resolve(old) };
    expect(await disrupt({ ...ports, snapshots })).toEqual({ kind: 'finished', removed: 0, takenBack: 0 });
    expect(stateOf('spare')).toBe('there');
  }
});

test('another claim of the name, made between the last look at it and the deletion, is not deleted', async () => {
  const { ports, outside, server, addReady, clock, stateOf } = consolidated();
  await disrupt(ports);
  clock.advance(6_000);
  outside.onRequest = ({ method, path }) => {
    if (method !== 'DELETE' || !path.endsWith('/nodeclaims/spare')) return;
    outside.onRequest = () => undefined;
    server.remove('nodeclaims', 'spare');
    server.remove('nodes', 'aks-spare');
    addReady('spare');
  };
  await disrupt(ports);
  expect(stateOf('spare')).toBe('there');
});

test.each([
  ['/nodeclaims/spare/status', true],
  ['/nodes/aks-spare', true],
  ['/nodeclaims/spare', false],
])('who died while taking a mark off is followed by one who goes on (%s)', async (end, isTainted) => {
  const { ports, marks, outside, addRunning, clock } = consolidated();
  await disrupt(ports);
  addRunning('late', 'spare');
  clock.advance(6_000);
  outside.onRequest = ({ method, path }) => {
    if (method === 'PATCH' && path.endsWith(end)) throw new Error('the process died');
  };
  await expect(disrupt(ports)).rejects.toThrow('the process died');
  expect(marks('spare')).toMatchObject({ tainted: isTainted, decision: true });
  outside.onRequest = () => undefined;
  clock.advance(60_000);
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0, takenBack: 1 });
  expect(marks('spare')).toEqual(UNMARKED);
});

test('who lost the race for the next decision removes nothing', async () => {
  const { ports, marks } = consolidated();
  const lost = { ...ports, ledger: { ...ports.ledger, commit: () => Promise.resolve({ kind: 'lost' } as const) } };
  expect(await disrupt(lost)).toEqual({ kind: 'lost' });
  expect(marks('spare')).toEqual(UNMARKED);
});

describe('a node that holds too little', () => {
  test('goes when its replacement is initialized, and not before [L12]', async () => {
    const { ports, outcome, replacement, clock, stateOf, initialize, server } = await begunReplacement();
    expect([outcome.nodes, outcome.replacements]).toEqual([1, 1]);
    expect(server.get('nodeclaims', 'large')?.metadata.annotations).toMatchObject({
      'nodewright.dev/replaced-by': replacement,
    });
    clock.advance(60_000);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    initialize();
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf('large')).toBe('leaving');
  });

  test('holds up no other for longer than two minutes, and goes when its own replacement is there [L12]', async () => {
    const { ports, clock, stateOf, marks, initialize, addReady } = await begunReplacement();
    addReady('spare');
    clock.advance(119_999);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    clock.advance(1);
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 0 });
    expect([marks('spare').reason, marks('large').reason]).toEqual(['Empty', 'Underutilized']);
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect([stateOf('spare'), stateOf('large')]).toEqual(['leaving', 'there']);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    initialize();
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf('large')).toBe('leaving');
  });

  test('is not begun again while it waits, and no node goes that its pods are to come to [L01] [L12]', async () => {
    const { ports, clock, replacement, server, marks, addClaim, initialize } = await begunReplacement();
    clock.advance(120_000);
    const before = server.list('nodeclaims').length;
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    // It is in use, and a second one of the decision hangs.
    initialize();
    const hanging = { metadata: { annotations: { 'nodewright.dev/replaced-by': `${replacement},hanging` } } };
    server.patch('nodeclaims', 'large', hanging, 'object');
    addClaim('hanging');
    await follow(ports, { kind: 'NodePool', name: 'general' });
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    expect(marks(replacement)).toEqual(UNMARKED);
    expect(server.list('nodeclaims')).toHaveLength(before + 1);
  });

  test('stays when its replacement is gone [L12]', async () => {
    const { ports, replacement, clock, stateOf, marks, server } = await begunReplacement();
    server.remove('nodeclaims', replacement);
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect([stateOf('large'), marks('large')]).toEqual(['there', UNMARKED]);
  });

  test('stays when its replacement is not there after ten minutes [L12]', async () => {
    const { ports, clock, stateOf } = await begunReplacement();
    clock.advance(601_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect(stateOf('large')).toBe('there');
  });

  /** The replacement has come, and somebody else has taken its room. */
  async function outdone() {
    const cluster = await begunReplacement();
    cluster.initialize();
    cluster.addRunning('other', cluster.replacement, {
      spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] },
    });
    cluster.clock.advance(6_000);
    return cluster;
  }

  test('gets one more when the room of its pods is taken meanwhile, as that still saves, and goes when it is there', async () => {
    const { ports, clock, server, stateOf, marks, replacement, addReady } = await outdone();
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'new nodes for pods whose room is gone' });
    const names = () => server.list('nodeclaims').map(({ metadata }) => metadata.name);
    const [more = '', ...others] = names().filter((name) => ![replacement, 'large'].includes(name));
    expect([others, marks('large').tainted]).toEqual([[], true]);
    const annotations = server.get('nodeclaims', more)?.metadata.annotations ?? {};
    expect(annotations['nodewright.dev/created-for']).toBe('Underutilized');
    // Not once more while it starts, neither by disruption nor for pods that wait.
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    await provision(ports, { mayList: true });
    expect(names()).toHaveLength(3);
    server.remove('nodeclaims', more);
    addReady(more, 2, { annotations });
    clock.advance(2_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf('large')).not.toBe('there');
  });

  test('stays when the room of its pods is taken meanwhile, and one more would save nothing [L06]', async () => {
    const { ports, outside, stateOf, server } = await outdone();
    outside.types = [size('Standard_D2_v5', 2, 8, 201_000), size('Standard_D8_v5', 8, 32, 400_000)];
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', takenBack: 1 });
    expect([stateOf('large'), server.list('nodeclaims').length]).toEqual(['there', 2]);
  });
});

describe('nodes that have drifted', () => {
  const now = (type: string): Fields => since(START - 60_000, type);

  function drifted(names: ReadonlyArray<string>, given: Parameters<typeof emptied>[0] = {}) {
    const cluster = emptied(given);
    const { server } = cluster;
    // What is empty is not the matter here.
    server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: 'Never' } } }, 'object');
    for (const name of names) {
      cluster.addReady(name);
      const conditions = server.get('nodeclaims', name)?.status?.['conditions'] as ReadonlyArray<Fields>;
      server.patch('nodeclaims', name, { status: { conditions: [...conditions, now('Drifted')] } }, 'status');
    }
    return cluster;
  }

  test('are followed, in a pool with a fixed number, by what the pool makes, and their pods get no other', async () => {
    const { ports, addRunning, server } = drifted(['old']);
    server.patch('nodepools', 'general', { spec: { replicas: 1 } }, 'object');
    addRunning('web', 'old');
    const { policy } = ports;
    const gated = { ...ports, policy: { ...policy, gates: { ...policy.gates, staticCapacity: true } } };
    expect(await disrupt(gated)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
  });

  describe('and whose pods spread over hosts', () => {
    const topologySpreadConstraints = [
      {
        maxSkew: 1,
        topologyKey: 'kubernetes.io/hostname',
        whenUnsatisfiable: 'DoNotSchedule',
        labelSelector: { matchLabels: { app: 'web' } },
      },
    ];

    /** Two pods on each of two nodes, which are hosts without them as long as they are there. */
    function crowded() {
      const cluster = drifted(['a', 'b']);
      for (const name of ['a1', 'a2', 'b1', 'b2']) {
        const containers = [{ resources: { requests: { cpu: '500m', memory: '1Gi' } } }];
        cluster.addRunning(name, name.slice(0, 1), {
          metadata: { name, namespace: 'default', labels: { app: 'web' } },
          spec: { nodeName: `aks-${name.slice(0, 1)}`, containers, topologySpreadConstraints },
        });
      }
      return cluster;
    }

    test('are replaced one for one, all at once', async () => {
      expect(await disrupt(crowded().ports)).toMatchObject({ kind: 'begun', nodes: 2, replacements: 2 });
    });

    test('go one at a time where provisioning would make a node for each pod, as of one no more can be done', async () => {
      const { ports } = crowded();
      const logged: Array<unknown> = [];
      // It does not know which pods may wait for each other.
      const planner: Ports['planner'] = (input, at) => ports.planner({ ...input, crowds: new Map() }, at);
      const log: Ports['log'] = (event, facts) => void logged.push([event, facts]);
      expect(await disrupt({ ...ports, planner, log })).toMatchObject({ kind: 'begun', nodes: 1, replacements: 2 });
      const why = 'pods that spread over its nodes would need more new nodes at once';
      expect(logged).toContainEqual(['disruption-refused', { reason: 'Drifted', nodes: 'aks-a,aks-b', why }]);
    });
  });
});
