import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { eventTypes } from '../../../../shared/contract/messages/event-grid.ts';
import { annotations } from '../../../../shared/contract/messages/health-annotations.ts';
import { listFaults, queueFaults, settingFaults, subscribedEvents } from '../../../kit/infra/bicep/check-code.ts';
import {
  emptyPathFaults,
  holdingFaults,
  moduleFaults,
  nameFaults,
  outputFaults,
  syntaxFaults,
  typeFaults,
} from '../../../kit/infra/bicep/check-modules.ts';
import { azdParameterFaults, parameterFileFaults } from '../../../kit/infra/bicep/check-parameters.ts';
import { bodyFaults, placeFaults, readingFaults, versionFaults } from '../../../kit/infra/bicep/check-resources.ts';
import { builtInFaults } from '../../../kit/infra/bicep/check-roles.ts';
import { secretFaults, switchFaults, urlFaults } from '../../../kit/infra/bicep/check-secrets.ts';
import { type BicepFiles, parseAll, readTexts, root } from '../../../kit/infra/bicep/parse.ts';

const texts = readTexts();
const azdParameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');
const parameterFile = readFileSync(join(root, 'infra/by-hand/nodewright.bicepparam'), 'utf8');

const checks: Readonly<Record<string, (files: BicepFiles) => ReadonlyArray<string>>> = {
  'all files are Bicep, in its plain dialect': syntaxFaults,
  'every name is declared, used and described': nameFaults,
  'objects and lists say what they hold': holdingFaults,
  'modules are given what they take, at their scope': moduleFaults,
  'names and scopes of what may not be deployed can be worked out all the same': emptyPathFaults,
  'outputs that are read exist, of modules that are deployed': outputFaults,
  'defaults and outputs are of the type they say': typeFaults,
  'types and versions are on the list': versionFaults,
  'bodies have what their types have': bodyFaults,
  'what is read of a resource is there': readingFaults,
  'resources are where they can be': placeFaults,
  'ids of built-in roles are right': builtInFaults,
  'nobody is told a key': secretFaults,
  'keys let nobody in': switchFaults,
  'no host of one cloud is named': urlFaults,
  'each app setting that is read is set, and no other': settingFaults,
  'queues are as the code has them': queueFaults,
  'lists of queues, containers, functions and currencies are the code’s': listFaults,
};

test.for(Object.keys(checks))('%s', (rule) => {
  expect(checks[rule]?.(parseAll(texts))).toEqual([]);
});

/** A change that breaks a rule: its file, what is replaced by what, and what is said of it then. */
type Break = readonly [rule: string, path: string, from: string, to: string, said: string];

