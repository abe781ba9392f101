import { startAzure } from '../../../../sandbox/azure/azure.ts';
import type { Azure } from '../../../../sandbox/azure/running-azure.ts';
import { isObject, listAt, objectAt, textAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import { azureDefaults, realLatency, type AzureOptions } from '../../../../sandbox/azure/state/options.ts';
import { VirtualClock } from '../../../../sandbox/base/clock.ts';
import { rngFrom } from '../../../../sandbox/base/rng.ts';
import { sshKey } from '../kit/bodies.ts';
import type { Recorded } from './recorded-exchanges.ts';

/** What the double answered. */
export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly body: unknown;
}

/** A double in the place of the subscription that was recorded, on a clock that moves only when told to. */
export interface Stage {
  readonly azure: Azure;
  /** Lets everything that is under way come to its end. */
  settle(): void;
  /** Sends what was recorded, said in the names of the double. */
  replay(recorded: Recorded): Promise<Answered>;
  /** Sends a request of the scene's own. Throws where it is refused. */
  send(method: string, path: string, body: object | null): Promise<void>;
  /** Makes a VM as one was recorded, with its network interface, and lets it run. */
  launch(recorded: JsonObject, change?: (properties: JsonObject) => JsonObject): Promise<void>;
}

/** Longer than anything in the double takes. */
const SETTLED_MS = 600_000;

const group = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/group/providers';
const { clusterId } = azureDefaults;
export const vnet = `${group}/Microsoft.Network/virtualNetworks/aks-vnet-${clusterId}`;
const securityGroup = `${group}/Microsoft.Network/networkSecurityGroups/aks-agentpool-${clusterId}-nsg`;

