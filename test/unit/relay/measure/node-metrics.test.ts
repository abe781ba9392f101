import { describe, expect, test } from 'vitest';
import { createNodeMetrics } from '../../../../relay/measure/node-metrics.ts';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';

const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'spot',
  'node.kubernetes.io/instance-type': 'Standard_D4_v5',
  'topology.kubernetes.io/zone': 'westeurope-1',
  'kubernetes.io/arch': 'amd64',
};

function open(podCount: number | null = null) {
  const builder = createSnapshotBuilder('test');
  const state = { isPublishing: true };
  const metrics = createNodeMetrics({
    objects: (resource) => builder.objects(resource),
    eachPod: (visit) => builder.eachPod(visit),
    podCount: () => podCount ?? builder.count('pods'),
    isPublishing: () => state.isPublishing,
    now: () => Date.parse('2026-12-01T00:10:00Z'),
  });
  const addNode = (name: string, annotations = {}, own: object = labels) =>
    builder.upsert('nodes', {
      metadata: { name, labels: own, annotations, creationTimestamp: '2026-12-01T00:00:00Z' },
      status: { capacity: { cpu: '4', memory: '16Gi' }, allocatable: { cpu: '3500m', memory: '15Gi' } },
    });
  const addPod = (name: string, nodeName: string | null, owner = 'ReplicaSet', phase = 'Running') =>
    builder.upsert('pods', {
      metadata: {
        name,
        namespace: 'shop',
        uid: name,
        ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'web', uid: 'o', controller: true }],
      },
      spec: {
        ...(nodeName === null ? {} : { nodeName }),
        containers: [{ name: 'main', resources: { requests: { cpu: '500m' } } }],
        initContainers: [{ name: 'first', resources: { requests: { cpu: '1', memory: '1Gi' } } }],
      },
      status: { phase },
    });
  const lines = (name: string) =>
    metrics
      .render()
      .split('\n')
      .filter((line) => line.startsWith(name));
  return { state, addNode, addPod, lines, render: metrics.render };
}

const own = (name: string, resource: string) =>
  `node_name="${name}",nodepool="general",arch="amd64",capacity_type="spot",instance_type="Standard_D4_v5",os="",region="",zone="westeurope-1",phase="Running",managed="true",resource_type="${resource}"`;

describe('metrics of single nodes and pods, under the names of Karpenter', () => {
  test('say what pods may use of a node, what it keeps, and how old it is', () => {
    const cluster = open();
    cluster.addNode('aks-a');
    expect(cluster.lines('karpenter_nodes_allocatable')).toEqual([
      `karpenter_nodes_allocatable{${own('aks-a', 'cpu')}} 3.5`,
      `karpenter_nodes_allocatable{${own('aks-a', 'memory')}} ${15 * 2 ** 30}`,
    ]);
    expect(cluster.lines('karpenter_nodes_system_overhead')[0]).toMatch(/resource_type="cpu"} 0.5$/);
    expect(cluster.lines('karpenter_nodes_current_lifetime_seconds')[0]).toMatch(/} 600$/);
  });

  test('add up what pods request: containers together, or what runs before them where that is more', () => {
    const cluster = open();
    cluster.addNode('aks-a');
    cluster.addPod('web-1', 'aks-a');
    cluster.addPod('agent', 'aks-a', 'DaemonSet');
    cluster.addPod('web-2', null, 'ReplicaSet', 'Pending');
    expect(cluster.lines('karpenter_nodes_total_pod_requests')).toEqual([
      `karpenter_nodes_total_pod_requests{${own('aks-a', 'pods')}} 2`,
      `karpenter_nodes_total_pod_requests{${own('aks-a', 'cpu')}} 2`,
      `karpenter_nodes_total_pod_requests{${own('aks-a', 'memory')}} ${2 ** 31}`,
    ]);
    expect(cluster.lines('karpenter_nodes_total_daemon_requests')[0]).toMatch(/resource_type="pods"} 1$/);
  });

  test('say what pools and offerings cost, from what nodes carry; a foreign node costs nothing', () => {
    const cluster = open();
    cluster.addNode('aks-a', { 'nodewright.dev/price-per-hour': '0.25 EUR' });
    cluster.addNode('aks-b', { 'nodewright.dev/price-per-hour': '0.25 EUR' });
    cluster.addNode('aks-system', {}, {});
    expect(cluster.lines('karpenter_nodepools_cost_total')).toEqual([
      'karpenter_nodepools_cost_total{nodepool="general"} 0.5',
    ]);
    expect(cluster.lines('karpenter_cloudprovider_instance_type_offering_price_estimate')).toEqual([
      'karpenter_cloudprovider_instance_type_offering_price_estimate{instance_type="Standard_D4_v5",capacity_type="spot",zone="westeurope-1"} 0.25',
    ]);
  });

  test('show each pod with its node, and none at all where there are too many', () => {
    const cluster = open();
    cluster.addNode('aks-a');
    cluster.addPod('web-1', 'aks-a');
    cluster.addPod('web-2', null, 'ReplicaSet', 'Pending');
    expect(cluster.lines('karpenter_pods_state')).toEqual([
      'karpenter_pods_state{name="web-1",namespace="shop",owner="ReplicaSet/web",node="aks-a",nodepool="general",zone="westeurope-1",arch="amd64",capacity_type="spot",instance_type="Standard_D4_v5",phase="Running",ready="false",scheduled="true",managed="true"} 1',
      'karpenter_pods_state{name="web-2",namespace="shop",owner="ReplicaSet/web",node="",nodepool="",zone="",arch="",capacity_type="",instance_type="",phase="Pending",ready="false",scheduled="false",managed="false"} 1',
    ]);
    const many = open(5_001);
    many.addPod('web-1', null);
    expect(many.render()).not.toContain('karpenter_pods_state');
  });

  test('are shown by the relay that publishes alone', () => {
    const cluster = open();
    cluster.addNode('aks-a');
    cluster.state.isPublishing = false;
    expect(cluster.render()).toBe('');
  });
});
