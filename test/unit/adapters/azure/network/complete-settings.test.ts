import { describe, expect, test } from 'vitest';
import type { Clients } from '../../../../../shared/adapters/azure/calls/clients.ts';
import { createCompletion } from '../../../../../shared/adapters/azure/network/complete-settings.ts';
import type { Settings } from '../../../../../shared/contract/settings/settings.ts';
import { armError } from '../../../../kit/azure/fake-azure.ts';
import { settings } from '../../../../kit/azure/launch-order.ts';

const GUID = 'a519e60a-cac0-40b2-b883-084477fe6f5c';
const GROUP = '/subscriptions/11111111-2222-3333-4444-555555555555/resourceGroups/some-group';
const IDENTITY = `${GROUP}/providers/Microsoft.ManagedIdentity/userAssignedIdentities/kubelets`;
const ENCRYPTION_SET = `${GROUP}/providers/Microsoft.Compute/diskEncryptionSets/keys`;

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

/** When each test begins: no time since anything. */
const START_MS = 1_780_000_000_000;

function without(key: keyof Settings): Partial<Settings> {
  return Object.fromEntries(Object.entries(whole).filter(([name]) => name !== key));
}

/** Settings over a Resource Graph and a network that answer as the test says; what was asked of them. */
function complete(
  given: Partial<Settings>,
  answers: { readonly rows?: ReadonlyArray<object> | Error; readonly vnet?: object | Error } = {},
) {
  const asked: Array<string> = [];
  const queries: Array<string> = [];
  const state = { nowMs: START_MS };
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
          queries.push(query);
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
  return { asked, queries, state, read: createCompletion(clients, { ...settings, ...given }, () => state.nowMs) };
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

  test('are missing where no cluster has such a node resource group, which is nobody’s error', async () => {
    const { read } = complete(without('SSH_PUBLIC_KEY'), { rows: [] });
    expect((await read()).problems).toEqual([
      'app setting SSH_PUBLIC_KEY is missing: set it to the public key that nodes let in, one line that begins with ssh-rsa or ssh-ed25519',
    ]);
  });

  test.for<readonly [string, object]>([
    ['says null', { ...cluster, dnsServiceIP: null, keys: null }],
    ['says nothing', { ...cluster, dnsServiceIP: undefined, keys: [] }],
    ['says an empty text', { ...cluster, dnsServiceIP: '', keys: [{}] }],
  ])('stay absent where the cluster %s', async ([, row]) => {
    const { read } = complete({ CLUSTER_CA_DATA: 'Y2E=' }, { rows: [row] });
    const { settings: found, problems } = await read();
    expect(Object.keys(found)).not.toContain('DNS_SERVICE_IP');
    expect(Object.keys(found)).not.toContain('SSH_PUBLIC_KEY');
    expect(problems.map((one) => one.split(':')[0])).toEqual([
      'app setting SSH_PUBLIC_KEY is missing',
      'app setting DNS_SERVICE_IP is missing',
    ]);
  });

  test('are asked for by the names that the query gives them', async () => {
    const { read, queries } = complete({});
    await read();
    for (const key of Object.keys(cluster)) expect(queries[0]).toMatch(new RegExp(`\\b${key} = `));
  });

  test('of the network alone are no reason to ask for the cluster, nor is what only a person knows', async () => {
    const ofNetwork = complete(without('VNET_GUID'));
    expect((await ofNetwork.read()).problems).toEqual([]);
    expect(ofNetwork.asked).toEqual(['vnet net-group/net']);
    const ofPerson = complete(without('CLUSTER_CA_DATA'));
    expect((await ofPerson.read()).problems).toHaveLength(1);
    expect(ofPerson.asked).toEqual([]);
  });

  test('say why Azure could not be asked without a status where there was no answer, and not at any length', async () => {
    const { read } = complete(without('SSH_PUBLIC_KEY'), { rows: new Error('no route to host') });
    expect((await read()).problems[0]).toContain('is missing (reading the managed cluster: no route to host): ');
    const long = complete(without('SSH_PUBLIC_KEY'), { rows: armError(403, 'AuthorizationFailed', 'x'.repeat(2_000)) });
    expect((await long.read()).problems[0]?.length).toBeLessThan(500);
  });

  test('need no GUID where pods have addresses of the nodes’ subnet', async () => {
    const { read, asked } = complete({ ...without('VNET_GUID'), NETWORK_PLUGIN_MODE: '' });
    expect((await read()).problems).toEqual([]);
    expect(asked).toEqual([]);
  });

  test('are asked for once an hour; while something is missing, every half minute', async () => {
    const { read, asked, state } = complete({ CLUSTER_CA_DATA: 'Y2E=' });
    await Promise.all([read(), read()]);
    state.nowMs += 60 * 60_000;
    await read();
    expect(asked).toHaveLength(2);
    state.nowMs += 1;
    await read();
    expect(asked).toHaveLength(4);
    const missing = complete({ CLUSTER_CA_DATA: 'Y2E=' }, { rows: [] });
    await missing.read();
    missing.state.nowMs += 30_000;
    await missing.read();
    expect(missing.asked).toHaveLength(2);
    missing.state.nowMs += 1;
    await missing.read();
    expect(missing.asked).toHaveLength(4);
  });
});

