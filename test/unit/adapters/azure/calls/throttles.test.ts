import { expect, test } from 'vitest';
import { LongPause } from '../../../../../shared/adapters/azure/calls/azure-error.ts';
import { createThrottles } from '../../../../../shared/adapters/azure/calls/throttles.ts';

type Policy = ReturnType<typeof createThrottles>;
type Answer = Awaited<ReturnType<Parameters<Policy['sendRequest']>[1]>>;

const url = 'https://arm/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/a?api-version=1';

function answer(status: number, seconds: number, code: string): Answer {
  const headers = new Map([['retry-after', String(seconds)]]);
  return { status, headers, bodyAsText: JSON.stringify({ error: { code, message: 'busy' } }) } as unknown as Answer;
}

/** A policy by a clock that stands, and what it does with a request that Azure answers so. */
function throttles() {
  let nowMs = 0;
  let asked = 0;
  const policy = createThrottles(() => nowMs);
  const send = async (given: Answer): Promise<number> => {
    const request = { method: 'PUT', url } as Parameters<Policy['sendRequest']>[0];
    const response = await policy.sendRequest(request, () => {
      asked += 1;
      return Promise.resolve(given);
    });
    return response.status;
  };
  return { send, asked: () => asked, advance: (ms: number) => void (nowMs += ms) };
}

test('a kind of request that a subscription has too many of is asked for again once Azure’s pause is over', async () => {
  const { send, asked, advance } = throttles();
  await expect(send(answer(429, 60, 'SubscriptionRequestsThrottled'))).rejects.toThrow(LongPause);
  advance(59_999);
  await expect(send(answer(201, 0, ''))).rejects.toThrow(LongPause);
  expect(asked()).toBe(1);
  advance(1);
  expect(await send(answer(201, 0, ''))).toBe(201);
  expect(asked()).toBe(2);
});

test('it is kept back for ten minutes at most, whatever Azure says', async () => {
  const { send, advance } = throttles();
  await expect(send(answer(429, 86_400, 'SubscriptionRequestsThrottled'))).rejects.toThrow(LongPause);
  advance(10 * 60_000);
  expect(await send(answer(201, 0, ''))).toBe(201);
});

test('a service that is busy closes nothing: the next request asks it', async () => {
  const { send } = throttles();
  await expect(send(answer(503, 60, 'SubscriptionRequestsThrottled'))).rejects.toThrow(LongPause);
  expect(await send(answer(201, 0, ''))).toBe(201);
});
