import { describe, expect, test } from 'vitest';
import type { PodDisruptionBudget } from '../../../../shared/kubernetes/manifest.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { daemonSet, node, pool, requirement, spec } from '../../../kit/core/build.ts';
import {
  D4,
  key,
  machines,
  near,
  ours,
  pod,
  replicas,
  requires,
  schedule,
  selecting,
  spreadOver,
  term,
  web,
  z1,
  z2,
  z3,
} from '../kit/kit.ts';

/** Karpenter's scenarios of section D: nodes in flight, and nodes that exist. */

/** A claim that was planned for no pod of these tests, whose node is not there yet. */
function inFlight(
  name: string,
  parts: { readonly zone?: string; readonly pods?: ReadonlyArray<string>; readonly deleting?: boolean } = {},
) {
  const { claim } = ours(name, { initialized: false, deleting: parts.deleting ?? false });
  const { status: _, ...bare } = claim;
  const planned = {
    pods: parts.pods ?? [],
    instanceType: 'Standard_D4s_v5',
    zone: parts.zone ?? z1,
    capacityType: 'on-demand' as const,
  };
  const known: ProvisioningInput['inFlight'] = new Map([[claim.metadata.name, planned]]);
  return {
    nodeClaims: [{ ...bare, metadata: { ...bare.metadata, labels: { [key.pool]: 'default' } } }],
    inFlight: known,
  };
}

describe('capacity on its way', () => {
  test('no second node is launched while one in flight holds the pod [D01]', () => {
    expect(schedule({ ...inFlight('n'), pods: [pod('a')] }).placeOf('a')).toBe('claim n-claim');
  });

  test('nor when the pod selects what that node will have [D01]', () => {
    const wants = { nodeSelector: { [key.zone]: z1, [key.type]: 'Standard_D4s_v5' } };
    expect(schedule({ ...inFlight('n'), pods: [pod('a', wants)] }).placeOf('a')).toBe('claim n-claim');
  });

  test('nor for the pods that it was launched for [D01]', () => {
    const there = inFlight('n', { pods: ['a-0', 'a-1'] });
    const outcome = schedule({ ...there, pods: replicas(2, 'a', { cpu: '1900m' }) });
    expect([outcome.perPlace('a'), outcome.placeOf('a-0')]).toEqual([[2], 'claim n-claim']);
  });

  test('nor for pods that were nominated to a node that exists [D01]', () => {
    const nominated = pod('a', { cpu: '3', facts: { nominatedNodeName: 'n' } });
    const outcome = schedule({ ...machines(ours('n')), pods: [nominated, pod('b', { cpu: '3' })] });
    expect([outcome.placeOf('a'), outcome.placeOf('b')]).toEqual(['node n', 'new 0']);
  });

  test('a second node is launched when the pod does not fit, or selects something else [D02]', () => {
    const outcome = schedule({
      ...inFlight('n'),
      pods: [pod('a', { cpu: '3' }), pod('b', { cpu: '3' }), pod('c', { nodeSelector: { [key.zone]: z2 } })],
    });
    expect(outcome.claims.flatMap(({ pods }) => pods.map(({ uid }) => uid)).toSorted()).toEqual(['b', 'c']);
  });

  test('a second node is launched when the one in flight is being deleted [D02]', () => {
    expect(schedule({ ...inFlight('n', { deleting: true }), pods: [pod('a')] }).placeOf('a')).toBe('new 0');
  });

  test('a spread over zones counts the pods that were planned onto nodes in flight [D03]', () => {
    const spread = { labels: web, topologySpreadConstraints: [spreadOver(key.zone)] };
    const outcome = schedule({ ...inFlight('n', { pods: ['web-0'], zone: z2 }), pods: replicas(3, 'web', spread) });
    expect(outcome.placeOf('web-0')).toBe('claim n-claim');
    expect(outcome.claims.map(({ offering }) => offering.zone).toSorted()).toEqual([z1, z3]);
  });

  test('a spread over hosts counts them too [D03]', () => {
    const spread = { labels: web, topologySpreadConstraints: [spreadOver(key.host)] };
    const outcome = schedule({ ...inFlight('n', { pods: ['web-0'] }), pods: replicas(3, 'web', spread) });
    expect(outcome.perPlace('web')).toEqual([1, 1, 1]);
  });

  const NOT_READY = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
  const DEDICATED = { key: 'dedicated', effect: 'NoSchedule' };
  const RESERVED = { key: 'nodewright.dev/reserved', value: 'n', effect: 'NoSchedule' };

  test.each([
    [
      'its pool’s taint, which the pod does not tolerate, keeps the pod out',
      { claimTaints: [DEDICATED], taints: [DEDICATED] },
      false,
    ],
    ['a taint that only nodes that start have is assumed away', { taints: [NOT_READY] }, true],
    ['the taint that keeps it for its planned pods is assumed away', { taints: [RESERVED] }, true],
    ['a startup taint is assumed away', { startupTaints: [DEDICATED], taints: [DEDICATED] }, true],
    ['a taint of somebody else’s is respected', { taints: [{ key: 'mine', effect: 'NoSchedule' }] }, false],
  ])('on a node that is starting, %s [D04] [M02]', (_, parts, takes) => {
    const outcome = schedule({ ...machines(ours('n', { initialized: false, ...parts })), pods: [pod('a')] });
    expect(outcome.placeOf('a')).toBe(takes ? 'node n' : 'new 0');
  });

  test.each([
    ['a startup taint that came back', { startupTaints: [DEDICATED], taints: [DEDICATED] }],
    ['a not-ready taint', { taints: [NOT_READY] }],
  ])('once the node is initialized, %s counts like any other [D04] [M02]', (_, parts) => {
    expect(schedule({ ...machines(ours('n', parts)), pods: [pod('a')] }).placeOf('a')).toBe('new 0');
  });

  test('daemons that are not there yet keep their room, those that are there take it once [D05] [M01]', () => {
    const agent = {
      cpu: '1',
      owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'u' },
      namespace: 'kube-system',
    };
    const daemonSets = [daemonSet('agent', spec('1', '128Mi'))];
    const waiting = pod('a', { cpu: '3500m' });
    const fits = pod('b', { cpu: '3' });
    const without = schedule({ ...machines(ours('n', { initialized: false })), daemonSets, pods: [waiting, fits] });
    expect([without.placeOf('a'), without.placeOf('b')]).toEqual(['new 0', 'node n']);
    const there = schedule({
      ...machines(ours('n', { initialized: false })),
      daemonSets,
      pods: [fits, pod('d', { ...agent, on: 'n' })],
    });
    expect(there.placeOf('b')).toBe('node n');
  });

  test('daemons that nobody expected take their room and no more [D05]', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'unknown', uid: 'u' };
    const outcome = schedule({
      ...machines(ours('n', { initialized: false })),
      daemonSets: [daemonSet('agent', spec('500m', '128Mi'))],
      pods: [pod('d', { cpu: '1', owner, on: 'n' }), pod('a', { cpu: '2500m' }), pod('b', { cpu: '100m' })],
    });
    expect(outcome.placeOf('a')).toBe('node n');
    expect(outcome.placeOf('b')).toBe('new 0');
  });

  test.each(['karpenter.sh/initialized', 'karpenter.sh/registered'])(
    'a daemon that selects %s is reserved on nodes in flight [D05]',
    (label) => {
      const daemonSets = [daemonSet('agent', spec('3', '128Mi', { nodeSelector: { [label]: 'true' } }))];
      const outcome = schedule({ ...inFlight('n'), daemonSets, pods: [pod('a', { cpu: '2' })] });
      expect(outcome.placeOf('a')).toBe('new 0');
    },
  );
});

