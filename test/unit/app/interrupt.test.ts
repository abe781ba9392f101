import { describe, expect, test } from 'vitest';
import type { Fields } from '../../simulation/world/api-server.ts';
import { resumeNow } from '../../../shared/app/commit-plan.ts';
import { tellStorms } from '../../../shared/app/avoid-evicted.ts';
import { interrupt } from '../../../shared/app/interrupt.ts';
import type { SpotStorm } from '../../../shared/core/offerings/spot-storms.ts';
import type { Ports } from '../../../shared/app/ports.ts';
import type { SignalHint } from '../../../shared/contract/messages.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { START, decisionOf, machine, namesIn, preemptionOf, since, smallCluster } from './small-cluster.ts';

const deadlineKey = 'karpenter.sh/nodeclaim-termination-timestamp';
const replacedBy = 'nodewright.dev/replaced-by';
const interruption = 'nodewright.dev/interruption';
const disrupted = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));
const at = (ms: number): string => new Date(ms).toISOString().replace('.000Z', 'Z');
const vmId = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/aks-c';

/** A spot machine at rest, claim `c`, with so many pods on it, in a cluster that can have others. */
function running(given: { readonly pods?: number; readonly annotations?: Fields; readonly labels?: Fields } = {}) {
  const cluster = smallCluster();
  const { azure, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const labels = {
    'karpenter.sh/nodepool': 'general',
    'node.kubernetes.io/instance-type': 'Standard_D2_v5',
    'topology.kubernetes.io/zone': 'westeurope-1',
    'karpenter.sh/capacity-type': 'spot',
    ...given.labels,
  };
  cluster.addClaim('c', {
    labels,
    annotations: given.annotations ?? {},
    status: { providerID: `azure://${vmId}`, nodeName: 'aks-c', conditions },
  });
  azure.machines.set('c', machine('c', vmId));
  cluster.addNode('c', {
    id: vmId,
    labels: { ...labels, 'karpenter.sh/initialized': 'true' },
    status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
  });
  for (let index = 0; index < (given.pods ?? 1); index++) cluster.addRunning(`p-${index}`, 'c');
  return {
    ...cluster,
    annotations: () => server.get('nodeclaims', 'c')?.metadata.annotations ?? {},
    taints: () => server.get('nodes', 'aks-c')?.spec?.['taints'] as ReadonlyArray<Fields>,
    others: () =>
      server
        .list('nodeclaims')
        .map(({ metadata }) => metadata.name)
        .filter((name) => name !== 'c'),
    writes: () => cluster.trace.filter((step) => !step.startsWith('GET')),
  };
}

const notice = (changes: Partial<SignalHint> = {}): SignalHint => preemptionOf(vmId, changes);

describe('a notice changes nothing', () => {
  test.each([
    ['of a freeze, which lasts seconds', notice({ event: 'freeze' })],
    ['about a machine that nobody knows', notice({ vmId: vmId.replace('aks-c', 'aks-other') })],
    ['about a machine whose name is none of ours', notice({ vmId: '/virtualMachines/c', nodeName: 'c' })],
    ['about no machine', notice({ vmId: null })],
    ['about a machine of our name in another resource group', notice({ vmId: vmId.replace('/g/', '/other/') })],
    ['about such a one, with a node’s name', notice({ vmId: vmId.replace('/g/', '/other/'), nodeName: 'aks-c' })],
  ])('%s', async (_, signal) => {
    const { ports, writes, azure, stateOf } = running();
    expect(await interrupt(ports, signal)).toMatchObject({ kind: 'ignored' });
    expect([writes(), azure.refused, azure.deleted, stateOf('c')]).toEqual([[], [], [], 'there']);
  });

  test('about a machine that is being removed already', async () => {
    const { ports, writes, azure, server } = running();
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, notice())).toEqual({ kind: 'ignored', why: 'already being removed' });
    expect([writes(), azure.refused]).toEqual([[], []]);
  });
});

