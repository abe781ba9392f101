import type { NetworkManagementClient } from '@azure/arm-network';
import type { Settings } from '../../../contract/settings/settings.ts';
import type { NodeClass } from '../../../ports/kubernetes.ts';
import { toRetryable } from '../calls/azure-error.ts';
import type { NetworkPlace } from './vm-body.ts';

/** Load balancers and security groups of a cluster change when somebody rebuilds them: read again this often. */
const KEPT_MS = 2 * 60 * 60_000;

const NOT_FOR_NODES = new Set(['aksoutboundbackendpool-ipv6', 'kubernetes-ipv6']);
const SECURITY_GROUP = /^aks-agentpool-(\d{8})-nsg$/i;

/** AKS names what belongs to a cluster by eight digits of its own; its VNet has them too. */
const OWN_VNET = /\/virtualNetworks\/aks-vnet-(\d{8})\//i;

type SharedPlace = Omit<NetworkPlace, 'subnetId'>;

/** Finds the backend pools and the security group that nodes of the resource group belong to. Kept in memory. */
export function createNetworkPlaces(
  network: () => Promise<NetworkManagementClient>,
  settings: Settings,
  now: () => number,
): (nodeClass: NodeClass) => Promise<NetworkPlace> {
  const group = settings.AZURE_NODE_RESOURCE_GROUP;
  let kept: { readonly atMs: number; readonly shared: Promise<SharedPlace> } | null = null;
  const read = async (): Promise<SharedPlace> => {
    try {
      const client = await network();
      const [balancers, groups] = await Promise.all([
        Array.fromAsync(client.loadBalancers.list(group)),
        Array.fromAsync(client.networkSecurityGroups.list(group)),
      ]);
      const ours = balancers.filter(({ name = '' }) =>
        ['kubernetes', 'kubernetes-internal'].includes(name.toLowerCase()),
      );
      const pools = ours.flatMap(({ backendAddressPools = [] }) => backendAddressPools);
      // A pool that lists addresses is in node-IP mode, which AKS fills by itself.
      const joinable = pools.filter(
        ({ name = '', loadBalancerBackendAddresses = [] }) =>
          !NOT_FOR_NODES.has(name.toLowerCase()) &&
          loadBalancerBackendAddresses.every(({ ipAddress }) => ipAddress === undefined),
      );
      const security = groups.find(({ name = '' }) => SECURITY_GROUP.test(name));
      return {
        backendPoolIds: joinable.flatMap(({ id }) => (id === undefined ? [] : [id])),
        securityGroupId: security?.id ?? null,
        ...clusterNames(security?.name ?? '', settings.VNET_SUBNET_ID),
      };
    } catch (error) {
      throw toRetryable(`reading the network of ${group}`, error);
    }
  };
  return async (nodeClass) => {
    if (kept === null || now() - kept.atMs > KEPT_MS) {
      const shared = read();
      kept = { atMs: now(), shared };
      shared.catch(() => {
        kept = null;
      });
    }
    const shared = await kept.shared;
    const subnetId = nodeClass.spec.vnetSubnetID ?? settings.VNET_SUBNET_ID;
    return { ...shared, subnetId, securityGroupId: isManagedByAks(subnetId, group) ? null : shared.securityGroupId };
  };
}

/** Security group and route table of the cluster, by the digits of the one that is there, or of AKS's own VNet. */
export function clusterNames(
  securityGroup: string,
  subnetId: string,
): Pick<NetworkPlace, 'securityGroup' | 'routeTable'> {
  const digits = SECURITY_GROUP.exec(securityGroup)?.[1] ?? OWN_VNET.exec(subnetId)?.[1] ?? NO_DIGITS;
  return { securityGroup: `aks-agentpool-${digits}-nsg`, routeTable: `aks-agentpool-${digits}-routetable` };
}

/**
 * The node controller wants some name. A cluster without either is none of AKS's: nothing on its nodes asks for them.
 */
const NO_DIGITS = '00000000';

/** AKS's own VNet comes with the security group on its subnet. */
function isManagedByAks(subnetId: string, group: string): boolean {
  const pattern = /\/resourceGroups\/([^/]+)\/.*\/virtualNetworks\/aks-vnet-\d{8}\/subnets\/aks-subnet$/i;
  return pattern.exec(subnetId)?.[1]?.toLowerCase() === group.toLowerCase();
}
