import { describe, expect, test } from 'vitest';
import { toNodeClaim, withPoolStamps } from '../../../../shared/app/claims/to-node-claim.ts';
import { poolHash } from '../../../../shared/app/facts/api-rules.ts';
import type { NodePool } from '../../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { daemonSet, input, pods, pool, shape, size, spec } from '../../../kit/core/build.ts';

/** Karpenter's scenarios of section I on what a created NodeClaim says. */

const plain = pool('general', { labels: { team: 'red' }, taints: [{ key: 'dedicated', effect: 'NoSchedule' }] });

function poolWith(more: object, name = 'general'): NodePool {
  const { template } = plain.spec;
  return {
    metadata: { name, uid: 'u-1' },
    spec: { ...plain.spec, template: { ...template, spec: { ...template.spec, ...more } } },
  };
}

function planFor(general: NodePool) {
  const tolerant = spec('500m', '1Gi', { tolerations: [{ operator: 'Exists' }] });
  const given = input({
    types: [size('Standard_D2s_v5', 2, 8, 100_000)],
    nodePools: [general],
    shapes: [shape(tolerant)],
    pods: pods(0, 2),
    daemonSets: [daemonSet('agent', { ...spec('100m', '1Gi'), tolerations: [{ operator: 'Exists' }] })],
  });
  const [planned] = planProvisioning(given, instant(0)).claims;
  if (planned === undefined) throw new Error('nothing was planned');
  return withPoolStamps(planned, [general]);
}

const create = (planned: ReturnType<typeof planFor>, now: NodePool) =>
  toNodeClaim('000000001-abc', planned, { name: 'general-1', currency: 'USD', pool: now, nodeClass: null, types: [] });

describe('a created NodeClaim', () => {
  test.each([
    ['a pool that has one: its', { terminationGracePeriod: '5m' }, '5m'],
    ['a pool without: none, since Azure’s provider has no default', {}, undefined],
  ])('has the termination grace period of %s [I03]', (_, more, expected) => {
    const general = poolWith(more);
    expect(create(planFor(general), general).spec.terminationGracePeriod).toBe(expected);
  });

  test('has the hash of its pool as it was planned from, though the pool has changed since [I05]', () => {
    const before = poolWith({});
    const after = poolWith({ taints: [] });
    const hash = create(planFor(before), after).metadata.annotations?.['karpenter.sh/nodepool-hash'];
    expect(hash).toBe(poolHash(before));
    expect(hash).not.toBe(poolHash(after));
  });

  test('says what its pool said that an eviction costs, and nothing where the pool says nothing', () => {
    const evictionCost = (general: NodePool) =>
      create(planFor(general), general).metadata.annotations?.['nodewright.dev/eviction-cost'];
    const general = poolWith({});
    expect(evictionCost(general)).toBeUndefined();
    const annotations = { 'nodewright.dev/eviction-cost': '2h' };
    expect(evictionCost({ ...general, metadata: { ...general.metadata, annotations } })).toBe('2h');
  });

  test('belongs to its pool and names its node class [I09] [J09]', () => {
    const general = poolWith({});
    const { metadata, spec: own } = create(planFor(general), general);
    expect(metadata.ownerReferences).toMatchObject([
      { kind: 'NodePool', name: 'general', uid: 'u-1', blockOwnerDeletion: true },
    ]);
    expect(own.nodeClassRef).toEqual({ group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' });
    expect(metadata.labels).toMatchObject({ 'karpenter.sh/nodepool': 'general', team: 'red' });
  });

  test('requests what its pods and daemons request, and carries the pool’s taints [I09]', () => {
    const general = poolWith({});
    const { spec: own } = create(planFor(general), general);
    expect(own.resources?.requests).toEqual({ cpu: '1100m', memory: '3Gi', pods: '3' });
    expect(own.taints).toEqual([{ key: 'dedicated', effect: 'NoSchedule' }]);
  });

  test('has the taints that its nodes start with, its lifetime, and none of these where its pool has none', () => {
    const startupTaints = [{ key: 'starting', effect: 'NoSchedule' }];
    const general = poolWith({ startupTaints, expireAfter: '720h' });
    expect(create(planFor(general), general).spec).toMatchObject({ startupTaints, expireAfter: '720h' });
    const bare = poolWith({ taints: [] });
    const own = create(planFor(bare), bare).spec;
    expect(Object.keys(own).toSorted()).toEqual(['nodeClassRef', 'requirements', 'resources']);
  });

  test('is stamped by its own pool, and by none where that is gone', () => {
    const [general, other] = [poolWith({}), poolWith({ taints: [] }, 'other')];
    const planned = planFor(general);
    const { annotations: _, ...bare } = planned;
    const stamped = withPoolStamps({ ...bare, annotations: {} }, [other, general]);
    expect(stamped.annotations['karpenter.sh/nodepool-hash']).toBe(poolHash(general));
    expect(Object.keys(stamped.annotations)).not.toContain('nodewright.dev/eviction-cost');
    expect(withPoolStamps({ ...bare, annotations: {} }, [other]).annotations).toEqual({});
  });
});