describe('of hearsay that a machine is gone', () => {
  const hearsay = notice({ event: 'gone', notBeforeMs: null, unlessThere: true, eventId: 'e-1' });

  test('nothing is done where Azure has the machine: its claim is looked at', async () => {
    const { ports, writes, sent, stateOf } = running();
    expect(await interrupt(ports, hearsay)).toEqual({ kind: 'looked', claim: 'c' });
    expect([writes(), stateOf('c')]).toEqual([['send objects 1'], 'there']);
    expect(sent).toMatchObject([
      { hint: { kind: 'objects', objects: [{ kind: 'NodeClaim', name: 'c' }] }, atMs: null },
    ]);
  });

  test('where Azure has it no more, it is replaced as after any notice', async () => {
    const { ports, azure, stateOf, others } = running();
    azure.machines.delete('c');
    expect(await interrupt(ports, hearsay)).toMatchObject({ kind: 'replaced', claim: 'c' });
    expect([stateOf('c'), others().length]).toEqual(['leaving', 1]);
  });

  test('a claim whose machine is yet to be launched is only looked at: what is gone was another of its name', async () => {
    const { ports, addClaim, stateOf } = running();
    addClaim('new');
    const vmOfNew = vmId.replace('aks-c', 'aks-new');
    expect(await interrupt(ports, { ...hearsay, vmId: vmOfNew })).toEqual({ kind: 'looked', claim: 'new' });
    expect(stateOf('new')).toBe('there');
  });

  test('a claim that is being removed is looked at, which brings its end on', async () => {
    const { ports, server, azure, sent, others } = running();
    azure.machines.delete('c');
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, hearsay)).toEqual({ kind: 'looked', claim: 'c' });
    expect([sent.map(({ hint }) => namesIn(hint)), others()]).toEqual([[['c']], []]);
  });
});

