import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { helpText, parseLogLevel, parseSettings } from '../../../relay/settings.ts';

const folder = mkdtempSync(join(tmpdir(), 'relay-settings-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

function kubeconfig(user: object = { token: 'secret' }, cluster: object = { server: 'https://10.0.0.1:6443' }): string {
  const path = join(folder, `kubeconfig-${Math.random()}`);
  const file = {
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  writeFileSync(path, JSON.stringify(file));
  return path;
}

const good = {
  CLUSTER_NAME: 'one',
  ServiceBus: 'Endpoint=sb://localhost:5672;SharedAccessKeyName=a;SharedAccessKey=b;UseDevelopmentEmulator=true',
  SnapshotStorage: 'BlobEndpoint=http://127.0.0.1:10000/a;SharedAccessSignature=sig=b',
  KUBECONFIG: kubeconfig(),
  POD_NAME: 'relay-0',
};

const identity = { AZURE_CLIENT_ID: 'c', AZURE_TENANT_ID: 't', AZURE_FEDERATED_TOKEN_FILE: '/token' };

describe('settings', () => {
  test('connection strings and a kubeconfig are enough', () => {
    const settings = parseSettings(good, 'host');
    expect(settings).toMatchObject({ cluster: 'one', namespace: 'kube-system', metricsPort: 8080, healthPort: 8081 });
    expect([settings.pod, settings.identity]).toEqual(['relay-0', expect.stringMatching(/^relay-0_./)]);
    expect(parseSettings({ ...good, POD_NAME: undefined }, 'host').pod).toBeNull();
    expect(settings.identity).toMatch(/^relay-0_[0-9a-f-]{36}$/);
    expect(settings.kubernetes.token()).toBe('secret');
  });

  test('two processes of one pod have two identities', () => {
    expect(parseSettings(good, 'host').identity).not.toBe(parseSettings(good, 'host').identity);
  });

  test('a namespace and a storage account by name go with workload identity', () => {
    const settings = parseSettings(
      {
        ...good,
        ...identity,
        ServiceBus: undefined,
        ServiceBus__fullyQualifiedNamespace: 'x.servicebus.windows.net',
        SnapshotStorage: undefined,
        SnapshotStorage__blobServiceUri: 'https://x.blob.core.windows.net',
      },
      'host',
    );
    expect([settings.serviceBus.kind, settings.storage.kind]).toEqual(['identity', 'identity']);
  });

  test.each([
    ['CLUSTER_NAME', { CLUSTER_NAME: '' }],
    ['ServiceBus', { ServiceBus: undefined }],
    ['ServiceBus', { ServiceBus: 'nonsense' }],
    ['ServiceBus__fullyQualifiedNamespace', { ServiceBus: undefined, ServiceBus__fullyQualifiedNamespace: 'sb://x/' }],
    ['AZURE_CLIENT_ID', { ServiceBus: undefined, ServiceBus__fullyQualifiedNamespace: 'x.servicebus.windows.net' }],
    ['SnapshotStorage', { SnapshotStorage: undefined }],
    ['SnapshotStorage', { SnapshotStorage: 'nonsense' }],
    ['SnapshotStorage__blobServiceUri', { SnapshotStorage: undefined, SnapshotStorage__blobServiceUri: 'http://x' }],
    ['KUBECONFIG', { KUBECONFIG: undefined }],
    ['KUBECONFIG', { KUBECONFIG: kubeconfig({ exec: { command: 'kubelogin' } }) }],
    ['KUBECONFIG', { KUBECONFIG: kubeconfig({}, {}) }],
    ['POD_NAMESPACE', { POD_NAMESPACE: 'Not A Name' }],
    ['METRICS_PORT', { METRICS_PORT: '80a' }],
    ['HEALTH_PORT', { HEALTH_PORT: '70000' }],
  ])('%s is named when it is wrong: %j', (name, changes) => {
    expect(() => parseSettings({ ...good, ...changes }, 'host')).toThrow(name);
  });

  test('a wrong setting is told without the secrets in it', () => {
    expect(() => parseSettings({ ...good, ServiceBus: 'SharedAccessKey=secret' }, 'host')).not.toThrow(/secret/);
  });

  test('LOG_LEVEL is info unless it is set, and is named with what it may be when it is wrong', () => {
    expect([{}, { LOG_LEVEL: '' }, { LOG_LEVEL: 'error' }].map(parseLogLevel)).toEqual(['info', 'info', 'error']);
    expect(() => parseLogLevel({ LOG_LEVEL: 'debug' })).toThrow('LOG_LEVEL is debug; it may be info, warn, error');
  });

  test('the help names every setting', () => {
    for (const name of [
      'CLUSTER_NAME',
      'ServiceBus',
      'SnapshotStorage',
      'KUBECONFIG',
      'POD_NAMESPACE',
      'POD_NAME',
      'METRICS_PORT',
      'HEALTH_PORT',
      'LOG_LEVEL',
    ]) {
      expect(helpText).toContain(name);
    }
  });
});

describe('what may be set', () => {
  const set = (changes: Readonly<Record<string, string | undefined>>) => parseSettings({ ...good, ...changes }, 'host');
  const takes = (changes: Readonly<Record<string, string | undefined>>): boolean => {
    try {
      set(changes);
      return true;
    } catch {
      return false;
    }
  };

  test('names what is not set: the host, the port, the namespace, and no buffers', () => {
    const bare = set({ POD_NAME: '', POD_NAMESPACE: '', METRICS_PORT: '', HEALTH_PORT: '', BIND_ADDRESS: '' });
    expect(bare).toMatchObject({
      namespace: 'kube-system',
      host: '0.0.0.0',
      metricsPort: 8080,
      healthPort: 8081,
      buffers: false,
    });
    expect(bare.identity).toMatch(/^host_/);
    const own = set({
      POD_NAMESPACE: 'n',
      METRICS_PORT: '0',
      HEALTH_PORT: '65535',
      BIND_ADDRESS: '::',
      FEATURE_GATES: 'CapacityBuffer=true',
    });
    expect(own).toMatchObject({ namespace: 'n', host: '::', metricsPort: 0, healthPort: 65_535, buffers: true });
  });

  test.each([
    ['CLUSTER_NAME', 'x'.repeat(260), true],
    ['CLUSTER_NAME', 'x'.repeat(261), false],
    ['POD_NAMESPACE', 'a'.repeat(63), true],
    ['POD_NAMESPACE', 'a'.repeat(64), false],
    ['POD_NAMESPACE', '-a', false],
    ['POD_NAMESPACE', 'a-', false],
    ['POD_NAMESPACE', 'a-1', true],
    ['POD_NAMESPACE', 'a.b', false],
    ['METRICS_PORT', '65536', false],
    ['METRICS_PORT', '-1', false],
    ['METRICS_PORT', '80.5', false],
    ['ServiceBus', 'SharedAccessKeyName=a; endpoint=sb://x', true],
    ['ServiceBus', 'NotEndpoint=sb://x', false],
    ['ServiceBus', 'Endpoint=https://x', false],
    ['SnapshotStorage', 'blobendpoint=x; sharedaccesssignature=y', true],
    ['SnapshotStorage', 'BlobEndpoint=x', false],
    ['SnapshotStorage', 'AccountName=a;AccountKey=b', false],
  ])('%s may be %s: %s', (name, value, isFine) => {
    expect(takes({ [name]: value })).toBe(isFine);
  });

  const byName = { ...identity, ServiceBus: undefined, SnapshotStorage: undefined };
  const names = {
    ServiceBus__fullyQualifiedNamespace: 'x.servicebus.windows.net',
    SnapshotStorage__blobServiceUri: 'https://x.blob.core.windows.net',
  };

  test.each([
    ['ServiceBus__fullyQualifiedNamespace', 'X-1.example.com', true],
    ['ServiceBus__fullyQualifiedNamespace', 'x', false],
    ['ServiceBus__fullyQualifiedNamespace', 'x.y/', false],
    ['ServiceBus__fullyQualifiedNamespace', '.x.y', false],
    ['ServiceBus__fullyQualifiedNamespace', 'x..y', false],
    ['SnapshotStorage__blobServiceUri', 'nowhere', false],
    ['SnapshotStorage__blobServiceUri', '', false],
    ['AZURE_TENANT_ID', '', false],
    ['AZURE_FEDERATED_TOKEN_FILE', '', false],
    ['AZURE_AUTHORITY_HOST', 'https://login.example.com', true],
  ])('where names stand in for connection strings, %s may be %s: %s', (name, value, isFine) => {
    expect(takes({ ...byName, ...names })).toBe(true);
    expect(takes({ ...byName, ...names, [name]: value })).toBe(isFine);
  });

  test('a connection string goes before a name', () => {
    const { serviceBus, storage } = set({ ...identity, ...names });
    expect([serviceBus.kind, storage.kind]).toEqual(['connectionString', 'connectionString']);
  });
});
