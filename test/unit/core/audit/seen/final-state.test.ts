import { describe, expect, test } from 'vitest';
import type { Node, NodeClaim, PodSpec, Taint } from '../../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../../shared/kubernetes/labels.ts';
import { node, pool, requirement, shape, size, spec, zones } from '../../../../kit/core/build.ts';
import { claimFor, D4, judge, onto, waiting, type Judged } from '../judge.ts';

/**
 * What the audit takes a node to be once the plan is executed: of what the node says, its claim, its pool and its size.
 */

const [z1, z2] = zones;
const [a, b] = [waiting(), waiting(0, 1)];
const small = spec('1', '1Gi');
const starting: Taint = { key: 'starting', effect: 'NoSchedule' };
const bad: Taint = { key: 'bad', effect: 'NoSchedule' };
const notMet = (name: string) => [`node-affinity pods of default/no owner on ${name}: not met`];
const notTolerated = (key: string) => [`taint pods of default/no owner on n: ${key}:NoSchedule is not tolerated`];

interface ClaimParts {
  readonly labels?: Readonly<Record<string, string>>;
  readonly spec?: Partial<NodeClaim['spec']>;
  readonly status?: NodeClaim['status'];
}
const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };

/** Claim k as it comes from outside: all that may be missing is missing where nothing is said. */
function claim({ labels, spec: own = {}, status }: ClaimParts = {}, name = 'k'): NodeClaim {
  return {
    metadata: { name, ...(labels === undefined ? {} : { labels }) },
    spec: { nodeClassRef, requirements: [], ...own },
    ...(status === undefined ? {} : { status }),
  };
}

const room = { allocatable: { cpu: 4, memory: '16Gi', pods: 30 }, capacity: { cpu: 4, memory: '16Gi', pods: 30 } };
const ofD4 = { [labelKey.nodePool]: 'general', [labelKey.instanceType]: D4.name };

/** One pod of these specs goes to node n, or to claim k. */
function onNode(podSpec: PodSpec, cluster: Judged['cluster']): ReadonlyArray<string> {
  return judge({ cluster: { shapes: [shape(podSpec)], pods: [a], ...cluster }, nominations: [onto('n', [a])] });
}
function onClaim(podSpec: PodSpec, cluster: Judged['cluster']): ReadonlyArray<string> {
  return judge({
    cluster: { shapes: [shape(podSpec)], pods: [a], ...cluster },
    nominations: [onto('k', [a], 'claim')],
  });
}
const selecting = (nodeSelector: Readonly<Record<string, string>>) => spec('1', '1Gi', { nodeSelector });

describe('a node and its claim', () => {
  const bare = (parts: Node['spec'], name = 'n'): Node => ({ metadata: { name }, spec: parts ?? {}, status: room });
  const startup = { spec: { startupTaints: [starting] } };

  test.each<readonly [string, NodeClaim, Node]>([
    [
      'have one machine',
      claim({ ...startup, status: { providerID: 'azure://m' } }),
      bare({ taints: [starting], providerID: 'azure://m' }),
    ],
    [
      'are joined by what the claim says',
      claim({ ...startup, status: { nodeName: 'n' } }),
      bare({ taints: [starting] }),
    ],
    ['are of one name', claim(startup, 'n'), bare({ taints: [starting], providerID: 'azure://m' })],
  ])('are one when they %s: the taints that it starts with will go', (_, own, there) => {
    expect(onNode(small, { nodes: [there], nodeClaims: [own] })).toEqual([]);
    expect(onNode(small, { nodes: [there], nodeClaims: [claim(startup, 'other')] })).toEqual(notTolerated('starting'));
  });

  test('that say nothing of themselves hold nobody', () => {
    const silent: Node = { metadata: { name: 'n' } };
    const lacking = ['cpu 1000', `memory ${2 ** 30}`, 'pods 1'].map((amount) => `resources n: ${amount} of 0`);
    expect(onNode(small, { nodes: [silent], nodeClaims: [claim({}, 'n')] })).toEqual(lacking);
  });

  test('count once against the limits of their pool', () => {
    const there = { ...node('n', 4, 16, { [labelKey.nodePool]: 'general' }), spec: { providerID: 'azure://m' } };
    const nodeClaims = [claim({ labels: ofD4, status: { ...room, providerID: 'azure://m' } })];
    const nodePools = [pool('general', { limits: { cpu: '8' } })];
    const cluster = { nodes: [there], nodeClaims, nodePools, shapes: [shape(small)], pods: [a] };
    expect(judge({ cluster, claims: [claimFor([a])] })).toEqual([]);
  });

  test('keep a taint of another key than the one that it starts with', () => {
    const nodeClaims = [claim({ ...startup, status: { nodeName: 'n' } })];
    expect(onNode(small, { nodes: [bare({ taints: [bad] })], nodeClaims })).toEqual(notTolerated('bad'));
  });
});

