import { describe, expect, test } from 'vitest';
import { deliverSignalsTo } from '../../../../functions/deliver/deliver-signals.ts';
import { eventTypes } from '../../../../shared/contract/messages/event-grid.ts';
import type { SignalHint } from '../../../../shared/contract/messages/messages.ts';
import { CLOCK_SKEW_MS } from '../../../../shared/app/facts/clock-skew.ts';
import { toQueueMessages } from '../../../../shared/contract/messages/queue-messages.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { START, machine, since, smallCluster } from '../../../kit/app/small-cluster.ts';
import { never } from '../../../kit/app/workers.ts';

const group = '/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines';
const idOf = (claim: string): string => `${group}/aks-${claim}`;
const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));

/** A worker whose cluster has a machine at rest for each of `claims`. */
function worker(...claims: ReadonlyArray<string>) {
  const cluster = smallCluster();
  const { ports, clock, azure, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  for (const claim of claims) {
    cluster.addClaim(claim, {
      labels: { 'karpenter.sh/nodepool': 'general' },
      status: { providerID: `azure://${idOf(claim)}`, nodeName: `aks-${claim}`, conditions },
    });
    cluster.addNode(claim, { id: idOf(claim), status: { allocatable: { cpu: '2', memory: '8Gi', pods: '30' } } });
    azure.machines.set(claim, machine(claim, idOf(claim)));
  }
  const poisoned: Array<{ readonly raw: unknown; readonly reason: string; readonly from: string }> = [];
  const lines: Array<Record<string, unknown>> = [];
  const app = {
    cluster: ports.cluster,
    hints: ports.hints,
    ports: () => Promise.resolve(ports),
    poison: (raw: unknown, reason: string, from: string) => Promise.resolve(void poisoned.push({ raw, reason, from })),
  };
  const context = {
    functionName: 'interrupt',
    invocationId: 'i',
    info: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>),
    error: () => undefined,
  };
  return {
    ...cluster,
    app,
    poisoned,
    lines,
    told: () => lines.filter(({ event }) => event === 'signal').map(({ outcome, why }) => [outcome, why ?? null]),
    deliver: (raw: unknown) => deliverSignalsTo({ app, now: () => clock.now(), after: never }, context, raw),
    leaving: () => claims.filter((claim) => server.get('nodeclaims', claim)?.metadata.deletionTimestamp !== undefined),
    events: () => server.list('events'),
  };
}

function hint(claim: string): SignalHint {
  return {
    kind: 'signal',
    version: 1,
    cluster: 'small',
    vmId: idOf(claim),
    nodeName: null,
    event: 'preempt',
    notBeforeMs: START + 30_000,
    eventId: null,
    source: 'node-condition',
  };
}

function annotated(claim: string, annotationName: string): object {
  const properties = { annotationName, targetResourceId: idOf(claim), summary: 'in Azure’s words' };
  return {
    id: `e-${claim}`,
    subject: idOf(claim),
    eventType: eventTypes.annotated,
    data: { resourceInfo: { properties } },
  };
}

const inCloudEvents = ({ eventType, ...rest }: Record<string, unknown>): object => ({
  ...rest,
  specversion: '1.0',
  type: eventType,
  source: '/subscriptions/s',
});

const deleted = (claim: string): object => ({
  id: `d-${claim}`,
  subject: idOf(claim),
  eventType: eventTypes.deleted,
  data: { operationName: 'Microsoft.Compute/virtualMachines/delete' },
});

