import { describe, expect, test } from 'vitest';
import { createTurns, interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { START, namesIn } from '../../../kit/app/small-cluster.ts';
import { renderInterruption } from '../../../../shared/app/facts/interrupted.ts';
import type { InTurn } from '../../../../shared/app/interruption/give-up-node.ts';
import {
  at,
  deadlineKey,
  interruption,
  longNotice,
  notice,
  replacementDue,
  running,
  vmId,
} from '../../../kit/app/running.ts';

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

  test('of spot capacity that is taken back, about a machine on demand', async () => {
    const { ports, writes, stateOf } = running({ labels: { 'karpenter.sh/capacity-type': 'on-demand' } });
    expect(await interrupt(ports, notice())).toEqual({ kind: 'ignored', why: 'only spot machines are preempted' });
    expect([writes(), stateOf('c')]).toEqual([[], 'there']);
  });

  test.for([
    ['another resource group', 'other'],
    ['one that Azure does not show', 'g'],
  ] as const)('about a machine of %s, while a claim of its name does not know its own yet', async ([, group]) => {
    const { ports, writes, server, azure, stateOf } = running();
    server.patch('nodeclaims', 'c', { status: { providerID: null } }, 'status');
    if (group === 'g') azure.machines.delete('c');
    expect(await interrupt(ports, notice({ vmId: vmId.replace('/g/', `/${group}/`) }))).toMatchObject({
      kind: 'ignored',
      why: 'no NodeClaim of ours',
    });
    expect([writes(), stateOf('c')]).toEqual([[], 'there']);
  });

  test('about a machine that is being removed by then already', async () => {
    const { ports, writes, azure, server } = running({ annotations: { [deadlineKey]: at(START + 60_000) } });
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, notice({ event: 'terminate' }))).toEqual({
      kind: 'ignored',
      why: 'already being removed',
    });
    expect([writes(), azure.refused]).toEqual([[], []]);
  });
});

test.each(['preempt', 'terminate', 'redeploy', 'reboot', 'degraded', 'gone'] as const)(
  'a machine is given up whatever ends its service: %s',
  async (event) => {
    const { ports, stateOf, leavingPods } = running();
    expect(await interrupt(ports, notice({ event }))).toMatchObject({ kind: 'given-up', claim: 'c', pods: 1 });
    expect([stateOf('c'), leavingPods()]).toEqual(['leaving', ['p-0']]);
  },
);

test('a machine on demand is given up where Azure takes it down for a while', async () => {
  const { ports, stateOf } = running({ labels: { 'karpenter.sh/capacity-type': 'on-demand' } });
  await interrupt(ports, notice({ event: 'reboot' }));
  expect(stateOf('c')).toBe('leaving');
});

test('a machine is given up though somebody whose clock is ahead has begun, and died', async () => {
  const deadline = at(START + 60_000);
  const begun = renderInterruption('preempt', deadline, START + 600_000);
  const { ports, stateOf } = running({ annotations: { [interruption]: begun, [deadlineKey]: deadline } });
  expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up' });
  expect(stateOf('c')).toBe('leaving');
});

