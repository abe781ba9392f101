import type { Cloud } from './cloud.ts';
import { drawGuid } from '../arm/guid.ts';
import type { JsonObject } from '../arm/json.ts';

/**
 * The ids of what AKS puts into a node resource group beside nodes. All of it is made up from the options each time it
 * is read; only the backend pools can change while the double runs.
 */
export function networkIds(cloud: Cloud): {
  readonly vnet: string;
  readonly subnet: string;
  readonly securityGroup: string;
  readonly loadBalancer: string;
  readonly backendPools: ReadonlyArray<string>;
} {
  const { resourceGroup, clusterId } = cloud.options;
  const vnet = cloud.idOf('Microsoft.Network/virtualNetworks', resourceGroup, `aks-vnet-${clusterId}`);
  const loadBalancer = cloud.idOf('Microsoft.Network/loadBalancers', resourceGroup, 'kubernetes');
  return {
    vnet,
    subnet: `${vnet}/subnets/aks-subnet`,
    securityGroup: cloud.idOf(
      'Microsoft.Network/networkSecurityGroups',
      resourceGroup,
      `aks-agentpool-${clusterId}-nsg`,
    ),
    loadBalancer,
    backendPools: cloud.backendPools.map((pool) => `${loadBalancer}/backendAddressPools/${pool}`),
  };
}

export function existsSubnet(cloud: Cloud, id: string): boolean {
  return sameId(id, networkIds(cloud).subnet);
}

export function existsSecurityGroup(cloud: Cloud, id: string): boolean {
  return sameId(id, networkIds(cloud).securityGroup);
}

export function existsBackendPool(cloud: Cloud, id: string): boolean {
  return networkIds(cloud).backendPools.some((pool) => sameId(pool, id));
}

/** The subnet as ARM shows it. */
export function renderSubnet(cloud: Cloud): JsonObject {
  const { subnet, securityGroup } = networkIds(cloud);
  return {
    name: 'aks-subnet',
    id: subnet,
    etag: etagOf(cloud, 'subnet'),
    type: 'Microsoft.Network/virtualNetworks/subnets',
    properties: {
      provisioningState: 'Succeeded',
      addressPrefix: '10.224.0.0/12',
      networkSecurityGroup: { id: securityGroup },
      ...(cloud.nics.size === 0
        ? {}
        : {
            ipConfigurations: [...cloud.nics.values()].map(({ id, name }) => ({
              id: `${id}/ipConfigurations/${name}`,
            })),
          }),
      delegations: [],
      privateEndpointNetworkPolicies: 'Disabled',
      privateLinkServiceNetworkPolicies: 'Enabled',
    },
  };
}

/** The VNet as ARM shows it. */
export function renderVnet(cloud: Cloud): JsonObject {
  return {
    name: `aks-vnet-${cloud.options.clusterId}`,
    id: networkIds(cloud).vnet,
    etag: etagOf(cloud, 'virtual-network'),
    type: 'Microsoft.Network/virtualNetworks',
    location: cloud.options.region,
    tags: { 'aks-managed-cluster-name': cloud.options.clusterName },
    properties: {
      provisioningState: 'Succeeded',
      resourceGuid: `00000000-0000-4000-8000-0000${cloud.options.clusterId}`,
      addressSpace: { addressPrefixes: ['10.224.0.0/12'] },
      subnets: [renderSubnet(cloud)],
      privateEndpointVNetPolicies: 'Disabled',
      virtualNetworkPeerings: [],
      enableDdosProtection: false,
    },
  };
}

/** The load balancer of the cluster as ARM shows it. */
export function renderLoadBalancer(cloud: Cloud): JsonObject {
  const { loadBalancer, backendPools } = networkIds(cloud);
  return {
    name: 'kubernetes',
    id: loadBalancer,
    etag: etagOf(cloud, 'load-balancer'),
    type: 'Microsoft.Network/loadBalancers',
    location: cloud.options.region,
    tags: { 'aks-managed-cluster-name': cloud.options.clusterName },
    sku: { name: 'Standard', tier: 'Regional' },
    properties: {
      provisioningState: 'Succeeded',
      resourceGuid: `00000000-0000-4000-8000-1111${cloud.options.clusterId}`,
      frontendIPConfigurations: [],
      backendAddressPools: backendPools.map((id, index) => ({
        name: cloud.backendPools[index] ?? '',
        id,
        etag: etagOf(cloud, id),
        type: 'Microsoft.Network/loadBalancers/backendAddressPools',
        properties: { provisioningState: 'Succeeded', loadBalancerBackendAddresses: [] },
      })),
      loadBalancingRules: [],
      probes: [],
      inboundNatRules: [],
      outboundRules: [],
      inboundNatPools: [],
    },
  };
}

/** The security group of the nodes as ARM shows it. */
export function renderSecurityGroup(cloud: Cloud): JsonObject {
  return {
    name: `aks-agentpool-${cloud.options.clusterId}-nsg`,
    id: networkIds(cloud).securityGroup,
    etag: etagOf(cloud, 'security-group'),
    type: 'Microsoft.Network/networkSecurityGroups',
    location: cloud.options.region,
    tags: {},
    properties: {
      provisioningState: 'Succeeded',
      resourceGuid: `00000000-0000-4000-8000-2222${cloud.options.clusterId}`,
      securityRules: [],
      defaultSecurityRules: [],
      subnets: [{ id: networkIds(cloud).subnet }],
    },
  };
}

/** Nothing of these ever changes, nor does its etag. */
function etagOf(cloud: Cloud, what: string): string {
  return `W/"${drawGuid(cloud.options.rng.split(`etag/${what}`))}"`;
}

function sameId(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
