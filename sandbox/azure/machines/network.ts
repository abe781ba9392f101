import { refuseOddNic } from '../admit/nic.ts';
import { refuseOddTags } from '../admit/tags.ts';
import { ArmError, preconditionFailed, resourceNotFound } from '../arm/arm-error.ts';
import { groupAndName, type Cloud } from '../state/cloud.ts';
import { drawGuid } from '../arm/guid.ts';
import { canonicalJson, isObject, listAt, objectAt, textAt, type JsonObject } from '../arm/json.ts';
import type { Nic } from '../arm/resources.ts';

const TYPE = 'Microsoft.Network/networkInterfaces';

/** What a write came to, for the HTTP border. */
export interface Written<T> {
  readonly resource: T;
  readonly created: boolean;
  /** The operation to follow; null when there is nothing to wait for. */
  readonly operation: string | null;
}

/** Creates or updates a network interface. An identical PUT changes nothing. */
export function putNic(
  cloud: Cloud,
  at: { readonly group: string; readonly name: string },
  body: JsonObject,
  ifNoneMatch: string | null,
): Written<Nic> {
  const key = groupAndName(at.group, at.name);
  const existing = cloud.nics.get(key);
  if (existing !== undefined && ifNoneMatch === '*') throw preconditionFailed(at.name);
  const id = cloud.idOf(TYPE, at.group, at.name);
  refuseOddNic(cloud, at.name, body, id);
  if (existing !== undefined) return updateNic(cloud, existing, body);
  const nic: Nic = {
    name: at.name,
    group: at.group,
    id,
    guid: drawGuid(cloud.rng('guids')),
    createdAt: cloud.clock.now(),
    privateIp: cloud.nextAddress(),
    body,
    etag: drawGuid(cloud.rng('etags')),
    provisioningState: 'Succeeded',
    vmId: null,
    reserved: null,
    deleting: null,
  };
  cloud.nics.set(key, nic);
  const operation = settleNic(cloud, nic);
  recordNic(cloud, nic);
  return { resource: nic, created: true, operation };
}

/** Replaces the tags of a network interface. */
export function patchNicTags(cloud: Cloud, group: string, name: string, body: JsonObject): Nic {
  const nic = findNic(cloud, group, name);
  refuseOddTags(body);
  nic.body = { ...nic.body, tags: objectAt(body, 'tags') };
  nic.etag = drawGuid(cloud.rng('etags'));
  recordNic(cloud, nic);
  return nic;
}

/**
 * Deletes a network interface, at once or over some time, as drawn; the operation is there in both. Null when there is
 * none; refuses one that is in use or reserved.
 */
export function deleteNic(cloud: Cloud, group: string, name: string): string | null {
  const nic = cloud.nics.get(groupAndName(group, name));
  if (nic === undefined) return null;
  if (nic.deleting !== null) return nic.deleting;
  if (nic.vmId !== null)
    throw new ArmError(400, {
      code: 'NicInUse',
      message: nicInUse(nic.id, nic.vmId),
    });
  refuseReserved(cloud, nic, null);
  const operation = cloud.operations.start('Microsoft.Network');
  if (cloud.rng('nic-gone').chance(cloud.options.nicGonePercent)) {
    removeNic(cloud, nic);
    cloud.operations.end(operation, { status: 'Succeeded' });
    return operation;
  }
  nic.provisioningState = 'Deleting';
  nic.deleting = operation;
  cloud.clock.after(cloud.draw('nic', cloud.options.latency.nic), () => {
    removeNic(cloud, nic);
    cloud.operations.end(operation, { status: 'Succeeded' });
  });
  return operation;
}

/** Takes a network interface out of the world, as the cascade of a VM's deletion does. */
export function removeNic(cloud: Cloud, nic: Nic): void {
  cloud.nics.delete(groupAndName(nic.group, nic.name));
  cloud.graph.record(nic.id, null);
}

/** The network interface, or a 404. */
export function findNic(cloud: Cloud, group: string, name: string): Nic {
  const nic = cloud.nics.get(groupAndName(group, name));
  if (nic === undefined) throw resourceNotFound(`${TYPE}/${name}`, group);
  return nic;
}

/** As recorded: a network interface that a VM has cannot be deleted, nor be another VM's. */
export function nicInUse(nicId: string, vmId: string): string {
  return (
    `Network Interface ${nicId} is used by existing resource ${vmId}. In order to delete the network interface, it must ` +
    'be dissociated from the resource. To learn more, see aka.ms/deletenic.'
  );
}

/** Refuses a network interface that is held for another VM's name. */
export function refuseReserved(cloud: Cloud, nic: Nic, vmName: string | null): void {
  const { reserved } = nic;
  if (reserved === null || reserved.until <= cloud.clock.now()) return;
  if (vmName !== null && reserved.vmName.toLowerCase() === vmName.toLowerCase()) return;
  const seconds = Math.ceil((reserved.until - cloud.clock.now()) / 1_000);
  throw new ArmError(400, {
    code: 'NicReservedForAnotherVm',
    message:
      `Nic ${nic.id} is reserved for another Virtual Machine for ${cloud.options.nicReservedSeconds} seconds. ` +
      `Use another one or try again after ${seconds} seconds. Reserved VM: ${reserved.vmName}.`,
  });
}

