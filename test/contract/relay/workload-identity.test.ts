import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createWorkloadIdentity, type WorkloadIdentity } from '../../../relay/azure/workload-identity.ts';

/** Plays Entra's token endpoint, as its documentation describes the exchange of a federated assertion. */
describe('workload identity', () => {
  const folder = { path: '' };
  let server: Server;
  let identity: WorkloadIdentity;
  const asked: Array<{ readonly path: string; readonly form: URLSearchParams }> = [];
  let answer: { readonly status: number; readonly body: object };

  beforeEach(async () => {
    asked.length = 0;
    answer = { status: 200, body: { token_type: 'Bearer', access_token: 'granted', expires_in: 3600 } };
    folder.path = mkdtempSync(join(tmpdir(), 'identity-'));
    writeFileSync(join(folder.path, 'token'), 'assertion\n');
    server = createServer((request, response) => {
      let body = '';
      request.on('data', (chunk: Buffer) => (body += chunk.toString('utf8')));
      request.on('end', () => {
        asked.push({ path: request.url ?? '', form: new URLSearchParams(body) });
        response.writeHead(answer.status, { 'content-type': 'application/json' }).end(JSON.stringify(answer.body));
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    identity = createWorkloadIdentity({
      clientId: 'client',
      tenantId: 'tenant',
      tokenFile: join(folder.path, 'token'),
      authority: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    });
  });
  afterEach(() => {
    server.close();
    rmSync(folder.path, { recursive: true, force: true });
  });

  test("trades the pod's token for one of the scope that is asked for", async () => {
    const { token, expiresOnTimestamp } = await identity.getToken('https://storage.azure.com/.default');
    expect(token).toBe('granted');
    expect(expiresOnTimestamp).toBeGreaterThan(Date.now() + 3_500_000);
    expect(asked[0]?.path).toBe('/tenant/oauth2/v2.0/token');
    expect(Object.fromEntries(asked[0]?.form ?? [])).toEqual({
      grant_type: 'client_credentials',
      client_id: 'client',
      scope: 'https://storage.azure.com/.default',
      client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      client_assertion: 'assertion',
    });
  });

  test('asks once per scope while the token lasts, and anew when it is about to end', async () => {
    await identity.getToken(['a']);
    await identity.getToken('a');
    await identity.getToken('b');
    expect(asked).toHaveLength(2);
    answer = { status: 200, body: { access_token: 'short', expires_in: 60 } };
    await identity.getToken('c');
    await identity.getToken('c');
    expect(asked).toHaveLength(4);
  });

  test('a refusal says why, without the assertion', async () => {
    answer = {
      status: 401,
      body: { error: 'invalid_client', error_description: 'AADSTS700213: no matching federated identity' },
    };
    await expect(identity.getToken('a')).rejects.toThrow(/answered 401 AADSTS700213/);
    await expect(identity.getToken('a')).rejects.not.toThrow(/assertion\n/);
  });

  test('asks for several scopes at once, and waits for no answer that it could not use', async () => {
    await identity.getToken(['a', 'b']);
    expect(asked[0]?.form.get('scope')).toBe('a b');
    for (const body of [{ access_token: 'x' }, { expires_in: 60 }, { access_token: 1, expires_in: 60 }, []]) {
      answer = { status: 200, body };
      await expect(identity.getToken('c')).rejects.toThrow('no token for c: answered 200 ');
    }
    answer = { status: 400, body: { error_description: 'x'.repeat(400) } };
    await expect(identity.getToken('c')).rejects.toThrow(/ x{300}$/);
    answer = { status: 503, body: { access_token: 'x', expires_in: 60 } };
    await expect(identity.getToken('c')).rejects.toThrow('answered 503');
  });

  test('finds the endpoint of its tenant, however the authority is written', async () => {
    const authority = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const tokenFile = join(folder.path, 'token');
    await createWorkloadIdentity({ clientId: 'c', tenantId: 'a/b', tokenFile, authority }).getToken('a');
    expect(asked[0]?.path).toBe('/a%2Fb/oauth2/v2.0/token');
  });

  test('keeps a token until five minutes before its end', async () => {
    for (const [seconds, times] of [
      [290, 2],
      [310, 1],
    ] as const) {
      asked.length = 0;
      answer = { status: 200, body: { access_token: 't', expires_in: seconds } };
      await identity.getToken(`for ${seconds}`);
      await identity.getToken(`for ${seconds}`);
      expect(asked).toHaveLength(times);
    }
  });
});
