import type { VirtualMachine, VirtualMachineExtension } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import { azureDefaults } from '../../../../sandbox/azure/state/options.ts';

const { subscriptionId, resourceGroup, clusterId, region } = azureDefaults;
const network = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Network`;

export const subnetId = `${network}/virtualNetworks/aks-vnet-${clusterId}/subnets/aks-subnet`;
export const poolId = `${network}/loadBalancers/kubernetes/backendAddressPools/kubernetes`;

export function nicId(name: string): string {
  return `${network}/networkInterfaces/${name}`;
}

/** Where the bodies put what they describe: the double, or a resource group of a real subscription. */
export interface Place {
  readonly region: string;
  readonly subnetId: string;
  readonly poolIds: ReadonlyArray<string>;
  readonly networkInterfaces: string;
  readonly image: NonNullable<VirtualMachine['storageProfile']>['imageReference'];
}

const gallery = '/CommunityGalleries/AKSUbuntu-38d80f77-467a-481f-a8d4-09b6d4220bd2';

export const theDouble: Place = {
  region,
  subnetId,
  poolIds: [poolId],
  networkInterfaces: `${network}/networkInterfaces`,
  image: { communityGalleryImageId: `${gallery}/images/2204gen2containerd/versions/202608.01.0` },
};

/** A key of the right form, of which no private half exists: nobody logs in to these VMs. */
export const sshKey = {
  path: '/home/azureuser/.ssh/authorized_keys',
  keyData: `ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABAQ${'D'.repeat(342)} contract`,
};

/** A network interface as a node's is. */
export function nicBody(name: string, place: Place = theDouble): NetworkInterface {
  return {
    location: place.region,
    tags: { 'karpenter.sh_nodepool': 'default' },
    enableAcceleratedNetworking: true,
    enableIPForwarding: false,
    ipConfigurations: [
      {
        name,
        primary: true,
        privateIPAllocationMethod: 'Dynamic',
        subnet: { id: place.subnetId },
        loadBalancerBackendAddressPools: place.poolIds.map((id) => ({ id })),
      },
    ],
  };
}

/** A VM as a node's is; `change` overrides single choices. */
export function vmBody(
  name: string,
  change: {
    readonly size?: string;
    readonly zone?: string | null;
    readonly spot?: boolean;
    readonly customData?: string;
    readonly nicDeleteOption?: 'Delete' | 'Detach';
    readonly evictionPolicy?: 'Delete' | 'Deallocate';
    readonly scheduledEvents?: boolean;
  } = {},
  place: Place = theDouble,
): VirtualMachine {
  const { zone = '1' } = change;
  return {
    location: place.region,
    tags: { 'karpenter.sh_nodepool': 'default', 'karpenter.azure.com_cluster': 'sandbox' },
    zones: zone === null ? [] : [zone],
    hardwareProfile: { vmSize: change.size ?? 'Standard_D2s_v5' },
    ...priority(change),
    storageProfile: {
      ...(place.image === undefined ? {} : { imageReference: place.image }),
      osDisk: { name, diskSizeGB: 128, createOption: 'FromImage', deleteOption: 'Delete' },
    },
    networkProfile: {
      networkInterfaces: [
        { id: `${place.networkInterfaces}/${name}`, primary: true, deleteOption: change.nicDeleteOption ?? 'Delete' },
      ],
    },
    osProfile: {
      computerName: name,
      adminUsername: 'azureuser',
      customData: change.customData ?? Buffer.from(`#!/bin/bash\necho ${name}`).toString('base64'),
      linuxConfiguration: { disablePasswordAuthentication: true, ssh: { publicKeys: [sshKey] } },
    },
    ...(change.scheduledEvents === true ? { scheduledEventsPolicy: optIn } : {}),
  };
}

const optIn = { scheduledEventsAdditionalPublishingTargets: { eventGridAndResourceGraph: { enable: true } } };

function priority(change: { readonly spot?: boolean; readonly evictionPolicy?: 'Delete' | 'Deallocate' }): object {
  if (change.spot !== true) return { priority: 'Regular' };
  return { priority: 'Spot', evictionPolicy: change.evictionPolicy ?? 'Delete', billingProfile: { maxPrice: -1 } };
}

/** The extension that tells AKS what a node is, with the node problem detector. */
export const billing: { readonly name: string; readonly body: VirtualMachineExtension } = {
  name: 'computeAksLinuxBilling',
  body: {
    location: region,
    publisher: 'Microsoft.AKS',
    typePropertiesType: 'Compute.AKS.Linux.Billing',
    typeHandlerVersion: '1.0',
    autoUpgradeMinorVersion: true,
    settings: {},
  },
};
