import { describe, expect, test } from 'vitest';
import { createPodsWait } from '../../../../../sandbox/start/record/await-pods.ts';
import { buildView, type Sources } from '../../../../../sandbox/start/view/build-view.ts';
import type { ClusterEvent, NodeClaim } from '../../../../../sandbox/start/view/cluster-objects.ts';
import type { PodDisruptionBudget } from '../../../../../sandbox/start/view/held-up.ts';
import { createPodTimer } from '../../../../../sandbox/start/record/time-pods.ts';
import type { NodeState, View } from '../../../../../sandbox/start/view/view.ts';
import type { Condition } from '../../../../../shared/kubernetes/manifest.ts';
import type { Node, Pod } from '../../../../../sandbox/kubernetes/client/objects.ts';

const NOW = Date.parse('2026-11-21T12:00:00Z');

function meta(name: string, more: object = {}): Pod['metadata'] {
  return { name, uid: `uid-${name}`, resourceVersion: '1', creationTimestamp: '2026-11-21T11:59:00Z', ...more };
}

function pod(name: string, nodeName: string | null, phase: string, conditions: ReadonlyArray<Condition> = []): Pod {
  return {
    metadata: meta(name, { namespace: 'default' }),
    spec: {
      ...(nodeName === null ? {} : { nodeName }),
      containers: [{ name: 'c', resources: { requests: { cpu: '1', memory: '1Gi' } } }],
    },
    status: { phase, conditions },
  };
}

const isTrue = (type: string): Condition => ({ type, status: 'True' });

function claim(name: string, conditions: ReadonlyArray<string>, more: object = {}): NodeClaim {
  const annotations = { 'nodewright.dev/planned-offering': 'Standard_D4s_v5/westeurope-2/spot' };
  return { metadata: meta(name, { annotations, ...more }), status: { conditions: conditions.map(isTrue) } };
}

function node(name: string, isReady: boolean): Node {
  const conditions = isReady ? [isTrue('Ready')] : [];
  return { metadata: meta(name), status: { allocatable: { cpu: '3860m', memory: '14Gi' }, conditions } };
}

function sources(
  parts: Partial<Record<'pods' | 'nodes' | 'claims' | 'budgets' | 'events', ReadonlyArray<object>>>,
): Sources {
  const byName = <T>(list: ReadonlyArray<object> | undefined): ReadonlyMap<string, T> =>
    new Map((list ?? []).map((object) => [(object as Pod).metadata.name, object as T]));
  return {
    pods: byName<Pod>(parts.pods),
    nodes: byName<Node>(parts.nodes),
    claims: byName<NodeClaim>(parts.claims),
    budgets: byName<PodDisruptionBudget>(parts.budgets),
    events: byName<ClusterEvent>(parts.events),
    claimSeenAt: new Map([['a', NOW - 5_000]]),
    eventSeenAt: new Map(),
    plannedAt: new Map(),
    shortages: () => [],
  };
}

const priceOf = (): number => 100_000;

