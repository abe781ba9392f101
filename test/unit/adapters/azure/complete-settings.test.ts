import { describe, expect, test } from 'vitest';
import type { Clients } from '../../../../shared/adapters/azure/clients.ts';
import { createCompletion } from '../../../../shared/adapters/azure/complete-settings.ts';
import type { Settings } from '../../../../shared/contract/settings.ts';
import { armError } from './fake-azure.ts';
import { settings } from './launch-order.ts';

const GUID = 'a519e60a-cac0-40b2-b883-084477fe6f5c';
const IDENTITY = '/subscriptions/s/resourceGroups/g/providers/Microsoft.ManagedIdentity/userAssignedIdentities/i';

const cluster = {
  tenantId: 'tenant',
  dnsServiceIP: '10.2.0.10',
  identityId: IDENTITY,
  identityClientId: GUID,
  user: 'somebody',
  keys: [{ keyData: 'ssh-rsa AAAA\n' }],
};

const whole: Partial<Settings> = {
  SSH_PUBLIC_KEY: 'ssh-ed25519 BBBB me',
  CLUSTER_CA_DATA: 'Y2E=',
  NODE_IDENTITIES: IDENTITY,
  KUBELET_IDENTITY_CLIENT_ID: GUID,
  DNS_SERVICE_IP: '10.0.0.10',
  AZURE_TENANT_ID: 't',
  VNET_GUID: GUID,
};

function without(key: keyof Settings): Partial<Settings> {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== key));
}

/** Settings over a Resource Graph and a network that answer as the test says; what was asked of them. */
function complete(
  given: Partial<Settings>,
  answers: { readonly rows?: ReadonlyArray<object> | Error; readonly vnet?: object | Error } = {},
) {
  const asked: Array<string> = [];
  const state = { nowMs: 0 };
  const reply = async <T>(answer: T | Error): Promise<T> => {
    await Promise.resolve();
    if (answer instanceof Error) throw answer;
    return answer;
  };
  const clients = {
    graph: () =>
      Promise.resolve({
        resources: ({
          query,
          subscriptions,
        }: {
          readonly query: string;
          readonly subscriptions: ReadonlyArray<string>;
        }) => {
          asked.push(`graph ${subscriptions.join()} ${/nodeResourceGroup =~ '([^']*)'/.exec(query)?.[1] ?? ''}`);
          const rows = answers.rows ?? [cluster];
          return reply(rows instanceof Error ? rows : { data: rows });
        },
      }),
    network: () =>
      Promise.resolve({
        virtualNetworks: {
          get: (group: string, name: string) => {
            asked.push(`vnet ${group}/${name}`);
            return reply(answers.vnet ?? { resourceGuid: GUID });
          },
        },
      }),
  } as unknown as Clients;
  return { asked, state, read: createCompletion(clients, { ...settings, ...given }, () => state.nowMs) };
}

