import { expect, test } from 'vitest';
import { toEventInput } from '../../../sandbox/functions-host/http/event-grid.ts';
import { copyApp, startTestHost, until } from './host-under-test.ts';

test('a function answers at its route, with parameters, query, status, headers, cookies and body', async () => {
  const { url } = await startTestHost(await copyApp('web'));
  const hello = await fetch(`${url}/api/hello/b%C3%B6b?a=1&a=2&b=`);
  expect([hello.status, hello.headers.get('content-type')]).toEqual([200, 'application/json']);
  expect(await hello.json()).toEqual({ name: 'böb', query: { a: '1,2', b: '' } });
  expect(await (await fetch(`${url}/API/Hello`)).json()).toEqual({ name: 'nobody', query: {} });

  const echo = await fetch(`${url}/api/echo`, { method: 'POST', body: 'grüße' });
  expect([echo.status, echo.headers.get('x-method'), await echo.text()]).toEqual([201, 'POST', 'grüße']);
  expect(echo.headers.getSetCookie()).toEqual(['seen=yes%20please; Max-Age=60; HttpOnly; SameSite=Lax']);
});

test('the more particular route wins: literal, constrained, plain, rest', async () => {
  const { url } = await startTestHost(await copyApp('web'));
  const get = async (path: string): Promise<unknown> => (await fetch(`${url}/api/files/${path}`)).json();
  expect(await get('7')).toEqual({ id: '7' });
  expect(await get('seven')).toEqual({ name: 'seven' });
  expect(await get('a/b%20c/d')).toEqual({ rest: 'a/b c/d' });
});

test('an unknown path is 404, a known path with another method is 405 and says which it takes', async () => {
  const { url } = await startTestHost(await copyApp('web'));
  expect((await fetch(`${url}/api/nothing`)).status).toBe(404);
  expect((await fetch(`${url}/hello`)).status).toBe(404);
  const wrong = await fetch(`${url}/api/echo`);
  expect([wrong.status, wrong.headers.get('allow')]).toEqual([405, 'POST']);
});

test('a function that throws is a 500 without its error in the body, and the log has it', async () => {
  const { url, entries } = await startTestHost(await copyApp('web'));
  const answer = await fetch(`${url}/api/broken`);
  expect([answer.status, await answer.text()]).toEqual([500, '']);
  expect(entries.map(({ message }) => message).join('\n')).toContain('no luck');
});

test('a function that returns nothing is a 204, and a 204 has no body', async () => {
  const { url } = await startTestHost(await copyApp('web'));
  expect((await fetch(`${url}/api/silent`)).status).toBe(204);
  const odd = await fetch(`${url}/api/odd`);
  expect([odd.status, odd.headers.get('x-odd'), await odd.text()]).toEqual([204, 'fine', '']);
});

test('routePrefix of host.json stands before every route, and may be empty', async () => {
  const hostJson = JSON.stringify({ version: '2.0', extensions: { http: { routePrefix: '' } } });
  const { url } = await startTestHost(await copyApp('web', { 'host.json': hostJson }));
  expect((await fetch(`${url}/hello/you`)).status).toBe(200);
  expect((await fetch(`${url}/api/hello/you`)).status).toBe(404);
});

test('malformed requests do not harm the host', async () => {
  const { url, host } = await startTestHost(await copyApp('web'));
  expect((await fetch(`${url}/api/hello/%E0%A4%A`)).status).toBe(200);
  expect((await fetch(`${url}/admin/functions/onEvent`, { method: 'POST', body: '{' })).status).toBe(400);
  const grid = `${url}/runtime/webhooks/EventGrid?functionName=onEvent`;
  expect((await fetch(grid, { method: 'POST', body: 'no json' })).status).toBe(400);
  expect((await fetch(grid, { method: 'POST', body: '[1]' })).status).toBe(400);
  expect((await fetch(`${url}/admin/host/ping`)).status).toBe(200);
  expect(host.executions()['onEvent']?.started).toBe(0);
});

test('closing waits for the request that runs', async () => {
  const { url, host } = await startTestHost(await copyApp('web'));
  const answer = fetch(`${url}/api/slow`);
  await until('it runs', () => host.executions()['slow']?.started === 1);
  await host.close();
  expect(await (await answer).text()).toBe('done');
});

test('a function whose trigger or route is not supported is a mistake that stops no other', async () => {
  const { host, url } = await startTestHost(await copyApp('web'));
  expect(host.mistakes).toEqual([
    expect.stringMatching(/'badRoute': route "api\/a\{b\}c": the segment "a\{b\}c" is not supported/),
    expect.stringMatching(/'elsewhere': this host has no trigger of the type 'queueTrigger'/),
  ]);
  const status: unknown = await (await fetch(`${url}/admin/host/status`)).json();
  expect(status).toMatchObject({ state: 'Running', errors: host.mistakes });
});

