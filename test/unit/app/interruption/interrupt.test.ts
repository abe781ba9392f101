import { describe, expect, test } from 'vitest';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Ports } from '../../../../shared/app/ports.ts';
import { START, namesIn } from '../small-cluster.ts';
import { at, deadlineKey, longNotice, notice, running, vmId } from './running.ts';

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

  test('about a machine that is being removed by then already', async () => {
    const { ports, writes, azure, server } = running({ annotations: { [deadlineKey]: at(START + 60_000) } });
    server.delete('nodeclaims', 'c');
    expect(await interrupt(ports, notice())).toEqual({ kind: 'ignored', why: 'already being removed' });
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

  test('where Azure has it no more, it is given up as after any notice', async () => {
    const { ports, azure, stateOf } = running();
    azure.machines.delete('c');
    expect(await interrupt(ports, hearsay)).toMatchObject({ kind: 'given-up', claim: 'c' });
    expect(stateOf('c')).toBe('leaving');
  });

  test('a claim whose machine is yet to be launched is only looked at: what is gone was another of its name', async () => {
    const { ports, addClaim, stateOf } = running();
    addClaim('new');
    const vmOfNew = vmId.replace('aks-c', 'aks-new');
    expect(await interrupt(ports, { ...hearsay, vmId: vmOfNew })).toEqual({ kind: 'looked', claim: 'new' });
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
    ['the name of its node, when the id names nobody', { vmId: '/virtualMachines/other', nodeName: 'aks-c' }],
  ])('%s', async (_, names) => {
    const { ports, stateOf, server } = running();
    if (names.vmId === '/virtualMachines/other') {
      server.patch('nodeclaims', 'c', { status: { providerID: null } }, 'status');
    }
    await interrupt(ports, notice(names));
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
    ['in 1970', 0],
    ['an hour ago', START - 3_600_000],
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
    const { ports, evictions, sent, clock } = running({ pods: 3 });
    const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => interrupt(ports, notice())));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toMatchObject([{ value: { kind: 'given-up' } }]);
    const others = outcomes.flatMap((outcome) => (outcome.status === 'rejected' ? [outcome.reason as unknown] : []));
    const later = new RetryableError('another notice of c is being acted on', { retryAfterMs: 5_000 });
    expect(others).toEqual(Array.from({ length: 4 }, () => later));
    expect([evictions(), sent.length]).toEqual([3, 1]);
    clock.advance(5_000);
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'ignored', why: 'already being removed' });
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
