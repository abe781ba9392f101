import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { ComputeManagementClient } from '@azure/arm-compute';
import { ContainerServiceClient } from '@azure/arm-containerservice';
import { NetworkManagementClient } from '@azure/arm-network';
import { ResourceGraphClient } from '@azure/arm-resourcegraph';
import { nicBody, vmBody } from '../../../shared/adapters/azure/machines/vm-body.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import type { LaunchOrder } from '../../../shared/ports/cloud.ts';
import { root } from './bicep/parse.ts';

const SUBSCRIPTION = '00000000-0000-0000-0000-000000000000';

interface Request {
  readonly method: string;
  readonly path: string;
}

/** The management clients, whose requests are noted and never sent. */
function notingClients(note: (request: Request) => void): Readonly<Record<string, object>> {
  const credential = { getToken: () => Promise.resolve({ token: 'none', expiresOnTimestamp: Date.now() + 3_600_000 }) };
  const options = {
    retryOptions: { maxRetries: 0 },
    httpClient: {
      sendRequest: ({ method, url }: { readonly method: string; readonly url: string }): Promise<never> => {
        note({ method, path: new URL(url).pathname });
        return Promise.reject(new Error('noted'));
      },
    },
  };
  return {
    compute: new ComputeManagementClient(credential, SUBSCRIPTION, options),
    containers: new ContainerServiceClient(credential, SUBSCRIPTION, options),
    network: new NetworkManagementClient(credential, SUBSCRIPTION, options),
    graph: new ResourceGraphClient(credential, options),
  };
}

/** A call that the source makes: a client, its group of operations (empty: the client itself), and the operation. */
interface Call {
  readonly client: string;
  readonly group: string;
  readonly operation: string;
}

