import type { AzureOptions } from '../../../../sandbox/azure/state/options.ts';
import { objectAt, textAt, type JsonObject } from '../../../../sandbox/azure/arm/json.ts';
import type { Recorded } from './recorded-exchanges.ts';
import type { Stage } from './recorded-stage.ts';

/** What has to be there for a part of a recording to be played on the double. */
export interface Scene {
  readonly options?: Partial<AzureOptions>;
  /** Comes before an exchange, by its number. */
  readonly before?: Readonly<Record<number, (stage: Stage) => void | Promise<void>>>;
  /** Numbers of exchanges before which nothing comes to its end. */
  readonly inBetween?: ReadonlyArray<number>;
}

const group = '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/group/providers';
const disks = `${group}/Microsoft.Compute/disks`;

/** By flow and part. A part that is not here is played on a double in which nothing has happened yet. */
export function scenesFor(
  recordings: ReadonlyMap<string, ReadonlyArray<ReadonlyArray<Recorded>>>,
): Readonly<Record<string, Scene>> {
  const bodyOf = (flow: string, part: number, number: number): JsonObject =>
    recordings.get(flow)?.[part - 1]?.[number - 1]?.body ?? {};
  const created = bodyOf('vm-create', 1, 5);
  const linux = bodyOf('vm-create', 2, 5);
  const identity = bodyOf('vm-identity-and-security', 1, 1);
  const identities = Object.keys(objectAt(identity, 'identity.userAssignedIdentities'));
  return {
    'vm-delete 1': { before: { 1: (stage) => stage.launch(created) } },
    'vm-delete 2': { before: { 1: (stage) => stage.launch(linux) } },
    'nic-create-and-delete 1': { options: { nicGonePercent: 100 } },
    'nic-delete 1': {
      before: { 1: (stage) => stage.launch(named(linux, 'cli-test-vm000002')) },
      inBetween: [2, 3, 4],
    },
    'nic-delete 2': {
      options: { nicGonePercent: 100 },
      before: { 1: (stage) => stage.send('PUT', `${group}/Microsoft.Network/networkInterfaces/cli-test-nic`, nic) },
    },
    'vm-extension 1': { before: { 1: (stage) => stage.launch(linux) } },
    'vm-extension 2': { before: { 1: failExtension(linux) } },
    'vm-get-instance-view 1': { before: { 1: (stage) => stage.launch(bodyOf('vm-get-instance-view', 1, 1)) } },
    'vm-get-instance-view 2': {
      before: {
        1: async (stage) => {
          const vm = bodyOf('vm-get-instance-view', 2, 1);
          await stage.launch(vm);
          await stage.send('PUT', `${textAt(vm, 'id') ?? ''}/extensions/LinuxDiagnostic`, diagnostics);
        },
      },
    },
    'vm-get-instance-view 3': { before: { 1: (stage) => stage.launch(bodyOf('vm-get-instance-view', 3, 1)) } },
    'vm-identity-and-security 1': { options: { identities }, before: { 1: (stage) => stage.launch(identity) } },
    'vm-identity-and-security 2': { before: { 1: (stage) => stage.launch(bodyOf('vm-identity-and-security', 2, 1)) } },
    'vm-identity-and-security 3': { before: { 1: (stage) => stage.launch(bodyOf('vm-identity-and-security', 3, 1)) } },
    // Twice, as the VM had been changed once.
    'vm-list 1': {
      before: {
        2: async (stage) => {
          await stage.launch(created);
          await stage.launch(created);
        },
      },
    },
    'vm-simulate-eviction 1': {
      before: Object.fromEntries(
        [1, 3, 6].map((number) => [number, (stage: Stage) => stage.launch(bodyOf('vm-simulate-eviction', 1, number))]),
      ),
    },
    'vm-spot 1': {
      before: {
        1: (stage) => stage.launch(bodyOf('vm-spot', 1, 1), (properties) => ({ ...properties, priority: 'Spot' })),
        8: (stage) => {
          stage.azure.evict('vm1', { noticeSeconds: 0 });
        },
      },
    },
    'disk 1': {
      before: {
        4: leftDisk(linux, 'testResource', 200),
      },
    },
    'error-compute 3': {
      before: {
        1: async (stage) => {
          await leftDisk(linux, 'disk-1', 30)(stage);
          await stage.send('DELETE', `${disks}/disk-1`, null);
        },
      },
    },
    'error-network 1': {
      before: {
        1: ({ azure }) => {
          const fault = { kind: 'throttle', code: 'RetryableError', retryAfterSeconds: 60 } as const;
          azure.orderFault({ method: 'PUT', pathContains: '/networkInterfaces/', times: 1, fault });
        },
      },
    },
    'aks-managed-cluster-get 1': { options: { clusterName: 'testResource' } },
    'aks-maintenance-configuration 1': { options: { clusterName: 'cluster' } },
  };
}

const nic = {
  location: 'eastus',
  properties: {
    ipConfigurations: [
      {
        name: 'ipconfig1',
        properties: {
          subnet: { id: `${group}/Microsoft.Network/virtualNetworks/aks-vnet-12345678/subnets/aks-subnet` },
        },
      },
    ],
  },
};

const diagnostics = {
  location: 'eastus',
  properties: {
    publisher: 'Microsoft.OSTCExtensions',
    type: 'LinuxDiagnostic',
    typeHandlerVersion: '2.3',
    autoUpgradeMinorVersion: true,
  },
};

/** The VM under another name, and its network interface after it. */
function named(vm: JsonObject, name: string): JsonObject {
  const text = JSON.stringify(vm).replaceAll('/vm-1"', `/${name}"`).replaceAll('/nic-1"', `/${name}VMNic"`);
  return { ...(JSON.parse(text) as JsonObject), name };
}

/** A disk that its VM has left behind: the double makes no others. */
function leftDisk(vm: JsonObject, name: string, diskSizeGB: number): (stage: Stage) => Promise<void> {
  return async (stage) => {
    await stage.launch(vm, (properties) => ({
      ...properties,
      storageProfile: {
        ...objectAt(properties, 'storageProfile'),
        osDisk: { name, diskSizeGB, createOption: 'FromImage', managedDisk: { storageAccountType: 'Standard_LRS' } },
      },
    }));
    await stage.send('DELETE', textAt(vm, 'id') ?? '', null);
  };
}

/** The operation of an extension that fails, which is the last that was begun. */
function failExtension(vm: JsonObject): (stage: Stage) => Promise<void> {
  return async (stage) => {
    stage.azure.failBoots(52);
    await stage.launch(vm);
    await stage.send('PUT', `${textAt(vm, 'id') ?? ''}/extensions/OmsAgentForLinux`, {
      location: 'eastus',
      properties: { publisher: 'Microsoft.Azure.Extensions', type: 'CustomScript', typeHandlerVersion: '2.1' },
    });
  };
}
