import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { OrderedFault } from '../../../../sandbox/azure/limits/ordered-fault.ts';
import { noFaults } from '../../../../sandbox/azure/state/options.ts';
import { VirtualClock } from '../../../../sandbox/base/clock.ts';
import { nicId } from '../kit/bodies.ts';
import { group, startWithClients, subscriptionId } from '../kit/clients.ts';

type Running = Awaited<ReturnType<typeof startWithClients>>;
let running: Running;

beforeAll(async () => {
  running = await startWithClients({});
});
afterAll(() => running.azure.close());

const compute = `/subscriptions/${subscriptionId}/resourceGroups/${group}/providers/Microsoft.Compute`;
const vm = (name: string): string => `${compute}/virtualMachines/${name}`;
const usages = `/subscriptions/${subscriptionId}/providers/Microsoft.Compute/locations/westeurope/usages`;

async function ask(method: string, path: string, { azure }: Running = running): Promise<Response> {
  const version = path.includes('/Microsoft.Network/') ? '2026-01-01' : '2026-04-01';
  return fetch(`${azure.endpoint}${path}?api-version=${version}`, {
    method,
    headers: { authorization: 'Bearer x', 'content-type': 'application/json' },
    ...(method === 'PUT' ? { body: '{"location":"westeurope"}' } : {}),
  });
}

function order(fault: OrderedFault['fault']): void {
  running.azure.orderFault({ method: null, pathContains: '', times: 1, fault });
}

