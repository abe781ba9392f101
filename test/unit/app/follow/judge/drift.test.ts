import { describe, expect, it } from 'vitest';
import { type DriftFacts, findDrift } from '../../../../../shared/app/follow/judge/drift.ts';
import type { NodeClaim, NodePool, SelectorRequirement } from '../../../../../shared/kubernetes/manifest.ts';
import { claim, condition, node, nodeClass, nodePool } from '../../../../kit/app/build-claim.ts';

const types = new Set(['Standard_D2s_v5']);

function reasonOf(given: NodeClaim, facts: Partial<DriftFacts> = {}): string | null {
  const defaults = {
    pool: nodePool(),
    nodeClass: nodeClass(),
    node: node(),
    instanceTypes: types,
    kubeletIdentity: null,
  };
  return findDrift(given, { ...defaults, ...facts })?.reason ?? null;
}

const onlySpot = [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['spot'] }] as const;

function on(key: string, operator: string, ...values: ReadonlyArray<string>): SelectorRequirement {
  return { key, operator, values };
}

function withIdentity(identity: string): DriftFacts['node'] {
  const { metadata, ...rest } = node();
  return {
    ...rest,
    metadata: { ...metadata, labels: { 'kubernetes.azure.com/kubelet-identity-client-id': identity } },
  };
}