/** Calls of Azure's management clients in the source, found by their words: `….virtualMachines.get(`. */
export function callsInSource(): ReadonlyArray<Call> {
  const clients = notingClients(() => undefined);
  const folder = join(root, 'shared/adapters/azure');
  const sources = readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => withAliases(readFileSync(join(folder, name), 'utf8')));
  const found = sources.flatMap((source) => [
    ...[...source.matchAll(/\.\s*(\w+)\s*\.\s*(\w+)\(/g)].flatMap(([, group = '', operation = '']) =>
      Object.entries(clients).flatMap(([client, instance]) =>
        isOperation(instance, group, operation) ? [{ client, group, operation }] : [],
      ),
    ),
    ...[...source.matchAll(/\bgraph\s*\.\s*(\w+)\(/g)].map(([, operation = '']) => ({
      client: 'graph',
      group: '',
      operation,
    })),
  ]);
  return [...new Map(found.map((call) => [nameOf(call), call])).values()];
}

/**
 * `const { virtualMachineExtensions: extensions } = …; extensions.createOrUpdate(` reads as
 * `.virtualMachineExtensions.createOrUpdate(`.
 */
function withAliases(source: string): string {
  const aliases = [...source.matchAll(/\{ (\w+)(?:: (\w+))? \} = await /g)];
  return aliases.reduce(
    (text, [, group = '', alias = group]) =>
      text.replaceAll(new RegExp(`\\b${alias}\\.(\\w+)\\(`, 'g'), `.${group}.$1(`),
    source,
  );
}

function isOperation(client: object, group: string, operation: string): boolean {
  // The pipeline sends what the operations ask for.
  if (group === 'pipeline') return false;
  const operations: unknown = (client as Readonly<Record<string, unknown>>)[group];
  if (typeof operations !== 'object' || operations === null) return false;
  return typeof (operations as Readonly<Record<string, unknown>>)[operation] === 'function';
}

export function nameOf({ client, group, operation }: Call): string {
  return [client, group, operation].filter(Boolean).join('.');
}

/** What each operation is given here: names that its path shows. */
const ARGUMENTS: Readonly<Record<string, ReadonlyArray<unknown>>> = {
  'compute.communityGalleryImageVersions.list': ['westeurope', 'gallery', 'image'],
  'compute.diskEncryptionSets.get': ['group', 'set'],
  'compute.resourceSkus.list': [],
  'compute.usage.list': ['westeurope'],
  'compute.virtualMachineExtensions.createOrUpdate': ['group', 'vm', 'extension', { location: 'westeurope' }],
  'compute.virtualMachines.createOrUpdate': ['group', 'vm', { location: 'westeurope' }],
  'compute.virtualMachines.delete': ['group', 'vm'],
  'compute.virtualMachines.get': ['group', 'vm'],
  'compute.virtualMachines.list': ['group'],
  'containers.maintenanceConfigurations.get': ['group', 'cluster', 'configuration'],
  'graph.resources': [{ query: 'SpotResources' }],
  'network.loadBalancers.list': ['group'],
  'network.networkInterfaces.createOrUpdate': ['group', 'nic', {}],
  'network.networkInterfaces.delete': ['group', 'nic'],
  'network.networkInterfaces.get': ['group', 'nic'],
  'network.networkInterfaces.list': ['group'],
  'network.networkSecurityGroups.list': ['group'],
  'network.subnets.get': ['group', 'vnet', 'subnet'],
  'network.virtualNetworks.get': ['group', 'vnet'],
};

/** The role action that each call in the source needs, by the request that the client really makes. */
export async function actionsOfCalls(
  calls: ReadonlyArray<Call> = callsInSource(),
): Promise<ReadonlyMap<string, string>> {
  const actions = new Map<string, string>();
  for (const call of calls) {
    const noted: Array<Request> = [];
    const client = notingClients((request) => noted.push(request))[call.client] as Readonly<Record<string, unknown>>;
    const given = ARGUMENTS[nameOf(call)];
    if (given === undefined) throw new Error(`${nameOf(call)} is new: say in ARGUMENTS what it is given`);
    const owner = (call.group === '' ? client : client[call.group]) as Readonly<Record<string, Operation>>;
    // One after the other: what is noted belongs to the call that was made last.
    await run(owner, call.operation, given);
    const [first] = noted;
    if (first === undefined) throw new Error(`${nameOf(call)} sent no request`);
    actions.set(nameOf(call), actionOf(first));
  }
  return actions;
}

type Operation = (...given: ReadonlyArray<unknown>) => unknown;

async function run(
  owner: Readonly<Record<string, Operation>>,
  name: string,
  given: ReadonlyArray<unknown>,
): Promise<void> {
  try {
    const answer = owner[name]?.(...given);
    if (isList(answer)) await Array.fromAsync(answer);
    else if (isPoller(answer)) await answer.submitted();
    else await (answer as Promise<unknown>);
  } catch (error) {
    if (!(error instanceof Error) || !error.message.includes('noted')) throw error;
  }
}

function isList(answer: unknown): answer is AsyncIterable<unknown> {
  return typeof answer === 'object' && answer !== null && Symbol.asyncIterator in answer;
}

function isPoller(answer: unknown): answer is { readonly submitted: () => Promise<void> } {
  return typeof answer === 'object' && answer !== null && 'submitted' in answer;
}

const VERBS: Readonly<Record<string, string>> = { GET: 'read', PUT: 'write', PATCH: 'write', DELETE: 'delete' };

/**
 * Resource Manager's convention: the types of the path, and what the method does. A query of Resource Graph is a
 * reading.
 */
function actionOf({ method, path }: Request): string {
  const [, namespace = '', rest = ''] = /\/providers\/([^/]+)\/([^?]*)$/.exec(path) ?? [];
  const parts = rest.split('/');
  const isRegional = parts[0] === 'locations';
  const types = isRegional ? ['locations', ...parts.slice(2)] : parts;
  // locations/westeurope/communityGalleries/x/images/y/versions: the names stand at every second place.
  const named = isRegional
    ? types.filter((_, index) => index === 0 || index % 2 === 1)
    : parts.filter((_, index) => index % 2 === 0);
  const type = [namespace, ...named].join('/');
  if (namespace === 'Microsoft.ResourceGraph') return `${type}/read`;
  return method === 'POST' ? `${type}/action` : `${type}/${VERBS[method] ?? method}`;
}

/** What Azure asks beside the write itself where a body names another resource: the linked access check. */
const LINKED: Readonly<Record<string, string>> = {
  'Microsoft.Compute/diskEncryptionSets': 'read',
  'Microsoft.Network/virtualNetworks/subnets': 'join/action',
  'Microsoft.Network/networkSecurityGroups': 'join/action',
  'Microsoft.Network/loadBalancers/backendAddressPools': 'join/action',
  'Microsoft.Network/networkInterfaces': 'join/action',
  'Microsoft.ManagedIdentity/userAssignedIdentities': 'assign/action',
};

/** Actions on what the bodies of VMs and network interfaces name, by the type that is named. */
export function linkedActions(): ReadonlyMap<string, string> {
  return new Map(
    referredTypes().map((type) => {
      const action = LINKED[type];
      if (action === undefined) throw new Error(`a body names a ${type}: say in LINKED what right that takes`);
      return [`a body that names a ${type}`, `${type}/${action}`];
    }),
  );
}

function referredTypes(): ReadonlyArray<string> {
  const base = `/subscriptions/${SUBSCRIPTION}/resourceGroups/group/providers`;
  const settings = {
    CLUSTER_NAME: 'c',
    AZURE_SUBSCRIPTION_ID: SUBSCRIPTION,
    AZURE_NODE_RESOURCE_GROUP: 'group',
    LOCATION: 'westeurope',
    VNET_SUBNET_ID: `${base}/Microsoft.Network/virtualNetworks/v/subnets/s`,
    CLUSTER_ENDPOINT: 'https://c.example.com',
    NODE_OSDISK_DISKENCRYPTIONSET_ID: `${base}/Microsoft.Compute/diskEncryptionSets/d`,
    NODE_IDENTITIES: `${base}/Microsoft.ManagedIdentity/userAssignedIdentities/i`,
  };
  const place = {
    subnetId: settings.VNET_SUBNET_ID,
    securityGroupId: `${base}/Microsoft.Network/networkSecurityGroups/g`,
    securityGroup: 'g',
    routeTable: 'r',
    backendPoolIds: [`${base}/Microsoft.Network/loadBalancers/l/backendAddressPools/p`],
  };
  const parts = {
    name: 'aks-x',
    nicId: `${base}/Microsoft.Network/networkInterfaces/n`,
    imageId: '/CommunityGalleries/g/images/i/versions/1',
    customData: '',
    sku: null,
  };
  const ids = [...strings(nicBody('aks-x', order, settings, place)), ...strings(vmBody(order, settings, parts))];
  const types = ids.flatMap((id) => {
    const [, namespace, rest] =
      /^\/subscriptions\/[^/]+\/resourceGroups\/[^/]+\/providers\/([^/]+)\/(.+)$/.exec(id) ?? [];
    return rest === undefined ? [] : [[namespace, ...rest.split('/').filter((_, index) => index % 2 === 0)].join('/')];
  });
  return [...new Set(types)].toSorted();
}

const order: LaunchOrder = {
  claim: 'x',
  nodePool: 'general',
  decision: null,
  nodeClass: { metadata: { name: 'default' }, spec: {} },
  offering: { instanceType: 'Standard_D2s_v5', zone: 'westeurope-1', capacityType: 'spot', price: microUsdPerHour(1) },
  instanceType: { name: 'Standard_D2s_v5', labels: {}, capacity: { cpu: '2' }, overhead: {}, offerings: [] },
  labels: {},
  taints: [],
  startupTaints: [],
};

/** All strings of a value, and the names of its properties. */
function strings(value: unknown): ReadonlyArray<string> {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [name, ...strings(inner)]);
}
