import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Answers, type Cluster, type Topic, gatherAnswers, readWishes } from '../../../infra/hooks/answers.ts';
import type { AzAnswer } from '../../../infra/hooks/az.ts';
import { judge } from '../../../infra/hooks/checks.ts';
import { fillIn } from '../../../infra/hooks/fill-in.ts';
import { currencies } from '../../../infra/hooks/currencies.ts';
import { renderFindings } from '../../../infra/hooks/render-findings.ts';
import { renderParameters } from '../../../infra/hooks/render-parameters.ts';
import { priceCurrencies } from '../../../shared/contract/settings/price-currency.ts';
import {
  CLUSTER_ID,
  NODE_GROUP,
  SUBNET,
  SUBSCRIPTION,
  FUNCTIONS_SUBNET,
  VNET_GUID,
  azAbout,
  goodAnswers,
  goodCluster,
  goodWishes,
  network,
  withFunctionsSubnet,
} from '../../kit/infra/azure-answers.ts';
import { root } from '../../kit/infra/bicep/parse.ts';

function withCluster(properties: Partial<Cluster['properties']>): Answers {
  return { ...goodAnswers, cluster: { ...goodCluster, properties: { ...goodCluster.properties, ...properties } } };
}

function topic(parts: Partial<Topic>): Topic {
  const id = `/subscriptions/${SUBSCRIPTION}/resourceGroups/events/providers/Microsoft.EventGrid/systemTopics/t`;
  const topicType = 'microsoft.resourcenotifications.healthresources';
  return { id, hasIdentity: true, source: `/subscriptions/${SUBSCRIPTION}`, topicType, environment: '', ...parts };
}

/**
 * With a subnet for the functions, in this network. Which subnet nodes belong to is said, as a network has several
 * then.
 */
function withSubnet(own: Answers['networks'][number], answers: Answers = goodAnswers): Answers {
  return {
    ...answers,
    networks: [own],
    wishes: wishesOf({ functionsSubnetId: FUNCTIONS_SUBNET, nodeSubnetId: SUBNET }),
  };
}

const wishesOf = (parts: Partial<Answers['wishes']>): Answers['wishes'] => ({ ...goodWishes, ...parts });

