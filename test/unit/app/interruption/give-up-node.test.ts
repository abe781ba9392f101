import { describe, expect, test } from 'vitest';
import { interrupt } from '../../../../shared/app/interruption/interrupt.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { RetryableError, TerminalError } from '../../../../shared/ports/errors.ts';
import type { ApiRequest } from '../../../../shared/adapters/kubernetes/transport.ts';
import { START, namesIn } from '../../../kit/app/small-cluster.ts';
import {
  at,
  deadlineKey,
  disrupted,
  interruption,
  longNotice,
  notice,
  replacedBy,
  replacementDue,
  running,
} from '../../../kit/app/running.ts';

const isTaint = ({ method, path }: ApiRequest): boolean => method === 'PATCH' && path.endsWith('/nodes/aks-c');
const isStamp = ({ method, path }: ApiRequest): boolean => method === 'PATCH' && path.endsWith('/nodeclaims/c');

/** Whatever a plan, a Lease, an audit, a statistic or Azure is reached by fails. */
function alone(ports: Ports): Ports {
  const fails = new Proxy({}, { get: (_, name) => () => Promise.reject(new Error(`${String(name)} was asked`)) });
  const parts = { snapshots: fails, decisions: fails, ledger: fails, cloud: fails, catalogs: fails };
  return { ...ports, ...parts, planner: () => Promise.reject(new Error('a plan was made')) } as unknown as Ports;
}

describe('a machine that Azure takes back', () => {
  test('is closed to new pods and given up by its time, and its pods are told', async () => {
    const { ports, trace, sent, stateOf, annotations, taints, leavingPods } = running({ pods: 3 });
    await interrupt(ports, notice());
    expect(annotations()).toEqual({
      [deadlineKey]: at(START + 60_000),
      [interruption]: `preempt by ${at(START + 60_000)} since ${new Date(START).toISOString()}`,
    });
    expect([taints(), stateOf('c'), leavingPods()]).toEqual([[disrupted], 'leaving', ['p-0', 'p-1', 'p-2']]);
    expect(sent.map(({ hint }) => [hint.kind, namesIn(hint)])).toEqual([['objects', ['c']]]);
    const told = trace.findIndex((step) => step.endsWith('/eviction'));
    for (const start of ['PATCH /api/v1/nodes/aks-c', 'PATCH /apis/karpenter.sh/v1/nodeclaims/c']) {
      expect(trace.findIndex((step) => step.startsWith(start))).toBeLessThan(told);
    }
    // From then on the claim is drained by whoever looks at it.
    const last = trace.findLastIndex((step) => step.endsWith('/eviction'));
    expect(trace.findIndex((step) => step.startsWith('DELETE'))).toBeGreaterThan(last);
  });

  test('is so with no plan, no Lease, no audit, no statistic and no word with Azure', async () => {
    const { ports, stateOf, leavingPods } = running();
    expect(await interrupt(alone(ports), notice())).toMatchObject({ kind: 'given-up', pods: 1 });
    expect([stateOf('c'), leavingPods()]).toEqual(['leaving', ['p-0']]);
  });

  test('is so by the earlier deadline that it has, also where its claim cannot be written', async () => {
    const { ports, outside, leavingPods } = running({ annotations: { [deadlineKey]: at(START + 20_000) } });
    outside.onRequest = (request) => {
      if (isStamp(request)) throw new RetryableError('busy');
    };
    await expect(interrupt(ports, longNotice())).rejects.toThrow('busy');
    expect(leavingPods()).toEqual(['p-0']);
  });

  test('is not removed itself: that is for when its pods have gone', async () => {
    const { ports, azure, server } = running();
    await interrupt(ports, notice());
    expect(azure.deleted).toEqual([]);
    expect(server.get('nodes', 'aks-c')?.metadata.deletionTimestamp).toBeUndefined();
  });

  test('is told of where people look for it', async () => {
    const { ports, server } = running({ pods: 0 });
    await interrupt(ports, notice());
    expect(server.list('events')).toMatchObject([
      { reason: 'Interrupted', involvedObject: { name: 'c' }, type: 'Warning' },
    ]);
  });

  test('has the grace period of a pod fitted into what is left', async () => {
    const { ports, server, addRunning } = running({ pods: 0 });
    addRunning('long', 'c', { spec: { terminationGracePeriodSeconds: 3_600 } });
    await interrupt(ports, notice());
    expect(server.get('pods', 'default/long')?.metadata.deletionGracePeriodSeconds).toBe(60);
  });

  test('lets its pods serve until the deadline where their pool asks for it', async () => {
    const { ports, leavingPods, stateOf } = running({ annotations: { 'nodewright.dev/stay-until-deadline': 'true' } });
    await interrupt(ports, notice());
    expect([stateOf('c'), leavingPods()]).toEqual(['leaving', []]);
  });

  test('may have no node yet', async () => {
    const { ports, server, stateOf } = running({ pods: 0 });
    server.remove('nodes', 'aks-c');
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up', markedMs: null, pods: 0 });
    expect(stateOf('c')).toBe('leaving');
  });

  test('leaves the pods alone of another machine that has the name of its node', async () => {
    const { ports, server, stateOf, taints, leavingPods } = running();
    server.patch('nodes', 'aks-c', { spec: { providerID: 'azure:///another' } }, 'object');
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up', markedMs: null, toldMs: null });
    expect([stateOf('c'), taints(), leavingPods()]).toEqual(['leaving', [], []]);
  });
});