/** Starts the double with what the recordings have in common; lists and network interfaces do nothing by chance. */
export async function setStage(options: Partial<AzureOptions>): Promise<Stage> {
  const clock = new VirtualClock(Date.UTC(2026, 7, 22));
  const azure = await startAzure({
    ...azureDefaults,
    region: 'eastus',
    resourceGroup: 'group',
    clusterResourceGroup: 'group',
    port: 0,
    clock,
    rng: rngFrom('recorded'),
    latency: { ...realLatency, request: { minMs: 0, maxMs: 0 } },
    nicUpdatingPercent: 0,
    nicGonePercent: 0,
    upperCaseGroupPercent: 0,
    ...options,
  });
  /** Where the last operation can be asked for. */
  let following = { operation: '', location: '' };
  const ask = async (method: string, url: string, body: object | null, headers: object = {}): Promise<Answered> => {
    const answer = await fetch(url, {
      method,
      headers: { authorization: 'Bearer x', 'content-type': 'application/json', ...headers },
      ...(body === null ? {} : { body: JSON.stringify(body) }),
    });
    const operation = answer.headers.get('azure-asyncoperation');
    if (operation !== null) following = { operation, location: answer.headers.get('location') ?? '' };
    const text = await answer.text();
    return { status: answer.status, headers: answer.headers, body: text === '' ? null : (JSON.parse(text) as unknown) };
  };
  const urlOf = (path: string, query: ReadonlyArray<string> = []): string =>
    `${azure.endpoint}${path}?${[`api-version=${versionFor(path)}`, ...query].join('&')}`;
  const send = async (method: string, path: string, body: object | null): Promise<void> => {
    const answer = await ask(method, urlOf(path), body);
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`);
    clock.advance(SETTLED_MS);
  };
  return {
    azure,
    settle: () => {
      clock.advance(SETTLED_MS);
    },
    replay: (recorded) => {
      const { method, path, query, requestBody, requestHeaders } = recorded;
      if (/\/operationResults\//i.test(path) || query.includes('monitor=true'))
        return ask(method, following.location, null);
      if (/\/(?:Disk)?operations\//i.test(path)) return ask(method, following.operation, null);
      const named = nameFor(path);
      return ask(method, urlOf(named, query), requestBody === null ? null : bodyFor(requestBody), requestHeaders);
    },
    send,
    launch: async (recorded, change = (properties) => properties) => {
      const { vm, nicPath, nic } = toOrder(recorded, change);
      await send('PUT', nicPath, nic);
      await send('PUT', textAt(recorded, 'id') ?? '', vm);
    },
  };
}

const VERSIONS: ReadonlyArray<readonly [RegExp, string]> = [
  [/\/Microsoft\.Compute\/disks/i, '2026-03-02'],
  [/\/communityGalleries\//i, '2025-12-03'],
  [/\/Microsoft\.Compute\//i, '2026-04-01'],
  [/\/Microsoft\.Network\//i, '2025-09-01'],
  [/\/Microsoft\.ContainerService\//i, '2026-05-01'],
  [/\/Microsoft\.ResourceGraph\//i, '2021-03-01'],
];

/** The API versions that the double speaks are newer than what was recorded. */
function versionFor(path: string): string {
  return VERSIONS.find(([pattern]) => pattern.test(path))?.[1] ?? '';
}

/** The double has one virtual network with one subnet, one region, and the galleries of AKS. */
function nameFor(path: string): string {
  return path
    .replace(
      /\/virtualNetworks\/testParentResource\/subnets\/testResource$/,
      `${vnet}/subnets/aks-subnet`.slice(group.length + 18),
    )
    .replace(/\/virtualNetworks\/[^/]+/, vnet.slice(vnet.indexOf('/virtualNetworks')))
    .replace(
      /\/locations\/[^/]+\/communityGalleries\/[^/]+\/images\/[^/]+/,
      '/locations/eastus/communityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2/images/2204gen2containerd',
    )
    .replace(/\/locations\/[^/]+\/usages/, '/locations/eastus/usages');
}

/** Ids and places as the double has them, and the logins that the recorders took out. */
function bodyFor(body: JsonObject): JsonObject {
  const text = JSON.stringify(body)
    .replaceAll(/"location":"[^"]*"/g, '"location":"eastus"')
    .replaceAll(/[^"]*\/virtualNetworks\/(?!samplevnet)[^"/]+\/subnets\/[^"]+/g, `${vnet}/subnets/aks-subnet`)
    .replaceAll(/[^"]*\/networkSecurityGroups\/[^"]+/g, securityGroup);
  const moved = JSON.parse(text) as JsonObject;
  const profile = objectAt(moved, 'properties.osProfile');
  if (Object.keys(profile).length === 0) return moved;
  return { ...moved, properties: { ...objectAt(moved, 'properties'), osProfile: withLogin(profile) } };
}

/** The recorders leave neither passwords nor keys; Linux is what the double's machines run. */
function withLogin(profile: JsonObject): JsonObject {
  const { windowsConfiguration: _windows, adminUsername: _name, ...kept } = profile;
  const hasKey = listAt(profile, 'linuxConfiguration.ssh.publicKeys').length > 0;
  const linux = objectAt(profile, 'linuxConfiguration');
  return {
    ...kept,
    adminUsername: 'azureuser',
    ...(hasKey
      ? { linuxConfiguration: { ...linux, ssh: { publicKeys: [sshKey] } } }
      : { adminPassword: 'Not-a-password-1' }),
  };
}

/** What a client would have sent to have the VM that was recorded. */
function toOrder(
  recorded: JsonObject,
  change: (properties: JsonObject) => JsonObject,
): { readonly vm: JsonObject; readonly nicPath: string; readonly nic: JsonObject } {
  const {
    vmId: _id,
    provisioningState: _state,
    instanceView: _view,
    timeCreated: _time,
    storageProfile,
    ...properties
  } = objectAt(recorded, 'properties');
  const { exactVersion: _version, ...imageReference } = objectAt(storageProfile, 'imageReference');
  const { osType: _type, vhd: _vhd, managedDisk, ...osDisk } = objectAt(storageProfile, 'osDisk');
  const storage = textAt(managedDisk, 'storageAccountType');
  const order = {
    ...properties,
    storageProfile: {
      imageReference,
      osDisk: { ...osDisk, ...(storage === null ? {} : { managedDisk: { storageAccountType: storage } }) },
    },
  };
  const nicPath = textAt(listAt(properties, 'networkProfile.networkInterfaces')[0], 'id') ?? '';
  const nic = {
    location: 'eastus',
    properties: {
      ipConfigurations: [{ name: 'ipconfig1', properties: { subnet: { id: `${vnet}/subnets/aks-subnet` } } }],
    },
  };
  const { tags, identity } = recorded;
  const vm = bodyFor({
    location: 'eastus',
    ...(isObject(tags) ? { tags } : {}),
    ...(isObject(identity) ? { identity: withoutDirectoryIds(identity) } : {}),
    properties: change(order),
  });
  return { vm, nicPath, nic };
}

function withoutDirectoryIds(identity: JsonObject): JsonObject {
  const ids = Object.keys(objectAt(identity, 'userAssignedIdentities'));
  return { ...identity, userAssignedIdentities: Object.fromEntries(ids.map((id) => [id, {}])) };
}
