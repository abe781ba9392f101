import { expect, test } from 'vitest';
import { readCustomData } from '../../../../../sandbox/node/custom-data.ts';
import { configOf, customData } from '../../../../../shared/adapters/azure/bootstrap/custom-data.ts';
import { nodeConfig } from '../../../../../shared/adapters/azure/bootstrap/node-config.ts';
import type { LaunchOrder } from '../../../../../shared/ports/cloud.ts';
import { order, place, settings, subnet } from '../../../../kit/azure/launch-order.ts';

const facts = { ...place, kubernetesVersion: '1.36.3', token: 'abcdef.0123456789abcdef' };

interface NodeConfig {
  readonly kubelet_config: {
    readonly kubelet_flags: Readonly<Record<string, string>>;
    readonly kubelet_node_labels: Readonly<Record<string, string>>;
  };
}

const config = (parts: Partial<LaunchOrder> = {}): NodeConfig =>
  nodeConfig({ ...order, ...parts }, settings, facts) as NodeConfig;

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
  expect(readCustomData(data)).toEqual({ kind: 'config', config: JSON.parse(JSON.stringify(config())) });
  expect(configOf(data)).toEqual(JSON.parse(JSON.stringify(config())));
  expect(configOf(Buffer.from('#!/bin/sh').toString('base64'))).toBeNull();
});

test.each([
  ['example.com/team', true],
  ['team', true],
  ['kubernetes.io', true],
  ['kubernetes.io/hostname', true],
  ['topology.kubernetes.io/zone', true],
  ['node.kubernetes.io/pool', true],
  ['x.node.kubernetes.io/pool', true],
  ['kubelet.kubernetes.io/x', true],
  ['kubernetes.io.example.com/x', true],
  ['mykubernetes.io/x', true],
  ['kubernetes.io/x', false],
  ['app.kubernetes.io/name', false],
  ['k8s.io/x', false],
  ['x.k8s.io/y', false],
  ['node.kubernetes.io.k8s.io/x', false],
  ['subnode.kubernetes.io/x', false],
])('a kubelet may set the label %s: %s', (key, isSet) => {
  const { kubelet_node_labels: labels } = config({ labels: { [key]: 'x' } }).kubelet_config;
  expect(key in labels).toBe(isSet);
});

test('a kubelet says of its node what AKS says of its own, and names no label twice', () => {
  const { kubelet_node_labels: labels } = config({ labels: { zone: 'z', a: 'b' } }).kubelet_config;
  expect(labels).toMatchObject({
    a: 'b',
    'kubernetes.azure.com/cluster': 'MC_g_c_we',
    'kubernetes.azure.com/mode': 'user',
    'kubernetes.azure.com/role': 'agent',
    zone: 'z',
  });
  expect(Object.keys(labels)).toEqual(Object.keys(labels).toSorted());
});

test('a taint without a value is written without one', () => {
  const taints = [
    { key: 'a', effect: 'NoSchedule' },
    { key: 'b', value: '', effect: 'NoExecute' },
  ];
  const flags = config({ taints, startupTaints: [] }).kubelet_config.kubelet_flags;
  expect(flags['--register-with-taints']).toBe('a:NoSchedule,b=:NoExecute,karpenter.sh/unregistered:NoExecute');
});

test('a size that says little keeps nothing for the kubelet, and holds as many pods as Kubernetes’ own default', () => {
  const instanceType = { ...order.instanceType, overhead: {}, capacity: {} };
  const flags = config({ instanceType }).kubelet_config.kubelet_flags;
  expect(flags).toMatchObject({ '--kube-reserved': 'cpu=0,memory=0Mi', '--max-pods': '110' });
});

test('what the settings leave open is as AKS has it, and what they say is said', () => {
  const of = (parts: object) => nodeConfig(order, { ...settings, ...parts }, facts);
  const bare = Object.fromEntries(
    [
      'LINUX_ADMIN_USERNAME',
      'CLUSTER_CA_DATA',
      'KUBELET_IDENTITY_CLIENT_ID',
      'DNS_SERVICE_IP',
      'NETWORK_PLUGIN',
      'NETWORK_POLICY',
    ].map((name) => [name, undefined]),
  );
  expect(of(bare)).toMatchObject({
    version: 'v1',
    is_vhd: true,
    needs_cgroupv2: true,
    linux_admin_username: 'azureuser',
    kubernetes_ca_cert: '',
    auth_config: { use_managed_identity_extension: true, assigned_identity_id: '' },
    cluster_config: { use_instance_metadata: true, cluster_network_config: { core_dns_service_ip: '10.0.0.10' } },
    network_config: { network_plugin: 'NETWORK_PLUGIN_NONE' },
  });
  const said = {
    LINUX_ADMIN_USERNAME: 'me',
    CLUSTER_CA_DATA: 'ca',
    KUBELET_IDENTITY_CLIENT_ID: 'id',
    DNS_SERVICE_IP: '10.2.0.10',
    NETWORK_PLUGIN: 'none',
    NETWORK_POLICY: 'cilium',
  };
  expect(of(said)).toMatchObject({
    linux_admin_username: 'me',
    kubernetes_ca_cert: 'ca',
    auth_config: { assigned_identity_id: 'id' },
    cluster_config: { cluster_network_config: { core_dns_service_ip: '10.2.0.10' } },
    network_config: { network_plugin: 'NETWORK_PLUGIN_NONE' },
  });
});
