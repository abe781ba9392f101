import { describe, expect, test } from 'vitest';
import { claimNameOf, createClusterIndex, poolNameOf } from '../../../../relay/watch/cluster-index.ts';
import { createSnapshotBuilder, type SnapshotResource } from '../../../../shared/contract/snapshot/builder.ts';

const gone = '2026-11-21T00:00:00Z';
const classRef = (name: string) => ({ group: 'karpenter.azure.com', kind: 'AKSNodeClass', name });
const vm = (name: string): string =>
  `azure:///subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/virtualMachines/${name}`;

/** An index over a cluster that is changed step by step. */
function open() {
  const builder = createSnapshotBuilder('test', { buffers: true });
  const { apply, view, waiting } = createClusterIndex(builder);
  return {
    view,
    waiting,
    put: (resource: SnapshotResource, name: string, metadata: object = {}, spec: object = {}) =>
      apply(builder.upsert(resource, { metadata: { name, ...metadata }, spec }), 1_000),
    remove: (resource: SnapshotResource, key: string) => apply(builder.remove(resource, key), 2_000),
    builder,
    apply,
  };
}

type NodeLike = Parameters<typeof claimNameOf>[0];
const nodeOf = (metadata: object, providerID?: string): NodeLike => ({
  metadata: { name: 'aks-name', ...metadata },
  spec: providerID === undefined ? {} : { providerID },
});

describe('a node is of the claim', () => {
  const owner = (kind: string) => ({ ownerReferences: [{ kind, name: 'owner' }] });

  test('that owns it, whatever its names say [M01]', () => {
    expect(claimNameOf(nodeOf(owner('NodeClaim'), vm('aks-vm')))).toBe('owner');
  });

  test('that its VM is named after, in any case, where none owns it [M01]', () => {
    expect(claimNameOf(nodeOf(owner('Other'), vm('AKS-General-1')))).toBe('general-1');
  });

  test('that its own name is after, where it has no VM yet [M01]', () => {
    expect(claimNameOf(nodeOf({}))).toBe('name');
    expect(claimNameOf({ metadata: { name: 'aks-x' } })).toBe('x');
  });

  test('of nobody, where neither is ours', () => {
    expect(claimNameOf(nodeOf({ name: 'other' }))).toBeNull();
    expect(claimNameOf(nodeOf({}, vm('vmss-1')))).toBeNull();
    expect(claimNameOf(nodeOf({}, 'kind://docker/my-aks-1'))).toBeNull();
  });
});

describe('an index follows', () => {
  test('which claim a node is of, until the node is gone or another’s', () => {
    const { view, put, remove } = open();
    put('nodes', 'aks-a');
    expect([view.claimOf('aks-a'), view.claimOf('aks-b')]).toEqual(['a', null]);
    put('nodes', 'aks-a', {}, { providerID: vm('vmss-1') });
    expect(view.claimOf('aks-a')).toBeNull();
    put('nodes', 'aks-a', {}, { providerID: vm('aks-c') });
    expect(view.claimOf('aks-a')).toBe('c');
    remove('nodes', 'aks-a');
    expect(view.claimOf('aks-a')).toBeNull();
  });

  test('which nodes are being emptied: those that leave, or whose claim does [M02]', () => {
    const { view, put, remove } = open();
    put('nodes', 'aks-a');
    put('nodeclaims', 'a', {}, { nodeClassRef: classRef('d'), requirements: [] });
    expect(view.emptyingClaim('aks-a')).toBeNull();
    put('nodeclaims', 'a', { deletionTimestamp: gone }, { nodeClassRef: classRef('d'), requirements: [] });
    expect(view.emptyingClaim('aks-a')).toBe('a');
    remove('nodeclaims', 'a');
    expect(view.emptyingClaim('aks-a')).toBeNull();
    put('nodes', 'aks-a', { deletionTimestamp: gone });
    expect(view.emptyingClaim('aks-a')).toBe('a');
    put('nodes', 'aks-a');
    expect(view.emptyingClaim('aks-a')).toBeNull();
    put('nodes', 'foreign', { deletionTimestamp: gone });
    expect(view.emptyingClaim('foreign')).toBeNull();
    expect(view.emptyingClaim('nobody')).toBeNull();
  });

  test('which nodes are kept for the pods that they were made for', () => {
    const { view, put } = open();
    const taints = [{ key: 'nodewright.dev/reserved', value: 'a', effect: 'NoSchedule' }];
    put('nodes', 'aks-a', {}, { taints });
    put('nodes', 'aks-b', {}, { taints: [{ key: 'other', effect: 'NoSchedule' }] });
    put('nodes', 'foreign', {}, { taints });
    expect(['aks-a', 'aks-b', 'foreign', 'nobody'].map((name) => view.dedicatedTo(name))).toEqual([
      { claim: 'a', missing: 0 },
      null,
      null,
      null,
    ]);
  });

  test('which claims there are', () => {
    const { view, put, remove } = open();
    put('nodeclaims', 'a', {}, { nodeClassRef: classRef('d'), requirements: [] });
    expect([view.hasClaim('a'), view.hasClaim('b')]).toEqual([true, false]);
    remove('nodeclaims', 'a');
    expect(view.hasClaim('a')).toBe(false);
  });

  test('whether pods wait, or buffers do: then room is of interest', () => {
    const { view, put, remove, builder, apply } = open();
    expect([view.podsWait(), view.hasBuffers(), view.wantsRoom()]).toEqual([false, false, false]);
    const pod = {
      metadata: { name: 'p', namespace: 'default', ownerReferences: [] },
      spec: { containers: [{}] },
      status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
    };
    apply(builder.upsert('pods', pod), 1_000);
    expect([view.podsWait(), view.hasBuffers(), view.wantsRoom()]).toEqual([true, false, true]);
    remove('pods', 'default/p');
    expect(view.wantsRoom()).toBe(false);
    put('capacitybuffers', 'b', { namespace: 'default' }, { podTemplateRef: { name: 't' }, replicas: 1 });
    expect([view.podsWait(), view.hasBuffers(), view.wantsRoom()]).toEqual([false, true, true]);
  });
});

