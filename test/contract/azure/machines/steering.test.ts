import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readEvictionRates } from '../../../../shared/adapters/azure/catalog/eviction-rates.ts';
import { listAt, textAt } from '../../../../sandbox/azure/arm/json.ts';
import { noFaults } from '../../../../sandbox/azure/state/options.ts';
import { systemClock } from '../../../../sandbox/base/clock.ts';
import { nicBody, vmBody } from '../kit/bodies.ts';
import {
  clientsOf,
  computeClient,
  group,
  networkClient,
  patient,
  promptly,
  startWithClients,
  subscriptionId,
} from '../kit/clients.ts';

let running: Awaited<ReturnType<typeof startWithClients>>;

beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

async function steer(endpoint: string, path: string, body: object): Promise<number> {
  const answer = await fetch(`${endpoint}/sandbox/${path}`, { method: 'POST', body: JSON.stringify(body) });
  return answer.status;
}

async function look(endpoint: string, path: string): Promise<unknown> {
  return (await fetch(`${endpoint}/sandbox/${path}`)).json();
}

async function launch(name: string, spot: boolean): Promise<unknown> {
  await running.network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly);
  return running.compute.virtualMachines.createOrUpdate(group, name, vmBody(name, { spot }), promptly);
}

test('everything can be steered and read over HTTP', async () => {
  const { endpoint } = running.azure;
  await launch('aks-s', true);
  expect(await steer(endpoint, 'evict', { name: 'aks-s', noticeSeconds: 0 })).toBe(204);
  await vi.waitFor(async () => {
    const events = listAt(await look(endpoint, 'events?after=0'), 'events');
    expect(events.map((event) => textAt(event, 'kind'))).toEqual([
      'vm-allocated',
      'vm-running',
      'vm-preempt-notice',
      'vm-gone',
    ]);
  }, patient);
  expect(listAt(await look(endpoint, 'events?after=3'), 'events')).toHaveLength(1);
  expect(await look(endpoint, 'vms')).toEqual({ vms: [] });
  expect(await look(endpoint, 'counters')).toMatchObject({ evictions: 1, vmPuts: { 'aks-s': 1 } });
});

test('exhaustion, faults and quota are steered and end when healed', async () => {
  const { endpoint } = running.azure;
  expect(await steer(endpoint, 'exhaust', { size: 'Standard_D2s_v5', code: 'SkuNotAvailable' })).toBe(204);
  await expect(launch('aks-e', false)).rejects.toMatchObject({ code: 'SkuNotAvailable' });
  expect(await steer(endpoint, 'heal', {})).toBe(204);
  expect(await steer(endpoint, 'quota', { familyCores: 0 })).toBe(204);
  await expect(launch('aks-q', false)).rejects.toMatchObject({ code: 'OperationNotAllowed' });
  expect(await steer(endpoint, 'quota', { familyCores: 100 })).toBe(204);
  const fault = { kind: 'refuse', status: 403, code: 'AuthorizationFailed', message: 'no role' };
  expect(await steer(endpoint, 'order-fault', { method: 'PUT', pathContains: 'virtualMachines', fault })).toBe(204);
  await expect(launch('aks-f', false)).rejects.toMatchObject({ code: 'AuthorizationFailed', statusCode: 403 });
  await launch('aks-f', false);
});

test('what is said of evictions is steered too', async () => {
  const { endpoint } = running.azure;
  expect(await steer(endpoint, 'eviction-rate', { size: 'Standard_D2s_v5', rate: '15-20' })).toBe(204);
  const reading = await readEvictionRates(clientsOf(endpoint), {
    subscription: subscriptionId,
    location: 'westeurope',
  });
  expect(reading.kind === 'read' && reading.rates.get('standard_d2s_v5')).toBe(0.175);
});

