import { describe, expect, test } from 'vitest';
import { noticeConditions } from '../../../../relay/hint/interruption.ts';
import { signalMessage, signalOf, signalsOf } from '../../../../relay/hint/signals.ts';
import type { ReducedObject } from '../../../../shared/contract/snapshot/reduced/reduced.ts';

type Node = ReducedObject<'nodes'>;

const AT = 'Sat, 21 Nov 2026 05:41:02 GMT';
const AT_MS = Date.parse(AT);
const preempt = `Preempt Scheduled: ${AT}. DurationInSeconds: -1. EventId: 0D5A3F0A-1111`;

function node(conditions: ReadonlyArray<object> | undefined, providerID?: string): Node {
  return {
    metadata: { name: 'aks-a' },
    spec: providerID === undefined ? {} : { providerID },
    status: conditions === undefined ? {} : { conditions },
  } as unknown as Node;
}

const condition = (type: string, status: string, message?: string): object => ({
  type,
  status,
  ...(message === undefined ? {} : { message }),
});

describe('the signals of a node', () => {
  test('are what Azure announces in its conditions, of the VM that it is', () => {
    const found = signalsOf(node([condition('PreemptionScheduled', 'True', preempt)], 'azure:///subscriptions/s/vm'));
    expect(found).toEqual([
      {
        event: 'preempt',
        notBeforeMs: AT_MS,
        eventId: '0D5A3F0A-1111',
        vmId: '/subscriptions/s/vm',
        nodeName: 'aks-a',
        key: `aks-a preempt 0D5A3F0A-1111 ${AT_MS}`,
      },
    ]);
  });

  test('are all of them', () => {
    const found = signalsOf(
      node([
        condition('PreemptionScheduled', 'True', preempt),
        condition('VMEventScheduled', 'True', 'Redeploy Started: .'),
      ]),
    );
    expect(found.map(({ event, vmId, notBeforeMs }) => [event, vmId, notBeforeMs])).toEqual([
      ['preempt', null, AT_MS],
      ['redeploy', null, null],
    ]);
  });

  test.for([
    ['of another kind', condition('KernelDeadlock', 'True', preempt)],
    ['that does not hold', condition('PreemptionScheduled', 'False', preempt)],
    ['of which nothing is known', condition('PreemptionScheduled', 'Unknown', preempt)],
    ['that is advice', condition('PreemptionScheduled', 'True', `SpotRebalanceRecommendation Advisory: ${AT}.`)],
    ['without words', condition('PreemptionScheduled', 'True')],
  ] as const)('are none of a condition %s', ([, one]) => {
    expect(signalsOf(node([one]))).toEqual([]);
  });

  test('are none of a node that is gone, or that says nothing', () => {
    expect(signalsOf(null)).toEqual([]);
    expect(signalsOf(node(undefined))).toEqual([]);
    expect(signalsOf({ metadata: { name: 'aks-a' } })).toEqual([]);
  });
});

test('a notice has one key by its event and its time, else by its being now', () => {
  const notice = { event: 'reboot', notBeforeMs: 5, eventId: 'e' } as const;
  expect(signalOf(notice, 'n', null).key).toBe('n reboot e 5');
  expect(signalOf({ ...notice, notBeforeMs: 4 }, 'n', null).key, 'Azure moves it').toBe('n reboot e 4');
  expect(signalOf({ ...notice, eventId: null }, 'n', null).key).toBe('n reboot 5');
  expect(signalOf({ ...notice, eventId: null, notBeforeMs: null }, 'n', null).key).toBe('n reboot now');
});

test('a machine that is not Azure’s has no id of Azure’s', () => {
  const notice = { event: 'freeze', notBeforeMs: null, eventId: null } as const;
  expect(signalOf(notice, 'n', 'kind://docker/n').vmId).toBeNull();
  expect(signalOf(notice, 'n', null).vmId).toBeNull();
  expect(signalOf(notice, 'n', 'azure:///subscriptions/s').vmId).toBe('/subscriptions/s');
});

test('a signal as a message has what its receiver needs, and not the key', () => {
  const notice = { event: 'terminate', notBeforeMs: 7, eventId: 'e' } as const;
  expect(signalMessage('c', signalOf(notice, 'n', 'azure:///vm'), 5)).toEqual({
    kind: 'signal',
    version: 1,
    cluster: 'c',
    vmId: '/vm',
    nodeName: 'n',
    event: 'terminate',
    notBeforeMs: 7,
    eventId: 'e',
    noticedMs: 5,
    source: 'node-condition',
  });
});

test('notices come under these conditions', () => {
  expect([...noticeConditions].toSorted()).toEqual(['PreemptionScheduled', 'VMEventScheduled']);
});