describe('a machine that Azure takes back', () => {
  test('is replaced, then closed to new pods, then given up by its deadline', async () => {
    const { ports, others, trace, sent, stateOf, annotations, taints } = running();
    expect(await interrupt(ports, notice())).toEqual({ kind: 'replaced', claim: 'c', replacements: 1 });
    const [replacement = ''] = others();
    expect(annotations()).toMatchObject({
      [deadlineKey]: at(START + 60_000),
      [interruption]: `preempt by ${at(START + 60_000)}`,
      [replacedBy]: replacement,
    });
    expect([taints(), stateOf('c')]).toEqual([[disrupted], 'leaving']);
    expect(sent.map(({ hint }) => [hint.kind, namesIn(hint)])).toEqual([
      ['launches', [replacement]],
      ['objects', ['c']],
    ]);
    const steps = [
      'POST /apis/karpenter.sh/v1/nodeclaims',
      'PATCH /api/v1/nodes/aks-c',
      'PATCH /apis/karpenter.sh/v1/nodeclaims/c',
      'DELETE',
    ];
    const order = steps.map((start) => trace.findIndex((step) => step.startsWith(start)));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('is not removed itself: that is for when its pods have gone', async () => {
    const { ports, azure, server } = running();
    await interrupt(ports, notice());
    expect(azure.deleted).toEqual([]);
    expect(server.list('pods').every(({ metadata }) => metadata.deletionTimestamp === undefined)).toBe(true);
    expect(server.get('nodes', 'aks-c')?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('is told of where people look for it', async () => {
    const { ports, server } = running();
    await interrupt(ports, notice());
    expect(server.list('events')).toMatchObject([
      { reason: 'Interrupted', involvedObject: { name: 'c' }, type: 'Warning' },
    ]);
  });

  test('has the shortest notice when none names a time', async () => {
    const { ports, annotations } = running();
    await interrupt(ports, notice({ notBeforeMs: null }));
    expect(annotations()[deadlineKey]).toBe(at(START + 30_000));
  });

  test.each([
    ['earlier', START + 10_000, START + 10_000],
    ['later', START + 90_000, START + 60_000],
  ])('goes by the earlier of two deadlines: the known one is %s', async (_, known, wanted) => {
    const { ports, annotations } = running({ annotations: { [deadlineKey]: at(known) } });
    await interrupt(ports, notice());
    expect(annotations()[deadlineKey]).toBe(at(wanted));
  });

  test('keeps a deadline that was set while its replacement was planned, when that is earlier', async () => {
    const { ports, annotations, outside, server } = running();
    outside.onRequest = ({ method, path }) => {
      if (method !== 'POST' || !path.endsWith('/nodeclaims')) return;
      server.patch('nodeclaims', 'c', { metadata: { annotations: { [deadlineKey]: at(START + 5_000) } } }, 'object');
    };
    await interrupt(ports, notice());
    expect(annotations()[deadlineKey]).toBe(at(START + 5_000));
  });

  test.each(['preempt', 'terminate', 'redeploy', 'reboot', 'degraded', 'gone'] as const)(
    'is replaced whatever ends its service: %s',
    async (event) => {
      const { ports, stateOf, others } = running();
      expect(await interrupt(ports, notice({ event }))).toMatchObject({ kind: 'replaced', replacements: 1 });
      expect([stateOf('c'), others().length]).toEqual(['leaving', 1]);
    },
  );

  test.each([
    ['its node’s name', { vmId: null, nodeName: 'aks-c' }],
    ['an id in another case', { vmId: vmId.toUpperCase() }],
    ['the name of its node, when the id names nobody', { vmId: '/virtualMachines/other', nodeName: 'aks-c' }],
  ])('is known by %s', async (_, names) => {
    const { ports, stateOf, server } = running();
    if (names.vmId === '/virtualMachines/other') {
      server.patch('nodeclaims', 'c', { status: { providerID: null } }, 'status');
    }
    await interrupt(ports, notice(names));
    expect(stateOf('c')).toBe('leaving');
  });

  test('is not replaced when no pod needs another, and is given up all the same', async () => {
    const { ports, others, stateOf, annotations, sent } = running({ pods: 0 });
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'replaced', replacements: 0 });
    expect((await ports.ledger.read()).generation).toBe(0);
    expect([others(), stateOf('c'), annotations()[replacedBy]]).toEqual([[], 'leaving', undefined]);
    expect(sent.map(({ hint }) => hint.kind)).toEqual(['objects']);
  });

  test('is given up when nobody has published what there is', async () => {
    const { ports, stateOf, others } = running();
    const none = { latest: () => Promise.resolve(null), list: () => Promise.resolve(null) };
    const blind = { ...ports, snapshots: { ...ports.snapshots, ...none } } as unknown as Ports;
    expect(await interrupt(blind, notice())).toMatchObject({ kind: 'replaced', replacements: 0 });
    expect([stateOf('c'), others()]).toEqual(['leaving', []]);
  });
});

test('a machine is replaced from what the API server says when the relay is silent', async () => {
  const { ports, others } = running();
  const snapshots = {
    ...ports.snapshots,
    latest: () => Promise.resolve(null),
    heartbeatMs: () => Promise.resolve(null),
  };
  await interrupt({ ...ports, snapshots }, notice());
  expect(others()).toHaveLength(1);
});

test('an interruption is told with the figures of its plan, once all is done', async () => {
  const { ports, others, stateOf } = running();
  const told: Array<unknown> = [];
  await interrupt({ ...ports, log: (event, facts) => void told.push([event, facts, stateOf('c')]) }, notice());
  const interrupted = { claim: 'c', notice: 'preempt', source: 'event-grid', replacements: others().join(',') };
  expect(told).toMatchObject([
    ['nodeclaim-created', { claim: others()[0], pods: 'default/p-0' }, 'there'],
    ['interrupted', interrupted, 'leaving'],
    ['planned', { fate: 'holds' }, 'leaving'],
  ]);
});

describe('the same notice again', () => {
  test('adds no machine and moves no deadline', async () => {
    const { ports, others, annotations, writes, clock, trace } = running();
    await interrupt(ports, notice({ notBeforeMs: null }));
    const [claims, said] = [others(), annotations()];
    trace.length = 0;
    clock.advance(10_000);
    expect((await interrupt(ports, notice({ notBeforeMs: null }))).kind).toBe('ignored');
    expect([others(), annotations(), writes()]).toEqual([claims, said, []]);
  });

  test('finds the replacement of an attempt that has failed half-way, and waits for that', async () => {
    const { ports, others, outside, annotations, stateOf } = running();
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c')) throw new RetryableError('busy');
    };
    await expect(interrupt(ports, notice())).rejects.toThrow('busy');
    const first = others();
    expect([first.length, stateOf('c')]).toEqual([1, 'there']);
    outside.onRequest = () => undefined;
    expect(await interrupt(ports, notice())).toMatchObject({ replacements: 1 });
    expect([others(), annotations()[replacedBy]]).toEqual([first, first[0]]);
  });
});

describe('nothing is given up', () => {
  test('when another plan was committed first', async () => {
    const { ports, stateOf, taints, others } = running();
    const ledger: Ports['ledger'] = { ...ports.ledger, commit: () => Promise.resolve({ kind: 'lost' }) };
    await expect(interrupt({ ...ports, ledger }, notice())).rejects.toThrow(
      new RetryableError('another plan was committed first', { retryAfterMs: 100 }),
    );
    expect([stateOf('c'), taints(), others()]).toEqual(['there', [], []]);
  });

  test('when the claim changes while its deadline is written', async () => {
    const { ports, stateOf, outside, server, annotations } = running();
    outside.onRequest = ({ method, path }) => {
      if (method !== 'PATCH' || !path.endsWith('/nodeclaims/c')) return;
      server.patch('nodeclaims', 'c', { metadata: { annotations: { somebody: 'else' } } }, 'object');
    };
    await expect(interrupt(ports, notice())).rejects.toThrow(RetryableError);
    expect([stateOf('c'), annotations()[deadlineKey]]).toEqual(['there', undefined]);
  });

  test('of another claim that has taken the name since', async () => {
    const { ports, stateOf, outside, server, addClaim } = running({ pods: 0 });
    outside.onRequest = ({ method }) => {
      if (method !== 'DELETE') return;
      server.remove('nodeclaims', 'c');
      addClaim('c');
    };
    await interrupt(ports, notice());
    expect(stateOf('c')).toBe('there');
  });

  test('when the claim has gone by itself meanwhile', async () => {
    const { ports, outside, server, sent, trace } = running({ pods: 0 });
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c')) server.remove('nodeclaims', 'c');
    };
    await interrupt(ports, notice());
    expect([sent, trace.filter((step) => step.startsWith('DELETE'))]).toEqual([[], []]);
  });
});

describe('the node of a machine that is taken back', () => {
  test('keeps its other taints', async () => {
    const { ports, server, taints } = running();
    const own = { key: 'own', effect: 'NoSchedule' };
    server.patch('nodes', 'aks-c', { spec: { taints: [own] } }, 'object');
    await interrupt(ports, notice());
    expect(taints()).toEqual([own, disrupted]);
  });

  test('is tainted once', async () => {
    const { ports, server, trace } = running();
    server.patch('nodes', 'aks-c', { spec: { taints: [disrupted] } }, 'object');
    await interrupt(ports, notice());
    expect(trace.filter((step) => step.startsWith('PATCH /api/v1/nodes/'))).toEqual([]);
  });

  test('is no obstacle when it is gone or changes all the time', async () => {
    const gone = running();
    gone.server.remove('nodes', 'aks-c');
    expect((await interrupt(gone.ports, notice())).kind).toBe('replaced');
    const busy = running();
    busy.outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.endsWith('/nodes/aks-c'))
        busy.server.patch('nodes', 'aks-c', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    expect((await interrupt(busy.ports, notice())).kind).toBe('replaced');
    expect(busy.taints()).toEqual([]);
  });
});

describe('a spot offering that was just taken back', () => {
  test('is avoided for ten minutes, before the replacement is planned', async () => {
    const { ports, azure, trace } = running();
    let requests = -1;
    const catalogs: Ports['catalogs'] = {
      ...ports.catalogs,
      refuse: (all) => {
        requests = trace.length;
        return ports.catalogs.refuse(all);
      },
    };
    await interrupt({ ...ports, catalogs }, notice());
    expect(azure.refused).toMatchObject([
      {
        scope: 'offering',
        offering: { instanceType: 'Standard_D2_v5', zone: 'westeurope-1', capacityType: 'spot' },
        untilMs: START + 600_000,
        reason: 'SpotEvicted',
      },
    ]);
    expect(requests).toBeLessThan(trace.findIndex((step) => step.startsWith('POST') && step.includes('/nodeclaims')));
  });

  test.each([
    ['what is taken back is no spot capacity', notice(), { 'karpenter.sh/capacity-type': 'on-demand' }],
    ['its machine is only mended', notice({ event: 'reboot' }), {}],
    ['nobody knows its size', notice(), { 'node.kubernetes.io/instance-type': undefined }],
    ['nobody knows its zone', notice(), { 'topology.kubernetes.io/zone': undefined }],
  ])('is not avoided when %s', async (_, signal, labels) => {
    const { ports, azure, stateOf } = running({ labels });
    await interrupt(ports, signal);
    expect([azure.refused, stateOf('c')]).toEqual([[], 'leaving']);
  });
});

describe('a spot machine that is taken back', () => {
  const storm = {
    zone: 'westeurope-1',
    family: 'standardDSv5Family',
    times: 1,
    evicted: 3,
    of: 4,
    untilMs: START + 1_800_000,
  };
  const told = (server: ReturnType<typeof running>['server']) =>
    server.list('events').filter(({ reason }: Fields) => reason === 'SpotStorm');

  test('is counted, with the spot machines that there are in its zone, before its replacement is planned', async () => {
    const { ports, azure, addClaim } = running();
    const spotIn = (zone: string, type = 'spot', size = 'Standard_D2_v5') => ({
      labels: {
        'karpenter.sh/capacity-type': type,
        'topology.kubernetes.io/zone': zone,
        'node.kubernetes.io/instance-type': size,
      },
      status: { conditions: [since(START, 'Launched')] },
    });
    addClaim('planned', { ...spotIn('westeurope-1'), status: {} });
    addClaim('same', spotIn('westeurope-1'));
    addClaim('larger', spotIn('westeurope-1', 'spot', 'Standard_D4_v5'));
    addClaim('elsewhere', spotIn('westeurope-2'));
    addClaim('paid', spotIn('westeurope-1', 'on-demand'));
    await interrupt(ports, notice());
    expect(azure.evicted).toEqual([
      {
        claim: 'c',
        instanceType: 'Standard_D2_v5',
        zone: 'westeurope-1',
        spotInZone: new Map([
          ['Standard_D2_v5', 2],
          ['Standard_D4_v5', 1],
        ]),
      },
    ]);
  });

  test.each([
    ['it is no spot capacity', notice(), { 'karpenter.sh/capacity-type': 'on-demand' }],
    ['it is only mended', notice({ event: 'reboot' }), {}],
  ])('is not counted where %s', async (_, signal, labels) => {
    const { ports, azure } = running({ labels });
    await interrupt(ports, signal);
    expect(azure.evicted).toEqual([]);
  });

  test('tells of the storm on its NodePool and in the log, with its numbers', async () => {
    const { ports, outside, server } = running();
    outside.storms = [storm, { ...storm, family: null, times: 2, evicted: 5, of: 9 }];
    const lines: Array<unknown> = [];
    await interrupt({ ...ports, log: (event, facts) => void lines.push([event, facts]) }, notice());
    expect(
      told(server).map(({ message, type, involvedObject }: Fields) => [type, involvedObject.name, message]),
    ).toEqual([
      [
        'Warning',
        'general',
        `Azure took back 3 of 4 spot machines of standardDSv5Family in westeurope-1 within ten minutes: until ${at(START + 1_800_000)} spot of standardDSv5Family in westeurope-1 is bought only where NodePools allow nothing else: other families, other zones and on-demand come first`,
      ],
      [
        'Warning',
        'general',
        `Azure took back 5 of 9 spot machines in westeurope-1 within ten minutes, storm 2 in a row: until ${at(START + 1_800_000)} spot in westeurope-1 is bought only where NodePools allow nothing else: other families, other zones and on-demand come first`,
      ],
    ]);
    expect(lines).toContainEqual([
      'spot-storm',
      expect.objectContaining({ claim: 'c', nodePool: 'general', ...storm }),
    ]);
  });

  test('tells of a storm that goes on once in half an hour, and of the next at once', async () => {
    const { ports, server, clock } = running();
    const claim = await ports.kubernetes.get('NodeClaim', { name: 'c', namespace: null });
    const pools = await ports.snapshots.list();
    const tell = (one: SpotStorm): Promise<void> =>
      claim === null ? Promise.reject(new Error('no claim')) : tellStorms(ports, claim, pools.nodePools, [one]);
    await tell(storm);
    await tell({ ...storm, evicted: 4, untilMs: storm.untilMs + 60_000 });
    expect(told(server)).toHaveLength(1);
    await tell({ ...storm, times: 2 });
    expect(told(server)).toHaveLength(2);
    clock.advance(30 * 60_000);
    await tell(storm);
    expect(told(server)).toHaveLength(3);
  });

  test('is told in the log alone where its NodePool is gone', async () => {
    const { ports, outside, server } = running({ labels: { 'karpenter.sh/nodepool': 'gone' } });
    outside.storms = [storm];
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'replaced' });
    expect(told(server)).toEqual([]);
  });

  test('is replaced though so many are counted that this one comes to no turn', async () => {
    const { ports, stateOf } = running();
    const lines: Array<unknown> = [];
    const log: Ports['log'] = (event, facts) => void lines.push([event, facts]);
    const busy = { ...ports.catalogs, evicted: () => Promise.reject(new RetryableError('lost 8 races')) };
    await interrupt({ ...ports, log, catalogs: busy }, notice());
    expect([stateOf('c'), lines]).toEqual([
      'leaving',
      expect.arrayContaining([['eviction-not-counted', { claim: 'c', why: 'lost 8 races' }]]),
    ]);
    const broken = { ...ports.catalogs, evicted: () => Promise.reject(new Error('a mistake')) };
    await expect(interrupt({ ...running().ports, catalogs: broken }, notice())).rejects.toThrow('a mistake');
  });
});

