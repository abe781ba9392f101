import { describe, expect, test } from 'vitest';
import { unwantedClaims } from '../../../../shared/core/disruption/withdrawal/unwanted-claims.ts';
import type { Pod } from '../../../../shared/core/model/cluster.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import type { NodeClaim, NodePool } from '../../../../shared/kubernetes/manifest.ts';
import { input, pods, pool, shape, spec } from '../../../kit/core/build.ts';

const NOW = instant(Date.parse('2026-11-27T12:00:00Z'));

/** Of pool `general`, with a machine that boots. */
function claim(name: string, annotations: Readonly<Record<string, string>> = {}, type = 'Launched'): NodeClaim {
  return {
    metadata: { name, labels: { 'karpenter.sh/nodepool': 'general' }, annotations },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    status: { conditions: [{ type, status: 'True' }] },
  };
}

function general(change: Partial<NodePool['spec']> = {}, metadata: Partial<NodePool['metadata']> = {}): NodePool {
  const { spec: own } = pool('general');
  return { metadata: { name: 'general', ...metadata }, spec: { ...own, ...change } };
}

interface Given {
  readonly claims?: ReadonlyArray<NodeClaim>;
  readonly nodePool?: NodePool;
  /** Of pods called `web-0` and so on, the ones that the claims were made for first. */
  readonly pods?: ReadonlyArray<Partial<Pod>>;
  readonly more?: Partial<ProvisioningInput['cluster']>;
  /** Uids that the claim `c` has a place for beside. */
  readonly beside?: ReadonlyArray<string>;
  readonly madeFor?: ReadonlyArray<string>;
  readonly coming?: ReadonlyArray<string>;
}

/** Names of the unwanted; unless said, `c` was made for `default/web-0`, which is gone. */
function unwanted(given: Given = {}): ReadonlyArray<string> {
  const { claims = [claim('c')], nodePool = general(), madeFor = ['c'], beside = [], coming = [] } = given;
  const own = (given.pods ?? []).flatMap((parts, index) => {
    const name = `web-${index}`;
    return pods(0, 1, { ...parts }).map((pod) => ({ ...pod, name, uid: name }));
  });
  const shapes = [shape(spec('1', '1Gi'))];
  const view = input({ nodePools: [nodePool], nodeClaims: claims, shapes, pods: own, ...given.more });
  const place = { instanceType: 'Standard_D2_v5', zone: 'westeurope-1', capacityType: 'on-demand' } as const;
  const inFlight = new Map(claims.map(({ metadata: { name } }) => [name, { ...place, pods: beside }]));
  const made = new Map(madeFor.map((name) => [name, [{ name: 'default/web-0', uid: 'web-0' }]]));
  const found = unwantedClaims({ ...view, inFlight }, { madeFor: made, coming: new Set(coming) }, NOW);
  return found.map(({ metadata }) => metadata.name);
}

describe('nobody waits for a claim on its way', () => {
  test('whose pods are gone, run elsewhere, or are being deleted', () => {
    expect(unwanted()).toEqual(['c']);
    expect(unwanted({ pods: [{ nodeName: 'other' }] })).toEqual(['c']);
    expect(unwanted({ pods: [{ deleting: true }] })).toEqual(['c']);
  });

  test('and somebody does while one of its pods has no node, whatever the scheduler has said of it', () => {
    expect(unwanted({ pods: [{}] })).toEqual([]);
    expect(unwanted({ pods: [{ unschedulable: false }] })).toEqual([]);
  });

  test('and somebody does while a pod that was planned beside them has no node', () => {
    expect(unwanted({ pods: [{ nodeName: 'other' }, {}], beside: ['web-1'] })).toEqual([]);
    expect(unwanted({ pods: [{ nodeName: 'other' }, { nodeName: 'other' }], beside: ['web-1'] })).toEqual(['c']);
  });

  test('unless an owner in their namespace wants more pods than it has', () => {
    expect(unwanted({ coming: ['default'] })).toEqual([]);
    expect(unwanted({ coming: ['other'] })).toEqual(['c']);
  });

  test('and they are told in the order of their names', () => {
    expect(unwanted({ claims: [claim('d'), claim('c')], madeFor: ['c', 'd'] })).toEqual(['c', 'd']);
  });
});