describe('an eviction gives its machine up', () => {
  const preempted = annotated('a', 'VirtualMachinePreempted');
  test.each([
    ['as a hint of ours', hint('a')],
    ['in the Event Grid schema', preempted],
    ['in the CloudEvents schema', inCloudEvents(preempted as Record<string, unknown>)],
    ['in a list of one', [preempted]],
  ])('%s', async (_, raw) => {
    const { deliver, leaving, told, poisoned } = worker('a', 'b');
    await deliver(raw);
    expect([leaving(), told(), poisoned]).toEqual([['a'], [['given-up', null]], []]);
  });

  test('and twice changes nothing more', async () => {
    const { deliver, leaving, told } = worker('a');
    await deliver(preempted);
    await deliver([preempted]);
    await deliver(inCloudEvents(preempted as Record<string, unknown>));
    expect(leaving()).toEqual(['a']);
    expect(told()).toEqual([
      ['given-up', null],
      ['ignored', 'already being removed'],
      ['ignored', 'already being removed'],
    ]);
  });
});

describe('of many messages at once', () => {
  const claims = Array.from({ length: 40 }, (_, index) => `n${index}`);

  test('each is acted on by itself, and one that hangs delays no other', async () => {
    const { app, deliver, leaving, told } = worker(...claims);
    const ports = await app.ports();
    const { kubernetes } = ports;
    let release = (): void => undefined;
    const hung = new Promise<void>((done) => void (release = done));
    const patch: typeof kubernetes.patch = async (kind, key, change) => {
      if (key.name === 'aks-n0') await hung;
      return kubernetes.patch(kind, key, change);
    };
    app.ports = () => Promise.resolve({ ...ports, kubernetes: { ...kubernetes, patch } });
    const all = deliver(claims.map((claim) => hint(claim)));
    await expect.poll(() => told().length).toBe(39);
    expect(leaving()).toEqual(claims.slice(1));
    release();
    await all;
    expect([told().length, leaving()]).toEqual([40, claims]);
  });

  test('a message may be a list of events itself, and an empty one is kept', async () => {
    const { deliver, leaving, poisoned } = worker('a', 'b', 'c');
    const of = (claim: string): object => annotated(claim, 'VirtualMachinePreempted');
    await deliver([[of('a'), of('b')], [], hint('c')]);
    expect(leaving()).toEqual(['a', 'b', 'c']);
    expect(poisoned).toMatchObject([{ raw: [], from: 'interrupt' }]);
  });

  test('how late each was is counted from when all came', async () => {
    const { app, clock, deliver, lines } = worker('a', 'b');
    const ports = await app.ports();
    const { kubernetes } = ports;
    const log: typeof ports.log = (event, facts) => void lines.push({ event, ...facts });
    const get: typeof kubernetes.get = (kind, key) => {
      if (kind === 'Node') clock.advance(3_000);
      return kubernetes.get(kind, key);
    };
    app.ports = () => {
      clock.advance(1_000);
      return Promise.resolve({ ...ports, log, kubernetes: { ...kubernetes, get } });
    };
    await deliver([hint('a')]);
    expect(lines.find(({ event }) => event === 'interrupted')).toMatchObject({ markedAfterMs: 4_000, leftMs: 29_000 });
  });
});

test('whose time is shortest is acted on first, and what names none means the shortest', async () => {
  const claims = Array.from({ length: 40 }, (_, index) => `n${index}`);
  const { app, deliver } = worker(...claims);
  const ports = await app.ports();
  const begun: Array<string> = [];
  const get: typeof ports.kubernetes.get = (kind, key) => {
    if (kind === 'NodeClaim' && !begun.includes(key.name)) begun.push(key.name);
    return ports.kubernetes.get(kind, key);
  };
  app.ports = () => Promise.resolve({ ...ports, kubernetes: { ...ports.kubernetes, get } });
  const later = claims.map((claim, index) => ({ ...hint(claim), notBeforeMs: START + 600_000 - 1_000 * index }));
  const note = annotated('n0', 'LiveMigrationSucceeded');
  const nameless = annotated('n3', 'VirtualMachinePreempted');
  await deliver([7, note, ...later.filter(({ vmId }) => vmId !== idOf('n3')), nameless]);
  expect(begun.slice(0, 4)).toEqual(['n3', 'n39', 'n38', 'n37']);
});

