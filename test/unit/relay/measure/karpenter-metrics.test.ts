import { describe, expect, it } from 'vitest';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { approximateQuantity } from '../../../../relay/measure/approximate-quantity.ts';
import { createKarpenterMetrics } from '../../../../relay/measure/karpenter-metrics.ts';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';
import { version } from '../../../../shared/contract/version.ts';

const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/capacity-type': 'spot',
  'topology.kubernetes.io/zone': 'westeurope-1',
};
const pool = {
  metadata: { name: 'general' },
  spec: { template: { spec: { nodeClassRef, requirements: [] } }, limits: { cpu: '100', memory: '1Gi' } },
};
const claim = (status: object = {}, metadata: object = {}) => ({
  metadata: { name: 'c1', labels, ...metadata },
  spec: { nodeClassRef, requirements: [] },
  status: { providerID: 'azure:///vm', capacity: { cpu: '4', 'ephemeral-storage': '10Gi' }, ...status },
});
const node = (registered: boolean) => ({
  metadata: { name: 'aks-c1', labels: registered ? { ...labels, 'karpenter.sh/registered': 'true' } : labels },
  spec: { providerID: 'AZURE:///vm' },
  status: { capacity: { cpu: '4000m' } },
});

function open({ isPublishing = true, isSynced = true } = {}) {
  const builder = createSnapshotBuilder('test');
  const state = { isPublishing, isSynced, nowMs: 1_000 };
  const metrics = createKarpenterMetrics({
    objects: (resource) => builder.objects(resource),
    isPublishing: () => state.isPublishing,
    isSynced: () => state.isSynced,
    now: () => state.nowMs,
  });
  return {
    state,
    put: (resource: 'nodes' | 'nodeclaims' | 'nodepools' | 'pods', raw: unknown) =>
      metrics.observe(builder.upsert(resource, raw)),
    remove: (resource: 'nodes' | 'nodeclaims', key: string) => metrics.observe(builder.remove(resource, key)),
    lines: () =>
      metrics
        .render()
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('karpenter_build_info')),
  };
}