const APP = 'modules/function-app.bicep';
const BUS = 'modules/service-bus.bicep';
const ENCRYPTION_PARTS = `split(
  empty(diskEncryptionSetResourceId)
    ? '\${subscription().id}/resourceGroups/\${nodeResourceGroup}/providers/Microsoft.Compute/diskEncryptionSets/none'
    : diskEncryptionSetResourceId,
  '/'
)`;
const breaks: ReadonlyArray<Break> = [
  [
    'all files are Bicep, in its plain dialect',
    'main.bicep',
    'param location string',
    'param location =',
    'this is not Bicep',
  ],
  [
    'all files are Bicep, in its plain dialect',
    'main.bicep',
    "'modules/registry.bicep'",
    "'br/public:registry:1.0'",
    'comes from a registry',
  ],
  [
    'all files are Bicep, in its plain dialect',
    'main.bicep',
    'var clusterParts',
    'type mine = string\nvar clusterParts',
    'is not of the plain dialect',
  ],
  [
    'every name is declared, used and described',
    'main.bicep',
    'serviceBusCapacity\n',
    '1\n',
    'serviceBusCapacity is used nowhere',
  ],
  [
    'every name is declared, used and described',
    'main.bicep',
    'tags: allTags',
    'tags: someTags',
    'someTags is declared nowhere',
  ],
  [
    'every name is declared, used and described',
    BUS,
    "@description('Name of the namespace.')\nparam name",
    'param name',
    'name has no description',
  ],
  [
    'objects and lists say what they hold',
    'main.bicep',
    'param nodeTags { *: string }',
    'param nodeTags object',
    'nodeTags is any object',
  ],
  [
    'objects and lists say what they hold',
    'modules/access/queue-role.bicep',
    'param queueNames string[]',
    'param queueNames array',
    'queueNames is any array',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    '    maintenance: resourceNames',
    '    scheduled: resourceNames',
    'topicNames has no scheduled',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    "    queueNames: [\n      'pods'\n",
    '    queueNames: [\n      1\n',
    'queueNames has an element that is of type int, and not string',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    'max(monthlyBudget, 1)',
    'monthlyBudget',
    'amount has minValue 1, and monthlyBudget may be 0',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    "@minLength(10)\n@maxLength(10)\nparam budgetStartDate string = utcNow('yyyy-MM-01')",
    "param budgetStartDate string = ''",
    'startDate has minLength 10, and budgetStartDate may be 0',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    "'modules/signals/signals.bicep'",
    "'modules/signal.bicep'",
    'does not exist',
  ],
  ['modules are given what they take, at their scope', 'main.bicep', '    suffix: suffix\n', '', 'suffix is not given'],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    '    suffix: suffix\n',
    '    suffix: suffix\n    ending: suffix\n',
    'has no parameter ending',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    '    publicNetworkAccess: !isPrivate',
    "    publicNetworkAccess: 'no'",
    'publicNetworkAccess is of type string, and not bool',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    "role: 'Azure Service Bus Data Owner'",
    "role: 'Owner'",
    'role may not be Owner',
  ],
  [
    'modules are given what they take, at their scope',
    'main.bicep',
    "  name: 'nodewright-signals'\n  scope: group\n",
    "  name: 'nodewright-signals'\n",
    'is deployed to a subscription, and wants a resourceGroup',
  ],
  [
    'names and scopes of what may not be deployed can be worked out all the same',
    'modules/access/azure-access.bicep',
    '/resourceGroups/${nodeResourceGroup}/providers/Microsoft.Compute/diskEncryptionSets/none',
    '',
    'encryption: encryptionParts[4] is not there where its path is empty',
  ],
  [
    'names and scopes of what may not be deployed can be worked out all the same',
    'modules/access/azure-access.bicep',
    ENCRYPTION_PARTS,
    "split(diskEncryptionSetResourceId, '/')",
    'encryption: encryptionParts[2] is not there where its path is empty',
  ],
  [
    'outputs that are read exist, of modules that are deployed',
    'main.bicep',
    'facts.outputs.oidcIssuer',
    'facts.outputs.issuer',
    'there is no such output',
  ],
  [
    'outputs that are read exist, of modules that are deployed',
    'main.bicep',
    "? names.registry : ''",
    "? registry.outputs.name : ''",
    'the module may not be deployed',
  ],
  [
    'defaults and outputs are of the type they say',
    'main.bicep',
    'param zoneRedundant bool = false',
    "param zoneRedundant bool = 'false'",
    'zoneRedundant is of type string, and not bool',
  ],
  [
    'defaults and outputs are of the type they say',
    'main.bicep',
    "param serviceBusSku string = 'Standard'",
    "param serviceBusSku string = 'Basic'",
    'serviceBusSku may not be Basic',
  ],
  [
    'defaults and outputs are of the type they say',
    'main.bicep',
    'output AZURE_LOCATION string',
    'output AZURE_LOCATION int',
    'is of type string, and not int',
  ],
  [
    'types and versions are on the list',
    BUS,
    'namespaces/queues@2026-01-01',
    'namespaces/queues@2023-01-01',
    'only 2026-01-01, 2024-01-01',
  ],
  [
    'types and versions are on the list',
    'modules/registry.bicep',
    'ContainerRegistry/registries@',
    'ContainerRegistry/registry@',
    'this type is not on the list',
  ],
  [
    'bodies have what their types have',
    BUS,
    'deadLetteringOnMessageExpiration: true',
    'deadLetterOnExpiration: true',
    '.properties.deadLetterOnExpiration: is unknown',
  ],
  [
    'bodies have what their types have',
    BUS,
    'deadLetteringOnMessageExpiration: true',
    'messageCount: 1',
    '.properties.messageCount: is read-only',
  ],
  ['bodies have what their types have', 'modules/storage.bicep', "  kind: 'StorageV2'\n", '', '.kind: is missing'],
  [
    'bodies have what their types have',
    'modules/storage.bicep',
    "minimumTlsVersion: 'TLS1_2'",
    "minimumTlsVersion: '1.2'",
    "'1.2' is none of",
  ],
  [
    'bodies have what their types have',
    APP,
    'zoneRedundant: zoneRedundant',
    "zoneRedundant: 'no'",
    '.properties.zoneRedundant: is not of type boolean',
  ],
  [
    'bodies have what their types have',
    'modules/signals/topic-to-queue.bicep',
    "endpointType: 'ServiceBusQueue'",
    "endpointType: 'ServiceBus'",
    'destination',
  ],
  [
    'what is read of a resource is there',
    'modules/cluster-facts.bicep',
    'properties.nodeResourceGroup',
    'properties.nodesResourceGroup',
    'the type has no such property',
  ],
  [
    'what is read of a resource is there',
    APP,
    'listClusterUserCredential()',
    'listClusterUserCredentials()',
    'no such function',
  ],
  [
    'resources are where they can be',
    'modules/access/queue-role.bicep',
    '    parent: namespace\n    name: queueName',
    '    name: queueName',
    'names no parent',
  ],
  [
    'resources are where they can be',
    'modules/storage.bicep',
    '    parent: blobs\n',
    '    parent: lifecycle\n',
    'lifecycle is no parent of',
  ],
  [
    'resources are where they can be',
    'modules/registry.bicep',
    "metadata description = 'A registry",
    "targetScope = 'subscription'\nmetadata description = 'A registry",
    'cannot be deployed to a subscription',
  ],
  [
    'ids of built-in roles are right',
    'modules/registry.bicep',
    '7f951dda-4ed3-4680-a7ca-43fe172d538d',
    '8f951dda-4ed3-4680-a7ca-43fe172d538d',
    'is no role that is known here',
  ],
  [
    'ids of built-in roles are right',
    'modules/access/queue-role.bicep',
    '4f6d3b9b-027b-4f4c-9142-0e5a2a2247e0',
    '090c5cfd-751d-490a-894a-3ce6f1109419',
    'is azureServiceBusDataOwner, and not AzureServiceBusDataReceiver',
  ],
  [
    'nobody is told a key',
    'modules/storage.bicep',
    'string = account.name',
    'string = account.listKeys().keys[0].value',
    'answers with keys',
  ],
  [
    'nobody is told a key',
    'modules/monitoring.bicep',
    'string = applicationInsights.id',
    'string = applicationInsights.properties.ConnectionString',
    'is a secret in an output',
  ],
  [
    'nobody is told a key',
    'modules/cluster-facts.bicep',
    'string = cluster.properties.nodeResourceGroup',
    'string = cluster.listClusterUserCredential().kubeconfigs[0].value',
    'is a secret in an output',
  ],
  [
    'nobody is told a key',
    'main.bicep',
    "@description('Region of what is made here",
    "@secure()\n@description('Region of what is made here",
    'tells a secure parameter',
  ],
  [
    'nobody is told a key',
    'main.bicep',
    'param createRegistry bool',
    'param registryPassword bool',
    'is named like a secret',
  ],
  [
    'nobody is told a key',
    APP,
    "    AzureWebJobsStorage__credential: 'managedidentity'",
    '    hostAccountKey: name',
    'is a secret in a property',
  ],
  [
    'keys let nobody in',
    BUS,
    'disableLocalAuth: true',
    'disableLocalAuth: false',
    'namespace does not say disableLocalAuth: true',
  ],
  [
    'keys let nobody in',
    'modules/storage.bicep',
    '    allowSharedKeyAccess: false\n',
    '',
    'account does not say allowSharedKeyAccess: false',
  ],
  [
    'no host of one cloud is named',
    APP,
    "? '' : environment().resourceManager",
    "? '' : 'https://management.azure.com/'",
    'is of one cloud only',
  ],
  [
    'each app setting that is read is set, and no other',
    APP,
    "    RESERVE_NODES: settings.?RESERVE_NODES ?? ''\n",
    '',
    'app setting RESERVE_NODES is missing',
  ],
  [
    'each app setting that is read is set, and no other',
    APP,
    '    ServiceBus__clientId: identityClientId\n',
    '',
    'app setting ServiceBus__clientId is missing',
  ],
  [
    'each app setting that is read is set, and no other',
    APP,
    '    LOCATION: ',
    "    RESERVE_NODE: 'false'\n    LOCATION: ",
    'app setting RESERVE_NODE is known to nobody',
  ],
  [
    'queues are as the code has them',
    BUS,
    "name: 'signals'\n    requiresSession: false\n    lockDuration: 'PT1M'",
    "name: 'signals'\n    requiresSession: false\n    lockDuration: 'PT5M'",
    'queue signals: lockDuration is PT5M',
  ],
  [
    'queues are as the code has them',
    BUS,
    "name: 'pods'\n    requiresSession: true",
    "name: 'pods'\n    requiresSession: false",
    'queue pods: requiresSession is false',
  ],
  ['queues are as the code has them', BUS, "name: 'launches'", "name: 'launch'", 'queue launches is missing'],
  [
    'queues are as the code has them',
    BUS,
    'requiresSession: settings.requiresSession',
    'requiresSession: false',
    'does not take its requiresSession',
  ],
  [
    'lists of queues, containers, functions and currencies are the code’s',
    'main.bicep',
    "var triggerQueues = [\n  'pods'\n",
    'var triggerQueues = [\n',
    'queue that is read pods is missing',
  ],
  [
    'lists of queues, containers, functions and currencies are the code’s',
    'main.bicep',
    "  'catalog'\n",
    "  'catalogue'\n",
    'container catalogue is known to nobody',
  ],
  [
    'lists of queues, containers, functions and currencies are the code’s',
    'main.bicep',
    "  'interrupt'\n",
    "  'interruption'\n",
    'there is no function interruption',
  ],
  [
    'lists of queues, containers, functions and currencies are the code’s',
    APP,
    "  'interruptEventGrid'\n",
    '',
    'name of the group http interruptEventGrid is missing',
  ],
  [
    'lists of queues, containers, functions and currencies are the code’s',
    'main.bicep',
    "  'CHF'\n",
    "  'PLN'\n",
    'currency PLN is known to nobody',
  ],
  [
    'lists of queues, containers, functions and currencies are the code’s',
    'main.bicep',
    "      'claims'\n      'signals'\n",
    "      'signals'\n",
    'queue of the relay claims is missing',
  ],
];

