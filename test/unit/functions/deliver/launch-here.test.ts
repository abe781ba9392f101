import { describe, expect, test, vi } from 'vitest';
import { deliverObjectsTo } from '../../../../functions/deliver/deliver-objects.ts';
import { deliverPodsTo } from '../../../../functions/deliver/deliver-pods.ts';
import type { Worker } from '../../../../functions/execution.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import type { PodsHint } from '../../../../shared/contract/messages/messages.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { denying, smallCluster } from '../../../kit/app/small-cluster.ts';

const hint: PodsHint = { kind: 'pods', version: 1, cluster: 'small', snapshot: null, reason: 'test' };

/** The snapshot's window is over then, and pods are planned for. */
const WINDOW_MS = 10_000;
const MINUTE_MS = 60_000;

/** A cluster whose nodes take one pod each, and the function `provision` in a process of its own. */
function cluster() {
  const made = smallCluster();
  const { ports, clock, sent, azure } = made;
  made.addClass('True');
  made.addPool();
  const lines: Array<Readonly<Record<string, unknown>>> = [];
  const poisoned: Array<unknown> = [];
  const log = (event: string, facts: object): void => void lines.push({ event, ...facts });
  const app = {
    cluster: ports.cluster,
    hints: ports.hints,
    ports: () => Promise.resolve({ ...ports, log }),
    poison: (raw: unknown) => Promise.resolve(void poisoned.push(raw)),
  };
  const worker: Worker = { app, now: () => clock.now(), after: (ms, act) => clock.after(ms, act) };
  const contextOf = (functionName: string) => ({
    functionName,
    invocationId: 'i',
    info: (line: string) => void lines.push(JSON.parse(line) as Readonly<Record<string, unknown>>),
    error: () => undefined,
  });
  const launches = () => sent.filter(({ hint: { kind } }) => kind === 'launches');
  return {
    ...made,
    lines,
    poisoned,
    launched: () => azure.orders.map(({ claim }) => claim),
    launches,
    /** So many pods come, each too large for a node with another, and are looked at. */
    come: async (...names: ReadonlyArray<string>) => {
      for (const name of names) made.addPod(name, '1500m');
      clock.advance(WINDOW_MS);
      await deliverPodsTo(worker, contextOf('provision'), [hint]);
    },
    /** `launch` hears of what it was asked for last. */
    hear: () => deliverObjectsTo(worker, contextOf('launch'), launches().at(-1)?.hint),
  };
}

describe('after a quiet time', () => {
  test('whoever decides launches, and `launch` hears of it ten seconds later', async () => {
    const { come, launched, launches, clock, lines } = cluster();
    await come('a');
    expect(launched()).toHaveLength(1);
    expect(launches()).toMatchObject([{ atMs: clock.now() + 10_000 }]);
    expect(lines).toContainEqual(expect.objectContaining({ event: 'followed', because: 'created' }));
  });

  test('what Azure refuses for now is left to that message', async () => {
    const { come, hear, outside, launched, poisoned, server } = cluster();
    const { launch } = outside;
    outside.launch = () => {
      throw new RetryableError('busy');
    };
    await come('a');
    expect([launched().length, poisoned]).toEqual([1, []]);
    outside.launch = launch;
    await hear();
    expect(launched()).toHaveLength(2);
    expect(new Set(launched()).size).toBe(1);
    expect(server.list('nodeclaims')[0]?.status).toMatchObject({ providerID: expect.stringContaining('azure://') });
  });

  test('an Azure that does not answer holds the cluster up until that message, and no longer', async () => {
    const { come, hear, outside, launched, launches, clock, poisoned } = cluster();
    const { launch } = outside;
    outside.launch = () => new Promise(() => {}) as never;
    let isOver = false;
    const coming = come('a').then(() => (isOver = true));
    await vi.waitFor(() => expect(launches()).toHaveLength(1));
    await new Promise((resolve) => setImmediate(resolve));
    clock.advance(9_999);
    await new Promise((resolve) => setImmediate(resolve));
    expect(isOver).toBe(false);
    clock.advance(1);
    await coming;
    outside.launch = launch;
    await hear();
    expect([launched().length, new Set(launched()).size, poisoned]).toEqual([2, 1, []]);
  });

  test('what Azure throttles is launched when Azure said, as that message finds it put off', async () => {
    const { come, hear, outside, launched, launches, clock } = cluster();
    const { launch } = outside;
    outside.launch = () => {
      throw new RetryableError('too many', { retryAfterMs: 30_000, because: 'throttled' });
    };
    await come('a');
    outside.launch = launch;
    const comes = launches().map(({ atMs }) => (atMs ?? 0) - clock.now());
    expect(comes).toEqual([10_000, expect.closeTo(30_500, -3)]);
    clock.advance(10_000);
    await hear();
    expect(launched()).toHaveLength(1);
    clock.advance(comes.at(-1) ?? 0);
    await hear();
    expect(launched()).toHaveLength(2);
  });

  test('a claim that may not be created is not looked for', async () => {
    const { come, outside, lines } = cluster();
    const deny = denying('POST', '');
    outside.deny = (request) => (request.path.endsWith('/nodeclaims') ? deny(request) : null);
    await come('a');
    expect(lines).toContainEqual(expect.objectContaining({ event: 'nodeclaim-refused' }));
    expect(lines.filter(({ event }) => event === 'followed')).toEqual([]);
  });

  test('what has been launched is not launched again by it', async () => {
    const { come, hear, launched } = cluster();
    await come('a');
    await hear();
    expect(launched()).toHaveLength(1);
  });

  test('more than eight claims are left to `launch`, which hears of them at once', async () => {
    const { come, launched, launches } = cluster();
    await come(...Array.from({ length: 9 }, (_, index) => `p${index}`));
    expect(launched()).toEqual([]);
    expect(launches()).toMatchObject([{ atMs: null, hint: { objects: { length: 9 } } }]);
  });
});

test('soon after a decision `launch` is awake, and hears of claims at once', async () => {
  const { come, launched, launches, clock } = cluster();
  await come('a');
  clock.advance(MINUTE_MS - WINDOW_MS - 1_000);
  await come('b');
  expect(launched()).toHaveLength(1);
  expect(launches().at(-1)?.atMs).toBe(null);
  clock.advance(MINUTE_MS);
  await come('c');
  expect(launched()).toHaveLength(2);
});

test('a decision by a clock that was far ahead does not say that `launch` is awake', async () => {
  const { come, launched, server, clock } = cluster();
  await come('a');
  const renewTime = new Date(clock.now() + 10 * MINUTE_MS).toISOString();
  for (const { metadata } of server.list('leases')) {
    const key = `${metadata.namespace ?? ''}/${metadata.name}`;
    expect(server.patch('leases', key, { spec: { renewTime } }, 'object').status).toBe(200);
  }
  await come('b');
  expect(launched()).toHaveLength(2);
});

test('who only looks, as the sweep does, launches nothing', async () => {
  const { ports, addPod, clock, launches } = cluster();
  addPod('a');
  clock.advance(WINDOW_MS);
  expect(await provision(ports, { mayList: true })).toMatchObject({ kind: 'provisioned', claims: 1, toLaunch: [] });
  expect(launches()).toMatchObject([{ atMs: null }]);
});