describe('settings that are absent', () => {
  test('are read from the managed cluster and its network', async () => {
    const { read, asked } = complete({ CLUSTER_CA_DATA: 'Y2E=' });
    expect(await read()).toMatchObject({
      problems: [],
      settings: {
        SSH_PUBLIC_KEY: 'ssh-rsa AAAA',
        NODE_IDENTITIES: IDENTITY,
        KUBELET_IDENTITY_CLIENT_ID: GUID,
        DNS_SERVICE_IP: '10.2.0.10',
        AZURE_TENANT_ID: 'tenant',
        LINUX_ADMIN_USERNAME: 'somebody',
        VNET_GUID: GUID,
      },
    });
    expect(asked.toSorted()).toEqual([`graph ${settings.AZURE_SUBSCRIPTION_ID} MC_g_c_we`, 'vnet net-group/net']);
  });

  test('give way to those that are given', async () => {
    const { read } = complete(without('KUBELET_IDENTITY_CLIENT_ID'));
    expect((await read()).settings).toMatchObject({
      DNS_SERVICE_IP: '10.0.0.10',
      SSH_PUBLIC_KEY: 'ssh-ed25519 BBBB me',
    });
  });

  test('cost nothing where there are none', async () => {
    const { read, asked } = complete(whole);
    expect((await read()).problems).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('are each named with how to find its value, and with why Azure could not be asked', async () => {
    const { read } = complete({}, { rows: armError(403, 'AuthorizationFailed', 'no role'), vnet: {} });
    const { problems } = await read();
    expect(problems.map((one) => /app setting (\w+) is missing/.exec(one)?.[1])).toEqual([
      'SSH_PUBLIC_KEY',
      'CLUSTER_CA_DATA',
      'NODE_IDENTITIES',
      'KUBELET_IDENTITY_CLIENT_ID',
      'DNS_SERVICE_IP',
      'AZURE_TENANT_ID',
      'VNET_GUID',
    ]);
    expect(problems[0]).toContain('403 AuthorizationFailed no role');
    expect(problems[0]).toContain('the public key');
  });

  test('are missing where no cluster has such a node resource group', async () => {
    const { read } = complete({ CLUSTER_CA_DATA: 'Y2E=' }, { rows: [] });
    expect((await read()).problems).toHaveLength(5);
  });

  test('need no GUID where pods have addresses of the nodes’ subnet', async () => {
    const { read, asked } = complete({ ...without('VNET_GUID'), NETWORK_PLUGIN_MODE: '' });
    expect((await read()).problems).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('are asked for once an hour; while something is missing, every half minute', async () => {
    const { read, asked, state } = complete({ CLUSTER_CA_DATA: 'Y2E=' });
    await Promise.all([read(), read()]);
    state.nowMs = 60 * 60_000;
    await read();
    expect(asked).toHaveLength(2);
    state.nowMs += 1;
    await read();
    expect(asked).toHaveLength(4);
    const missing = complete({ CLUSTER_CA_DATA: 'Y2E=' }, { rows: [] });
    await missing.read();
    missing.state.nowMs = 30_001;
    await missing.read();
    expect(missing.asked).toHaveLength(4);
  });
});

test.for<readonly [keyof Settings, string]>([
  ['SSH_PUBLIC_KEY', '-----BEGIN'],
  ['CLUSTER_CA_DATA', '-----BEGIN CERTIFICATE-----'],
  ['NODE_IDENTITIES', 'agentpool'],
  ['NODE_IDENTITIES', `${IDENTITY},other`],
  ['KUBELET_IDENTITY_CLIENT_ID', 'agentpool'],
  ['VNET_GUID', 'vnet'],
  ['DNS_SERVICE_IP', 'kube-dns'],
  ['NODE_OSDISK_DISKENCRYPTIONSET_ID', 'set'],
  ['LINUX_ADMIN_USERNAME', 'two words'],
  ['KUBELET_BOOTSTRAP_TOKEN', 'abc'],
  ['NETWORK_PLUGIN', 'kubenet'],
  ['NETWORK_PLUGIN_MODE', 'vlan'],
  ['NETWORK_DATAPLANE', 'ebpf'],
])('%s that is %j is refused by name, with what it has to be', async ([key, value]) => {
  const { problems } = await complete({ ...whole, [key]: value }).read();
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^app setting ${key} is ".*": it has to be `));
});

test('a mode without a plugin contradicts itself', async () => {
  const { problems } = await complete({ ...whole, NETWORK_PLUGIN: 'none', NETWORK_PLUGIN_MODE: 'overlay' }).read();
  expect(problems).toEqual(['app setting NETWORK_PLUGIN_MODE has to be empty where NETWORK_PLUGIN is none']);
});

test('no setting is shown whole: it may be a key', async () => {
  const { problems } = await complete({ ...whole, SSH_PUBLIC_KEY: `secret${'x'.repeat(500)}` }).read();
  expect(problems[0]?.length).toBeLessThan(120);
});