test.for<readonly [keyof Settings, string]>([
  ['SSH_PUBLIC_KEY', '-----BEGIN'],
  ['SSH_PUBLIC_KEY', 'command="x" ssh-rsa AAAA'],
  ['SSH_PUBLIC_KEY', 'ssh-rsa AAAA\nssh-rsa BBBB'],
  ['CLUSTER_CA_DATA', '-----BEGIN CERTIFICATE-----'],
  ['CLUSTER_CA_DATA', 'Y2E'],
  ['CLUSTER_CA_DATA', '*Y2E'],
  ['CLUSTER_CA_DATA', 'Y2E=====Y2E*'],
  ['NODE_IDENTITIES', 'agentpool'],
  ['NODE_IDENTITIES', `${IDENTITY},other`],
  ['NODE_IDENTITIES', `https://management.azure.com${IDENTITY}`],
  ['NODE_IDENTITIES', `${IDENTITY}/federatedIdentityCredentials/one`],
  ['KUBELET_IDENTITY_CLIENT_ID', 'agentpool'],
  ['KUBELET_IDENTITY_CLIENT_ID', `{${GUID}`],
  ['KUBELET_IDENTITY_CLIENT_ID', `${GUID}}`],
  ['VNET_GUID', 'vnet'],
  ['DNS_SERVICE_IP', 'kube-dns'],
  ['DNS_SERVICE_IP', 'at 10.0.0.10'],
  ['DNS_SERVICE_IP', '10.0.0.10/16'],
  ['NODE_OSDISK_DISKENCRYPTIONSET_ID', 'set'],
  ['NODE_OSDISK_DISKENCRYPTIONSET_ID', `https://management.azure.com${ENCRYPTION_SET}`],
  ['NODE_OSDISK_DISKENCRYPTIONSET_ID', `${ENCRYPTION_SET}/more`],
  ['LINUX_ADMIN_USERNAME', 'two words'],
  ['KUBELET_BOOTSTRAP_TOKEN', 'abc'],
  ['KUBELET_BOOTSTRAP_TOKEN', 'token abcdef.0123456789abcdef'],
  ['KUBELET_BOOTSTRAP_TOKEN', 'abcdef.0123456789abcdef0'],
  ['NETWORK_PLUGIN', 'kubenet'],
  ['NETWORK_PLUGIN_MODE', 'vlan'],
  ['NETWORK_DATAPLANE', 'ebpf'],
])('%s that is %j is refused by name, with what it has to be', async ([key, value]) => {
  const { problems } = await complete({ ...whole, [key]: value }).read();
  expect(problems).toHaveLength(1);
  expect(problems[0]).toMatch(new RegExp(`^app setting ${key} is ".*": it has to be `));
});

test.for<Partial<Settings>>([
  { SSH_PUBLIC_KEY: 'ssh-rsa AAAA+/==' },
  { SSH_PUBLIC_KEY: 'ssh-ed25519 AAAA somebody at work' },
  { CLUSTER_CA_DATA: 'Y2FjYQ==' },
  { CLUSTER_CA_DATA: 'Y2Fj' },
  { NODE_IDENTITIES: `${IDENTITY},${IDENTITY}2` },
  { DNS_SERVICE_IP: 'fd12:3456:789a::a' },
  { NODE_OSDISK_DISKENCRYPTIONSET_ID: ENCRYPTION_SET },
  { KUBELET_BOOTSTRAP_TOKEN: 'abcdef.0123456789abcdef' },
  { NETWORK_PLUGIN: 'azure' },
  { NETWORK_PLUGIN: 'none', NETWORK_PLUGIN_MODE: '' },
  { NETWORK_PLUGIN_MODE: 'overlay', NETWORK_DATAPLANE: 'cilium' },
  { NETWORK_DATAPLANE: 'azure' },
  { NETWORK_DATAPLANE: '' },
])('%j is what it has to be', async (given) => {
  expect((await complete({ ...whole, ...given }).read()).problems).toEqual([]);
});

test('a mode without a plugin contradicts itself', async () => {
  const { problems } = await complete({ ...whole, NETWORK_PLUGIN: 'none', NETWORK_PLUGIN_MODE: 'overlay' }).read();
  expect(problems).toEqual(['app setting NETWORK_PLUGIN_MODE has to be empty where NETWORK_PLUGIN is none']);
});

test('no setting is shown whole: it may be a key', async () => {
  const { problems } = await complete({ ...whole, SSH_PUBLIC_KEY: `secret${'x'.repeat(500)}` }).read();
  expect(problems[0]?.length).toBeLessThan(120);
});

test('what is short is shown as it is', async () => {
  const [value, longer] = ['x'.repeat(24), 'x'.repeat(25)];
  expect((await complete({ ...whole, VNET_GUID: value }).read()).problems[0]).toContain(`"${value}"`);
  expect((await complete({ ...whole, VNET_GUID: longer }).read()).problems[0]).toContain(`"${value}…"`);
});