describe('with time for a machine to boot', () => {
  test('pods wait for what replaces them: by when that is named stands on the claim', async () => {
    const { ports, annotations, taints, stateOf, leavingPods } = running();
    expect(await interrupt(ports, longNotice())).toMatchObject({ kind: 'given-up', toldMs: null, pods: null });
    expect(annotations()).toMatchObject({
      [deadlineKey]: at(START + 600_000),
      [replacementDue]: at(START + 30_000),
    });
    expect([taints(), stateOf('c'), leavingPods()]).toEqual([[disrupted], 'leaving', []]);
  });

  test.each([
    ['150 s are not enough', 150_000, ['p-0']],
    ['a second more is', 151_000, []],
  ])('%s', async (_, leftMs, told) => {
    const { ports, leavingPods } = running();
    await interrupt(ports, notice({ notBeforeMs: START + leftMs }));
    expect(leavingPods()).toEqual(told);
  });

  test('what disruption had them wait for is waited for no more once there is less', async () => {
    const { ports, annotations } = running({ annotations: { [replacedBy]: 'r' } });
    await interrupt(ports, notice());
    expect(annotations()[replacedBy]).toBeUndefined();
  });
});

describe('what is refused of one step stops no other', () => {
  const denied = (is: (request: ApiRequest) => boolean) => (request: ApiRequest) => {
    if (is(request)) throw new RetryableError('denied by a webhook', { retryAfterMs: 30_000 });
  };

  test('a node that nobody may close: its claim is given up, and its pods are told', async () => {
    const { ports, outside, stateOf, taints, leavingPods } = running();
    const lines: Array<unknown> = [];
    outside.onRequest = denied(isTaint);
    const log: Ports['log'] = (event, facts) => void lines.push([event, facts]);
    expect(await interrupt({ ...ports, log }, notice())).toMatchObject({ kind: 'given-up', markedMs: null, pods: 1 });
    expect([stateOf('c'), taints(), leavingPods()]).toEqual(['leaving', [], ['p-0']]);
    expect(lines).toContainEqual([
      'interruption-step-refused',
      { claim: 'c', step: 'taint', why: 'denied by a webhook' },
    ]);
  });

  test('a claim that nobody may write to: its node is closed, its pods are told, and the notice is acted on again soon', async () => {
    const { ports, outside, stateOf, taints, leavingPods } = running();
    outside.onRequest = denied(isStamp);
    await expect(interrupt(ports, notice())).rejects.toThrow(new RetryableError('denied by a webhook'));
    expect([stateOf('c'), taints(), leavingPods()]).toEqual(['there', [disrupted], ['p-0']]);
    outside.onRequest = () => undefined;
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up' });
    expect(stateOf('c')).toBe('leaving');
  });

  test('pods that nobody may list: they are told by the next look at the claim', async () => {
    const { ports, outside, stateOf, sent } = running();
    outside.onRequest = denied(({ method, path }) => method === 'GET' && path.includes('/pods'));
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up', toldMs: null, pods: null });
    expect([stateOf('c'), sent.map(({ hint }) => namesIn(hint))]).toEqual(['leaving', [['c']]]);
  });

  test('what fails of the node for good: its claim is given up, and its pods are told', async () => {
    const { ports, outside, stateOf, leavingPods } = running();
    outside.onRequest = (request) => {
      if (isTaint(request)) throw new TerminalError('no such field');
    };
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up', markedMs: null });
    expect([stateOf('c'), leavingPods()]).toEqual(['leaving', ['p-0']]);
  });

  test('a claim that nobody may delete: it is looked at, people are told, and the notice comes again', async () => {
    const { ports, outside, server, sent } = running();
    outside.onRequest = denied(({ method }) => method === 'DELETE');
    await expect(interrupt(ports, notice())).rejects.toThrow(new RetryableError('denied by a webhook'));
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([['c']]);
    expect(server.list('events')).toContainEqual(expect.objectContaining({ reason: 'Interrupted' }));
  });

  test('a pod that nobody may evict: the others are told', async () => {
    const { ports, outside, leavingPods } = running({ pods: 3 });
    outside.onRequest = denied(({ path }) => path.includes('/p-1/eviction'));
    await interrupt(ports, notice());
    expect(leavingPods()).toEqual(['p-0', 'p-2']);
  });

  test('figures that nobody may write', async () => {
    const { ports, stateOf } = running();
    const figuresLog = { ...ports.figuresLog, addLook: () => Promise.reject(new RetryableError('locked')) };
    expect(await interrupt({ ...ports, figuresLog }, notice())).toMatchObject({ kind: 'given-up' });
    expect(stateOf('c')).toBe('leaving');
  });
});