describe('of hearsay that a machine is gone', () => {
  const hearsay = notice({ event: 'gone', notBeforeMs: null, unlessThere: true, eventId: 'e-1' });

  test('nothing is done where Azure has the machine: its claim is looked at', async () => {
    const { ports, writes, sent, stateOf } = running();
    expect(await interrupt(ports, hearsay)).toEqual({ kind: 'looked', claim: 'c' });
    expect([writes(), stateOf('c')]).toEqual([['send objects 1', 'send objects 1'], 'there']);
    const hint = { kind: 'objects', objects: [{ kind: 'NodeClaim', name: 'c' }] };
    expect(sent).toMatchObject([
      { hint, atMs: null },
      { hint, atMs: START + 60_000 },
    ]);
  });

  test('where Azure has it no more and its node is not ready, it is given up as after any notice', async () => {
    const { ports, azure, stateOf, stopKubelet } = running();
    azure.machines.delete('c');
    stopKubelet();
    expect(await interrupt(ports, hearsay)).toMatchObject({ kind: 'given-up', claim: 'c' });
    expect(stateOf('c')).toBe('leaving');
  });

  test('a node that is ready is looked at, though Azure says once that its machine is gone', async () => {
    const { ports, azure, stateOf, leavingPods } = running();
    azure.machines.delete('c');
    expect(await interrupt(ports, hearsay)).toEqual({ kind: 'looked', claim: 'c' });
    expect([stateOf('c'), leavingPods()]).toEqual(['there', []]);
  });

  test('a machine that Azure has is not given up because its node is not ready', async () => {
    const { ports, stateOf, stopKubelet } = running();
    stopKubelet();
    expect(await interrupt(ports, hearsay)).toEqual({ kind: 'looked', claim: 'c' });
    expect(stateOf('c')).toBe('there');
  });

  test.each(['preempt', 'reboot', 'terminate', 'redeploy'] as const)(
    'is what a %s comes to that should have been minutes ago: the machine that is there stays',
    async (event) => {
      const { ports, stateOf, leavingPods } = running();
      const late = notice({ event, notBeforeMs: START - 120_001 });
      expect(await interrupt(ports, late)).toEqual({ kind: 'looked', claim: 'c' });
      expect([stateOf('c'), leavingPods()]).toEqual(['there', []]);
    },
  );

  test.each([
    ['reboot', 'looked'],
    ['degraded', 'given-up'],
  ] as const)('is what a %s without a time comes to that was sent minutes ago: %s', async (event, kind) => {
    const { ports } = running();
    const late = notice({ event, notBeforeMs: null, noticedMs: START - 120_001 });
    expect(await interrupt(ports, late)).toMatchObject({ kind });
  });

  test('stands in nobody’s way: Azure, which is asked, may not answer', async () => {
    const { ports, stateOf, stopKubelet, addClaim } = running();
    addClaim('slow', { status: { providerID: `azure://${vmId.replace('aks-c', 'aks-slow')}` } });
    const cloud = { ...ports.cloud, observe: () => new Promise<never>(() => undefined) };
    const inTurn = createTurns();
    stopKubelet();
    const slow = { ...hearsay, vmId: vmId.replace('aks-c', 'aks-slow') };
    for (let index = 0; index < 40; index++) void interrupt({ ...ports, cloud }, slow, START, inTurn);
    expect(await interrupt({ ...ports, cloud }, notice(), START, inTurn)).toMatchObject({ kind: 'given-up' });
    expect(stateOf('c')).toBe('leaving');
  });

  test('a claim whose machine is yet to be launched is left alone: what is gone was another of its name', async () => {
    const { ports, addClaim, stateOf } = running();
    addClaim('new');
    const vmOfNew = vmId.replace('aks-c', 'aks-new');
    expect(await interrupt(ports, { ...hearsay, vmId: vmOfNew })).toMatchObject({ kind: 'ignored' });
    expect(stateOf('new')).toBe('there');
  });

  test('a claim that is being removed is looked at, which brings its end on', async () => {
    const { ports, server, azure, sent } = running();
    azure.machines.delete('c');
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, hearsay)).toEqual({ kind: 'looked', claim: 'c' });
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([['c']]);
  });
});

describe('a machine that is taken back is known by', () => {
  test.each([
    ['its node’s name', { vmId: null, nodeName: 'aks-c' }],
    ['an id in another case', { vmId: vmId.toUpperCase() }],
  ])('%s', async (_, names) => {
    const { ports, stateOf } = running();
    await interrupt(ports, notice(names));
    expect(stateOf('c')).toBe('leaving');
  });

  test('what Azure shows under its name, while its claim does not know that yet', async () => {
    const { ports, stateOf, server } = running();
    server.patch('nodeclaims', 'c', { status: { providerID: null } }, 'status');
    await interrupt(ports, notice());
    expect(stateOf('c')).toBe('leaving');
  });
});

