import { expect, test } from 'vitest';
import { customData, nodeConfig } from '../../../../shared/adapters/azure/bootstrap.ts';
import type { Settings } from '../../../../shared/contract/settings.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { LaunchOrder } from '../../../../shared/ports/cloud.ts';

const subnet =
  '/subscriptions/s/resourceGroups/net-group/providers/Microsoft.Network/virtualNetworks/net/subnets/nodes';
const settings: Settings = {
  CLUSTER_NAME: 'c',
  AZURE_SUBSCRIPTION_ID: '00000000-0000-0000-0000-000000000000',
  AZURE_NODE_RESOURCE_GROUP: 'MC_g_c_we',
  LOCATION: 'westeurope',
  VNET_SUBNET_ID: subnet,
  CLUSTER_ENDPOINT: 'https://c-dns.hcp.westeurope.azmk8s.io:443',
};
const order: LaunchOrder = {
  claim: 'general-0abc',
  nodePool: 'general',
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

interface NodeConfig {
  readonly kubelet_config: {
    readonly kubelet_flags: Readonly<Record<string, string>>;
    readonly kubelet_node_labels: Readonly<Record<string, string>>;
  };
}

const config = (parts: Partial<LaunchOrder> = {}): NodeConfig =>
  nodeConfig({ ...order, ...parts }, settings, '1.36.3', 'abcdef.0123456789abcdef') as NodeConfig;

test('a kubelet registers with all taints of its claim and with the one that keeps pods out until registration', () => {
  expect(config().kubelet_config.kubelet_flags['--register-with-taints']).toBe(
    'dedicated=x:NoSchedule,cni:NoExecute,karpenter.sh/unregistered:NoExecute',
  );
});

test('a kubelet keeps what the plan counted on: reservation and eviction threshold together are the overhead', () => {
  const flags = config().kubelet_config.kubelet_flags;
  expect(flags['--kube-reserved']).toBe('cpu=140m,memory=2613Mi');
  expect(flags['--eviction-hard']).toContain('memory.available<750Mi');
  expect(flags['--max-pods']).toBe('250');
});

test('a kubelet sets no label that the API server would refuse it', () => {
  const labels = config().kubelet_config.kubelet_node_labels;
  expect(labels).toMatchObject({
    team: 'a',
    'karpenter.sh/nodepool': 'general',
    'topology.kubernetes.io/zone': 'westeurope-1',
    'node.kubernetes.io/instance-type': 'Standard_D4s_v5',
  });
  expect(Object.keys(labels)).not.toContain('app.kubernetes.io/name');
});

test('the node learns its cluster, its network and its own token', () => {
  expect(config()).toMatchObject({
    kubernetes_version: '1.36.3',
    vm_size: 'Standard_D4s_v5',
    api_server_config: { api_server_name: 'c-dns.hcp.westeurope.azmk8s.io' },
    bootstrapping_config: { tls_bootstrapping_token: 'abcdef.0123456789abcdef' },
    cluster_config: {
      resource_group: 'MC_g_c_we',
      cluster_network_config: { vnet_resource_group: 'net-group', vnet_name: 'net', subnet: 'nodes' },
    },
  });
});

test('a class’s own subnet takes the place of the cluster’s', () => {
  const spec = { vnetSubnetID: subnet.replace('/nodes', '/others') };
  expect(config({ nodeClass: { metadata: { name: 'default' }, spec } })).toMatchObject({
    cluster_config: { cluster_network_config: { subnet: 'others' } },
  });
});

test('one order makes the same bytes each time, whatever the order of its labels', () => {
  const turned = Object.fromEntries(Object.entries(order.labels).toReversed());
  expect(customData(config({ labels: turned }))).toBe(customData(config()));
});

test('custom data carries the configuration through cloud-init, and fits what Azure takes', () => {
  const data = customData(config());
  expect(data.length).toBeLessThan(87_380);
  const text = Buffer.from(data, 'base64').toString('utf8');
  expect(text).toContain('text/cloud-boothook');
  const payload = /echo '([^']+)' \| base64 -d/.exec(text)?.[1] ?? '';
  expect(JSON.parse(Buffer.from(payload, 'base64').toString('utf8'))).toEqual(JSON.parse(JSON.stringify(config())));
});
