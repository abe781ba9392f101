import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { outside, type OutputOf, type removalOutputs } from '../../../infra/hooks/outside.ts';
import { renderRemoval } from '../../../infra/hooks/render-removal.ts';
import { madeOutside } from '../../kit/infra/bicep/made-outside.ts';
import { type Texts, parseAll, readTexts, root } from '../../kit/infra/bicep/parse.ts';

const texts = readTexts();
const subscription = '/subscriptions/00000000-0000-0000-0000-000000000000';
const network = `${subscription}/resourceGroups/net/providers/Microsoft.Network/virtualNetworks/v/subnets/s`;
const topic = (name: string): string =>
  `${subscription}/resourceGroups/events/providers/Microsoft.EventGrid/systemTopics/${name}`;

/** A deployment that has made all it can outside its resource group. */
const all: Readonly<Record<(typeof removalOutputs)[number], string>> = {
  ADDITIONAL_NODE_SUBNET_IDS: `${network}-2,${network.replace('/net/', '/net2/')}`,
  AZURE_RESOURCE_GROUP: 'own',
  AZURE_SUBSCRIPTION_ID: '00000000-0000-0000-0000-000000000000',
  BUDGET_NAME: 'nodewright-abc',
  CLUSTER_NAME: 'my-cluster',
  CLUSTER_RESOURCE_GROUP: 'my-group',
  DELETION_TOPIC_ID: topic('d'),
  DISK_ENCRYPTION_SET_ID: `${subscription}/resourceGroups/keys/providers/Microsoft.Compute/diskEncryptionSets/e`,
  FUNCTIONS_PRINCIPAL_ID: 'functions',
  HEALTH_TOPIC_ID: topic('h'),
  KUBELET_IDENTITY_ID: `${subscription}/resourceGroups/ids/providers/Microsoft.ManagedIdentity/userAssignedIdentities/k`,
  MAINTENANCE_TOPIC_ID: topic('m'),
  NODE_RESOURCE_GROUP: 'MC_nodes',
  NODE_SUBNET_ID: network,
  RELAY_NAMESPACE: 'nodewright-system',
  ROLE_SUFFIX: 'production-abc',
};

/** What deletes a resource of each type that is made outside. */
const DELETES: Readonly<Record<string, RegExp>> = {
  'Microsoft.Authorization/roleAssignments': /^az role assignment delete .*--scope \S+$/,
  'Microsoft.Authorization/roleDefinitions': /^az role definition delete --name "Nodewright [\w -]+"/,
  'Microsoft.EventGrid/systemTopics/eventSubscriptions': /^az eventgrid system-topic event-subscription delete /,
  'Microsoft.Consumption/budgets': /^az consumption budget delete /,
};

/** Resources of the template that stay when the group goes and that removing does not name, and the other way round. */
function removalFaults(given: Texts): ReadonlyArray<string> {
  const of: OutputOf = (name) => all[name];
  const made = madeOutside(parseAll(given));
  const named = new Map(outside.flatMap(({ made: places, commands }) => places.map((place) => [place, commands(of)])));
  return [
    ...made.flatMap(({ place, type }) => {
      const deletes = DELETES[type];
      if (deletes === undefined) return [`${place}: nobody has said what deletes a ${type}`];
      return named.get(place)?.some((command) => deletes.test(command)) === true
        ? []
        : [`${place}: a ${type} is made outside the resource group, and nothing removes it`];
    }),
    ...[...named.keys()]
      .filter((place) => !made.some((one) => one.place === place))
      .map((place) => `${place} is removed, and nobody makes it`),
  ];
}