test.for([
  ['evict', { name: 'nobody' }, "There is no VM 'nobody' in"],
  ['evict', {}, "'name' must be a text"],
  ['exhaust', { code: 'Odd' }, 'Choose one of'],
  ['order-fault', { fault: { kind: 'odd' } }, 'Choose one of'],
  ['price', { size: 'none' }, "no size 'none'"],
  ['eviction-rate', { size: 'none', rate: '0-5' }, "no size 'none'"],
  ['subscribe', { name: 'x', url: 'http://127.0.0.1:1/' }, 'fetch failed'],
] as const)('wrong steering of %s says what is wrong', async ([path, body, words]) => {
  const answer = await fetch(`${running.azure.endpoint}/sandbox/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
  });
  expect(answer.status).toBe(400);
  expect(JSON.stringify(await answer.json())).toContain(words);
});

/** A client that gives up at nothing; 20 tries fail with a probability below one in a million. */
async function insist(attempt: () => PromiseLike<unknown>): Promise<void> {
  for (let tries = 0; tries < 20; tries += 1) {
    const failed = await Promise.resolve(attempt()).then(
      () => false,
      () => true,
    );
    if (!failed) return;
  }
  throw new Error('Twenty tries failed.');
}

test('under every fault by rate a client that tries again makes each VM once', async () => {
  const faulty = await startWithClients({
    faults: {
      ...noFaults,
      throttlePercent: 10,
      serverErrorPercent: 5,
      unavailablePercent: 5,
      slowPercent: 5,
      slowMs: 3,
      lostResponsePercent: 10,
      retryAfterSeconds: 0,
    },
  });
  const { azure, network, compute } = faulty;
  const names = Array.from({ length: 10 }, (_, index) => `aks-storm-${index}`);
  await Promise.all(
    names.map(async (name) => {
      await insist(() => network.networkInterfaces.createOrUpdate(group, name, nicBody(name), promptly));
      await insist(() => compute.virtualMachines.createOrUpdate(group, name, vmBody(name), promptly));
    }),
  );
  const counters = azure.counters();
  expect(Object.keys(counters.creations).toSorted()).toEqual(names.toSorted());
  expect(Object.values(counters.creations)).toEqual(names.map(() => 1));
  expect(Object.keys(counters.faults)).toEqual(expect.arrayContaining(['throttle', 'lostResponse']));
  await azure.close();
});

test('the request budget of ARM refuses with the time to come back', async () => {
  // The budget fills again as time passes, on a slow machine as fast as it is spent: so for it none passes.
  const nowMs = Date.now();
  const { azure } = await startWithClients({ throttle: true, clock: { ...systemClock, now: () => nowMs } });
  const path = `/subscriptions/${azure.vms().length}/x`;
  const statuses = [];
  for (let index = 0; index < 210; index += 1) {
    const answer = await fetch(azure.endpoint + path, { method: 'DELETE', headers: { authorization: 'Bearer x' } });
    statuses.push(answer.status);
    if (answer.status === 429) expect(answer.headers.get('retry-after')).toBe('1');
  }
  expect(statuses.slice(0, 200)).not.toContain(429);
  expect(statuses).toContain(429);
  await azure.close();
});

test('the double runs in a process of its own', async () => {
  const main = join(import.meta.dirname, '../../../../sandbox/azure/main.ts');
  const child = spawn(process.execPath, [main], {
    env: { ...process.env, PORT: '0', LATENCY: 'quick' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(createInterface(child.stdout), 'line')) as ReadonlyArray<unknown>;
  const endpoint = textAt(JSON.parse(String(line)), 'endpoint') ?? '';
  await networkClient(endpoint).networkInterfaces.createOrUpdate(group, 'aks-m', nicBody('aks-m'), promptly);
  const vm = await computeClient(endpoint).virtualMachines.createOrUpdate(group, 'aks-m', vmBody('aks-m'), promptly);
  expect(vm.provisioningState).toBe('Succeeded');
  child.kill('SIGTERM');
  expect(await once(child, 'exit')).toEqual([0, null]);
});