describe('of pools an index knows', () => {
  const pool = (nodeClass: string, more: object = {}): object => ({
    template: { spec: { nodeClassRef: classRef(nodeClass), requirements: [] } },
    ...more,
  });
  const inPool = (name: string): object => ({ labels: { 'karpenter.sh/nodepool': name } });
  const claimSpec = { nodeClassRef: classRef('d'), requirements: [] };

  test.for<readonly [object, number | null]>([
    [{ disruption: { consolidateAfter: '30s' } }, 30_000],
    [{ disruption: {} }, 0],
    [{}, 0],
    [{ disruption: { consolidateAfter: 'Never' } }, null],
    [{ disruption: { consolidateAfter: '30s' }, replicas: 3 }, null],
  ])('how soon after pod events nodes of %j are consolidated: %s', ([more, ms]) => {
    const { view, put } = open();
    put('nodepools', 'general', {}, pool('d', more));
    put('nodeclaims', 'a', inPool('general'), claimSpec);
    expect(view.consolidateAfterMs('a')).toBe(ms);
  });

  test('nothing of a claim whose pool, or which itself, is not there', () => {
    const { view, put } = open();
    put('nodeclaims', 'a', inPool('general'), claimSpec);
    put('nodeclaims', 'b', {}, claimSpec);
    expect(['a', 'b', 'c'].map((claim) => view.consolidateAfterMs(claim))).toEqual([null, null, null]);
  });

  test('which use a class, and which have a fixed number of nodes', () => {
    const { view, put } = open();
    put('nodepools', 'one', {}, pool('d'));
    put('nodepools', 'two', {}, pool('e', { replicas: 0 }));
    put('nodepools', 'three', {}, pool('d'));
    expect(view.poolsOf('d').toSorted()).toEqual(['one', 'three']);
    expect(view.poolsOf('f')).toEqual([]);
    expect(['one', 'two', 'four'].map((name) => view.isStatic(name))).toEqual([false, true, false]);
  });

  test('whether a class is being deleted', () => {
    const { view, put } = open();
    put('aksnodeclasses', 'd');
    expect(view.isLeavingClass('d')).toBe(false);
    put('aksnodeclasses', 'd', { deletionTimestamp: gone });
    expect([view.isLeavingClass('d'), view.isLeavingClass('e')]).toEqual([true, false]);
  });

  test('the pool that an object says it is of', () => {
    const metadata = (more: object) =>
      ({ metadata: { name: 'a', ...more } }) as unknown as Parameters<typeof poolNameOf>[0];
    expect(poolNameOf(metadata(inPool('general')))).toBe('general');
    expect([poolNameOf(metadata({})), poolNameOf(null)]).toEqual([null, null]);
  });
});