const validation = {
  id: 'v',
  topic: 't',
  subject: 's',
  eventType: 'Microsoft.EventGrid.SubscriptionValidationEvent',
  eventTime: '2026-11-21T00:00:00Z',
  dataVersion: '1',
  data: { validationCode: 'secret-code' },
};

test('Event Grid: both handshakes are answered', async () => {
  const { url, host } = await startTestHost(await copyApp('web'));
  const grid = `${url}/runtime/webhooks/EventGrid?functionName=onEvent&code=any`;
  const asked = await fetch(grid, {
    method: 'POST',
    headers: { 'aeg-event-type': 'SubscriptionValidation' },
    body: JSON.stringify([validation]),
  });
  expect([asked.status, await asked.json()]).toEqual([200, { validationResponse: 'secret-code' }]);
  const cloud = await fetch(grid, { method: 'OPTIONS', headers: { 'webhook-request-origin': 'eventgrid.azure.net' } });
  expect(cloud.headers.get('webhook-allowed-origin')).toBe('eventgrid.azure.net');
  expect(cloud.headers.get('webhook-allowed-rate')).toBe('*');
  expect(host.executions()['onEvent']?.started).toBe(0);
});

test('Event Grid: an array of events is one invocation each, in both schemas, and a throw asks for another delivery', async () => {
  const { url, said } = await startTestHost(await copyApp('web'));
  const grid = `${url}/runtime/webhooks/eventgrid?functionName=onEvent`;
  const post = async (body: unknown): Promise<number> =>
    (await fetch(grid, { method: 'POST', body: JSON.stringify(body) })).status;
  expect(
    await post([
      { id: '1', eventType: 'A', data: { Vm: 'x' } },
      { id: '2', eventType: 'B' },
    ]),
  ).toBe(202);
  expect(await post({ specversion: '1.0', id: '3', source: '/s', type: 'C', data: {} })).toBe(202);
  expect(
    await post([
      { id: '4', eventType: 'D', data: { fail: true } },
      { id: '5', eventType: 'E' },
    ]),
  ).toBe(500);
  const seen = said().toSorted((a, b) => String(a['id']).localeCompare(String(b['id'])));
  expect(seen.map(({ id, type }) => [id, type])).toEqual([
    ['1', 'A'],
    ['2', 'B'],
    ['3', 'C'],
    ['5', 'E'],
  ]);
  expect(seen[0]?.['metadata']).toEqual({ data: { vm: 'x' } });
  // Neither is an HTTP function one of Event Grid's, nor are names read without their case.
  for (const name of ['hello', 'ONEVENT']) {
    const answer = await fetch(`${url}/runtime/webhooks/eventgrid?functionName=${name}`, { method: 'POST' });
    expect(answer.status, name).toBe(404);
  }
});

// A function gets the same object either way, so the host is asked.
test('Event Grid: the worker is sent an event as text with line breaks, as by the real host', () => {
  expect(toEventInput({ id: '1', data: { vm: 'x' } })).toEqual({
    string: '{\n  "id": "1",\n  "data": {\n    "vm": "x"\n  }\n}',
  });
});

test('what is called over HTTP is one group, with Event Grid’s webhooks, and each other function is one by itself', async () => {
  const folder = await copyApp('web');
  const { url } = await startTestHost(folder, { group: 'http' });
  expect((await fetch(`${url}/api/hello`)).status).toBe(200);
  for (const group of ['function:hello', 'function:onEvent']) {
    await expect(startTestHost(folder, { group })).rejects.toThrow(
      `no function of the group '${group}'; its groups are http, function:elsewhere.`,
    );
  }
});

test('admin: functions are listed, one is described, one is run by hand, executions are counted', async () => {
  const { url, host, said } = await startTestHost(await copyApp('web'));
  const list: unknown = await (await fetch(`${url}/admin/functions`)).json();
  expect(list).toContainEqual(expect.objectContaining({ name: 'onEvent' }));
  const hello = await (await fetch(`${url}/admin/functions/hello`)).json();
  expect(hello).toMatchObject({ name: 'hello', invokeUrlTemplate: `http://localhost:${host.port}/api/hello/{name?}` });
  expect((await fetch(`${url}/admin/functions/nobody`)).status).toBe(404);
  const run = await fetch(`${url}/admin/functions/onEvent`, {
    method: 'POST',
    body: JSON.stringify({ input: JSON.stringify({ id: 'hand', eventType: 'H' }) }),
  });
  expect(run.status).toBe(202);
  await until('it ran', () => said().some(({ id }) => id === 'hand'));
  const counts = async (): Promise<string> => (await fetch(`${url}/admin/host/executions`)).text();
  await until('it is counted', async () =>
    (await counts()).includes('"onEvent":{"started":1,"succeeded":1,"failed":0}'),
  );
});
