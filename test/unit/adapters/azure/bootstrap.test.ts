import { expect, test } from 'vitest';
import { customData, nodeConfig } from '../../../../shared/adapters/azure/bootstrap.ts';
import type { LaunchOrder } from '../../../../shared/ports/cloud.ts';
import { order, settings, subnet } from './launch-order.ts';

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