describe('a node of a pool', () => {
  const own = (more: Readonly<Record<string, string>> = {}, taints: ReadonlyArray<Taint> = []): Node => ({
    ...node('n', 4, 16, { [labelKey.nodePool]: 'general', ...more }),
    spec: { taints },
  });

  test('whose claim is gone starts with the taints of that pool, not of another', () => {
    const nodes = [own({}, [starting])];
    const first = (startupTaints: ReadonlyArray<Taint>) => pool('first', { startupTaints });
    const general = (startupTaints: ReadonlyArray<Taint>) => pool('general', { startupTaints });
    expect(onNode(small, { nodes, nodePools: [first([]), general([starting])] })).toEqual([]);
    expect(onNode(small, { nodes, nodePools: [first([starting]), general([])] })).toEqual(notTolerated('starting'));
  });

  test('that is registered has its own labels and taints, and no longer those of its claim', () => {
    const nodeClaims = [
      claim({ labels: { ...ofD4, team: 'red' }, spec: { taints: [bad] }, status: { nodeName: 'n' } }),
    ];
    const registered = { [labelKey.registered]: 'true' };
    const tolerant = { tolerations: [{ key: 'bad', operator: 'Exists' }] };
    const red = spec('1', '1Gi', { nodeSelector: { team: 'red' }, ...tolerant });
    expect(onNode(small, { nodes: [own()], nodeClaims })).toEqual(notTolerated('bad'));
    expect(onNode(small, { nodes: [own(registered)], nodeClaims })).toEqual([]);
    expect(onNode(red, { nodes: [own()], nodeClaims })).toEqual([]);
    expect(onNode(red, { nodes: [own(registered)], nodeClaims })).toEqual(notMet('n'));
  });

  test('that is being replaced takes no pods', () => {
    const tolerant = spec('1', '1Gi', { tolerations: [{ operator: 'Exists' }] });
    const going = own({}, [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }]);
    expect(onNode(tolerant, { nodes: [own({}, [bad])] })).toEqual([]);
    expect(onNode(tolerant, { nodes: [going] })).toEqual(['target there is no node n that stays']);
  });

  test('whose claim is given up takes no pods', () => {
    const there = claim({ labels: ofD4, status: { nodeName: 'n' } });
    const annotations = { 'nodewright.dev/given-up': 'NodeBootFailed' };
    const givenUp = { ...there, metadata: { ...there.metadata, annotations } };
    expect(onNode(small, { nodes: [own()], nodeClaims: [there] })).toEqual([]);
    expect(onNode(small, { nodes: [own()], nodeClaims: [givenUp] })).toEqual(['target there is no node n that stays']);
  });

  test('that says what it has is taken at its word, and one that says nothing will be what its size is', () => {
    const gpu = size(D4.name, 4, 16, 200_000, { capacity: { cpu: 4, memory: '16Gi', pods: 30, 'nvidia.com/gpu': 1 } });
    const wanting: PodSpec = { containers: [{ resources: { requests: { cpu: 1, 'nvidia.com/gpu': 1 } } }] };
    const of = (status: Node['status']): ReadonlyArray<string> => {
      const nodes = [{ ...own(), status: status ?? {} }];
      const nodeClaims = [claim({ labels: ofD4, status: { nodeName: 'n' } })];
      return onNode(wanting, { nodes, nodeClaims, types: [gpu] });
    };
    expect(of({})).toEqual([]);
    expect(of(room)).toEqual(['resources n: nvidia.com/gpu 1 of 0']);
  });

  test('that has more than its claim promised has it', () => {
    const eight = { ...own(), status: { allocatable: { cpu: 8, memory: '32Gi', pods: 30 } } };
    const nodeClaims = [claim({ labels: ofD4, status: { ...room, nodeName: 'n' } })];
    expect(onNode(spec('5', '1Gi'), { nodes: [eight], nodeClaims })).toEqual([]);
    expect(onNode(spec('5', '1Gi'), { nodes: [own()], nodeClaims })).toEqual(['resources n: cpu 5000 of 4000']);
  });
});

