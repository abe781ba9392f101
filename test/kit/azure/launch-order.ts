import type { NetworkPlace } from '../../../shared/adapters/azure/machines/vm-body.ts';
import type { Settings } from '../../../shared/contract/settings/settings.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import type { LaunchOrder } from '../../../shared/ports/cloud.ts';

export const subnet =
  '/subscriptions/s/resourceGroups/net-group/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes';

/** A cluster's settings without anything optional, for tests. */
export const settings: Settings = {
  CLUSTER_NAME: 'c',
  AZURE_SUBSCRIPTION_ID: '00000000-0000-0000-0000-000000000000',
  AZURE_NODE_RESOURCE_GROUP: 'MC_g_c_we',
  LOCATION: 'westeurope',
  VNET_SUBNET_ID: subnet,
  CLUSTER_ENDPOINT: 'https://c-dns.hcp.westeurope.azmk8s.io:443',
};

/** Where its nodes are put. */
export const place: NetworkPlace = {
  subnetId: subnet,
  backendPoolIds: [],
  securityGroupId: null,
  securityGroup: 'aks-agentpool-12345678-nsg',
  routeTable: 'aks-agentpool-12345678-routetable',
};

/** An order for a spot machine of the claim `general-0abc`. */
export const order: LaunchOrder = {
  claim: 'general-0abc',
  nodePool: 'general',
  decision: '000000007-abc',
  nodeClass: { metadata: { name: 'default' }, spec: {} },
  offering: { instanceType: 'Standard_D4s_v5', zone: 'westeurope-1', capacityType: 'spot', price: microUsdPerHour(1) },
  instanceType: {
    name: 'Standard_D4s_v5',
    labels: {},
    capacity: { cpu: '4', memory: '15155Mi', pods: '250' },
    overhead: { cpu: '140m', memory: '3363Mi' },
    offerings: [],
  },
  labels: {
    team: 'a',
    'karpenter.sh/nodepool': 'general',
    'topology.kubernetes.io/zone': 'westeurope-1',
    'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
    'app.kubernetes.io/name': 'not for kubelets',
    'kubernetes.azure.com/scalesetpriority': 'spot',
  },
  taints: [{ key: 'dedicated', value: 'x', effect: 'NoSchedule' }],
  startupTaints: [{ key: 'cni', effect: 'NoExecute' }],
};