test('a cluster that lacks nothing passes every check', () => {
  expect(judge(goodAnswers).filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
});

/** What is wrong, the check that finds it, how grave it is, and a part of the way to mend it. */
type Case = readonly [check: string, verdict: 'failed' | 'warning', answers: Answers, mend: string];

const cases: ReadonlyArray<Case> = [
  ['cluster', 'failed', withCluster({ powerState: { code: 'Stopped' } }), 'az aks start'],
  ['kubernetes-version', 'failed', withCluster({ currentKubernetesVersion: '1.29.9' }), 'az aks upgrade'],
  [
    'entra-id',
    'failed',
    withCluster({ aadProfile: {} }),
    `az aks update CLUSTER --enable-aad --enable-azure-rbac, then az role assignment create --assignee you@example.com --role \\"Azure Kubernetes Service RBAC Cluster Admin\\" --scope ${CLUSTER_ID}`,
  ],
  ['kubernetes-rbac', 'failed', withCluster({ enableRBAC: false }), 'create a new cluster'],
  ['oidc-issuer', 'failed', withCluster({ oidcIssuerProfile: { enabled: false } }), '--enable-oidc-issuer'],
  ['workload-identity', 'failed', withCluster({ securityProfile: {} }), '--enable-workload-identity'],
  ['managed-identity', 'failed', withCluster({ identityProfile: {} }), '--enable-managed-identity'],
  [
    'node-auto-provisioning',
    'failed',
    withCluster({ nodeProvisioningProfile: { mode: 'Auto' } }),
    '--node-provisioning-mode Manual, once its nodes are gone and its NodePools have a CPU limit of 0: docs/migrate.md has the steps (AKS’s own NodePools',
  ],
  [
    'node-auto-provisioning',
    'failed',
    withCluster({ nodeProvisioningProfile: { mode: 'Auto', defaultNodePools: 'Auto' } }),
    'for those that you make for Nodewright both would make nodes"',
  ],
  [
    'node-auto-provisioning',
    'failed',
    withCluster({ nodeProvisioningProfile: { mode: 'Auto', defaultNodePools: 'None' } }),
    'that AKS makes no NodePools of its own (defaultNodePools None) does not confine it","mend":"az aks update CLUSTER --node-provisioning-mode Manual, once its nodes are gone and its NodePools have a CPU limit of 0: docs/migrate.md has the steps"',
  ],
  [
    'node-resource-group',
    'failed',
    withCluster({ nodeResourceGroupProfile: { restrictionLevel: 'ReadOnly' } }),
    '--nrg-lockdown-restriction-level Unrestricted',
  ],
  ['network-plugin', 'failed', withCluster({ networkProfile: { networkPlugin: 'kubenet' } }), '--network-plugin azure'],
  ['node-subnet', 'failed', { ...goodAnswers, networks: [] }, 'NODEWRIGHT_NODE_SUBNET_ID'],
  ['node-subnet', 'failed', { ...goodAnswers, networks: [withFunctionsSubnet] }, 'NODEWRIGHT_NODE_SUBNET_ID'],
  [
    'ssh-key',
    'failed',
    { ...withCluster({ linuxProfile: {} }), wishes: wishesOf({ environment: '' }) },
    "param sshPublicKey = '…' into infra/by-hand/nodewright.bicepparam",
  ],
  [
    'ssh-key',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ sshPublicKey: '~/.ssh/id_rsa.pub' }) },
    'azd env set NODEWRIGHT_SSH_PUBLIC_KEY',
  ],
  [
    'private-cluster',
    'failed',
    withCluster({ apiServerAccessProfile: { enablePrivateCluster: true } }),
    'NODEWRIGHT_FUNCTIONS_SUBNET_ID',
  ],
  [
    'private-endpoints',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ privateEndpointSubnetId: SUBNET }) },
    'NODEWRIGHT_FUNCTIONS_SUBNET_ID',
  ],
  [
    'authorized-ip-ranges',
    'failed',
    withCluster({ apiServerAccessProfile: { authorizedIPRanges: ['192.0.2.0/24'] } }),
    'NAT gateway',
  ],
  [
    'authorized-ip-ranges',
    'warning',
    withSubnet(withFunctionsSubnet, withCluster({ apiServerAccessProfile: { authorizedIPRanges: ['192.0.2.0/24'] } })),
    'NAT gateway',
  ],
  [
    'functions-subnet',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ functionsSubnetId: 'my-subnet' }) },
    'is no subnet’s id',
  ],
  ['functions-subnet', 'failed', withSubnet(network), 'there is no subnet'],
  [
    'functions-subnet',
    'failed',
    withSubnet({ ...network, subnets: [{ id: FUNCTIONS_SUBNET, prefixLength: 24, delegations: [] }] }),
    `az network vnet subnet update --ids ${FUNCTIONS_SUBNET} --delegations Microsoft.App/environments`,
  ],
  [
    'functions-subnet',
    'failed',
    withSubnet({
      ...network,
      subnets: [{ id: FUNCTIONS_SUBNET, prefixLength: 28, delegations: ['Microsoft.App/environments'] }],
    }),
    'is a /28, and they need a /27 or larger',
  ],
  [
    'functions-subnet',
    'failed',
    withSubnet({ ...withFunctionsSubnet, location: 'northeurope' }),
    'azd env set AZURE_LOCATION northeurope',
  ],
  ['region', 'failed', { ...goodAnswers, wishes: wishesOf({ location: 'Jio India West' }) }, 'AZURE_LOCATION'],
  ['region', 'warning', { ...goodAnswers, flexRegions: ['northeurope'] }, 'list-flexconsumption-locations'],
  ['registry-tasks', 'warning', { ...goodAnswers, offer: 'FreeTrial_2014-09-01' }, 'NODEWRIGHT_RELAY_IMAGE'],
  [
    'chart-values',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ chartValues: 'mine.yaml' }), hasChartValues: false },
    'azd env set NODEWRIGHT_CHART_VALUES',
  ],
  [
    'relay-image',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ relayImage: 'relay' }) },
    'NODEWRIGHT_RELAY_IMAGE REGISTRY/',
  ],
  ['namespace', 'failed', { ...goodAnswers, wishes: wishesOf({ namespace: 'Nodes & more' }) }, '63 at most'],
  [
    'rights-in-cluster',
    'failed',
    { ...goodAnswers, inCluster: { kind: 'lacking', what: ['escalate clusterroles'] } },
    'az aks update CLUSTER --aad-admin-group-object-ids GROUP',
  ],
  [
    'rights-in-cluster',
    'failed',
    {
      ...withCluster({ aadProfile: { managed: true, adminGroupObjectIDs: ['g'] } }),
      inCluster: { kind: 'lacking', what: ['create namespaces'] },
    },
    'become a member of the group g',
  ],
  [
    'rights-in-cluster',
    'failed',
    {
      ...withCluster({ aadProfile: { managed: true, enableAzureRBAC: true } }),
      inCluster: { kind: 'lacking', what: ['create namespaces'] },
    },
    'mend":"az role assignment create --assignee you@example.com',
  ],
  [
    'rights-in-cluster',
    'failed',
    { ...goodAnswers, inCluster: { kind: 'refused', why: 'cannot run a command in the cluster: x' } },
    'NODEWRIGHT_INSTALL helm',
  ],
  [
    'rights-in-cluster',
    'warning',
    { ...goodAnswers, inCluster: { kind: 'unasked', why: 'the cluster does not run' } },
    'kubectl auth can-i',
  ],
  [
    'rights-on-cluster',
    'failed',
    {
      ...goodAnswers,
      permissions: { ...goodAnswers.permissions, onCluster: [{ actions: ['*/read'], notActions: [] }] },
    },
    'Cluster User Role',
  ],
  [
    'network-provider',
    'failed',
    {
      ...goodAnswers,
      wishes: wishesOf({ functionsSubnetId: FUNCTIONS_SUBNET, nodeSubnetId: SUBNET }),
      networks: [withFunctionsSubnet],
      registrations: { app: 'NotRegistered', scheduledEvents: '' },
    },
    'az provider register --namespace Microsoft.App',
  ],
  [
    'scheduled-events',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ scheduledEvents: true }) },
    'az feature register',
  ],
  [
    'currency',
    'failed',
    { ...goodAnswers, wishes: wishesOf({ currency: 'euro' }) },
    'azd env set NODEWRIGHT_CURRENCY to one of USD, AUD',
  ],
  [
    'event-grid-topics',
    'failed',
    { ...goodAnswers, topics: [topic({ hasIdentity: false })] },
    '--identity SystemAssigned',
  ],
  [
    'rights',
    'failed',
    {
      ...goodAnswers,
      permissions: {
        ...goodAnswers.permissions,
        onMachines: [{ actions: ['*'], notActions: ['Microsoft.Authorization/*/Write'] }],
      },
    },
    'User Access Administrator',
  ],
  [
    'rights',
    'failed',
    {
      ...goodAnswers,
      permissions: { ...goodAnswers.permissions, onSubscription: [{ actions: ['*/read'], notActions: [] }] },
    },
    'User Access Administrator',
  ],
  [
    'quota',
    'failed',
    {
      ...goodAnswers,
      quotas: [
        { name: 'cores', used: 100, limit: 100 },
        { name: 'lowPriorityCores', used: 0, limit: 0 },
      ],
    },
    'raise',
  ],
  [
    'cluster-autoscaler',
    'warning',
    withCluster({ agentPoolProfiles: [{ name: 'work', enableAutoScaling: true }] }),
    '--disable-cluster-autoscaler',
  ],
  [
    'run-command',
    'failed',
    withCluster({ apiServerAccessProfile: { disableRunCommand: true } }),
    'NODEWRIGHT_INSTALL helm',
  ],
  ['run-command', 'failed', { ...goodAnswers, wishes: wishesOf({ install: 'Helm' }) }, 'only helm can be said'],
];