test('how late each was is counted from when it was noticed, and from no later than it came', async () => {
  const { app, clock, deliver, lines } = worker('a', 'b');
  const ports = await app.ports();
  const log: typeof ports.log = (event, facts) => void lines.push({ event, ...facts });
  app.ports = () => Promise.resolve({ ...ports, log });
  clock.advance(5_000);
  await deliver([
    { ...hint('a'), noticedMs: START + 1_000 },
    { ...hint('b'), noticedMs: START + 60_000 },
  ]);
  const told = lines.filter(({ event }) => event === 'interrupted');
  expect(told.map(({ claim, markedAfterMs }) => [claim, markedAfterMs])).toEqual([
    ['a', 4_000],
    ['b', 0],
  ]);
});

describe('of a list of events', () => {
  test('each is used, and the malformed ones are kept by themselves', async () => {
    const { deliver, leaving, poisoned } = worker('a', 'b');
    await deliver([annotated('a', 'VirtualMachinePreempted'), 7, annotated('b', 'VirtualMachineHostCrashed')]);
    expect(leaving()).toEqual(['a', 'b']);
    expect(poisoned).toMatchObject([{ raw: 7, from: 'interrupt', reason: expect.stringContaining('not an object') }]);
  });

  test('those that fail for now are put off, and the queue takes no two for one', async () => {
    const { deliver, outside, sent, poisoned } = worker('a', 'b');
    outside.onRequest = ({ path }) => {
      if (path.includes('nodeclaims')) throw new RetryableError('busy');
    };
    const later = { ...hint('a'), notBeforeMs: 90_000 };
    await deliver([hint('a'), later, hint('b')]);
    expect(sent.map(({ hint: { attempt, kind } }) => [kind, attempt])).toEqual(sent.map(() => ['signal', 1]));
    const ids = sent.flatMap((one) => toQueueMessages(one.hint, one.key).map(({ id }) => id));
    expect([new Set(ids).size, poisoned]).toEqual([3, []]);
  });

  test('those that fail for now are put off apart where they speak of other nodes, or of another end', async () => {
    const { deliver, outside, sent } = worker('a', 'b');
    outside.onRequest = ({ path }) => {
      if (path.includes('nodeclaims')) throw new RetryableError('busy');
    };
    const named = (nodeName: string): object => ({ ...hint('a'), vmId: null, nodeName });
    await deliver([hint('a'), { ...hint('a'), event: 'terminate' }, named('aks-a'), named('aks-b')]);
    expect(new Set(sent.map(({ key }) => key)).size).toBe(4);
  });
});

test('a notice that comes often and cannot be acted on is put off to few moments, at which the queue takes one', async () => {
  const { deliver, outside, sent, clock } = worker('a', 'b');
  outside.onRequest = ({ path }) => {
    if (path.includes('nodeclaims')) throw new RetryableError('busy', { retryAfterMs: 30_000 });
  };
  const pauses: Array<number> = [];
  for (let time = 0; time < 20; time++) {
    clock.advance(200);
    await deliver(hint('a'));
    pauses.push((sent.at(-1)?.atMs ?? 0) - clock.now());
  }
  // No earlier than it was asked for, by a clock that is behind, and a quarter of the pause later at most.
  expect([Math.min(...pauses) >= 30_000 + CLOCK_SKEW_MS, Math.max(...pauses) < 40_000]).toEqual([true, true]);
  const keys = (): number => new Set(sent.map(({ key }) => key)).size;
  expect([sent.length, keys() <= 2]).toEqual([20, true]);
  const before = keys();
  await deliver(hint('b'));
  clock.advance(60_000);
  await deliver(hint('a'));
  expect(keys()).toBe(before + 2);
});