describe('which capacity comes first', () => {
  test('nodes in flight are filled before new ones are opened [D06]', () => {
    const outcome = schedule({ ...inFlight('n'), pods: replicas(5, 'a', { cpu: '1' }) });
    expect(outcome.plan.nominations[0]?.pods).toHaveLength(4);
  });

  test('nodes that are initialized come before those that start [D06]', () => {
    const there = machines(ours('a-starting', { initialized: false }), ours('b-there'));
    expect(schedule({ ...there, pods: [pod('a')] }).placeOf('a')).toBe('node b-there');
  });

  test('pods with one host port get a node each [D06]', () => {
    const listens = { containers: [{ resources: { requests: { cpu: '100m' } }, ports: [{ hostPort: 80 }] }] };
    const outcome = schedule({ ...machines(ours('n')), pods: replicas(3, 'a', listens) });
    expect(outcome.perPlace('a')).toEqual([1, 1, 1]);
    expect(outcome.claims).toHaveLength(2);
  });

  test('a node that is not Karpenter’s takes pods [D07]', () => {
    expect(schedule({ nodes: [node('foreign', 4, 16)], pods: [pod('a')] }).placeOf('a')).toBe('node foreign');
  });

  test('a label that an existing node lacks is not assumed, and a pool that can have it opens a node [D07]', () => {
    const nodes = [node('foreign', 4, 16)];
    const wants = requires(requirement('example.com/team', 'In', 'red'));
    const labelled = pool('default', { labels: { 'example.com/team': 'red' } });
    expect(schedule({ nodes, pools: [labelled], pods: [pod('a', wants)] }).placeOf('a')).toBe('new 0');
  });

  test('a daemon that does not match an existing node takes nothing there [D07]', () => {
    const daemonSets = [daemonSet('agent', spec('3', '128Mi', { nodeSelector: { [key.zone]: z2 } }))];
    const nodes = [node('foreign', 4, 16, { [key.zone]: z1 })];
    expect(schedule({ nodes, daemonSets, pods: [pod('a', { cpu: '2' })] }).placeOf('a')).toBe('node foreign');
  });

  test('a plan nominates and never binds [D08]', () => {
    const outcome = schedule({ ...machines(ours('n')), pods: [pod('a')] });
    expect(outcome.plan.nominations).toEqual([
      { target: { kind: 'node', name: 'n' }, pods: [{ name: 'default/a', uid: 'a' }] },
    ]);
  });

  test('extended resources that a starting kubelet reports as zero are taken from the claim, until it is initialized [D08] [M01]', () => {
    const reported = { cpu: 4, memory: '16Gi', pods: 30, 'nvidia.com/gpu': '0' };
    const promised = { ...reported, 'nvidia.com/gpu': '1' };
    const wants = pod('a', { requests: { 'nvidia.com/gpu': '1' } });
    const place = (initialized: boolean) =>
      schedule({
        ...machines(ours('n', { initialized, allocatable: reported, claimAllocatable: promised })),
        pods: [wants],
      }).placeOf('a');
    expect([place(false), place(true)]).toEqual(['node n', 'left']);
  });

  test('pods that want to be together stay together from plan to plan though nobody bound them [D08]', () => {
    const together = { labels: web, ...near(term(key.host, web)) };
    const outcome = schedule({ ...inFlight('n', { pods: ['web-0'] }), pods: replicas(3, 'web', together) });
    expect(outcome.perPlace('web')).toEqual([3]);
  });
});