describe('what is waited for in place of an interrupted machine', () => {
  /** An interrupted `c` whose pod an earlier decision has promised the claim `r`, and how far the node of that is. */
  async function promised(node: 'in use' | 'starting' | 'not there', to: 'its pod' | 'another pod' | 'both') {
    const cluster = running();
    const uid = cluster.server.get('pods', 'default/p-0')?.metadata.uid ?? '';
    const own = to === 'another pod' ? [] : [{ name: 'default/p-0', uid }];
    const other = to === 'its pod' ? [] : [cluster.addPod('waits', to === 'both' ? '500m' : '2')];
    const decision = decisionOf(['r'], [...own, ...other]);
    await cluster.ports.decisions.put(decision);
    await cluster.ports.ledger.commit(await cluster.ports.ledger.read(), decision.name);
    await resumeNow(cluster.ports);
    if (node !== 'not there') {
      const status = { providerID: 'azure://r', nodeName: 'aks-r', conditions };
      cluster.server.patch('nodeclaims', 'r', { status }, 'status');
      cluster.addNode('r', {
        labels: {
          'karpenter.sh/nodepool': 'general',
          'karpenter.sh/capacity-type': 'on-demand',
          'node.kubernetes.io/instance-type': 'Standard_D2_v5',
          'topology.kubernetes.io/zone': 'westeurope-1',
          ...(node === 'in use' ? { 'karpenter.sh/initialized': 'true' } : {}),
        },
        status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
      });
    }
    await interrupt(cluster.ports, notice());
    return cluster;
  }

  test.each(['not there', 'starting'] as const)(
    'is the claim on its way that its pods fit, with its node %s',
    async (node) => {
      const { annotations, others } = await promised(node, 'its pod');
      expect([annotations()[replacedBy], others()]).toEqual(['r', ['r']]);
    },
  );

  test('is a claim that others share with its pods', async () => {
    const { annotations, others } = await promised('not there', 'both');
    expect([annotations()[replacedBy], others()]).toEqual(['r', ['r']]);
  });

  test('is nothing where a node in use has the room', async () => {
    const { annotations, others } = await promised('in use', 'its pod');
    expect([annotations()[replacedBy], others()]).toEqual([undefined, ['r']]);
  });

  test('is not a claim that was launched for others', async () => {
    const { annotations, others } = await promised('not there', 'another pod');
    const [, own] = others();
    expect([others().length, annotations()[replacedBy]]).toEqual([2, own]);
  });
});

