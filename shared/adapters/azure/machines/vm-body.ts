import type { OSDisk, VirtualMachine } from '@azure/arm-compute';
import type { NetworkInterface } from '@azure/arm-network';
import { tag } from '../../../contract/names.ts';
import type { Settings } from '../../../contract/settings/settings.ts';
import type { LaunchOrder } from '../../../ports/cloud.ts';
import { isNodeSubnet, networkModeOf } from '../network/network-mode.ts';
import type { Sku } from '../catalog/sku.ts';

/** Tags of everything one claim is made of: the deployment's, the class's, ours; later ones win. */
export function tagsOf(
  order: Pick<LaunchOrder, 'nodePool' | 'nodeClass' | 'decision'>,
  settings: Settings,
): Record<string, string> {
  const additional = (settings.ADDITIONAL_TAGS ?? '').split(',').filter(Boolean);
  const pairs = additional.map((pair) => [pair.split('=')[0] ?? '', pair.slice(pair.indexOf('=') + 1)] as const);
  const given = [...pairs, ...Object.entries(order.nodeClass.spec.tags ?? {})];
  return {
    ...Object.fromEntries(given.map(([key, value]) => [key.replaceAll('/', '_'), value])),
    [tag.cluster]: settings.CLUSTER_NAME,
    [tag.billing]: 'linux',
    ...(order.nodePool === null ? {} : { [tag.nodePool]: order.nodePool }),
    ...(order.decision === null ? {} : { [tag.decision]: order.decision }),
  };
}

/** What the cluster's network adds to a network interface. */
export interface NetworkPlace {
  readonly subnetId: string;
  readonly backendPoolIds: ReadonlyArray<string>;
  /** Needed where the subnet is not AKS's own. */
  readonly securityGroupId: string | null;
  /** The cluster's own, by name: for the node's cloud configuration. */
  readonly securityGroup: string;
  readonly routeTable: string;
}

/** Where pods take addresses of the nodes' subnet there is one IP configuration for each. */
export function nicBody(name: string, order: LaunchOrder, settings: Settings, place: NetworkPlace): NetworkInterface {
  const further = isNodeSubnet(networkModeOf(settings)) ? Number(order.instanceType.capacity['pods'] ?? 1) - 1 : 0;
  const subnet = { id: place.subnetId };
  const dynamic = { privateIPAllocationMethod: 'Dynamic', subnet } as const;
  return {
    location: settings.LOCATION,
    tags: tagsOf(order, settings),
    enableAcceleratedNetworking:
      order.instanceType.labels['karpenter.azure.com/sku-networking-accelerated']?.includes('true') === true,
    enableIPForwarding: false,
    ...(place.securityGroupId === null ? {} : { networkSecurityGroup: { id: place.securityGroupId } }),
    ipConfigurations: [
      { name, primary: true, ...dynamic, loadBalancerBackendAddressPools: place.backendPoolIds.map((id) => ({ id })) },
      ...Array.from({ length: further }, (_, index) => ({ name: `ipconfig${index + 1}`, primary: false, ...dynamic })),
    ],
  };
}

/** Everything the VM body needs beside the order. */
export interface VmParts {
  readonly name: string;
  readonly nicId: string;
  readonly imageId: string;
  readonly customData: string;
  readonly sku: Sku | null;
}

interface ClassChoices {
  readonly osDiskSizeGB?: number;
  readonly security?: {
    readonly encryptionAtHost?: boolean;
    readonly trustedLaunch?: { readonly vtpm?: boolean; readonly secureBoot?: boolean };
  };
}

/** The VM as Karpenter's Azure provider makes it (reference §4.5): one NIC, one OS disk, both deleted with it. */
export function vmBody(order: LaunchOrder, settings: Settings, parts: VmParts): VirtualMachine {
  const { name, nicId, imageId, customData } = parts;
  const { osDiskSizeGB = 128, security }: ClassChoices = order.nodeClass.spec;
  const { zone, capacityType, instanceType } = order.offering;
  const user = settings.LINUX_ADMIN_USERNAME ?? 'azureuser';
  const identities = (settings.NODE_IDENTITIES ?? '').split(',').filter(Boolean);
  return {
    location: settings.LOCATION,
    tags: tagsOf(order, settings),
    zones: zone === '0' ? [] : [zone.slice(zone.lastIndexOf('-') + 1)],
    ...(identities.length === 0
      ? {}
      : {
          identity: {
            type: 'UserAssigned',
            userAssignedIdentities: Object.fromEntries(identities.map((id) => [id, {}])),
          },
        }),
    hardwareProfile: { vmSize: instanceType },
    ...(capacityType === 'spot'
      ? { priority: 'Spot', evictionPolicy: 'Delete', billingProfile: { maxPrice: -1 } }
      : { priority: 'Regular' }),
    storageProfile: {
      imageReference: imageId.startsWith('/CommunityGalleries/')
        ? { communityGalleryImageId: imageId }
        : { id: imageId },
      osDisk: { ...osDisk(name, osDiskSizeGB, parts.sku), ...encryption(settings) },
    },
    networkProfile: { networkInterfaces: [{ id: nicId, primary: true, deleteOption: 'Delete' }] },
    osProfile: {
      computerName: name,
      adminUsername: user,
      customData,
      linuxConfiguration: {
        disablePasswordAuthentication: true,
        ...(settings.SSH_PUBLIC_KEY === undefined
          ? {}
          : {
              ssh: { publicKeys: [{ keyData: settings.SSH_PUBLIC_KEY, path: `/home/${user}/.ssh/authorized_keys` }] },
            }),
      },
    },
    ...(security === undefined ? {} : { securityProfile: securityProfile(security) }),
    ...(settings.SCHEDULED_EVENTS === 'on' ? { scheduledEventsPolicy: PUBLISHED } : {}),
  };
}

/** Scheduled events go to Event Grid as well, in the form that Azure documents for it. */
const PUBLISHED: NonNullable<VirtualMachine['scheduledEventsPolicy']> = {
  scheduledEventsAdditionalPublishingTargets: {
    eventGridAndResourceGraph: { enable: true, scheduledEventsApiVersion: '2020-07-01' },
  },
};

function encryption({ NODE_OSDISK_DISKENCRYPTIONSET_ID: id }: Settings): Pick<OSDisk, 'managedDisk'> {
  return id === undefined ? {} : { managedDisk: { diskEncryptionSet: { id } } };
}

/** On the machine itself where its local disk is large enough, which is faster and free; else a managed disk. */
function osDisk(name: string, diskSizeGB: number, sku: Sku | null): OSDisk {
  const local = sku?.ephemeralOsDisk ?? null;
  const isLocal = local !== null && local.maxGb >= diskSizeGB;
  return {
    name,
    diskSizeGB,
    createOption: 'FromImage',
    deleteOption: 'Delete',
    ...(isLocal ? { caching: 'ReadOnly', diffDiskSettings: { option: 'Local', placement: local.placement } } : {}),
  };
}

function securityProfile(
  security: NonNullable<ClassChoices['security']>,
): NonNullable<VirtualMachine['securityProfile']> {
  const { vtpm = false, secureBoot = false } = security.trustedLaunch ?? {};
  return {
    ...(security.encryptionAtHost === undefined ? {} : { encryptionAtHost: security.encryptionAtHost }),
    ...(vtpm || secureBoot
      ? { securityType: 'TrustedLaunch', uefiSettings: { vTpmEnabled: vtpm, secureBootEnabled: secureBoot } }
      : {}),
  };
}
