import type { VirtualMachine } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import { azureDefaults } from '../../../sandbox/azure/options.ts';

const { subscriptionId, resourceGroup, clusterId, region } = azureDefaults;
const network = `/subscriptions/${subscriptionId}/resourceGroups/${resourceGroup}/providers/Microsoft.Network`;

export const subnetId = `${network}/virtualNetworks/aks-vnet-${clusterId}/subnets/aks-subnet`;
export const poolId = `${network}/loadBalancers/kubernetes/backendAddressPools/kubernetes`;

export function nicId(name: string): string {
  return `${network}/networkInterfaces/${name}`;
}

/** A network interface as a node's is. */
export function nicBody(name: string): NetworkInterface {
  return {
    location: region,
    tags: { 'karpenter.sh_nodepool': 'default' },
    enableAcceleratedNetworking: true,
    enableIPForwarding: false,
    ipConfigurations: [
      {
        name,
        primary: true,
        privateIPAllocationMethod: 'Dynamic',
        subnet: { id: subnetId },
        loadBalancerBackendAddressPools: [{ id: poolId }],
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
): VirtualMachine {
  const zone = change.zone === undefined ? '1' : change.zone;
  return {
    location: region,
    tags: { 'karpenter.sh_nodepool': 'default', 'karpenter.azure.com_cluster': 'sandbox' },
    zones: zone === null ? [] : [zone],
    hardwareProfile: { vmSize: change.size ?? 'Standard_D2s_v5' },
    ...(change.spot === true
      ? {
          priority: 'Spot',
          evictionPolicy: change.evictionPolicy ?? 'Delete',
          billingProfile: { maxPrice: -1 },
        }
      : { priority: 'Regular' }),
    storageProfile: {
      imageReference: { communityGalleryImageId: '/CommunityGalleries/AKSUbuntu/images/2204gen2containerd/versions/1' },
      osDisk: { name, diskSizeGB: 128, createOption: 'FromImage', deleteOption: 'Delete' },
    },
    networkProfile: {
      networkInterfaces: [{ id: nicId(name), primary: true, deleteOption: change.nicDeleteOption ?? 'Delete' }],
    },
    osProfile: {
      computerName: name,
      adminUsername: 'azureuser',
      customData: change.customData ?? Buffer.from(`#!/bin/bash\necho ${name}`).toString('base64'),
      linuxConfiguration: { disablePasswordAuthentication: true },
    },
    ...(change.scheduledEvents === true
      ? {
          scheduledEventsPolicy: {
            scheduledEventsAdditionalPublishingTargets: { eventGridAndResourceGraph: { enable: true } },
          },
        }
      : {}),
  };
}