describe('the node', () => {
  test('that has gone meanwhile is not told of as closed', async () => {
    const { ports, outside, server } = running();
    outside.onRequest = (request) => {
      if (isTaint(request)) server.remove('nodes', 'aks-c');
    };
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'given-up', markedMs: null });
  });

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

  test('is tainted though its kubelet writes at the same moment', async () => {
    const { ports, outside, server, taints } = running();
    let writes = 0;
    outside.onRequest = (request) => {
      if (isTaint(request) && writes++ < 3) {
        server.patch('nodes', 'aks-c', { metadata: { labels: { write: String(writes) } } }, 'object');
      }
    };
    await interrupt(ports, notice());
    expect(taints()).toEqual([disrupted]);
  });
});

describe('the claim', () => {
  test('is given up though others write to it at the same moment', async () => {
    const { ports, outside, server, stateOf, annotations } = running();
    let writes = 0;
    outside.onRequest = (request) => {
      if (isStamp(request) && writes++ < 3) {
        server.patch('nodeclaims', 'c', { metadata: { annotations: { write: String(writes) } } }, 'object');
      }
    };
    await interrupt(ports, notice());
    expect([stateOf('c'), annotations()[deadlineKey], annotations()['write']]).toEqual([
      'leaving',
      at(START + 60_000),
      '3',
    ]);
  });

  test('keeps an earlier time that it gets at the same moment', async () => {
    const { ports, annotations, outside, server, leavingPods } = running();
    let isFirst = true;
    outside.onRequest = (request) => {
      if (!isStamp(request) || !isFirst) return;
      isFirst = false;
      server.patch('nodeclaims', 'c', { metadata: { annotations: { [deadlineKey]: at(START + 5_000) } } }, 'object');
    };
    await interrupt(ports, longNotice());
    expect([annotations()[deadlineKey], annotations()[replacementDue]]).toEqual([at(START + 5_000), undefined]);
    expect(leavingPods(), 'nobody waits for a replacement').toEqual(['p-0']);
  });

  test('that changes all the time is tried again', async () => {
    const { ports, outside, server, stateOf, leavingPods } = running();
    let writes = 0;
    outside.onRequest = (request) => {
      if (isStamp(request)) {
        server.patch('nodeclaims', 'c', { metadata: { annotations: { write: String(writes++) } } }, 'object');
      }
    };
    await expect(interrupt(ports, notice())).rejects.toThrow(RetryableError);
    expect([stateOf('c'), leavingPods(), writes]).toEqual(['there', ['p-0'], 5]);
  });

  test('of another machine that has taken the name since is not given up', async () => {
    const { ports, stateOf, outside, server, addClaim } = running({ pods: 0 });
    outside.onRequest = ({ method }) => {
      if (method !== 'DELETE') return;
      server.remove('nodeclaims', 'c');
      addClaim('c');
    };
    await interrupt(ports, notice());
    expect(stateOf('c')).toBe('there');
  });

  test('that has gone by itself meanwhile is no error', async () => {
    const { ports, outside, server, sent, trace, leavingPods } = running();
    outside.onRequest = (request) => {
      if (isStamp(request)) server.remove('nodeclaims', 'c');
    };
    expect(await interrupt(ports, notice())).toMatchObject({ kind: 'ignored' });
    expect(leavingPods(), 'nobody knows whose node it is now').toEqual([]);
    expect([sent, trace.filter((step) => step.startsWith('DELETE'))]).toEqual([[], []]);
  });
});