describe('a claim on its way', () => {
  test('has what it says rather than what its size is', () => {
    const eight = { allocatable: { cpu: 8, memory: '32Gi', pods: 30 } };
    expect(onClaim(spec('5', '1Gi'), { nodeClaims: [claim({ labels: ofD4, status: eight })] })).toEqual([]);
    expect(onClaim(spec('5', '1Gi'), { nodeClaims: [claim({ labels: ofD4 })] })).toEqual([
      'resources k: cpu 5000 of 4000',
    ]);
  });

  test('counts against the limits of its pool with all that its size has, also what the system keeps', () => {
    const types = [{ ...D4, overhead: { cpu: 1 } }];
    const limited = (cpu: string): ReadonlyArray<string> => {
      const nodePools = [pool('general', { limits: { cpu } })];
      const cluster = { types, nodeClaims: [claim({ labels: ofD4 })], nodePools, shapes: [shape(small)], pods: [a] };
      return judge({ cluster, claims: [claimFor([a])] });
    };
    expect(limited('8')).toEqual([]);
    expect(limited('7')).toEqual(['limits NodePool general: cpu 8000 of 7000']);
  });

  test('stays, whatever else is said of it than that its machine is being taken back', () => {
    const said = (type: string) => claim({ labels: ofD4, status: { conditions: [{ type, status: 'True' }] } });
    expect(onClaim(small, { nodeClaims: [said('Launched')] })).toEqual([]);
    expect(onClaim(small, { nodeClaims: [said('InstanceTerminating')] })).toEqual([
      'target there is no claim k that stays',
    ]);
  });

  test('will be called as it is and be registered and initialised', () => {
    const wanted = { [labelKey.hostname]: 'k', [labelKey.registered]: 'true', [labelKey.initialized]: 'true' };
    for (const [key, value] of Object.entries(wanted)) {
      expect(onClaim(selecting({ [key]: value }), { nodeClaims: [claim({ labels: ofD4 })] })).toEqual([]);
    }
  });

  test('is in no zone because it is not in another', () => {
    const avoiding = claim({ labels: ofD4, spec: { requirements: [requirement(labelKey.zone, 'NotIn', z2)] } });
    expect(onClaim(selecting({ [labelKey.zone]: z2 }), { nodeClaims: [avoiding] })).toEqual(notMet('k'));
  });

  test('that was planned has the labels of its size, and another only its own', () => {
    const family = selecting({ 'karpenter.azure.com/sku-family': 'D' });
    const planned = { pods: [], instanceType: D4.name, zone: z1, capacityType: 'on-demand' as const };
    const inFlight = new Map([['k', planned]]);
    const nodeClaims = [claim({ labels: { [labelKey.nodePool]: 'general' } })];
    expect(onClaim(family, { nodeClaims, inFlight })).toEqual([]);
    expect(onClaim(selecting({ [labelKey.instanceType]: D4.name }), { nodeClaims, inFlight })).toEqual([]);
    expect(onClaim(family, { nodeClaims: [claim({ labels: ofD4 })] })).toEqual(notMet('k'));
  });
});

describe('a node that the plan opens', () => {
  const opening = (podSpec: PodSpec, more: Judged['cluster'] = {}, parts: Parameters<typeof claimFor>[1] = {}) =>
    judge({ cluster: { shapes: [shape(podSpec)], pods: [a], ...more }, claims: [claimFor([a], parts)] });

  test('has the taints of its own pool', () => {
    const tainted = pool('first', { taints: [bad] });
    expect(opening(small, { nodePools: [tainted, pool('general')] })).toEqual([]);
    expect(opening(small, { nodePools: [tainted, pool('general', { taints: [bad] })] }, { taints: [bad] })).toEqual([
      'taint pods of default/no owner on planned-0: bad:NoSchedule is not tolerated',
    ]);
  });

  test('has the labels that the plan gives it', () => {
    const nodePools = [pool('general', { requirements: [requirement('team', 'In', 'red', 'blue')] })];
    const red = selecting({ team: 'red' });
    expect(opening(red, { nodePools }, { labels: { team: 'red' } })).toEqual([]);
    expect(opening(red, { nodePools }, { labels: { team: 'blue' } })).toEqual(notMet('planned-0'));
  });

  test('is a host of its own for those that share none', () => {
    const term = { topologyKey: labelKey.hostname, labelSelector: {} };
    const podAntiAffinity = { requiredDuringSchedulingIgnoredDuringExecution: [term] };
    const cluster = { shapes: [shape(spec('1', '1Gi', { affinity: { podAntiAffinity } }))], pods: [a, b] };
    expect(judge({ cluster, claims: [claimFor([a]), claimFor([b])] })).toEqual([]);
    expect(judge({ cluster, claims: [claimFor([a, b])] })).toEqual(['anti-affinity default/0: 2 pods in planned-0']);
  });
});