describe('pods on nodes that are being deleted', () => {
  const leaving = (...pods: ReadonlyArray<ReturnType<typeof pod>>) =>
    schedule({ ...machines(ours('n', { deleting: true })), pods });
  const owned = (kind: string) => ({ owner: { apiVersion: 'apps/v1', kind, name: 'o', uid: 'u' }, on: 'n' });

  test.each([
    ['is active', owned('ReplicaSet'), true],
    ['belongs to a DaemonSet', owned('DaemonSet'), false],
    ['belongs to its node', { owner: { apiVersion: 'v1', kind: 'Node', name: 'n', uid: 'u' }, on: 'n' }, false],
    ['belongs to a ReplicaSet and is being deleted', { ...owned('ReplicaSet'), facts: { deleting: true } }, false],
    ['belongs to a StatefulSet and is being deleted', { ...owned('StatefulSet'), facts: { deleting: true } }, true],
    [
      'must not be disrupted',
      { ...owned('ReplicaSet'), annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
      false,
    ],
  ])('a pod that %s gets another place or not [D09]', (_, parts, moves) => {
    expect(leaving(pod('a', parts)).placeOf('a')).toBe(moves ? 'new 0' : 'nowhere');
  });

  const budget = (name: string, rule: PodDisruptionBudget['spec']): PodDisruptionBudget => ({
    metadata: { name, namespace: 'default' },
    spec: { selector: selecting(web), ...rule },
  });

  test.each([
    ['at most 0 unavailable', [budget('a', { maxUnavailable: 0 })], false],
    ['at most 0 % unavailable', [budget('a', { maxUnavailable: '0%' })], false],
    ['100 % available', [budget('a', { minAvailable: '100%' })], false],
    ['two of them', [budget('a', { maxUnavailable: 1 }), budget('b', { maxUnavailable: 1 })], false],
    ['at most 1 unavailable', [budget('a', { maxUnavailable: 1 })], true],
  ])('a budget that asks for %s decides whether the pod will move [D09]', (_, podDisruptionBudgets, moves) => {
    const there = machines(ours('n', { deleting: true }));
    const outcome = schedule({
      ...there,
      podDisruptionBudgets,
      pods: [pod('a', { ...owned('ReplicaSet'), labels: web })],
    });
    expect(outcome.placeOf('a')).toBe(moves ? 'new 0' : 'nowhere');
  });

  test('a pod that is not ready, whose budget lets such pods go, moves whatever else the budget says [D09]', () => {
    const there = machines(ours('n', { deleting: true }));
    const podDisruptionBudgets = [budget('a', { maxUnavailable: 0, unhealthyPodEvictionPolicy: 'AlwaysAllow' })];
    const broken = { ...owned('ReplicaSet'), labels: web, facts: { ready: false } };
    expect(schedule({ ...there, podDisruptionBudgets, pods: [pod('a', broken)] }).placeOf('a')).toBe('new 0');
    const sound = { ...owned('ReplicaSet'), labels: web };
    expect(schedule({ ...there, podDisruptionBudgets, pods: [pod('a', sound)] }).placeOf('a')).toBe('nowhere');
  });

  test('all pods of a node that is being deleted go to one node in flight that holds them [D10]', () => {
    const flying = inFlight('m');
    const dying = machines(ours('n', { deleting: true }));
    const outcome = schedule({
      types: [D4],
      nodes: dying.nodes,
      nodeClaims: [...dying.nodeClaims, ...flying.nodeClaims],
      inFlight: flying.inFlight,
      pods: Array.from({ length: 6 }, (_, index) => pod(`a-${index}`, { cpu: '500m', ...owned('ReplicaSet') })),
    });
    expect([outcome.perPlace('a'), outcome.placeOf('a-0')]).toEqual([[6], 'claim m-claim']);
  });
});
