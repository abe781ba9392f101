import { resourceNotFound } from '../arm/arm-error.ts';
import type { Cloud } from '../state/cloud.ts';
import type { JsonObject } from '../arm/json.ts';
import { kubeletIdentity } from '../state/kubelet-identity.ts';
import { TENANT } from '../state/identities.ts';
import { networkIds } from '../state/node-resource-group.ts';
import { ok, type Route } from '../arm/router.ts';
import { refuseMisfits } from '../types/refuse-misfits.ts';
import { typeTrees } from '../types/type-trees.ts';

const TYPE = 'Microsoft.ContainerService/managedClusters';

/** The managed cluster itself: its description, and the kubeconfig that reaches it. */
export function clusterRoutes(cloud: Cloud): ReadonlyArray<Route> {
  const base = `/subscriptions/{subscription}/resourceGroups/{group}/providers/${TYPE}/{name}`;
  const refuseOther = (group: string, name: string): void => {
    const { clusterResourceGroup, clusterName } = cloud.options;
    if (`${group}/${name}`.toLowerCase() !== `${clusterResourceGroup}/${clusterName}`.toLowerCase())
      throw resourceNotFound(`${TYPE}/${name}`, group);
  };
  return [
    {
      method: 'GET',
      pattern: base,
      answer: (_request, { group = '', name = '' }) => {
        refuseOther(group, name);
        return ok(renderCluster(cloud));
      },
    },
    {
      method: 'POST',
      pattern: `${base}/listClusterUserCredential`,
      answer: (_request, { group = '', name = '' }) => {
        refuseOther(group, name);
        const value = Buffer.from(cloud.options.kubeconfig).toString('base64');
        return ok({ kubeconfigs: [{ name: 'clusterUser', value }] });
      },
    },
    ...maintenanceRoutes(cloud, base, refuseOther),
  ];
}

/** Planned maintenance: kept and shown, and of no effect on the double itself. */
function maintenanceRoutes(
  cloud: Cloud,
  base: string,
  refuseOther: (group: string, name: string) => void,
): ReadonlyArray<Route> {
  const { maintenance } = cloud;
  const { clusterResourceGroup, clusterName } = cloud.options;
  const type = `${TYPE}/maintenanceConfigurations`;
  const pattern = `${base}/maintenanceConfigurations/{configuration}`;
  return [
    {
      method: 'PUT',
      pattern,
      answer: ({ body }, { group = '', name = '', configuration = '' }) => {
        refuseOther(group, name);
        const kept = refuseMisfits(typeTrees().maintenance, body, 'put');
        const key = configuration.toLowerCase();
        const id = `${cloud.idOf(TYPE, clusterResourceGroup, clusterName)}/maintenanceConfigurations/${configuration}`;
        const systemData = maintenance.get(key)?.['systemData'] ?? {
          createdAt: new Date(cloud.clock.now()).toISOString(),
        };
        const shown = { ...kept, id, name: configuration, type, systemData };
        maintenance.set(key, shown);
        return ok(shown);
      },
    },
    {
      method: 'GET',
      pattern,
      answer: (_request, { group = '', name = '', configuration = '' }) => {
        refuseOther(group, name);
        const found = maintenance.get(configuration.toLowerCase());
        if (found === undefined)
          throw resourceNotFound(`${TYPE}/${name}/maintenanceConfigurations/${configuration}`, group);
        return ok(found);
      },
    },
    {
      method: 'DELETE',
      pattern,
      answer: (_request, { group = '', name = '', configuration = '' }) => {
        refuseOther(group, name);
        const had = maintenance.delete(configuration.toLowerCase());
        return { status: had ? 200 : 204, headers: {}, body: null };
      },
    },
  ];
}

/** The cluster as Resource Graph shows it. It was there long before the double: the graph does not lag behind it. */
export function clusterRow(cloud: Cloud): JsonObject {
  const { subscriptionId, clusterResourceGroup } = cloud.options;
  return {
    ...renderCluster(cloud),
    type: TYPE.toLowerCase(),
    resourceGroup: clusterResourceGroup.toLowerCase(),
    subscriptionId,
    tenantId: TENANT,
  };
}

/** The managed cluster as ARM shows it. */
export function renderCluster(cloud: Cloud): JsonObject {
  const { clusterName, clusterResourceGroup, region, kubernetesVersion, resourceGroup, cluster } = cloud.options;
  const isPlain = cluster === 'plain';
  return {
    id: cloud.idOf(TYPE, clusterResourceGroup, clusterName),
    name: clusterName,
    type: TYPE,
    location: region,
    tags: {},
    sku: { name: 'Base', tier: 'Standard' },
    identity: { type: 'SystemAssigned' },
    properties: {
      provisioningState: 'Succeeded',
      powerState: { code: 'Running' },
      kubernetesVersion,
      currentKubernetesVersion: kubernetesVersion,
      dnsPrefix: clusterName,
      fqdn: `${clusterName}-00000000.hcp.${region}.azmk8s.io`,
      nodeResourceGroup: resourceGroup,
      enableRBAC: true,
      agentPoolProfiles: [
        {
          name: 'system',
          count: 1,
          vmSize: 'Standard_D4s_v5',
          mode: 'System',
          osType: 'Linux',
          osSKU: 'Ubuntu',
          orchestratorVersion: kubernetesVersion,
          provisioningState: 'Succeeded',
          // AKS does not say of a network that it made itself.
          ...(isPlain ? {} : { vnetSubnetID: networkIds(cloud).subnet }),
        },
      ],
      networkProfile: {
        networkPlugin: 'azure',
        networkPluginMode: 'overlay',
        networkDataplane: 'cilium',
        networkPolicy: 'cilium',
        loadBalancerSku: 'standard',
        outboundType: 'loadBalancer',
        podCidr: '10.244.0.0/16',
        serviceCidr: '10.0.0.0/16',
        dnsServiceIP: '10.0.0.10',
      },
      identityProfile: {
        kubeletidentity: kubeletIdentity(cloud.options),
      },
      ...(isPlain
        ? { oidcIssuerProfile: { enabled: false }, securityProfile: {} }
        : {
            oidcIssuerProfile: { enabled: true, issuerURL: `https://${region}.oic.prod-aks.azure.com/sandbox/` },
            securityProfile: { workloadIdentity: { enabled: true } },
          }),
      ...cloud.clusterProperties,
    },
  };
}