describe('the time that pods have', () => {
  test('is the shortest notice when none names a time', async () => {
    const { ports, annotations } = running();
    await interrupt(ports, notice({ notBeforeMs: null }));
    expect(annotations()[deadlineKey]).toBe(at(START + 30_000));
  });

  test.each([
    ['two minutes ago', START - 120_000],
    ['a second ago', START - 1_000],
    ['in a second', START + 1_000],
  ])('is ten seconds where the notice names a time %s', async (_, notBeforeMs) => {
    const { ports, annotations } = running();
    await interrupt(ports, notice({ notBeforeMs }));
    expect(annotations()[deadlineKey]).toBe(at(START + 10_000));
  });

  test.each([
    ['earlier', START + 40_000, START + 40_000],
    ['later', START + 90_000, START + 60_000],
  ])('is the earlier of two: the known one is %s', async (_, known, wanted) => {
    const { ports, annotations } = running({ annotations: { [deadlineKey]: at(known) } });
    await interrupt(ports, notice());
    expect(annotations()[deadlineKey]).toBe(at(wanted));
  });

  test('is the earlier of two for the pods, too, and none waits for a replacement', async () => {
    const { ports, annotations, leavingPods } = running({ annotations: { [deadlineKey]: at(START + 40_000) } });
    await interrupt(ports, longNotice());
    expect([annotations()[replacementDue], leavingPods()]).toEqual([undefined, ['p-0']]);
  });

  test('is cut where the machine was being removed in peace', async () => {
    const { ports, server, annotations, leavingPods } = running();
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up' });
    expect([annotations()[deadlineKey], leavingPods()]).toEqual([at(START + 60_000), ['p-0']]);
  });
});

describe('the same notice again', () => {
  test('tells no pod twice and moves no time', async () => {
    const { ports, annotations, writes, clock, trace } = running();
    await interrupt(ports, notice({ notBeforeMs: null }));
    const said = annotations();
    trace.length = 0;
    clock.advance(10_000);
    expect((await interrupt(ports, notice({ notBeforeMs: null }))).kind).toBe('ignored');
    expect([annotations(), writes()]).toEqual([said, []]);
  });

  test('at the same moment is acted on once, and the others come again a little later, in case that one dies', async () => {
    const { ports, evictions, sent, clock, trace } = running({ pods: 3 });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => interrupt(ports, notice())));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toMatchObject([{ value: { kind: 'given-up' } }]);
    const others = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    const later = new RetryableError('another notice of c is being acted on', { retryAfterMs: 5_000 });
    expect(others).toEqual(Array.from({ length: 4 }, () => later));
    expect([evictions(), sent.length]).toEqual([3, 1]);
    expect(trace.filter((step) => /^GET .*\/pods\b/.test(step)).length, 'the others ask for no pods').toBe(1);
    clock.advance(5_000);
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'ignored', why: 'already being removed' });
  });

  test('that failed half-way and comes again is nobody else’s: it is acted on at once', async () => {
    const { ports, outside, stateOf, leavingPods } = running();
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' || path.includes('/pods')) throw new RetryableError('away');
    };
    await expect(interrupt(ports, notice())).rejects.toThrow('away');
    outside.onRequest = () => undefined;
    expect(await interrupt(ports, { ...notice(), attempt: 1 })).toMatchObject({ kind: 'given-up' });
    expect([stateOf('c'), leavingPods()]).toEqual(['leaving', ['p-0']]);
  });

  test('of an execution that has died half-way is taken up five seconds later', async () => {
    const { ports, outside, clock, stateOf, leavingPods } = running();
    outside.onRequest = ({ method }) => {
      if (method === 'DELETE') throw new RetryableError('dies');
    };
    await expect(interrupt(ports, notice())).rejects.toThrow('dies');
    expect([stateOf('c'), leavingPods()]).toEqual(['there', ['p-0']]);
    outside.onRequest = () => undefined;
    await expect(interrupt(ports, notice())).rejects.toThrow('another notice of c is being acted on');
    clock.advance(5_000);
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up' });
    expect(stateOf('c')).toBe('leaving');
  });

  test('with less time is acted on: pods that waited for their replacement are told', async () => {
    const { ports, annotations, leavingPods } = running();
    await interrupt(ports, longNotice());
    expect(leavingPods()).toEqual([]);
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up' });
    expect([leavingPods(), annotations()[deadlineKey]]).toEqual([['p-0'], at(START + 60_000)]);
  });
});