describe('what removes a deployment', () => {
  test('names all that is made outside its resource group, and nothing else', () => {
    expect(removalFaults(texts)).toEqual([]);
    expect(madeOutside(parseAll(texts)).length).toBe(18);
  });

  const lock = `
resource lock 'Microsoft.Authorization/locks@2020-05-01' = {
  name: 'nodewright'
  properties: {
    level: 'CanNotDelete'
  }
}
`;
  test.for([
    ['a resource of the subscription', 'main.bicep', 'module facts', `${lock}\nmodule facts`, 'lock: nobody has said'],
    [
      'a resource in a module for another group',
      'modules/access/machine-role.bicep',
      'resource assignment',
      `${lock}\nresource assignment`,
      'azureAccess/machines/lock: nobody has said',
    ],
    [
      'a second assignment',
      'modules/access/region-role.bicep',
      "resource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01'",
      "resource reader 'Microsoft.Authorization/roleAssignments@2022-04-01' = {\n  name: 'x'\n}\n\nresource assignment 'Microsoft.Authorization/roleAssignments@2022-04-01'",
      'azureAccess/region/reader: a Microsoft.Authorization/roleAssignments is made outside',
    ],
    [
      'a module that leaves its group',
      'main.bicep',
      "  name: 'nodewright-registry'\n  scope: group\n",
      "  name: 'nodewright-registry'\n  scope: resourceGroup(clusterResourceGroup)\n",
      'registry/registry: nobody has said what deletes a Microsoft.ContainerRegistry/registries',
    ],
    [
      'the right of a topic in another group than the queue’s',
      'modules/signals/signals.bicep',
      'serviceBusResourceGroup: resourceGroup().name',
      'serviceBusResourceGroup: nodeResourceGroup',
      'signals/health/sender/assignment: a Microsoft.Authorization/roleAssignments is made outside',
    ],
    [
      'what is no longer made',
      'main.bicep',
      "module budget 'modules/budget.bicep'",
      "module costs 'modules/budget.bicep'",
      'budget/budget is removed, and nobody makes it',
    ],
  ] as const)('is found out to lack %s', ([, path, from, to, said]) => {
    const text = texts[path] ?? '';
    expect(text).toContain(from);
    expect(removalFaults({ ...texts, [path]: text.replace(from, () => to) }).join('\n')).toContain(said);
  });

  test('deletes no group but its own, and that last', () => {
    const lines = renderRemoval(all);
    expect(lines.filter((line) => line.startsWith('az group delete'))).toEqual(['az group delete --name own']);
    expect(lines.at(-1)).toBe('az group delete --name own');
  });

  test('lets node classes go while the app is there that holds them, here and in the guide', () => {
    const guide = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
    for (const text of [renderRemoval(all).join('\n'), guide.slice(guide.indexOf('## Remove'))]) {
      const order = [
        'delete nodepools',
        'wait --for=delete nodeclaims',
        'delete aksnodeclasses',
        'helm uninstall',
        'az group delete',
      ];
      const places = order.map((words) => text.indexOf(words));
      expect(places).not.toContain(-1);
      expect(places).toEqual(places.toSorted((a, b) => a - b));
    }
  });

  test('names each by what the deployment has told', () => {
    const lines = renderRemoval(all);
    const scopes = lines.flatMap(
      (line) => /^az role assignment delete --assignee-object-id functions --scope (\S+)/.exec(line)?.[1] ?? [],
    );
    expect(scopes).toEqual([
      `${subscription}/resourceGroups/MC_nodes`,
      subscription,
      network,
      `${network}-2`,
      network.replace('/net/', '/net2/'),
      all.KUBELET_IDENTITY_ID,
      all.DISK_ENCRYPTION_SET_ID,
      `${subscription}/resourceGroups/my-group/providers/Microsoft.ContainerService/managedClusters/my-cluster`,
    ]);
    expect(lines).toContain(
      `az role definition delete --name "Nodewright subnet production-abc" --scope ${subscription}/resourceGroups/net`,
    );
    expect(lines).toContain(
      'az eventgrid system-topic event-subscription delete --resource-group events --system-topic-name h --name nodewright-health-abc --yes',
    );
    for (const [index, group] of ['net', 'net2'].entries()) {
      expect(lines).toContain(
        `az role definition delete --name "Nodewright subnet production-abc-${index + 1}" --scope ${subscription}/resourceGroups/${group}`,
      );
    }
    expect(texts['modules/access/azure-access.bicep']).toContain("suffix: '${suffix}-${index + 1}'");
    expect(lines).toContain('az consumption budget delete --budget-name nodewright-abc');
  });

  test('gives its roles and event subscriptions the names that the template gives them', () => {
    const roles = ['machine', 'region', 'subnet', 'identity', 'encryption', 'maintenance'].map(
      (name) =>
        /roleName: '(Nodewright \w+) \$\{suffix\}'/.exec(texts[`modules/access/${name}-role.bicep`] ?? '')?.[1] ?? name,
    );
    const commands = renderRemoval(all).join('\n');
    for (const role of roles) expect(commands).toContain(`--name "${role} production-abc"`);
    const signals = texts['modules/signals/signals.bicep'] ?? '';
    const names = [...signals.matchAll(/subscriptionName: '([\w-]+)-\$\{suffix\}'/g)].map(([, name = '']) => name);
    expect(names).toHaveLength(3);
    for (const name of names) expect(commands).toContain(`--name ${name}-abc --yes`);
    expect(texts['main.bicep']).toContain("name: 'nodewright-${token}'\n    nodeResourceGroup");
  });

  test('leaves out what this deployment has not made', () => {
    const nodes = `${subscription}/resourceGroups/mc_NODES/providers`;
    const none = {
      ADDITIONAL_NODE_SUBNET_IDS: '',
      BUDGET_NAME: '',
      DELETION_TOPIC_ID: '',
      DISK_ENCRYPTION_SET_ID: '',
      HEALTH_TOPIC_ID: '',
      KUBELET_IDENTITY_ID: `${nodes}/Microsoft.ManagedIdentity/userAssignedIdentities/k`,
      MAINTENANCE_TOPIC_ID: '',
      NODE_SUBNET_ID: `${nodes}/Microsoft.Network/virtualNetworks/v/subnets/s`,
    };
    const lines = renderRemoval({ ...all, ...none });
    expect(lines.filter((line) => / (delete) .*/.test(line) && line.startsWith('az'))).toHaveLength(9);
    const inNodeGroup = `${subscription}/resourceGroups/MC_nodes/providers/Microsoft.Compute/diskEncryptionSets/e`;
    expect(renderRemoval({ ...all, ...none, DISK_ENCRYPTION_SET_ID: inNodeGroup }).join('\n')).toContain(inNodeGroup);
  });

  test('shows where something has to be filled in, when nothing is known', () => {
    const commands = renderRemoval({}).join('\n');
    expect(commands).toContain('az group delete --name $AZURE_RESOURCE_GROUP');
    expect(commands).toContain('--scope $NODE_SUBNET_ID\n');
    expect(commands).toContain('--scope $NODE_SUBNET_ID_GROUP');
    expect(commands).toContain(
      '--resource-group $HEALTH_TOPIC_ID_GROUP --system-topic-name $HEALTH_TOPIC_ID_NAME --name nodewright-health-${ROLE_SUFFIX##*-} --yes',
    );
    expect(commands).toContain('--budget-name $BUDGET_NAME');
  });
});