describe('the view', () => {
  test.each<[NodeState['kind'], ReadonlyArray<string>, Node | null]>([
    ['launching', [], null],
    ['booting', ['Launched'], null],
    ['joining', ['Launched'], node('aks-a', false)],
    ['joining', ['Launched'], node('aks-a', true)],
    ['ready', ['Launched', 'Registered'], node('aks-a', true)],
  ])('shows a node as %s while its claim is %j', (kind, conditions, machine) => {
    const nodes = machine === null ? [] : [machine];
    const view = buildView(sources({ claims: [claim('a', conditions)], nodes }), priceOf, NOW);
    expect(view.nodes).toMatchObject([
      { name: 'aks-a', state: { kind }, size: 'D4s_v5', zone: '2', capacityType: 'spot' },
    ]);
  });

  test('tells a node that Azure takes back from one that is removed', () => {
    const annotations = { 'nodewright.dev/interruption': 'preempt' };
    const deletionTimestamp = '2026-11-21T11:59:59Z';
    const redeployed = { 'nodewright.dev/interruption': 'redeploy since 2026-11-21T11:59:00Z' };
    const claims = [
      claim('a', [], { deletionTimestamp, annotations }),
      claim('b', [], { deletionTimestamp, annotations: redeployed }),
    ];
    const states = buildView(sources({ claims }), priceOf, NOW).nodes.map(({ state }) => state);
    expect(states).toContainEqual({ kind: 'leaving', takenBack: true, waitsFor: null });
    expect(states).toContainEqual({ kind: 'leaving', takenBack: false, waitsFor: null });
  });

  test('does not count a node as ready while a startup taint is on it', () => {
    const startupTaints = [{ key: 'node.cilium.io/agent-not-ready', effect: 'NoExecute' }];
    const waiting = { ...claim('a', ['Launched', 'Registered']), spec: { startupTaints } };
    const tainted = { ...node('aks-a', true), spec: { taints: [{ ...startupTaints[0], value: 'true' }] } };
    const stateWith = (machine: object): unknown =>
      buildView(sources({ claims: [waiting], nodes: [machine] }), priceOf, NOW).nodes[0]?.state;
    expect(stateWith(tainted)).toEqual({ kind: 'tainted', taint: 'node.cilium.io/agent-not-ready:NoExecute' });
    expect(stateWith(node('aks-a', true))).toEqual({ kind: 'ready' });
  });

  test('names what holds the pods of a node that is to be emptied', () => {
    const leaving = claim('a', ['Launched', 'Registered'], { deletionTimestamp: '2026-11-21T11:59:59Z' });
    const held = pod('p', 'aks-a', 'Running');
    const labelled = { ...held, metadata: { ...held.metadata, labels: { app: 'web' } } };
    const kept = { ...held, metadata: { ...held.metadata, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
    const budget = (disruptionsAllowed: number, namespace = 'default'): PodDisruptionBudget => ({
      metadata: meta('web', { namespace }),
      spec: { selector: { matchLabels: { app: 'web' } } },
      status: { disruptionsAllowed },
    });
    const waitsFor = (one: object, budgets: ReadonlyArray<object>): unknown =>
      buildView(sources({ claims: [leaving], pods: [one], budgets }), priceOf, NOW).nodes[0]?.state;
    const state = { kind: 'leaving', takenBack: false };
    expect(waitsFor(labelled, [budget(0)])).toEqual({ ...state, waitsFor: 'PodDisruptionBudget default/web' });
    expect(waitsFor(labelled, [budget(1)])).toEqual({ ...state, waitsFor: null });
    expect(waitsFor(labelled, [budget(0, 'other')])).toEqual({ ...state, waitsFor: null });
    expect(waitsFor(kept, [])).toEqual({ ...state, waitsFor: 'pod default/p (do-not-disrupt)' });
  });

  test('adds up what the pods of a node ask for, and leaves finished ones out', () => {
    const pods = [pod('p', 'aks-a', 'Running'), pod('q', 'aks-a', 'Pending'), pod('r', 'aks-a', 'Succeeded')];
    const view = buildView(sources({ nodes: [node('aks-a', true)], pods }), priceOf, NOW);
    expect(view.nodes).toMatchObject([{ pods: 2, cpu: { used: 2_000, of: 3_860 }, memory: { used: 2 * 2 ** 30 } }]);
    expect(view.pods).toEqual({ running: 2, starting: 1, pending: 0 });
  });

  test('gives the reason of each pod that has no node, until a plan has a place for it', () => {
    const event: ClusterEvent = {
      metadata: meta('e'),
      involvedObject: { kind: 'Pod', uid: 'uid-p' },
      reason: 'FailedScheduling',
      message: 'Failed to schedule pod, all pools: too big; ask for less',
    };
    const waiting = sources({ pods: [pod('p', null, 'Pending')], events: [event] });
    expect(buildView(waiting, priceOf, NOW).waiting).toEqual([
      { reason: 'all pools: too big; ask for less', pods: ['p'] },
    ]);
    const planned = { ...waiting, plannedAt: new Map([['uid-p', NOW - 1_000]]) };
    expect(buildView(planned, priceOf, NOW).waiting).toEqual([]);
    // It holds again, and the event has been counted up.
    const again = { ...event, lastTimestamp: new Date(NOW + 10_000).toISOString() };
    const later = { ...planned, events: new Map([['e', again]]) };
    expect(buildView(later, priceOf, NOW + 20_000).waiting).toHaveLength(1);
  });

  test.each([
    ['after it', 800, 1],
    ['before it', 400, 0],
  ])('tells a reason from a plan of the same second, of which the API server keeps no parts: %s', (_, ms, shown) => {
    const second = Math.floor(NOW / 1_000) * 1_000 - 5_000;
    const event: ClusterEvent = {
      metadata: { ...meta('e'), creationTimestamp: new Date(second).toISOString() },
      involvedObject: { kind: 'Pod', uid: 'uid-p' },
      reason: 'FailedScheduling',
      message: 'Failed to schedule pod, all pools: no quota',
    };
    const given = sources({ pods: [pod('p', null, 'Pending')], events: [event] });
    const eventSeenAt = new Map([[`${event.metadata.namespace ?? ''}/e`, second + ms]]);
    const plannedAt = new Map([['uid-p', second + 600]]);
    expect(buildView({ ...given, eventSeenAt, plannedAt }, priceOf, NOW).waiting).toHaveLength(shown);
  });
});

describe('the wait for all pods', () => {
  const view = (changes: Partial<View>): View => ({
    nodes: [],
    pods: { running: 0, starting: 0, pending: 0 },
    waiting: [],
    shortages: [],
    microUsdPerHour: 0,
    ...changes,
  });

  test('ends when as many run as were asked for, and not before they exist', () => {
    const judge = createPodsWait(2);
    expect(judge(view({}), 0).kind).toBe('waiting');
    expect(judge(view({ pods: { running: 1, starting: 1, pending: 0 } }), 1).kind).toBe('waiting');
    expect(judge(view({ pods: { running: 2, starting: 0, pending: 0 } }), 2).kind).toBe('all-run');
  });

  test('ends early when every pod has its reason and nothing moves', () => {
    const judge = createPodsWait(1);
    const stuck = view({ pods: { running: 0, starting: 0, pending: 1 }, waiting: [{ reason: 'x', pods: ['p'] }] });
    expect(judge(stuck, 0).kind).toBe('waiting');
    expect(judge(stuck, 7_000).kind).toBe('waiting');
    expect(judge(stuck, 9_000).kind).toBe('stuck');
  });

  test('ends when nothing moves and a node has a startup taint that nobody takes off', () => {
    const judge = createPodsWait(1);
    const leading = buildView(
      sources({ claims: [claim('a', ['Launched', 'Registered'])], nodes: [node('aks-a', true)] }),
      priceOf,
      NOW,
    );
    const tainted = leading.nodes.map((row) => ({
      ...row,
      state: { kind: 'tainted', taint: 'a:NoSchedule' } as const,
    }));
    const waiting = { ...leading, nodes: tainted, pods: { running: 0, starting: 0, pending: 1 } };
    expect(judge(waiting, 0).kind).toBe('waiting');
    expect(judge(waiting, 9_000).kind).toBe('stuck');
  });

  test('goes on while a pod has no reason, and ends after ten minutes', () => {
    const judge = createPodsWait(1);
    const waiting = view({ pods: { running: 0, starting: 0, pending: 1 } });
    expect(judge(waiting, 0).kind).toBe('waiting');
    expect(judge(waiting, 500_000).kind).toBe('waiting');
    expect(judge(waiting, 601_000).kind).toBe('too-late');
  });
});

describe('the times of pods', () => {
  test('run from unschedulable to the first PUT of the VM they end on, and to running', () => {
    let now = 0;
    const timer = createPodTimer(() => now);
    const unschedulable: Condition = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
    timer.observe(pod('p', null, 'Pending', [unschedulable]));
    now = 9_000;
    timer.observe(pod('p', 'aks-a', 'Pending'));
    now = 10_000;
    timer.observe(pod('p', 'aks-a', 'Running'));
    const times = timer.read((vm) => (vm === 'aks-a' ? 640 : undefined));
    expect(times).toEqual({
      toVmPut: { count: 1, p50: 640, p99: 640 },
      toRunning: { count: 1, p50: 10_000, p99: 10_000 },
    });
  });

  test('leave out pods that found room on a machine asked for earlier, and pods that never waited', () => {
    let now = 1_000;
    const timer = createPodTimer(() => now);
    timer.observe(pod('p', null, 'Pending', [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }]));
    timer.observe(pod('q', 'aks-a', 'Running'));
    now = 2_000;
    timer.observe(pod('p', 'aks-a', 'Running'));
    expect(timer.read(() => 500)).toEqual({ toVmPut: null, toRunning: { count: 1, p50: 1_000, p99: 1_000 } });
  });
});