describe('a claim is left alone, though nobody waits for it,', () => {
  test('which no decision made for pods that had no node', () => {
    expect(unwanted({ madeFor: [] })).toEqual([]);
  });

  test('whose node has joined, registered or not', () => {
    expect(unwanted({ claims: [claim('c', {}, 'Registered')] })).toEqual([]);
    expect(unwanted({ more: { nodes: [{ metadata: { name: 'aks-c' } }] }, claims: [named('c', 'aks-c')] })).toEqual([]);
  });

  test.each([
    ['karpenter.sh/do-not-disrupt', 'true'],
    ['nodewright.dev/given-up', 'LaunchTimeout'],
    ['nodewright.dev/interruption', 'Preempt'],
    ['nodewright.dev/disruption', '000000001-d'],
    ['nodewright.dev/created-for', 'Drifted'],
    ['nodewright.dev/noticed', '2026-11-27T11:59:00Z'],
  ])('on which %s is written', (key, value) => {
    expect(unwanted({ claims: [claim('c', { [key]: value })] })).toEqual([]);
  });

  test('that is being deleted', () => {
    const { metadata, ...rest } = claim('c');
    expect(
      unwanted({ claims: [{ ...rest, metadata: { ...metadata, deletionTimestamp: '2026-11-27T11:59:00Z' } }] }),
    ).toEqual([]);
  });

  test('that another names as its replacement', () => {
    const going = claim('old', { 'nodewright.dev/replaced-by': 'b,c' }, 'Registered');
    expect(unwanted({ claims: [claim('c'), going] })).toEqual([]);
  });

  test('while the cluster has a buffer: whose room it counts on is decided by each plan', () => {
    const buffer = { metadata: { name: 'spare', namespace: 'default' }, spec: {} };
    expect(unwanted({ more: { capacityBuffers: [buffer] } })).toEqual([]);
  });

  test('whose NodePool is gone, or is going', () => {
    expect(unwanted({ more: { nodePools: [] } })).toEqual([]);
    expect(unwanted({ nodePool: general({}, { deletionTimestamp: '2026-11-27T11:59:00Z' }) })).toEqual([]);
  });

  test('whose NodePool has a fixed number of nodes', () => {
    expect(unwanted({ nodePool: general({ replicas: 1 }) })).toEqual([]);
  });

  test('whose NodePool has its disruption paused, or says so in words that cannot be read', () => {
    const paused = (value: string) => general({}, { annotations: { 'nodewright.dev/pause-disruption': value } });
    expect(unwanted({ nodePool: paused('true') })).toEqual([]);
    expect(unwanted({ nodePool: paused('2026-11-27T12:00:01Z') })).toEqual([]);
    expect(unwanted({ nodePool: paused('for a while') })).toEqual([]);
    expect(unwanted({ nodePool: paused('2026-11-27T12:00:00Z') })).toEqual(['c']);
  });

  test.each([
    ['Never', []],
    ['61s', []],
    ['5m', []],
    ['1m', ['c']],
    ['0s', ['c']],
  ])('whose NodePool keeps an empty node for more than a minute: %s', (consolidateAfter, expected) => {
    const disruption = { consolidateAfter };
    expect(unwanted({ nodePool: general({ disruption }) })).toEqual(expected);
  });

  test('whose NodePool has a budget by which no empty node may go now', () => {
    const budgets = (...all: ReadonlyArray<object>) => general({ disruption: { budgets: all } } as never);
    expect(unwanted({ nodePool: budgets({ nodes: '0' }) })).toEqual([]);
    expect(unwanted({ nodePool: budgets({ nodes: '0', reasons: ['Empty'] }) })).toEqual([]);
    expect(unwanted({ nodePool: budgets({ nodes: '0', reasons: ['Drifted'] }) })).toEqual(['c']);
    expect(unwanted({ nodePool: budgets({ nodes: '0', schedule: '0 11 * * *', duration: '2h' }) })).toEqual([]);
    expect(unwanted({ nodePool: budgets({ nodes: '0', schedule: '0 11 * * *', duration: '30m' }) })).toEqual(['c']);
    expect(unwanted({ nodePool: budgets({ nodes: '1%' }) })).toEqual(['c']);
  });
});

/** A claim that says which node it is. */
function named(name: string, nodeName: string): NodeClaim {
  const made = claim(name);
  return { ...made, status: { ...made.status, nodeName } };
}
