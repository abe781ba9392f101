import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { inClusterConnection, kubeconfigConnection } from '../../../../relay/kube/kube-config.ts';

let folder = '';
beforeEach(() => void (folder = mkdtempSync(join(tmpdir(), 'kube-config-'))));
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(folder, { recursive: true });
});

interface Parts {
  readonly current?: string;
  readonly cluster?: object;
  readonly user?: object;
}

/** The connection of a kubeconfig with two contexts, of which `b` is the current one. */
function connect({ current = 'b', cluster = {}, user = {} }: Parts = {}) {
  const of = (name: string, own: { readonly cluster: object; readonly user: object }) => ({
    contexts: { name, context: { cluster: `c-${name}`, user: `u-${name}` } },
    clusters: { name: `c-${name}`, cluster: { server: `https://${name}.example.com`, ...own.cluster } },
    users: { name: `u-${name}`, user: own.user },
  });
  const both = [of('a', { cluster: {}, user: { token: 'a' } }), of('b', { cluster, user })];
  return connectBy({
    'current-context': current,
    contexts: both.map(({ contexts }) => contexts),
    clusters: both.map(({ clusters }) => clusters),
    users: both.map(({ users }) => users),
  });
}

function connectBy(content: unknown) {
  const path = join(folder, 'config');
  writeFileSync(path, JSON.stringify(content));
  return kubeconfigConnection(path);
}

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the connection of a kubeconfig', () => {
  test('is that of its current context', () => {
    const { token, ...rest } = connect({ user: { token: 't' } });
    expect({ ...rest, server: rest.server.href }).toEqual({
      server: 'https://b.example.com/',
      ca: null,
      certificate: null,
      key: null,
      verifyTls: true,
    });
    expect(token()).toBe('t');
    expect(connect({ current: 'a' }).token()).toBe('a');
    expect(connect().token()).toBeNull();
  });

  test('has certificates as they stand there, or in files beside it', () => {
    writeFileSync(join(folder, 'client.key'), 'the key');
    const { ca, certificate, key } = connect({
      cluster: { 'certificate-authority-data': base64('the CA'), 'certificate-authority': 'not-read.pem' },
      user: { 'client-certificate-data': base64('the certificate'), 'client-key': 'client.key' },
    });
    expect([ca, certificate, key]).toEqual(['the CA', 'the certificate', 'the key']);
  });

  test('trusts whoever answers only where it says so', () => {
    expect(connect({ cluster: { 'insecure-skip-tls-verify': true } }).verifyTls).toBe(false);
    expect(connect({ cluster: { 'insecure-skip-tls-verify': 'true' } }).verifyTls).toBe(true);
  });

  test('reads a token from its file, and again when it is a minute old', () => {
    let nowMs = 1_000_000;
    vi.spyOn(Date, 'now').mockImplementation(() => nowMs);
    writeFileSync(join(folder, 'token'), 'first\n');
    const { token } = connect({ user: { tokenFile: 'token', token: 'not read' } });
    expect(token()).toBe('first');
    writeFileSync(join(folder, 'token'), 'second\n');
    nowMs += 60_000;
    expect(token()).toBe('first');
    nowMs += 1;
    expect(token()).toBe('second');
    writeFileSync(join(folder, 'token'), 'third\n');
    nowMs += 60_000;
    expect(token()).toBe('second');
  });

  test.each<readonly [string, () => unknown, string]>([
    ['it is no kubeconfig', () => connectBy(['x']), 'not a kubeconfig'],
    ['it is empty', () => connectBy(null), 'not a kubeconfig'],
    ['it names no context', () => connectBy({}), 'contexts has no entry named (none given)'],
    ['it names a context by nothing', () => connect({ current: '' }), 'contexts has no entry named (none given)'],
    ['its context is not there', () => connect({ current: 'z' }), 'contexts has no entry named z'],
    [
      'an entry has nothing in it',
      () => connectBy({ 'current-context': 'a', contexts: [null, { name: 'a' }] }),
      'contexts has no entry named a',
    ],
    ['its cluster has no server', () => connect({ cluster: { server: '' } }), 'the cluster has no server URL'],
    ['its server is no URL', () => connect({ cluster: { server: 'b.example.com' } }), 'the cluster has no server URL'],
    ['it wants a plugin', () => connect({ user: { exec: {} } }), 'plugins are not supported'],
    ['it wants an old plugin', () => connect({ user: { 'auth-provider': {} } }), 'plugins are not supported'],
  ])('is refused when %s', (_, open, why) => {
    expect(open).toThrow(why);
    expect(open).toThrow(TypeError);
  });
});

test.each([{}, { KUBERNETES_SERVICE_HOST: '' }])(
  'outside of a pod there is no connection to its cluster: %j',
  (env) => {
    expect(() => inClusterConnection(env)).toThrow('KUBECONFIG is not set and this is not a pod');
  },
);