test.for(cases)(
  '%s: what is wrong is found, alone, with the way to mend it (%s)',
  ([check, verdict, answers, mend]) => {
    const found = judge(answers).filter((one) => one.verdict !== 'passed');
    expect(found.map((one) => [one.check, one.verdict])).toEqual([[check, verdict]]);
    expect(JSON.stringify(found)).toContain(mend);
  },
);

test('every check has a case that it does not pass', () => {
  const tried = new Set(cases.map(([check]) => check));
  expect(judge(goodAnswers).flatMap(({ check }) => (tried.has(check) ? [] : [check]))).toEqual([]);
});

describe('what the same thing may look like when it is right', () => {
  test.for([
    [
      'a private cluster with a subnet for the functions',
      {
        ...withCluster({ apiServerAccessProfile: { enablePrivateCluster: true } }),
        wishes: wishesOf({ functionsSubnetId: FUNCTIONS_SUBNET, nodeSubnetId: SUBNET }),
        networks: [withFunctionsSubnet],
      },
    ],
    [
      'a subnet for the functions in another subscription, which is not looked at',
      {
        ...goodAnswers,
        wishes: wishesOf({
          functionsSubnetId: FUNCTIONS_SUBNET.replace(SUBSCRIPTION, SUBSCRIPTION.replaceAll('0', '1')),
        }),
      },
    ],
    [
      'a free trial with an image of one’s own',
      { ...goodAnswers, offer: 'FreeTrial_2014-09-01', wishes: wishesOf({ relayImage: 'r/i:1' }) },
    ],
    ['an az that does not know of Flex Consumption', { ...goodAnswers, flexRegions: [] }],
    ['a region as the portal writes it', { ...goodAnswers, wishes: wishesOf({ location: 'West Europe' }) }],
    [
      'commands through Azure that are off, and Helm of this machine',
      {
        ...withCluster({ apiServerAccessProfile: { disableRunCommand: true } }),
        wishes: wishesOf({ install: 'helm' }),
      },
    ],
    [
      'scheduled events that are registered',
      {
        ...goodAnswers,
        wishes: wishesOf({ scheduledEvents: true }),
        registrations: { app: '', scheduledEvents: 'Registered' },
      },
    ],
    [
      'quota on demand only',
      {
        ...goodAnswers,
        quotas: [
          { name: 'Cores', used: 0, limit: 10 },
          { name: 'lowPriorityCores', used: 3, limit: 3 },
        ],
      },
    ],
    [
      'rights from two roles',
      {
        ...goodAnswers,
        permissions: {
          onMachines: [
            { actions: ['*'], notActions: ['Microsoft.Authorization/*/Write'] },
            { actions: ['Microsoft.Authorization/*'], notActions: [] },
          ],
          onSubscription: goodAnswers.permissions.onSubscription,
          onCluster: goodAnswers.permissions.onCluster,
        },
      },
    ],
    ['a topic of the subscription that can deliver', { ...goodAnswers, topics: [topic({})] }],
    [
      'a topic of somebody else’s source without an identity',
      { ...goodAnswers, topics: [topic({ hasIdentity: false, source: '/subscriptions/other' })] },
    ],
    [
      'the topic that this environment made before',
      { ...goodAnswers, topics: [topic({ hasIdentity: false, environment: 'production' })] },
    ],
    [
      'a topic that cannot deliver, where events of Azure are left out',
      { ...goodAnswers, topics: [topic({ hasIdentity: false })], wishes: wishesOf({ azureEvents: false }) },
    ],
    ['a currency of Azure’s prices', { ...goodAnswers, wishes: wishesOf({ currency: 'EUR' }) }],
    ['a cluster without an SSH key, where azd keeps the one that is made', withCluster({ linuxProfile: {} })],
    [
      'a cluster without an SSH key, and one that is named',
      {
        ...withCluster({ linuxProfile: {} }),
        wishes: wishesOf({ environment: '', sshPublicKey: 'ssh-ed25519 AAAA you' }),
      },
    ],
    ['Kubernetes 2.0', withCluster({ currentKubernetesVersion: '2.0.0' })],
    ['a cluster that says nothing of Node Auto Provisioning', withCluster({ nodeProvisioningProfile: {} })],
    [
      'Node Auto Provisioning that is off, with pools it would make if it were on',
      withCluster({ nodeProvisioningProfile: { mode: 'Manual', defaultNodePools: 'Auto' } }),
    ],
  ] as ReadonlyArray<readonly [string, Answers]>)('%s', ([, answers]) => {
    expect(judge(answers).filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
  });
});

const key = (): string => 'ssh-rsa AAAA';

describe('what can be found is filled in', () => {
  test('the only subnet that AKS made, and topics that are there', () => {
    const deletions = topic({
      topicType: 'Microsoft.Resources.ResourceGroups',
      source: `/subscriptions/${SUBSCRIPTION}/resourceGroups/${NODE_GROUP}`,
    });
    expect(fillIn({ ...goodAnswers, topics: [topic({}), deletions] }, key)).toEqual({
      NODEWRIGHT_NODE_SUBNET_ID: SUBNET,
      NODEWRIGHT_VNET_GUID: VNET_GUID,
      NODEWRIGHT_HEALTH_TOPIC_ID: topic({}).id,
      NODEWRIGHT_DELETION_TOPIC_ID: deletions.id,
    });
  });

  test('the first node pool’s subnet comes before AKS’s own, and what is said before both', () => {
    const pools = withCluster({ agentPoolProfiles: [{ name: 'system', vnetSubnetID: '/own' }] });
    expect(fillIn(pools, key)).toEqual({ NODEWRIGHT_NODE_SUBNET_ID: '/own' });
    expect(fillIn({ ...pools, wishes: wishesOf({ nodeSubnetId: '/said' }) }, key)).toEqual({});
  });

  test('a public SSH key where the cluster has none: once, and not by hand, where each look would make another', () => {
    const keyless = withCluster({ linuxProfile: {} });
    const known = { NODEWRIGHT_NODE_SUBNET_ID: SUBNET, NODEWRIGHT_VNET_GUID: VNET_GUID };
    expect(fillIn(keyless, key)).toEqual({ ...known, NODEWRIGHT_SSH_PUBLIC_KEY: 'ssh-rsa AAAA' });
    expect(fillIn({ ...keyless, wishes: wishesOf({ sshPublicKey: 'ssh-rsa BBBB' }) }, key)).toEqual(known);
    expect(fillIn({ ...keyless, wishes: wishesOf({ environment: '' }) }, key)).toEqual(known);
  });

  test('by hand it is told as lines for a parameter file', () => {
    const azdParameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');
    const found = { NODEWRIGHT_HEALTH_TOPIC_ID: '/t', NODEWRIGHT_NODE_SUBNET_ID: "/it's", NODEWRIGHT_ELSE: 'x' };
    expect(renderParameters(azdParameters, found)).toEqual([
      "param nodeSubnetResourceId = '/it\\'s'",
      "param existingHealthTopicResourceId = '/t'",
    ]);
  });
});

describe('asked through az', () => {
  const noFile = (): boolean => false;
  const refused = (message: string): AzAnswer => ({ kind: 'refused', message });
  const at = (ending: string, message: string) => azAbout((path) => (path.endsWith(ending) ? refused(message) : null));

  test('a cluster that lacks nothing is read and passes', () => {
    const wishes = wishesOf({ scheduledEvents: true, functionsSubnetId: FUNCTIONS_SUBNET, nodeSubnetId: SUBNET });
    const answers = gatherAnswers(azAbout(), wishes, noFile);
    expect(judge(answers).filter(({ verdict }) => verdict !== 'passed')).toEqual([]);
    expect(answers).toMatchObject({
      networks: [withFunctionsSubnet],
      flexRegions: ['westeurope'],
      offer: goodAnswers.offer,
      deployer: 'you@example.com',
    });
  });

  test('a file of values is looked for where one is named', () => {
    const wishes = wishesOf({ chartValues: 'mine.yaml' });
    expect(gatherAnswers(azAbout(), wishes, noFile).hasChartValues).toBe(false);
    expect(gatherAnswers(azAbout(), wishes, (path) => path === 'mine.yaml').hasChartValues).toBe(true);
    expect(gatherAnswers(azAbout(), goodWishes, noFile).hasChartValues).toBe(true);
  });

  describe('what you may do in the cluster', () => {
    const about = (properties: Partial<Cluster['properties']>, others: Readonly<Record<string, AzAnswer>>): Answers =>
      gatherAnswers(
        azAbout((path) => {
          const found = Object.entries(others).find(([ending]) => path.endsWith(ending));
          const cluster = { ...goodCluster, properties: { ...goodCluster.properties, ...properties } };
          return found?.[1] ?? (path === CLUSTER_ID ? { kind: 'answer', value: cluster } : null);
        }),
        goodWishes,
        noFile,
      );
    const azureRbac = { aadProfile: { managed: true, enableAzureRBAC: true } };
    const permitted = (notDataActions: ReadonlyArray<string>): AzAnswer => ({
      kind: 'answer',
      value: {
        value: [
          {
            actions: [],
            notActions: [],
            dataActions: ['Microsoft.ContainerService/managedClusters/*'],
            notDataActions,
          },
        ],
      },
    });
    const answered = (logs: string): AzAnswer => ({ kind: 'answer', value: { exitCode: 1, logs } });

    test('is not asked where Azure’s roles give it all', () => {
      const said = { '/permissions': permitted([]), 'command invoke': refused('ERROR: nobody asks this') };
      expect(about(azureRbac, said).inCluster).toEqual({ kind: 'allowed' });
    });

    test('is asked of the cluster where they leave something out, or do not decide', () => {
      const said = {
        '/permissions': permitted(['Microsoft.ContainerService/managedClusters/namespaces/write']),
        'command invoke': answered('no\nyes\nyes\nyes\nyes\nno - no RBAC policy matched\n'),
      };
      const lacking = { kind: 'lacking', what: ['create namespaces', 'escalate clusterroles'] };
      expect(about(azureRbac, said).inCluster).toEqual(lacking);
      expect(about({}, { ...said, '/permissions': permitted([]) }).inCluster).toEqual(lacking);
    });

    test('warnings of kubectl are no answers, and half an answer is none', () => {
      const warned = "Warning: resource 'namespaces' is not namespace scoped\nyes\n".repeat(6);
      expect(about({}, { 'command invoke': answered(warned) }).inCluster).toEqual({ kind: 'allowed' });
      expect(about({}, { 'command invoke': answered('yes\n') }).inCluster).toMatchObject({ kind: 'refused' });
    });

    test('is refused where Azure runs no command, with its reason', () => {
      const said = {
        'command invoke': refused("ERROR: (AuthorizationFailed) to perform action 'a/b' over scope '/s'"),
      };
      expect(about({}, said).inCluster).toEqual({
        kind: 'refused',
        why: 'cannot run a command in the cluster: the right a/b is missing: ask an owner for the role Owner on /s',
      });
    });

    test.for([
      [{ aadProfile: {} }, 'Microsoft Entra ID'],
      [{ powerState: { code: 'Stopped' } }, 'the cluster does not run'],
      [{ apiServerAccessProfile: { disableRunCommand: true } }, 'switched off'],
    ] as const)('is not asked of a cluster that cannot answer: %j', ([properties, why]) => {
      const said = { 'command invoke': refused('ERROR: nobody asks this') };
      expect(about(properties, said).inCluster).toMatchObject({ kind: 'unasked', why: expect.stringContaining(why) });
    });
  });

  test('az that is not there', () => {
    expect(() => gatherAnswers(() => ({ kind: 'missing' }), goodWishes, noFile)).toThrow(
      'the Azure CLI is not installed, or not on the PATH: install az, then run az login',
    );
  });

  test.for([
    ['', 'NODEWRIGHT_CLUSTER_ID is not set: run azd env set NODEWRIGHT_CLUSTER_ID'],
    ['my-cluster', 'my-cluster is not the id of an AKS cluster: run azd env set'],
    [`${CLUSTER_ID}/agentPools/system`, 'is not the id of an AKS cluster'],
    [CLUSTER_ID.replace('managedClusters', 'fleets'), 'is not the id of an AKS cluster'],
    [CLUSTER_ID.replaceAll('0000-', '1111-'), 'and az works in'],
  ] as const)('a wrong cluster id gets a sentence: %s', ([clusterId, said]) => {
    expect(() => gatherAnswers(azAbout(), wishesOf({ clusterId }), noFile)).toThrow(said);
  });

  test.for([
    [
      'account show',
      "ERROR: Please run 'az login' to setup account.",
      'az is not logged in, or its login has expired: run az login',
    ],
    [
      '/my-cluster',
      "ERROR: Unauthorized({'error':{'code':'InvalidAuthenticationTokenTenant','message':'The access token is from the wrong issuer https://sts.windows.net/11111111-1111-1111-1111-111111111111/. It must match the tenant https://sts.windows.net/22222222-2222-2222-2222-222222222222/'}})",
      "the subscription is another tenant's: run az login --tenant 22222222-2222-2222-2222-222222222222",
    ],
    ['/my-cluster', "ERROR: Not Found({'error':{'code':'SubscriptionNotFound'}})", 'does not see the subscription'],
    [
      '/my-cluster',
      "ERROR: Forbidden({'error':{'code':'AuthorizationFailed','message':\"The client 'x' does not have authorization to perform action 'Microsoft.ContainerService/managedClusters/read' over scope '/subscriptions/s'\"}})",
      'the right Microsoft.ContainerService/managedClusters/read is missing: ask an owner for the role Owner on /subscriptions/s',
    ],
    [
      '/my-cluster',
      "ERROR: Not Found({'error':{'code':'ResourceGroupNotFound'}})",
      'there is no such resource group: run az aks list',
    ],
    [
      '/my-cluster',
      "ERROR: Not Found({'error':{'code':'ResourceNotFound'}})",
      'there is no such resource: run az aks list',
    ],
    // Another cluster's id would not mend it.
    [
      '/usages',
      'ERROR: Not Found({"error":{"code":"ResourceNotFound","message":"The resource is not there."}})',
      'cannot read quota: there is no such resource: az says "ResourceNotFound: The resource is not there."',
    ],
    [
      '/usages',
      'The command failed with an unexpected error. Here is the traceback:\nTraceback (most recent call last):\n  File "x.py", line 1, in <module>\nConnectionError: connection reset by peer\nTo check existing issues, please visit: https://github.com/Azure/azure-cli/issues\n',
      'cannot read quota: the connection to Azure broke (az says "ConnectionError: connection reset by peer"): look at the network, then run it again',
    ],
    [
      '/usages',
      'ERROR: The service is having a bad day',
      'cannot read quota: az says "ERROR: The service is having a bad day"',
    ],
    [
      '/usages',
      'ERROR: {"code": "Conflict", "message": "Another operation is in progress."}\n',
      'cannot read quota: az says "Conflict: Another operation is in progress."',
    ],
    [
      '/usages',
      "ERROR: Operation returned an invalid status 'OK'",
      'cannot read quota: Azure has begun it, and it failed there',
    ],
    [
      '/usages',
      'ERROR: 2026-11-26 11:56:55.711221 Could not get the requested data. Correlation ID: 30cf578e.',
      'cannot read quota: the registry has refused it, and az does not say why (it says "ERROR: 2026-11-26',
    ],
    [
      '/usages',
      'ERROR: (Conflict) Another operation is in progress.\nCode: Conflict\n',
      'cannot read quota: az says "Conflict: Another operation is in progress."',
    ],
    [
      '/usages',
      'ERROR: Too Many Requests({"error":{"code":"TooManyRequests","message":"The limit is reached."}})',
      'cannot read quota: Azure takes no more requests of yours for now (az says "TooManyRequests: The limit is reached."): wait a minute, then run it again',
    ],
  ] as const)('what az refuses gets one sentence with the way to mend it: %s %s', ([ending, message, said]) => {
    let thrown = '';
    try {
      gatherAnswers(at(ending, message), goodWishes, noFile);
    } catch (error) {
      thrown = error instanceof Error ? error.message : '';
    }
    expect(thrown).toContain(said);
    expect(thrown).not.toContain('\n');
  });
});

test('currencies are those that the app takes', () => {
  expect(currencies).toEqual(priceCurrencies);
});

test('the environment is read under the names that azure.yaml and main.parameters.json use', () => {
  expect(
    readWishes({
      NODEWRIGHT_CLUSTER_ID: CLUSTER_ID,
      AZURE_ENV_NAME: 'production',
      NODEWRIGHT_SCHEDULED_EVENTS: 'false',
    }),
  ).toEqual(goodWishes);
});

test('findings are shown with the cluster’s own names in the commands', () => {
  const [, line = '', mend = ''] = renderFindings(
    judge(withCluster({ aadProfile: {} })).filter(({ check }) => ['cluster', 'entra-id'].includes(check)),
    CLUSTER_ID,
  );
  expect(line).toBe('✗ entra-id: the API server does not accept Microsoft Entra ID tokens, which the functions use');
  expect(mend).toBe(
    '    fix: az aks update --resource-group my-group --name my-cluster --enable-aad --enable-azure-rbac, then az role assignment create --assignee you@example.com --role "Azure Kubernetes Service RBAC Cluster Admin" --scope ' +
      CLUSTER_ID,
  );
});