test.for(breaks)('broken, it is found out: %s: %s, %s', ([rule, path, from, to, said]) => {
  const text = texts[path] ?? '';
  expect(text).toContain(from);
  const files = parseAll({ ...texts, [path]: text.replace(from, () => to) });
  expect(checks[rule]?.(files).join('\n')).toContain(said);
});

test('every rule is broken at least once', () => {
  const broken = new Set(breaks.map(([rule]) => rule));
  expect(Object.keys(checks).filter((rule) => !broken.has(rule))).toEqual([]);
});

describe('parameters that come with it', () => {
  const files = parseAll(texts);

  test('azd and the file for az know all that has to be said, and the defaults', () => {
    expect(azdParameterFaults(files, azdParameters)).toEqual([]);
    expect(parameterFileFaults(files, parameterFile)).toEqual([]);
  });

  test.for([
    ['"clusterResourceId"', '"clusterId"', 'clusterResourceId is missing'],
    ['"clusterResourceId"', '"clusterId"', 'has no parameter clusterId'],
    ['MEMORY_MB=2048', 'MEMORY_MB=512', 'instanceMemoryMB is 512 by default'],
    ['${AZURE_LOCATION}', 'westeurope', 'location is no variable'],
    ['"DISRUPTION"', '"DISRUPT"', 'settings has no DISRUPT'],
  ] as const)('azd’s are found out when broken: %s', ([from, to, said]) => {
    expect(azdParameters).toContain(from);
    expect(azdParameterFaults(files, azdParameters.replace(from, to)).join('\n')).toContain(said);
  });

  test.for([
    ['param location =', 'param region =', 'location is missing'],
    ['param location =', 'param region =', 'has no parameter region'],
    ["= 'production'", '= 3', 'environmentName is of type int'],
    ["= 'production'", '= ', 'this is not Bicep'],
    ["using '../main.bicep'", "using '../other.bicep'", 'does not use'],
  ] as const)('the file’s are found out when broken: %s %s', ([from, to, said]) => {
    expect(parameterFile).toContain(from);
    expect(parameterFileFaults(files, parameterFile.replace(from, to)).join('\n')).toContain(said);
  });
});

describe('events of Azure', () => {
  const ignored = Object.entries(annotations).flatMap(([name, { does }]) => (does === 'ignore' ? [name] : []));

  test('those subscribed to are of the types that mean something to the code', () => {
    const { types } = subscribedEvents(parseAll(texts));
    expect(types).toEqual([eventTypes.annotated, eventTypes.availability, eventTypes.scheduled, eventTypes.deleted]);
  });

  test('annotations that mean nothing to the code are left out, and no others', () => {
    expect(ignored.length).toBeGreaterThan(0);
    expect(subscribedEvents(parseAll(texts)).annotations.toSorted()).toEqual(ignored.toSorted());
  });

  test('one that means something and is left out is found out', () => {
    const path = 'modules/signals/signals.bicep';
    const broken = (texts[path] ?? '').replace("'VirtualMachineAllocated'", "'VirtualMachinePreempted'");
    const { annotations: leftOut } = subscribedEvents(parseAll({ ...texts, [path]: broken }));
    expect(leftOut.filter((name) => !ignored.includes(name))).toEqual(['VirtualMachinePreempted']);
  });
});