/** Writes the network interface's present form to Resource Graph. */
export function recordNic(cloud: Cloud, nic: Nic): void {
  cloud.graph.record(nic.id, {
    id: nic.id,
    name: nic.name,
    type: 'microsoft.network/networkinterfaces',
    resourceGroup: nic.group.toLowerCase(),
    location: cloud.options.region,
    subscriptionId: cloud.options.subscriptionId,
    tags: objectAt(nic.body, 'tags'),
    properties: renderNicProperties(cloud, nic),
  });
}

/** The network interface as ARM shows it. */
export function renderNic(cloud: Cloud, nic: Nic): JsonObject {
  return {
    name: nic.name,
    id: nic.id,
    etag: `W/"${nic.etag}"`,
    type: TYPE,
    location: cloud.options.region,
    kind: 'Regular',
    ...(nic.body['tags'] === undefined ? {} : { tags: nic.body['tags'] }),
    properties: renderNicProperties(cloud, nic),
  };
}

function updateNic(cloud: Cloud, nic: Nic, body: JsonObject): Written<Nic> {
  if (nic.deleting !== null)
    throw new ArmError(409, {
      code: 'ResourceGettingDeleted',
      message: `Resource ${nic.id} is being deleted: wait for the deletion, then create it again.`,
    });
  if (canonicalJson(nic.body) === canonicalJson(body)) return { resource: nic, created: false, operation: null };
  const subnet = textAt(listAt(body, 'properties.ipConfigurations')[0], 'properties.subnet.id');
  const before = textAt(listAt(nic.body, 'properties.ipConfigurations')[0], 'properties.subnet.id');
  if (nic.vmId !== null && subnet?.toLowerCase() !== before?.toLowerCase())
    throw new ArmError(400, {
      code: 'SubnetCannotBeChangedForNicInUse',
      message: `The subnet of network interface ${nic.id} cannot change while ${nic.vmId} uses it.`,
    });
  nic.body = body;
  nic.etag = drawGuid(cloud.rng('etags'));
  const operation = settleNic(cloud, nic);
  recordNic(cloud, nic);
  return { resource: nic, created: false, operation };
}

/** Most changes have succeeded when they are answered; the others are followed by the operation that this gives. */
function settleNic(cloud: Cloud, nic: Nic): string | null {
  if (!cloud.rng('nic-updating').chance(cloud.options.nicUpdatingPercent)) {
    nic.provisioningState = 'Succeeded';
    return null;
  }
  nic.provisioningState = 'Updating';
  const operation = cloud.operations.start('Microsoft.Network');
  cloud.clock.after(cloud.draw('nic', cloud.options.latency.nic), () => {
    if (nic.provisioningState === 'Updating') nic.provisioningState = 'Succeeded';
    recordNic(cloud, nic);
    cloud.operations.end(operation, { status: 'Succeeded' });
  });
  return operation;
}

function renderNicProperties(cloud: Cloud, nic: Nic): JsonObject {
  const properties = objectAt(nic.body, 'properties');
  const securityGroup = textAt(properties, 'networkSecurityGroup.id');
  return {
    ...properties,
    ...(securityGroup === null ? {} : { networkSecurityGroup: { id: securityGroup } }),
    provisioningState: nic.provisioningState,
    resourceGuid: nic.guid,
    ipConfigurations: listAt(properties, 'ipConfigurations').map((configuration, index) =>
      renderIpConfiguration(nic, configuration, index),
    ),
    dnsSettings: {
      dnsServers: [],
      appliedDnsServers: [],
      internalDomainNameSuffix: `${cloud.options.clusterId}.ax.internal.cloudapp.net`,
    },
    enableAcceleratedNetworking: properties['enableAcceleratedNetworking'] === true,
    enableIPForwarding: properties['enableIPForwarding'] === true,
    vnetEncryptionSupported: false,
    disableTcpStateTracking: false,
    hostedWorkloads: [],
    tapConfigurations: [],
    nicType: 'Standard',
    allowPort25Out: true,
    defaultOutboundConnectivityEnabled: false,
    auxiliaryMode: 'None',
    auxiliarySku: 'None',
    ...(nic.vmId === null ? {} : { macAddress: macOf(nic.privateIp), primary: true, virtualMachine: { id: nic.vmId } }),
  };
}

function renderIpConfiguration(nic: Nic, configuration: unknown, index: number): JsonObject {
  const name = textAt(configuration, 'name') ?? `ipconfig${index}`;
  const subnet = textAt(configuration, 'properties.subnet.id');
  return {
    ...(isObject(configuration) ? configuration : {}),
    name,
    id: `${nic.id}/ipConfigurations/${name}`,
    etag: `W/"${nic.etag}"`,
    type: `${TYPE}/ipConfigurations`,
    properties: {
      ...objectAt(configuration, 'properties'),
      ...(subnet === null ? {} : { subnet: { id: subnet } }),
      provisioningState: nic.provisioningState,
      privateIPAddress: nic.privateIp,
      privateIPAllocationMethod: 'Dynamic',
      privateIPAddressVersion: 'IPv4',
      primary: index === 0,
    },
  };
}

function macOf(address: string): string {
  const bytes = address.split('.').map((part) => Number(part).toString(16).toUpperCase().padStart(2, '0'));
  return ['00', '0D', ...bytes].join('-');
}