describe('what is drift [J10]', () => {
  it('a node on any of the newest images of its class has not drifted, whatever the case of its id', () => {
    const images = ['gen1', 'gen2'].map((id) => ({ id, requirements: [] }));
    const of = (imageID: string): string | null =>
      reasonOf(claim({ status: { ...claim().status, imageID } }), {
        nodeClass: nodeClass({ ...nodeClass().status, images }),
      });
    expect([of('gen1'), of('GEN2'), of('gen0')]).toEqual([null, null, 'ImageDrift']);
  });

  it('a node that is as its pool and class ask has not drifted', () => {
    expect(reasonOf(claim())).toBeNull();
  });

  it('another hash of the template is drift', () => {
    expect(reasonOf(claim(), { pool: nodePool({}, { 'karpenter.sh/nodepool-hash': '9' }) })).toBe('NodePoolDrifted');
  });

  it('hashes of different versions cannot be compared and are no drift', () => {
    const pool = nodePool({}, { 'karpenter.sh/nodepool-hash': '9', 'karpenter.sh/nodepool-hash-version': 'v4' });
    expect(reasonOf(claim(), { pool })).toBeNull();
    const other = nodeClass(
      {},
      { 'karpenter.azure.com/aksnodeclass-hash': '9', 'karpenter.azure.com/aksnodeclass-hash-version': 'v4' },
    );
    expect(reasonOf(claim(), { nodeClass: other })).toBeNull();
  });

  it.each([
    'karpenter.sh/nodepool-hash',
    'karpenter.sh/nodepool-hash-version',
    'karpenter.azure.com/aksnodeclass-hash',
    'karpenter.azure.com/aksnodeclass-hash-version',
  ])('a claim without %s has nothing to compare and has not drifted', (key) => {
    const bare = claim();
    const annotations = Object.fromEntries(
      Object.entries(bare.metadata.annotations ?? {}).filter(([one]) => one !== key),
    );
    const given = { ...bare, metadata: { ...bare.metadata, annotations } };
    const changed = {
      pool: key.includes('nodepool') ? nodePool({}, { 'karpenter.sh/nodepool-hash': '9' }) : nodePool(),
      nodeClass: key.includes('aks') ? nodeClass({}, { 'karpenter.azure.com/aksnodeclass-hash': '9' }) : nodeClass(),
    };
    expect(reasonOf(given, changed)).toBeNull();
  });

  it('labels that the requirements of the pool no longer allow are drift', () => {
    expect(reasonOf(claim(), { pool: nodePool({}, {}, onlySpot) })).toBe('RequirementsDrifted');
  });

  it.each<readonly [string, NodePool['spec']['template']['spec']['requirements'], boolean]>([
    ['that is wider', [on('karpenter.sh/capacity-type', 'In', 'spot', 'on-demand')], false],
    ['that excludes another value', [on('karpenter.sh/capacity-type', 'NotIn', 'spot')], false],
    ['that excludes its own', [on('karpenter.sh/capacity-type', 'NotIn', 'on-demand')], true],
    ['that the label is there', [on('topology.kubernetes.io/zone', 'Exists')], false],
    ['that a label is there which is not', [on('team', 'Exists')], true],
    ['that a label is not there which is not', [on('team', 'DoesNotExist')], false],
    ['that its own is not there', [on('topology.kubernetes.io/zone', 'DoesNotExist')], true],
    ['of a number that it has', [on('karpenter.azure.com/sku-cpu', 'Gt', '1')], false],
    ['of more than it has', [on('karpenter.azure.com/sku-cpu', 'Gt', '2')], true],
    ['of less than it has', [on('karpenter.azure.com/sku-cpu', 'Lt', '2')], true],
    ['that is met beside one that is not', [on('topology.kubernetes.io/zone', 'Exists'), onlySpot[0]], true],
    ['no more', [], false],
  ])('a requirement %s is drift, or is not', (_, requirements, drifted) => {
    const sized = claim({ labels: { 'karpenter.azure.com/sku-cpu': '2' } });
    const reason = drifted ? 'RequirementsDrifted' : null;
    expect(reasonOf(sized, { pool: nodePool({}, {}, requirements) })).toBe(reason);
  });

  it('a requirement on a label that the claim does not carry is drift, for the node cannot have it', () => {
    const team = [{ key: 'team', operator: 'In', values: ['blue'] }] as const;
    expect(reasonOf(claim(), { pool: nodePool({}, {}, team) })).toBe('RequirementsDrifted');
    expect(reasonOf(claim({ labels: { team: 'blue' } }), { pool: nodePool({}, {}, team) })).toBeNull();
  });

  it('a size that is no longer offered is drift, unless no size is known at all', () => {
    expect(reasonOf(claim(), { instanceTypes: new Set(['Standard_D4s_v5']) })).toBe('InstanceTypeNotFound');
    expect(reasonOf(claim(), { instanceTypes: new Set() })).toBeNull();
  });

  it('another hash of the class is drift', () => {
    const changed = nodeClass({}, { 'karpenter.azure.com/aksnodeclass-hash': '9' });
    expect(reasonOf(claim(), { nodeClass: changed })).toBe('NodeClassDrift');
  });

  it('a kubelet of another version than the cluster is drift, once the class has settled', () => {
    const newer = nodeClass({ kubernetesVersion: '1.37.0' });
    expect(reasonOf(claim(), { nodeClass: newer })).toBe('K8sVersionDrift');
    const unsettled = nodeClass({ kubernetesVersion: '1.37.0', conditions: [condition('Ready', 'Unknown')] });
    expect(reasonOf(claim(), { nodeClass: unsettled })).toBeNull();
    expect(reasonOf(claim(), { nodeClass: nodeClass({ kubernetesVersion: '1.36.3' }) })).toBeNull();
  });

  it.each([
    ['b', 'KubeletIdentityDrift'],
    ['a', null],
    ['A', null],
    [null, null],
  ])('of a node whose kubelet has the identity a, where new nodes get %s, says %s', (kubeletIdentity, reason) => {
    expect(reasonOf(claim(), { node: withIdentity('a'), kubeletIdentity })).toBe(reason);
  });

  it('a node that does not name the identity of its kubelet has not drifted', () => {
    expect(reasonOf(claim(), { kubeletIdentity: 'b' })).toBeNull();
    expect(reasonOf(claim(), { node: withIdentity(''), kubeletIdentity: 'b' })).toBeNull();
  });

  it('another identity is drift before another image, and after another version', () => {
    const images = [{ id: 'new', requirements: [] }];
    const old = claim({ status: { ...claim().status, imageID: 'old' } });
    const facts = { node: withIdentity('a'), kubeletIdentity: 'b' };
    expect(reasonOf(old, { ...facts, nodeClass: nodeClass({ images }) })).toBe('KubeletIdentityDrift');
    const newer = nodeClass({ images, kubernetesVersion: '1.37.0' });
    expect(reasonOf(old, { ...facts, nodeClass: newer })).toBe('K8sVersionDrift');
  });

  it('an image that is not among those of the class is drift, in whatever casing Azure writes it', () => {
    const images = [{ id: '/Images/Ubuntu/2026.11', requirements: [] }];
    const old = claim({ status: { ...claim().status, imageID: '/images/ubuntu/2026.10' } });
    const same = claim({ status: { ...claim().status, imageID: '/images/ubuntu/2026.11' } });
    expect(reasonOf(old, { nodeClass: nodeClass({ images }) })).toBe('ImageDrift');
    expect(reasonOf(same, { nodeClass: nodeClass({ images }) })).toBeNull();
    expect(reasonOf(claim(), { nodeClass: nodeClass({ images }) })).toBeNull();
  });

  it('the reason is the first in order when several hold: pool, requirements, size, class, version', () => {
    const changedPool = nodePool({}, { 'karpenter.sh/nodepool-hash': '9' }, onlySpot);
    const changedClass = nodeClass({ kubernetesVersion: '1.37.0' }, { 'karpenter.azure.com/aksnodeclass-hash': '9' });
    const none = new Set(['Standard_D4s_v5']);
    expect(reasonOf(claim(), { pool: changedPool, nodeClass: changedClass, instanceTypes: none })).toBe(
      'NodePoolDrifted',
    );
    const narrowed = nodePool({}, {}, onlySpot);
    expect(reasonOf(claim(), { pool: narrowed, nodeClass: changedClass, instanceTypes: none })).toBe(
      'RequirementsDrifted',
    );
    expect(reasonOf(claim(), { nodeClass: changedClass, instanceTypes: none })).toBe('InstanceTypeNotFound');
    expect(reasonOf(claim(), { nodeClass: changedClass })).toBe('NodeClassDrift');
  });

  it('nothing is said of a claim whose pool or class does not exist', () => {
    expect(reasonOf(claim(), { pool: null })).toBeNull();
    expect(reasonOf(claim(), { nodeClass: null })).toBeNull();
  });
});