describe('of two notices, one of which takes spot capacity back, the claim says that one', () => {
  const gone = at(START + 20_000);

  test('which comes later', async () => {
    const said = renderInterruption('gone', gone, START - 10_000);
    const { ports, annotations, server } = running({ annotations: { [deadlineKey]: gone, [interruption]: said } });
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up' });
    expect(annotations()).toMatchObject({
      [deadlineKey]: gone,
      [interruption]: renderInterruption('preempt', gone, START),
    });
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'ignored', why: 'already being removed' });
  });

  test('which came earlier', async () => {
    const said = renderInterruption('preempt', at(START + 60_000), START - 10_000);
    const { ports, annotations } = running({
      annotations: { [deadlineKey]: at(START + 60_000), [interruption]: said },
    });
    await interrupt(ports, notice({ event: 'terminate', notBeforeMs: START + 20_000 }));
    expect(annotations()).toMatchObject({
      [deadlineKey]: gone,
      [interruption]: renderInterruption('preempt', gone, START),
    });
  });
});

test('of many notices each node is closed and its pods are told before the next', async () => {
  const { ports, trace, addClaim } = running();
  for (const name of ['d', 'e'])
    addClaim(name, { status: { providerID: `azure://${vmId.replace('aks-c', `aks-${name}`)}` } });
  let last: Promise<unknown> = Promise.resolve();
  const oneByOne: InTurn = (step) => {
    const mine = last.then(step);
    last = mine.catch(() => undefined);
    return mine;
  };
  const all = ['c', 'd', 'e'].map((name) =>
    interrupt(ports, notice({ vmId: vmId.replace('aks-c', `aks-${name}`) }), START, oneByOne),
  );
  await Promise.all(all);
  const first = (start: string): number => trace.findIndex((step) => step.startsWith(start));
  const told = trace.findIndex((step) => step.endsWith('/eviction'));
  expect(told).toBeGreaterThan(first('PATCH /apis/karpenter.sh/v1/nodeclaims/c'));
  expect(told).toBeLessThan(first('PATCH /apis/karpenter.sh/v1/nodeclaims/d'));
  expect(first('DELETE /apis/karpenter.sh/v1/nodeclaims/c')).toBeGreaterThan(
    first('PATCH /apis/karpenter.sh/v1/nodeclaims/e'),
  );
});

test('an interruption is told of with what it took, once all is done', async () => {
  const { ports, clock, stateOf } = running();
  const told: Array<unknown> = [];
  const evict: Ports['kubernetes']['evict'] = (pod) => {
    clock.advance(2_000);
    return ports.kubernetes.evict(pod);
  };
  const slow = {
    ...ports,
    kubernetes: { ...ports.kubernetes, evict },
    log: (event: string, facts: object) => void told.push([event, facts, stateOf('c')]),
  };
  await interrupt(slow, notice(), START - 1_000);
  expect(told).toEqual([
    [
      'interrupted',
      expect.objectContaining({
        claim: 'c',
        notice: 'preempt',
        source: 'event-grid',
        markedAfterMs: 1_000,
        toldAfterMs: 3_000,
        leftMs: 60_000,
        pods: 1,
      }),
      'leaving',
    ],
  ]);
});