describe('a message is kept with its reason', () => {
  test.each([
    ['an empty list', [], 'not an Event Grid event: not an object'],
    ['a text', 'text', 'not an Event Grid event: not an object'],
    ['an object of neither kind', { id: 1 }, "not an Event Grid event: event is missing required property 'eventType'"],
    ['a hint that is none', { kind: 'signal', version: 1, event: 'explode' }, 'not a SignalHint: '],
    ['a hint of another kind', { kind: 'pods' }, 'not a SignalHint: '],
  ])('%s', async (_, raw, why) => {
    const { deliver, poisoned, told } = worker('a');
    await deliver(raw);
    expect(poisoned).toMatchObject([{ raw, reason: expect.stringContaining(why) }]);
    expect(told()).toEqual([]);
  });
});

describe('an event is forgotten, and said to be ignored', () => {
  test.each([
    ['of a type that nobody asked for', { eventType: 'Contoso.Items.ItemReceived', data: null }],
    ['of another subscription', annotated('a', 'VirtualMachinePreempted'), '/subscriptions/other/'],
    ['of another resource group', annotated('a', 'VirtualMachinePreempted'), '/resourceGroups/other/'],
    ['of a machine that is none of ours', annotated('nobody', 'VirtualMachinePreempted')],
    ['of a note about such a machine', annotated('nobody', 'LiveMigrationSucceeded')],
  ])('%s', async (_, event, place = '') => {
    const { deliver, leaving, poisoned, told, sent } = worker('a');
    const from = place.includes('subscriptions') ? '/subscriptions/s/' : '/resourceGroups/g/';
    await deliver(JSON.parse(JSON.stringify(event).replaceAll(from, place === '' ? from : place)));
    expect([leaving(), poisoned, sent]).toEqual([[], [], []]);
    expect(told()).toEqual([['ignored', expect.any(String)]]);
  });

  test('without reaching for the cluster when it means nothing to us', async () => {
    const { deliver, app, told } = worker('a');
    app.ports = () => Promise.reject(new RetryableError('no token'));
    await deliver(annotated('a', 'VirtualMachineAllocated'));
    expect(told()).toMatchObject([['ignored', expect.stringContaining('VirtualMachineAllocated')]]);
  });
});

describe('a deletion', () => {
  test('of a machine that Azure no longer has, and whose node is not ready, gives it up at once', async () => {
    const { deliver, azure, server, leaving, told } = worker('a', 'b');
    azure.machines.delete('a');
    server.patch('nodes', 'aks-a', { status: { conditions: [{ type: 'Ready', status: 'Unknown' }] } }, 'status');
    await deliver(deleted('a'));
    expect([leaving(), told()]).toEqual([['a'], [['given-up', null]]]);
  });

  test('that Azure does not confirm has the claim looked at, and no more', async () => {
    const { deliver, leaving, told, sent } = worker('a');
    await deliver(deleted('a'));
    expect([leaving(), told()]).toEqual([[], [['looked', null]]]);
    const look = { kind: 'objects', objects: [{ kind: 'NodeClaim', name: 'a' }] };
    expect(sent).toMatchObject([
      { hint: look, atMs: null },
      { hint: look, atMs: START + 60_000 },
    ]);
  });
});

describe('a note', () => {
  test('stands on the claim as an event', async () => {
    const { deliver, events, told, leaving } = worker('a');
    await deliver(annotated('a', 'LiveMigrationSucceeded'));
    const message = 'LiveMigrationSucceeded: in Azure’s words';
    expect(events()).toMatchObject([{ reason: 'HealthAnnotation', type: 'Normal', message }]);
    expect([told(), leaving()]).toEqual([[['noted', null]], []]);
  });

  test('that cannot be written now is let go', async () => {
    const { deliver, outside, told, sent, poisoned } = worker('a');
    outside.onRequest = () => {
      throw new RetryableError('busy');
    };
    await deliver(annotated('a', 'LiveMigrationSucceeded'));
    expect([told(), sent, poisoned]).toEqual([[['ignored', 'busy']], [], []]);
  });
});