describe('metrics under the names of Karpenter', () => {
  it('the life of a claim and its node is counted once, step by step', () => {
    const cluster = open();
    cluster.put('nodeclaims', claim());
    cluster.put('nodes', node(false));
    cluster.put('nodes', node(true));
    cluster.put('nodes', node(true));
    cluster.put('nodeclaims', claim({ conditions: [{ type: 'Drained', status: 'True' }] }));
    cluster.remove('nodes', 'aks-c1');
    cluster.remove('nodeclaims', 'c1');
    expect(cluster.lines().filter((line) => line.includes('_total'))).toEqual([
      'karpenter_nodeclaims_created_total{reason="provisioned",nodepool="general",min_values_relaxed="false"} 1',
      'karpenter_nodeclaims_terminated_total{nodepool="general",capacity_type="spot",zone="westeurope-1"} 1',
      'karpenter_nodes_created_total{nodepool="general",zone="westeurope-1"} 1',
      'karpenter_nodes_terminated_total{nodepool="general",zone="westeurope-1"} 1',
      'karpenter_nodes_drained_total{nodepool="general"} 1',
    ]);
  });

  it('limits and usage are shown in cores and bytes, a node counting for its claim [M02]', () => {
    const cluster = open();
    cluster.put('nodepools', pool);
    cluster.put('nodeclaims', claim());
    expect(cluster.lines().filter((line) => line.includes('nodepools'))).toEqual([
      'karpenter_nodepools_limit{nodepool="general",resource_type="cpu"} 100',
      'karpenter_nodepools_limit{nodepool="general",resource_type="memory"} 1073741824',
      'karpenter_nodepools_usage{nodepool="general",resource_type="cpu"} 4',
      'karpenter_nodepools_usage{nodepool="general",resource_type="ephemeral_storage"} 10737418240',
      'karpenter_nodepools_usage{nodepool="general",resource_type="nodes"} 1',
    ]);
    cluster.put('nodes', node(true));
    expect(cluster.lines()).not.toContainEqual(expect.stringContaining('ephemeral_storage'));
    cluster.put('nodeclaims', claim({}, { deletionTimestamp: '2026-11-21T00:00:00Z' }));
    expect(cluster.lines()).toContain('karpenter_nodepools_usage{nodepool="general",resource_type="nodes"} 0');
  });

  const counted = (cluster: ReturnType<typeof open>, name: string) =>
    cluster.lines().filter((line) => line.startsWith(`karpenter_${name}_total`));
  const saying = (...conditions: ReadonlyArray<readonly [type: string, status: string]>) =>
    claim({ conditions: conditions.map(([type, status]) => ({ type, status })) });

  it('a node is drained once, when its claim says just that of it', () => {
    const cluster = open();
    cluster.put('nodeclaims', saying(['Drained', 'Unknown'], ['Ready', 'True']));
    cluster.put('nodeclaims', saying(['Drained', 'False'], ['Ready', 'True']));
    expect(counted(cluster, 'nodes_drained')).toEqual([]);
    cluster.put('nodeclaims', saying(['Drained', 'True'], ['Ready', 'False']));
    cluster.put('nodeclaims', saying(['Drained', 'True'], ['Ready', 'True']));
    expect(counted(cluster, 'nodes_drained')).toEqual(['karpenter_nodes_drained_total{nodepool="general"} 1']);
  });

  it('a node that goes before it is registered was never one of ours', () => {
    const cluster = open();
    cluster.put('nodes', node(false));
    cluster.put('nodes', { ...node(false), status: {} });
    cluster.remove('nodes', 'aks-c1');
    expect([counted(cluster, 'nodes_created'), counted(cluster, 'nodes_terminated')]).toEqual([[], []]);
  });

  describe('a claim that is deleted to be disrupted', () => {
    const reasoned = { conditions: [{ type: 'DisruptionReason', status: 'True', reason: 'StaticSurplus' }] };
    const pod = (name: string, kind = 'ReplicaSet') => ({
      metadata: {
        name,
        namespace: 'default',
        uid: name,
        ownerReferences: [{ apiVersion: 'apps/v1', kind, name: 'o', uid: 'o', controller: true }],
      },
      spec: { containers: [], nodeName: 'aks-c1' },
      status: { phase: 'Running' },
    });
    const gone = { deletionTimestamp: '2026-11-21T00:00:00Z' };
    const shown =
      'reason="static_surplus",nodepool="general",capacity_type="spot",consolidation_policy="WhenEmpty",termination_mode="graceful"';

    it('is counted once, with the pods on it that need another place [L14]', () => {
      const cluster = open();
      cluster.put('nodepools', { ...pool, spec: { ...pool.spec, disruption: { consolidationPolicy: 'WhenEmpty' } } });
      cluster.put('pods', pod('a'));
      cluster.put('pods', pod('b'));
      cluster.put('pods', pod('c', 'DaemonSet'));
      cluster.put('nodeclaims', claim({ ...reasoned, nodeName: 'aks-c1' }));
      expect(counted(cluster, 'nodeclaims_disrupted')).toEqual([]);
      cluster.put('nodeclaims', claim({ ...reasoned, nodeName: 'aks-c1' }, gone));
      cluster.put('nodeclaims', claim({ ...reasoned, nodeName: 'aks-c1', imageID: 'i' }, gone));
      expect(counted(cluster, 'nodeclaims_disrupted')).toEqual([`karpenter_nodeclaims_disrupted_total{${shown}} 1`]);
      expect(counted(cluster, 'pods_disruption_initiated')).toEqual([
        `karpenter_pods_disruption_initiated_total{${shown}} 2`,
      ]);
    });

    it('counts as eventual or forceful by its own deadline, and not at all without a reason [L14]', () => {
      const cluster = open();
      const until = (name: string, terminationGracePeriod: string, status: object) => {
        const made = claim(status, { name });
        const spec = { ...made.spec, terminationGracePeriod };
        cluster.put('nodeclaims', { ...made, spec });
        cluster.put('nodeclaims', { ...made, spec, metadata: { ...made.metadata, ...gone } });
      };
      until('c1', '30s', reasoned);
      until('c2', '0s', reasoned);
      until('c3', '30s', {});
      expect(counted(cluster, 'nodeclaims_disrupted').map((line) => /mode="(\w+)"/.exec(line)?.[1])).toEqual([
        'eventual',
        'forceful',
      ]);
    });
  });

  describe('a claim that is given up', () => {
    const gone = { deletionTimestamp: '2026-11-21T00:00:00Z' };
    const reasonsOf = (given: string) => {
      const cluster = open();
      const annotations = { 'nodewright.dev/given-up': given };
      const marked = {
        conditions: [{ type: 'DisruptionReason', status: 'True', reason: 'Empty' }],
        nodeName: 'aks-c1',
      };
      cluster.put('pods', {
        metadata: { name: 'a', namespace: 'default', uid: 'a' },
        spec: { containers: [], nodeName: 'aks-c1' },
        status: { phase: 'Running' },
      });
      cluster.put('nodeclaims', claim(marked, { annotations }));
      expect(counted(cluster, 'nodeclaims_disrupted')).toEqual([]);
      cluster.put('nodeclaims', claim(marked, { annotations, ...gone }));
      expect(counted(cluster, 'pods_disruption_initiated')).toEqual([]);
      return counted(cluster, 'nodeclaims_disrupted').map((line) => /reason="(\w+)"/.exec(line)?.[1]);
    };

    it.each([
      ['InsufficientCapacityError', 'insufficient_capacity'],
      ['NodeClassNotReady', 'nodeclass_not_ready'],
      ['LaunchTimeout', 'launch_timeout'],
      ['RegistrationTimeout', 'registration_timeout'],
      ['NodeBootFailed', 'registration_timeout'],
      ['InitializationTimeout', 'initialization_timeout'],
      ['AsyncProvisioningError', 'async_provisioning'],
      ['InstanceGone', 'garbage_collected'],
      ['SomethingNew', 'something_new'],
    ])(
      'because of %s counts as %s, whatever else it was to go for, and without its pods [J01] [J05] [J08]',
      (given, shown) => {
        expect(reasonsOf(given)).toEqual([shown]);
      },
    );
  });

  it('a claim that replaces others is created for the reason why those go', () => {
    const cluster = open();
    cluster.put('nodeclaims', claim({}, { annotations: { 'nodewright.dev/created-for': 'Underutilized' } }));
    expect(counted(cluster, 'nodeclaims_created')).toEqual([
      'karpenter_nodeclaims_created_total{reason="underutilized",nodepool="general",min_values_relaxed="false"} 1',
    ]);
  });

  it('how long nothing was in sync is told since it last was seen to be', () => {
    const { state, lines } = open({ isSynced: false });
    const unsynced = () =>
      lines()
        .find((line) => line.includes('unsynced'))
        ?.split(' ')[1];
    state.nowMs = 4_500;
    expect(unsynced()).toBe('3.5');
    state.isSynced = true;
    state.nowMs = 6_000;
    expect(unsynced()).toBe('0');
    state.isSynced = false;
    state.nowMs = 8_000;
    expect(unsynced()).toBe('2');
  });

  it('pools and other things are counted as nothing', () => {
    const cluster = open();
    cluster.put('nodepools', pool);
    cluster.put('nodepools', { ...pool, metadata: { name: 'general', labels: { 'karpenter.sh/registered': 'true' } } });
    expect(cluster.lines().filter((line) => line.includes('_total'))).toEqual([]);
  });

  it('what says nothing of itself is counted under no name, and holds nothing', () => {
    const cluster = open();
    cluster.put('nodepools', pool);
    cluster.put('nodeclaims', { metadata: { name: 'c1' }, spec: { nodeClassRef, requirements: [] } });
    cluster.put('nodeclaims', { metadata: { name: 'c2', labels }, spec: { nodeClassRef, requirements: [] } });
    cluster.put('nodes', { metadata: { name: 'n' } });
    cluster.remove('nodeclaims', 'c1');
    expect(counted(cluster, 'nodeclaims_terminated')).toEqual([
      'karpenter_nodeclaims_terminated_total{nodepool="",capacity_type="",zone=""} 1',
    ]);
    expect(cluster.lines()).toContain('karpenter_nodepools_usage{nodepool="general",resource_type="nodes"} 0');
    expect(cluster.lines()).toContain('karpenter_cluster_state_node_count 1');
  });

  it('what runs is shown with its version, for every relay', () => {
    const builder = createSnapshotBuilder('test');
    const text = createKarpenterMetrics({
      objects: (resource) => builder.objects(resource),
      isPublishing: () => false,
      isSynced: () => true,
      now: () => 0,
    }).render();
    expect(text).toContain(
      `karpenter_build_info{version="${version}",goversion="",goarch="${process.arch}",commit=""} 1`,
    );
    expect(text).toContain('karpenter_cluster_state_synced 1');
  });

  it('a relay that does not publish counts nothing and shows only whether it is in sync', () => {
    const cluster = open({ isPublishing: false, isSynced: false });
    cluster.put('nodeclaims', claim());
    expect(cluster.lines()).toEqual([
      'karpenter_cluster_state_synced 0',
      'karpenter_cluster_state_unsynced_time_seconds 0',
    ]);
    cluster.state.isPublishing = true;
    expect(cluster.lines().filter((line) => line.includes('_total'))).toEqual([]);
  });

  it('the version shown is that of the package', () => {
    const text = readFileSync(join(import.meta.dirname, '../../../../package.json'), 'utf8');
    expect(version).toBe((JSON.parse(text) as { readonly version: string }).version);
  });

  it.each([
    ['250m', 0.25],
    ['1.5', 1.5],
    ['2Gi', 2 ** 31],
    ['3k', 3_000],
    ['1e3', 1_000],
    [7, 7],
    ['many', 0],
    ['1.2.3', 0],
  ])('%s is shown as %s', (text, value) => {
    expect(approximateQuantity(text)).toBeCloseTo(value);
  });
});
