import { expect, test } from 'vitest';
import { copyApp, startTestHost } from './host-under-test.ts';

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