describe('a request that is throttled', () => {
  test.for([
    ['OperationNotAllowed', vm('a'), '60', /too many requests have been received for this subscription/],
    ['ResourceRequestsThrottled', usages, '60', /usages\/read' exceeded .* try again after '60' seconds/],
    [
      'SubscriptionRequestsThrottled',
      vm('a'),
      '60',
      /GET\/SUBSCRIPTIONS.*VIRTUALMACHINES' exceeded .* after '60' seconds/,
    ],
    ['RetryableError', nicId('a'), null, /A retryable error occurred/],
  ] as const)(
    'is told so by Azure under the code %s, with a minute to wait or none',
    async ([code, path, wait, words]) => {
      order({ kind: 'throttle', code, retryAfterSeconds: noFaults.retryAfterSeconds });
      const answer = await ask('GET', path);
      expect(answer.status).toBe(429);
      expect(answer.headers.get('retry-after')).toBe(wait);
      const { error } = (await answer.json()) as {
        readonly error: { readonly code: string; readonly message: string };
      };
      expect(error.code).toBe(code);
      expect(error.message).toMatch(words);
    },
  );

  test('of Compute says what it is in the details alone: the code is the one of quota', async () => {
    order({ kind: 'throttle', code: 'OperationNotAllowed', retryAfterSeconds: 7 });
    const answer = await ask('PUT', vm('a'));
    expect(answer.headers.get('retry-after')).toBe('7');
    expect(await answer.json()).toMatchObject({
      error: {
        code: 'OperationNotAllowed',
        details: [{ code: 'TooManyRequests', target: 'PutVMResource' }],
        innererror: { internalErrorCode: 'TooManyRequestsReceived' },
      },
    });
  });

  test.for([
    [vm('a'), 'OperationNotAllowed'],
    [nicId('a'), 'RetryableError'],
    [`/subscriptions/${subscriptionId}/locations`, 'ResourceRequestsThrottled'],
  ])('%s hears of it from whoever serves it', async ([path, code]) => {
    running.azure.setFaults({ ...noFaults, throttlePercent: 100, retryAfterSeconds: 9 });
    const answer = await ask('GET', path ?? '');
    running.azure.setFaults(noFaults);
    expect(await answer.json()).toMatchObject({ error: { code } });
    expect(answer.headers.get('retry-after')).toBe(code === 'RetryableError' ? null : '9');
  });

  test('can be ordered from another process, with a wait of its own or Azure’s', async () => {
    const steer = (fault: object): Promise<Response> =>
      fetch(`${running.azure.endpoint}/sandbox/order-fault`, { method: 'POST', body: JSON.stringify({ fault }) });
    await steer({ kind: 'throttle', retryAfterSeconds: 2 });
    expect((await ask('GET', vm('a'))).headers.get('retry-after')).toBe('2');
    await steer({ kind: 'throttle', code: 'SubscriptionRequestsThrottled' });
    expect((await ask('GET', vm('a'))).headers.get('retry-after')).toBe('60');
    expect((await steer({ kind: 'throttle', code: 'Odd' })).status).toBe(400);
    await steer({ kind: 'refuse', status: 429, code: 'TooManyRequests', retryAfterSeconds: 1 });
    const plain = await ask('GET', vm('a'));
    expect([plain.status, plain.headers.get('retry-after')]).toEqual([429, '1']);
  });
});

describe('what is left of Compute’s limits', () => {
  const LEFT = 'x-ms-ratelimit-remaining-resource';

  test.for([
    ['PUT', 'put', '', 'PutVMSubscriptionMaximum;1499,Microsoft.Compute/PutVMResource;11'],
    ['PATCH', 'patch', '', 'UpdateVMSubscriptionMaximum;1499,Microsoft.Compute/UpdateVMResource;11'],
    ['DELETE', 'delete', '', 'DeleteVMSubscriptionMaximum;1499,Microsoft.Compute/DeleteVMResource;11'],
  ] as const)('is said of a VM that is new to it: %s', async ([method, name, below, left]) => {
    const fresh = await startWithClients({});
    const answer = await ask(method, `${vm(name)}${below}`, fresh);
    const isGateway = answer.headers.get('x-ms-failure-cause') === 'gateway';
    // The gateway answers for a VM that never was: nobody behind it counts.
    expect(answer.headers.get(LEFT)).toBe(isGateway ? null : `Microsoft.Compute/${left}`);
    expect(isGateway).toBe(method === 'PATCH');
    await fresh.azure.close();
  });

  test('is nothing of lists and of other types', async () => {
    expect((await ask('GET', `${compute}/virtualMachines`)).headers.get(LEFT)).toBeNull();
    expect((await ask('GET', usages)).headers.get(LEFT)).toBeNull();
  });
});

describe('where limits are kept', () => {
  const MINUTE = 60_000;
  let clock: VirtualClock;
  let kept: Running;

  beforeAll(async () => {
    clock = new VirtualClock(Date.UTC(2026, 7, 22));
    kept = await startWithClients({ throttle: true, clock });
  });
  afterAll(() => kept.azure.close());

  async function statuses(method: string, path: string, times: number): Promise<ReadonlyArray<number>> {
    const found: Array<number> = [];
    // Each takes one of what is left.
    for (let index = 0; index < times; index++) found.push((await ask(method, path, kept)).status);
    return found;
  }

  test('a VM has twelve PUTs at once and four more a minute, and another VM has its own', async () => {
    expect(await statuses('PUT', vm('a'), 13)).toEqual([...Array.from({ length: 12 }, () => 400), 429]);
    const refused = await ask('PUT', vm('a'), kept);
    expect(Number(refused.headers.get('retry-after'))).toBe(15);
    expect(await refused.json()).toMatchObject({ error: { details: [{ target: 'PutVMResource' }] } });
    expect(await statuses('PUT', vm('b'), 1)).toEqual([400]);
    clock.advance(MINUTE);
    expect(await statuses('PUT', vm('a'), 5)).toEqual([400, 400, 400, 400, 429]);
  });

  test('what the gateway refuses counts for nobody', async () => {
    expect(await statuses('GET', vm('never'), 40)).toEqual(Array.from({ length: 40 }, () => 404));
  });

  test('ARM has 200 writes at once for a principal, and says when to come back', async () => {
    clock.advance(MINUTE);
    const answers = await statuses('DELETE', nicId('none'), 201);
    expect(answers.slice(0, 200)).not.toContain(429);
    expect(answers.at(-1)).toBe(429);
    const refused = await ask('DELETE', nicId('none'), kept);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.json()).toMatchObject({ error: { code: 'SubscriptionRequestsThrottled' } });
  });
});
