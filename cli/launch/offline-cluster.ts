import type { Settings } from '../../shared/contract/settings/settings.ts';

/** Digits that stand for AKS's own where nothing tells them. */
export const NO_DIGITS = '00000000';

/**
 * The eight digits by which AKS names what belongs to a cluster, from its own VNet's name; null where that says
 * nothing.
 */
export function digitsOf({ VNET_SUBNET_ID: id }: Pick<Settings, 'VNET_SUBNET_ID'>): string | null {
  return /\/virtualNetworks\/aks-vnet-(\d{8})\//i.exec(id)?.[1] ?? null;
}

/** The lists that a launch reads in a node resource group of AKS: its load balancer and its security group, by path. */
export function listsOf(settings: Settings, digits: string): ReadonlyMap<string, ReadonlyArray<object>> {
  const { AZURE_SUBSCRIPTION_ID: subscription, AZURE_NODE_RESOURCE_GROUP: group, LOCATION: location } = settings;
  const network = `/subscriptions/${subscription}/resourceGroups/${group}/providers/Microsoft.Network`;
  const balancer = `${network}/loadBalancers/kubernetes`;
  const pools = ['kubernetes', 'aksOutboundBackendPool'].map((name) => ({
    name,
    id: `${balancer}/backendAddressPools/${name}`,
  }));
  const securityGroup = `aks-agentpool-${digits}-nsg`;
  return new Map([
    [
      `${network}/loadBalancers`,
      [{ name: 'kubernetes', id: balancer, location, properties: { backendAddressPools: pools } }],
    ],
    [
      `${network}/networkSecurityGroups`,
      [{ name: securityGroup, id: `${network}/networkSecurityGroups/${securityGroup}`, location, properties: {} }],
    ],
  ]);
}
