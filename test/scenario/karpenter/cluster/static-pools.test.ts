import { describe, expect, test } from 'vitest';
import type { NodePool } from '../../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { surplusClaims } from '../../../../shared/core/finishing/static-pools.ts';
import { daemonSet, pool, spec } from '../../../kit/core/build.ts';
import { key, machines, ours, pod, schedule, toInput, z1, z2, z3 } from '../kit/kit.ts';

/** Static pools: Karpenter's rules of `spec.replicas`, and I12. */

function fixed(name: string, replicas: number, limits?: Readonly<Record<string, string>>): NodePool {
  const plain = pool(name, limits === undefined ? {} : { limits });
  return { ...plain, spec: { ...plain.spec, replicas } };
}

const of = (name: string, parts: Parameters<typeof ours>[1] = {}) => ours(name, { pool: 'static', ...parts });

describe('a static pool', () => {
  test('gets as many nodes as it asks for, the cheapest that it allows, in all zones', () => {
    const outcome = schedule({ pools: [fixed('static', 3)], pods: [] });
    expect(outcome.claims.map(({ offering }) => offering.instanceType)).toEqual(Array(3).fill('Standard_D2s_v5'));
    expect(outcome.claims.map(({ offering }) => offering.zone).toSorted()).toEqual([z1, z2, z3]);
    expect(outcome.claims.flatMap(({ pods }) => pods)).toEqual([]);
    expect(outcome.plan.cost).toBe(300_000);
  });

  test('gets only what it lacks: nodes and claims on their way count, those that are going do not [M02]', () => {
    const there = machines(of('a'), of('b', { initialized: false }), of('c', { deleting: true }));
    expect(schedule({ ...there, pools: [fixed('static', 3)], pods: [] }).claims).toHaveLength(1);
    expect(schedule({ ...there, pools: [fixed('static', 2)], pods: [] }).claims).toEqual([]);
  });

  test('gets no more than its limit of nodes', () => {
    expect(
      schedule({ ...machines(of('a')), pools: [fixed('static', 5, { nodes: '3' })], pods: [] }).claims,
    ).toHaveLength(2);
  });

  test('gets nodes that hold their daemons', () => {
    const daemonSets = [daemonSet('agent', spec('3', '1Gi'))];
    const outcome = schedule({ daemonSets, pools: [fixed('static', 1)], pods: [] });
    expect(outcome.claims.map(({ offering }) => offering.instanceType)).toEqual(['Standard_D4s_v5']);
  });

  test.each([
    ['not ready', { status: { conditions: [{ type: 'Ready', status: 'False' }] } }],
    ['being deleted', { metadata: { name: 'static', deletionTimestamp: '2026-01-01T00:00:00Z' } }],
  ])('gets nothing while it is %s', (_, parts) => {
    expect(schedule({ pools: [{ ...fixed('static', 3), ...parts }], pods: [] }).claims).toEqual([]);
  });

  test('gets nothing while the gate is closed, as it is by default', () => {
    const gates = { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: false };
    expect(schedule({ policy: { gates }, pools: [fixed('static', 3)], pods: [] }).claims).toEqual([]);
  });

  test('gets no node for a pod, and pods get theirs elsewhere [I12]', () => {
    const outcome = schedule({ pools: [fixed('static', 1), pool('dynamic')], pods: [pod('a')] });
    expect(outcome.claimOf('a').nodePool).toBe('dynamic');
    expect(outcome.claims.filter(({ nodePool }) => nodePool === 'static')).toHaveLength(1);
    expect(outcome.plan.cost).toBe(200_000);
  });

  test('with more nodes than it asks for is a finding of the audit', () => {
    const given = toInput({ pools: [fixed('static', 2)], pods: [] });
    const { plan } = schedule({ pools: [fixed('static', 2)], pods: [] });
    const more = { ...plan, claims: [...plan.claims, ...plan.claims] };
    expect(auditPlan(more, given).map(({ rule }) => rule)).toContain('static');
  });
});

describe('what a static pool has too much', () => {
  const spared = (replicas: number, ...all: ReadonlyArray<ReturnType<typeof ours>>) =>
    surplusClaims(
      toInput({
        ...machines(...all),
        pools: [fixed('static', replicas), pool('default')],
        pods: [
          pod('p1', { on: 'busy' }),
          pod('p2', { on: 'busy' }),
          pod('p3', { on: 'lighter' }),
          pod('p4', { on: 'kept', annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
          pod('d', { on: 'empty', owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' } }),
        ],
      }).cluster,
    );
  const all = [of('busy'), of('lighter'), of('kept'), of('empty')];

  test('goes in the order in which it can be spared: empty nodes, those with few pods, protected ones last', () => {
    expect(spared(0, ...all)).toEqual(['empty-claim', 'lighter-claim', 'busy-claim', 'kept-claim']);
    expect(spared(3, ...all)).toEqual(['empty-claim']);
  });

  test('begins with claims that have no machine yet', () => {
    const starting = of('starting');
    const { status: _, ...bare } = starting.claim;
    const flying = { ...machines(...all), nodeClaims: [...machines(...all).nodeClaims, bare] };
    const { cluster } = toInput({ ...flying, pools: [fixed('static', 4)], pods: [] });
    expect(surplusClaims(cluster)).toEqual(['starting-claim']);
  });

  test('is nothing where the pool has as many as it asks for, or is not static; what is going does not count', () => {
    expect(spared(4, ...all)).toEqual([]);
    expect(spared(3, of('busy'), of('lighter'), of('kept'), of('gone', { deleting: true }))).toEqual([]);
    expect(spared(0, ours('dynamic', { labels: { [key.zone]: z1 } }))).toEqual([]);
  });
});