test('a claim that others share with the node’s pods is waited for', async () => {
  const { ports, addPod, others, annotations } = running();
  addPod('waits', '500m');
  expect(await interrupt(ports, notice())).toMatchObject({ replacements: 1 });
  expect(others()).toEqual([annotations()[replacedBy]]);
});

test.each([
  ['whose claim is on its way out', 'nodeclaims', 'd'],
  ['that is on its way out itself', 'nodes', 'aks-d'],
])('the room of a node %s is not counted on', async (_, resource, name) => {
  const { ports, addClaim, addNode, server, others } = running();
  const labels = {
    'karpenter.sh/nodepool': 'general',
    'karpenter.sh/capacity-type': 'on-demand',
    'karpenter.sh/initialized': 'true',
  };
  addClaim('d', { labels, status: { providerID: 'azure://d', nodeName: 'aks-d', conditions } });
  addNode('d', {
    labels,
    finalizers: ['karpenter.sh/termination'],
    status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } },
  });
  server.delete(resource, name);
  await interrupt(ports, notice());
  expect(others()).toHaveLength(2);
});

test('of the claims launched with a replacement only those for the node’s own pods are waited for', async () => {
  const { ports, addPod, others, annotations, server } = running();
  addPod('waits', '2');
  expect(await interrupt(ports, notice())).toMatchObject({ replacements: 1 });
  expect(others()).toHaveLength(2);
  const decision = await ports.decisions.get((await ports.ledger.read()).decision ?? '');
  const uid = server.get('pods', 'default/p-0')?.metadata.uid;
  const index = decision?.plan.claims.findIndex(({ pods }) => pods.some((pod) => pod.uid === uid)) ?? -1;
  expect(annotations()[replacedBy]).toBe(decision?.claimNames[index]);
});
