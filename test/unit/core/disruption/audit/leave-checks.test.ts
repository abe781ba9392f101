import { describe, expect, test } from 'vitest';
import { auditDisruption } from '../../../../../shared/core/disruption/audit/audit-disruption.ts';
import type { Pod, PodShape } from '../../../../../shared/core/model/cluster.ts';
import type { DisruptionStep } from '../../../../../shared/core/disruption/plan/disruption-plan.ts';
import { planDisruption } from '../../../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionInput, Rollout } from '../../../../../shared/core/model/disruption-input.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { pool, shape, spec } from '../../../../kit/core/build.ts';
import {
  disruptable,
  disruptionInput,
  machine,
  NOW,
  on,
  type Disruption,
  type Machine,
} from '../../../../kit/core/build-disruption.ts';

/**
 * A plan is made for a cluster and audited against another, in which the rule under test forbids it: so that the audit
 * is seen to know by itself what the planner knows.
 */
const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
const DELETED = { deletionTimestamp: '1970-01-02T11:00:00Z' };
const shapes = [shape(spec('500m', '1Gi'))];

const clusterOf = (machines: ReadonlyArray<Machine>, nodes = '100%', parts: object = {}): DisruptionInput =>
  disruptionInput({
    machines,
    shapes,
    pods: on('a', 0, 6),
    nodePools: [disruptable('general', { budgets: [{ nodes }] })],
    ...parts,
  });

function findings(planned: DisruptionInput, given: DisruptionInput): ReadonlyArray<string> {
  const plan = planDisruption(planned, instant(NOW));
  return auditDisruption(plan, given, instant(NOW))
    .filter(({ rule }) => ['blocked', 'budget'].includes(rule))
    .map(({ rule, text }) => `${rule}: ${text}`);
}

const node = (name: string, change: (one: Machine) => Machine = (one) => one): Machine => change(machine(name));
const claimDeleted = (one: Machine): Machine => ({
  ...one,
  claim: { ...one.claim, metadata: { ...one.claim.metadata, ...DELETED } },
});
const nodeDeleted = (one: Machine): Machine => ({
  ...one,
  node: { ...one.node, metadata: { ...one.node.metadata, ...DELETED } },
});
const marked = (one: Machine): Machine => ({
  ...one,
  node: { ...one.node, spec: { ...one.node.spec, taints: [DISRUPTED] } },
});
const unready = (one: Machine): Machine => ({
  ...one,
  node: { ...one.node, status: { ...one.node.status, conditions: [{ type: 'Ready', status: 'False' }] } },
});
const terminating = (one: Machine): Machine => ({
  ...one,
  claim: {
    ...one.claim,
    status: {
      ...one.claim.status,
      conditions: [...(one.claim.status?.conditions ?? []), { type: 'InstanceTerminating', status: 'True' }],
    },
  },
});
const unclaimed = ({ node: plain, claim }: Machine): Machine => ({
  node: plain,
  claim: { ...claim, status: { ...claim.status, providerID: 'azure:///z', nodeName: 'z' } },
});
const silent = ({ node: plain, claim }: Machine): Machine => ({
  node: { ...plain, spec: { providerID: plain.spec?.providerID ?? '' }, status: {} },
  claim,
});
const starting = (one: Machine): Machine => machine(one.node.metadata.name, { initialized: false });

/** With `b` and its pods as `change` has them: what is said of a plan in which it goes. */
const blocked = (
  change: (one: Machine) => Machine,
  parts: object = {},
  reason: DisruptionStep['reason'] = 'Empty',
): ReadonlyArray<string> => {
  const plain = clusterOf([node('a'), node('b')]);
  const plan = planDisruption(plain, instant(NOW));
  const steps = plan.steps.map((step) => ({ ...step, reason }));
  return auditDisruption({ ...plan, steps }, clusterOf([node('a'), node('b', change)], '100%', parts), instant(NOW))
    .filter(({ rule }) => rule === 'blocked')
    .map(({ text }) => text);
};
const same = (one: Machine): Machine => one;
const says =
  (...conditions: ReadonlyArray<string>) =>
  ({ node: plain, claim }: Machine): Machine => ({
    node: plain,
    claim: {
      ...claim,
      status: { ...claim.status, conditions: conditions.map((type) => ({ type, status: 'True' })) },
    },
  });
const drifts =
  (status: string) =>
  ({ node: plain, claim }: Machine): Machine => ({
    node: plain,
    claim: { ...claim, status: { ...claim.status, conditions: [{ type: 'Drifted', status }] } },
  });
const annotated =
  (of: 'node' | 'claim') =>
  (one: Machine): Machine => ({
    ...one,
    [of]: { ...one[of], metadata: { ...one[of].metadata, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } },
  });
const withPods = (podShape: PodShape) => ({
  shapes: [...shapes, podShape],
  pods: [...on('a', 0, 6), ...on('b', 1, 1)],
});
const web = shape(spec('500m', '1Gi'), { app: 'web' });
const evictions = (disruptionsAllowed: number, name = 'web', more: object = {}) => ({
  metadata: { name, namespace: 'default' },
  spec: { selector: { matchLabels: { app: 'web' } }, ...more },
  status: { disruptionsAllowed },
});
const disruption = (given: Disruption) => ({ nodePools: [disruptable('general', given)] });
const fixed = { nodePools: [{ ...disruptable(), spec: { ...disruptable().spec, replicas: 2 } }] };

describe('a node does not go', () => {
  test.each([
    ['whose claim is being deleted', claimDeleted, 'blocked: step 1: b is going already'],
    ['that is being deleted itself', nodeDeleted, 'blocked: step 1: b is going already'],
    ['that is not initialized', starting, 'blocked: step 1: b is not initialized'],
  ])('%s', (_, change, finding) => {
    const plain = clusterOf([node('a'), node('b')]);
    expect(findings(plain, plain)).toEqual([]);
    expect(findings(plain, clusterOf([node('a'), node('b', change)]))).toContain(finding);
  });

  test('that is to be left out', () => {
    const plain = clusterOf([node('a'), node('b')]);
    const leaving = { ...plain, policy: { ...plain.policy, leftOut: new Set(['b']) } };
    expect(findings(plain, leaving)).toEqual(['blocked: step 1: b is to be left out']);
  });

  test('for what it costs while pods that wait come first', () => {
    const plain = clusterOf([node('a'), node('b')]);
    const waiting = { ...plain, policy: { ...plain.policy, goes: 'forced' as const } };
    expect(findings(plain, waiting)).toEqual(['blocked: step 1: b is to wait for pods that wait']);
  });

  test.each<[string, (one: Machine) => Machine, object, DisruptionStep['reason'], string]>([
    ['of no NodePool', same, { nodePools: [disruptable('other')] }, 'Empty', 'is of no NodePool'],
    ['that must not be disrupted', annotated('node'), {}, 'Empty', 'must not be disrupted'],
    ['whose claim must not be disrupted', annotated('claim'), {}, 'Drifted', 'must not be disrupted'],
    ['as drifted that has not', same, {}, 'Drifted', 'has not drifted'],
    ['as surplus of a pool without a fixed number', same, {}, 'StaticSurplus', 'is of no static pool'],
    ['for its cost of a pool with a fixed number', same, fixed, 'Empty', 'is of a static pool'],
    ['that does not say that it may be consolidated', says(), {}, 'Empty', 'is not consolidatable'],
    [
      'of a pool that never consolidates',
      same,
      disruption({ consolidateAfter: 'Never' }),
      'Empty',
      'is not consolidatable',
    ],
    ['as empty that has a pod', same, withPods(web), 'Empty', 'is not empty'],
    [
      'with pods of a pool that lets empty ones go only',
      same,
      { ...withPods(web), ...disruption({ consolidationPolicy: 'WhenEmpty' }) },
      'Underutilized',
      'is of a pool WhenEmpty',
    ],
    [
      'whose pod is kept by its budget',
      same,
      { ...withPods(web), podDisruptionBudgets: [evictions(0)] },
      'Underutilized',
      'has s1-b-0000, which its budgets keep',
    ],
    [
      'whose pod has two budgets, which no eviction passes',
      same,
      { ...withPods(web), podDisruptionBudgets: [evictions(1), evictions(1, 'second')] },
      'Underutilized',
      'has s1-b-0000, which its budgets keep',
    ],
    [
      'whose claim is another’s',
      ({ node: plain, claim }) => ({
        node: plain,
        claim: { ...claim, status: { ...claim.status, providerID: 'azure:///z', nodeName: 'z' } },
      }),
      {},
      'Empty',
      'is of no NodePool',
    ],
    [
      'whose claim says nothing of itself',
      ({ node: plain, claim }) => ({ node: plain, claim: { ...claim, status: { nodeName: 'b' } } }),
      { disruption: { rollouts: new Map([['general', { kind: 'canary' }]]) } },
      'Drifted',
      'has not drifted',
    ],
    [
      'of whose pods the second must not be disrupted',
      same,
      {
        shapes: [...shapes, web, { ...web, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }],
        pods: [...on('a', 0, 6), ...on('b', 1, 1), ...on('b', 2, 1)],
      },
      'Underutilized',
      'has s2-b-0000, which must not be disrupted',
    ],
    [
      'as empty that has a pod of a low priority',
      same,
      withPods({ ...web, spec: { ...web.spec, priority: -16_777_216 } }),
      'Empty',
      'is not empty',
    ],
    [
      'whose pod has a budget of which nothing is known yet',
      same,
      { ...withPods(web), podDisruptionBudgets: [{ ...evictions(0), status: undefined }] },
      'Underutilized',
      'has s1-b-0000, which its budgets keep',
    ],
    ['as drifted that has come back from it', drifts('False'), {}, 'Drifted', 'has not drifted'],
    [
      'whose pod must not be disrupted',
      same,
      withPods({ ...web, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
      'Underutilized',
      'has s1-b-0000, which must not be disrupted',
    ],
    [
      'as empty that has a pod whose eviction counts as little',
      same,
      withPods({ ...web, annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-67108864' } }),
      'Empty',
      'is not empty',
    ],
    [
      'as surplus whose pod is kept, though it says for how long it waits',
      ({ node: plain, claim }) => {
        return { node: plain, claim: { ...claim, spec: { ...claim.spec, terminationGracePeriod: '1h' } } };
      },
      { ...fixed, ...withPods(web), podDisruptionBudgets: [evictions(0)] },
      'StaticSurplus',
      'has s1-b-0000, which its budgets keep',
    ],
    [
      'of a pool that is held back',
      same,
      { disruption: { brakes: new Map([['general', { kind: 'paused', until: null }]]) } },
      'Empty',
      'is of a pool that is held back',
    ],
  ])('%s', (_, change, parts, reason, text) => {
    expect(blocked(change, parts, reason)).toContain(`step 1: b ${text}`);
  });

  test('whose pod is not ready and is kept by its budget, unless that lets such pods go', () => {
    const parts = (more: object) => ({
      shapes: [...shapes, web],
      pods: [...on('a', 0, 6), ...on('b', 1, 1, { ready: false })],
      podDisruptionBudgets: [evictions(0, 'web', more)],
    });
    expect(blocked(same, parts({ unhealthyPodEvictionPolicy: 'AlwaysAllow' }), 'Underutilized')).toEqual([]);
    expect(blocked(same, parts({}), 'Underutilized')).toHaveLength(1);
  });

  test('whose pod is kept by its budget, unless it has drifted and says for how long it waits', () => {
    const late = (one: Machine): Machine => {
      const { node: plain, claim } = says('Drifted')(one);
      return { node: plain, claim: { ...claim, spec: { ...claim.spec, terminationGracePeriod: '1h' } } };
    };
    const parts = { ...withPods(web), podDisruptionBudgets: [evictions(0)] };
    expect(blocked(late, parts, 'Drifted')).toEqual([]);
    expect(blocked(says('Drifted'), parts, 'Drifted')).toHaveLength(1);
  });

  test('before its pool has been quiet for as long as it says', () => {
    const quiet =
      (lastMs: number) =>
      (one: Machine): Machine => ({
        ...one,
        claim: { ...one.claim, status: { ...one.claim.status, lastPodEventTime: new Date(lastMs).toISOString() } },
      });
    const minute = disruption({ consolidateAfter: '1m' });
    expect(blocked(quiet(NOW - 60_000), minute)).toEqual([]);
    expect(blocked(quiet(NOW - 59_000), minute)).toEqual(['step 1: b is not consolidatable']);
  });

  describe('of a pool that never consolidates, but for a replacement that no pod has come to', () => {
    const never = disruption({ consolidateAfter: 'Never' });
    const leftOver =
      (ms: number, more: object = {}) =>
      (one: Machine): Machine => ({
        ...one,
        claim: {
          ...one.claim,
          metadata: { ...one.claim.metadata, annotations: { 'nodewright.dev/created-for': 'Drifted' } },
          status: {
            ...one.claim.status,
            conditions: [{ type: 'Initialized', status: 'True', lastTransitionTime: new Date(NOW - ms).toISOString() }],
            ...more,
          },
        },
      });

    test('for five minutes', () => {
      expect(blocked(leftOver(300_000), never)).toEqual([]);
      expect(blocked(leftOver(299_000), never)).toEqual(['step 1: b is not consolidatable']);
      expect(blocked(leftOver(300_000, { lastPodEventTime: '1970-01-02T11:00:00Z' }), never)).toHaveLength(1);
      expect(blocked(leftOver(300_000), disruption({ consolidateAfter: '1m' }))).toHaveLength(1);
    });

    test('and for no other node, nor by anything but when it came into use', () => {
      const { claim, ...one } = leftOver(300_000)(machine('b'));
      const { annotations: _, ...metadata } = claim.metadata;
      expect(blocked(() => ({ ...one, claim: { ...claim, metadata } }), never)).toHaveLength(1);
      const launched = { type: 'Launched', status: 'True', lastTransitionTime: new Date(NOW - 600_000).toISOString() };
      const conditions = [launched, ...(leftOver(299_000)(machine('b')).claim.status?.conditions ?? [])];
      expect(blocked(leftOver(299_000, { conditions }), never)).toHaveLength(1);
      expect(blocked(leftOver(300_000), { nodePools: [pool('general')] })).toHaveLength(1);
    });

    test('which goes as empty alone', () => {
      expect(blocked(leftOver(300_000), never, 'Underutilized')).toHaveLength(1);
    });
  });

  test('whose pod says do-not-disrupt for a time that has not passed since it started', () => {
    const kept = { ...shapes[0], annotations: { 'karpenter.sh/do-not-disrupt': '2h' } } as (typeof shapes)[number];
    const machines = [machine('a'), machine('b')];
    const with_ = (startedAtMs: number | null) =>
      disruptionInput({
        machines,
        shapes: [kept],
        pods: [...on('a', 0, 3, { startedAtMs }), ...on('b', 0, 3, { startedAtMs })],
      });
    const long = with_(NOW - 7_200_000);
    expect(findings(long, long)).toEqual([]);
    for (const startedAtMs of [NOW - 7_199_999, null]) {
      expect(findings(long, with_(startedAtMs))).toEqual([expect.stringContaining('which must not be disrupted')]);
    }
  });
});

test('a node that is not there does not go, nor does a claim without a node stand in the way of others', () => {
  const plain = clusterOf([node('a'), node('b')]);
  const made = planDisruption(plain, instant(NOW));
  const steps = made.steps.map((step) => ({ ...step, remove: [...step.remove, 'z'] }));
  const starting_ = machine('c').claim;
  const { status: _, ...launching } = starting_;
  const { cluster } = plain.provisioning;
  const provisioning = {
    ...plain.provisioning,
    cluster: { ...cluster, nodeClaims: [...cluster.nodeClaims, launching] },
  };
  const found = auditDisruption({ ...made, steps }, { ...plain, provisioning }, instant(NOW));
  expect(found.filter(({ rule }) => rule === 'blocked').map(({ text }) => text)).toEqual(['step 1: z is not there']);
});

describe('a node may go', () => {
  test.each<[string, (one: Machine) => Machine, object, DisruptionStep['reason']]>([
    [
      'with a pod whose eviction counts as nothing',
      same,
      withPods({ ...web, annotations: { 'controller.kubernetes.io/pod-deletion-cost': '-134217728' } }),
      'Empty',
    ],
    [
      'with pods of a DaemonSet',
      same,
      withPods({ ...web, owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' } }),
      'Empty',
    ],
    [
      'with pods of its own',
      same,
      withPods({ ...web, owner: { apiVersion: 'v1', kind: 'Node', name: 'b', uid: 'b' } }),
      'Empty',
    ],
    ['whose pods may be evicted', same, { ...withPods(web), podDisruptionBudgets: [evictions(1)] }, 'Underutilized'],
    [
      'whose pods have no budget in their namespace',
      same,
      { ...withPods(web), podDisruptionBudgets: [{ ...evictions(0), metadata: { name: 'web', namespace: 'other' } }] },
      'Underutilized',
    ],
    ['as expired, whatever it says of disruption', annotated('node'), {}, 'Expired'],
    [
      'as sick, though its pods are kept',
      same,
      { ...withPods(web), podDisruptionBudgets: [evictions(0)] },
      'Unhealthy',
    ],
    [
      'as expired, of a pool that is held back',
      same,
      { disruption: { brakes: new Map([['general', { kind: 'paused', until: null }]]) } },
      'Expired',
    ],
    [
      'with a pod of so low a priority that its eviction counts as nothing',
      same,
      withPods({ ...web, spec: { ...web.spec, priority: -33_554_432 } }),
      'Empty',
    ],
    [
      'whose pod must not be disrupted and ends',
      same,
      {
        ...withPods({ ...web, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }),
        pods: [...on('a', 0, 6), ...on('b', 1, 1, { deleting: true })],
      },
      'Empty',
    ],
    [
      'whose pod nobody evicts, as it stays on nodes that go',
      same,
      {
        ...withPods({ ...web, spec: { ...web.spec, tolerations: [{ operator: 'Exists' }] } }),
        podDisruptionBudgets: [evictions(0)],
      },
      'Underutilized',
    ],
    [
      'whose pod nobody evicts, as it is of the node itself',
      same,
      {
        ...withPods({ ...web, owner: { apiVersion: 'v1', kind: 'Node', name: 'b', uid: 'b' } }),
        podDisruptionBudgets: [evictions(0)],
      },
      'Empty',
    ],
    [
      'whose claim names it, and no machine',
      ({ node: { metadata, status = {} }, claim }) => {
        const { nodeName = '', conditions = [] } = claim.status ?? {};
        return { node: { metadata, status }, claim: { ...claim, status: { nodeName, conditions } } };
      },
      {},
      'Empty',
    ],
    [
      'whose machine its claim names, and not by its name',
      ({ node: plain, claim }) => ({
        node: plain,
        claim: { ...claim, status: { ...claim.status, nodeName: 'other' } },
      }),
      {},
      'Empty',
    ],
    ['as drifted', says('Drifted'), {}, 'Drifted'],
    ['of a pool that says nothing of disruption', same, { nodePools: [pool('general')] }, 'Empty'],
    [
      'with a pod, of a pool that says nothing',
      same,
      { ...withPods(web), nodePools: [pool('general')] },
      'Underutilized',
    ],
    ['that no pod has come to, whatever its pool waits for', same, disruption({ consolidateAfter: '48h' }), 'Empty'],
    ['as surplus of a pool with a fixed number', same, fixed, 'StaticSurplus'],
  ])('%s', (_, change, parts, reason) => {
    expect(blocked(change, parts, reason)).toEqual([]);
  });
});

describe('of a pool no more nodes go than its budgets leave', () => {
  const planned = clusterOf([node('a'), node('b'), node('c'), node('d')]);

  test.each([
    ['two of four', '50%', [node('d')], 2],
    ['one beside a node that is marked to go', '50%', [node('d', marked)], 1],
    ['one beside a node whose claim is being deleted', '50%', [node('d', claimDeleted)], 1],
    ['one beside a node that is being deleted', '50%', [node('d', nodeDeleted)], 1],
    ['one beside a node that is not ready', '50%', [node('d', unready)], 1],
    ['one of three that count, where a machine is being removed already', '33%', [node('d', terminating)], 1],
    ['one of three that count, where a node is not in use yet', '33%', [node('d', starting)], 1],
    ['none beside two that are in disruption', '2', [node('d', marked), node('e', unready)], 0],
    ['one of three that count, where a node has no claim', '26%', [node('d', unclaimed)], 1],
    ['two of four, one of which says nothing', '50%', [node('d', silent)], 2],
  ])('%s', (_, budget, others, most) => {
    const plan = planDisruption(planned, instant(NOW));
    const given = clusterOf([node('a'), node('b'), node('c'), ...others], budget);
    for (const count of [1, 2, 3]) {
      const [step] = plan.steps;
      if (step === undefined) throw new Error('nothing goes');
      const own = { ...step, remove: ['b', 'c', 'a'].slice(0, count) };
      const found = auditDisruption({ ...plan, steps: [own] }, given, instant(NOW)).filter(
        ({ rule }) => rule === 'budget',
      );
      expect([count, found.length > 0]).toEqual([count, count > most]);
      for (const { about } of found)
        expect(about).toEqual(own.remove.slice(most).map((name) => ({ kind: 'node', name })));
    }
  });

  test('nor any, and no less than none, where more are in disruption than may be', () => {
    const [step] = planDisruption(planned, instant(NOW)).steps;
    if (step === undefined) throw new Error('nothing goes');
    const given = clusterOf([node('a'), node('b'), node('c', marked), node('d', unready)], '1');
    const plan = { ...planDisruption(planned, instant(NOW)), steps: [{ ...step, remove: ['b'] }] };
    const found = auditDisruption(plan, given, instant(NOW)).filter(({ rule }) => rule === 'budget');
    expect(found.map(({ text }) => text)).toEqual(['step 1: NodePool general: 1 nodes at once, 0 allowed']);
  });

  test('of which a node that the step creates is none yet', () => {
    const machines = [machine('a', { cpu: 8 }), machine('b', { cpu: 8 })];
    const of = (nodes: string) => clusterOf(machines, nodes, { pods: [...on('a', 0, 1), ...on('b', 0, 1)] });
    const made = planDisruption(of('100%'), instant(NOW));
    expect(made.steps).toMatchObject([{ remove: ['a', 'b'], create: [expect.any(String)] }]);
    const found = (nodes: string) =>
      auditDisruption(made, of(nodes), instant(NOW)).flatMap(({ rule, text }) => (rule === 'budget' ? [text] : []));
    expect(found('34%')).toEqual(['step 1: NodePool general: 2 nodes at once, 1 allowed']);
    expect(found('51%')).toEqual([]);
  });

  test('nor more by the planner, which does not count nodes that are not in use yet', () => {
    const starting5 = ['p', 'q', 'r', 's', 't'].map((name) => machine(name, { initialized: false }));
    const given = clusterOf([node('a'), node('b'), node('c'), ...starting5], '34%');
    const { steps } = planDisruption(given, instant(NOW));
    expect(steps.map(({ remove }) => remove)).toEqual([['b', 'c']]);
    const least = clusterOf([node('a'), node('b'), node('c'), ...starting5], '33%');
    expect(planDisruption(least, instant(NOW)).steps.map(({ remove }) => remove.length)).toEqual([1, 1]);
  });
});

describe('budgets', () => {
  const planned = clusterOf([node('a'), node('b')]);
  /** The rules that a plan breaks in which `b` goes for the reason. */
  const broken = (given: DisruptionInput, reason: DisruptionStep['reason']): ReadonlyArray<string> => {
    const made = planDisruption(planned, instant(NOW));
    const steps = made.steps.map((step) => ({ ...step, reason }));
    return auditDisruption({ ...made, steps }, given, instant(NOW)).flatMap(({ rule }) =>
      rule === 'budget' ? [rule] : [],
    );
  };

  test.each(['Empty', 'Underutilized', 'Drifted'] as const)('are asked for %s', (reason) => {
    expect(broken(clusterOf([node('a'), node('b')], '0'), reason)).toEqual(['budget']);
  });

  test.each(['x5%', '5%x', 'many'])('that cannot be read, like %s, let none go', (nodes) => {
    expect(broken(clusterOf([node('a'), node('b')], nodes), 'Empty')).toEqual(['budget']);
  });

  test.each(['Expired', 'Unhealthy', 'StaticSurplus'] as const)('are not asked for %s', (reason) => {
    expect(broken(clusterOf([node('a'), node('b')], '0'), reason)).toEqual([]);
  });

  test('count nodes of their own pool alone', () => {
    const foreign = ['c', 'd', 'e'].map((name) => machine(name, { nodePool: 'other', nodeConditions: [] }));
    const sick = foreign.map((one) => unready(one));
    const nodePools = [disruptable('general', { budgets: [{ nodes: '1' }] }), disruptable('other')];
    expect(broken(clusterOf([node('a'), node('b'), ...sick], '1', { nodePools }), 'Empty')).toEqual([]);
  });

  test('count a node as well by its readiness alone, whatever else it says', () => {
    const busy = node('a', (one) => ({
      ...one,
      node: {
        ...one.node,
        status: {
          ...one.node.status,
          conditions: [
            { type: 'MemoryPressure', status: 'False' },
            { type: 'Ready', status: 'True' },
          ],
        },
      },
    }));
    expect(broken(clusterOf([busy, node('b')], '1'), 'Empty')).toEqual([]);
  });

  test('of a pool that has none let a tenth go at once, rounded up', () => {
    const { budgets: _, ...unsaid } = disruptable().spec.disruption ?? {};
    const plain = disruptable();
    const nodePools = [{ ...plain, spec: { ...plain.spec, disruption: unsaid } }];
    expect(broken(clusterOf([node('a'), node('b')], '', { nodePools }), 'Empty')).toEqual([]);
    expect(broken(clusterOf([node('a', marked), node('b')], '', { nodePools }), 'Empty')).toEqual(['budget']);
  });
});

describe('of a pool with a fixed number of nodes one goes at a time to be followed by another', () => {
  const planned = clusterOf([node('a'), node('b'), node('c'), node('d')]);
  const made = planDisruption(planned, instant(NOW));

  test.each<[string, Machine, number, ReadonlyArray<string>]>([
    ['none is on its way', node('d', says('Drifted')), 2, ['c']],
    ['another is marked to go', node('d', marked), 1, ['b']],
    ['the one that is marked is being deleted', node('d', (one) => marked(claimDeleted(one))), 1, []],
    ['the other has not drifted', node('d'), 1, []],
    ['three are to go beside another that is marked', node('d', marked), 3, ['b', 'c', 'e']],
  ])('where %s', (_, other, count, about) => {
    const given = clusterOf([node('a'), ...['b', 'c', 'e'].map((name) => node(name, says('Drifted'))), other], '100%', {
      nodePools: [{ ...disruptable(), spec: { ...disruptable().spec, replicas: 4 } }],
    });
    const remove = ['b', 'c', 'e'].slice(0, count);
    const steps = made.steps.map((one) => ({ ...one, reason: 'Drifted' as const, remove }));
    const found = auditDisruption({ ...made, steps }, given, instant(NOW)).filter(({ rule }) => rule === 'static');
    expect(found.flatMap((one) => one.about)).toEqual(about.map((name) => ({ kind: 'node', name })));
  });
});

test('what is too many for a pool with a fixed number goes, whatever is on its way to be followed', () => {
  const planned = clusterOf([node('a'), node('b'), node('c'), node('d')]);
  const made = planDisruption(planned, instant(NOW));
  const given = clusterOf([node('a'), node('b'), node('c', marked), node('d', marked)], '100%', fixed);
  const steps = made.steps.map((one) => ({ ...one, reason: 'StaticSurplus' as const, remove: ['b'] }));
  const found = auditDisruption({ ...made, steps }, given, instant(NOW));
  expect(found.filter(({ rule }) => ['static', 'blocked', 'budget'].includes(rule))).toEqual([]);
});

describe('behind a new image, while others of its pool are to try it first, a node', () => {
  const behind = (name: string, reason = 'ImageDrift') =>
    node(name, ({ node: plain, claim }) => ({
      node: plain,
      claim: { ...claim, status: { ...claim.status, conditions: [{ type: 'Drifted', status: 'True', reason }] } },
    }));
  const clusterWith = (reason: string, rollout: Rollout | null, podShape = shapes[0] as PodShape) =>
    clusterOf([node('a'), behind('b', reason), behind('c', reason)], '100%', {
      shapes: [...shapes, podShape],
      pods: [...on('a', 0, 1), ...on('b', 1, 1), ...on('c', 1, 1)],
      disruption: { rollouts: new Map(rollout === null ? [] : [['general', rollout]]) },
    });
  const waits = (reason: string, rollout: Rollout | null, podShape?: PodShape) =>
    findings(clusterWith(reason, null, podShape), clusterWith(reason, rollout, podShape));
  const halted: Rollout = { kind: 'halted', why: 'it was bad' };

  test('goes where none is wanted of its pool', () => {
    expect(waits('ImageDrift', null)).toEqual([]);
  });

  test('goes as the canary, and no other beside it', () => {
    expect(waits('ImageDrift', { kind: 'canary' })).toEqual(['blocked: step 1: c waits for a canary']);
  });

  test.each(['ImageDrift', 'K8sVersionDrift'])('does not go for %s while nothing may', (reason) => {
    expect(waits(reason, halted)).toHaveLength(2);
  });

  test('goes where it has drifted for another reason, or brings nothing new: it has no pods to move', () => {
    expect(waits('NodePoolDrifted', halted)).toEqual([]);
    for (const kind of ['DaemonSet', 'Node']) {
      const owner = { apiVersion: 'apps/v1', kind, name: 'd', uid: 'd' };
      expect(waits('ImageDrift', halted, { ...shapes[0], owner } as PodShape)).toEqual([]);
    }
  });

  describe('that has drifted, whatever it says beside that,', () => {
    const also = (one: Machine): Machine => {
      const conditions = [{ type: 'Consolidatable', status: 'True' }, ...(one.claim.status?.conditions ?? [])];
      return { ...one, claim: { ...one.claim, status: { ...one.claim.status, conditions } } };
    };
    const daemon: PodShape = {
      ...(shapes[0] as PodShape),
      owner: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'd' },
    };
    /** What is said where `b` goes, whose pods are of shape 1, a plain one, and of shape 2, of a DaemonSet. */
    const said = (own: ReadonlyArray<Pod>, reason: DisruptionStep['reason'] = 'Drifted', replicas?: number) => {
      const general = disruptable();
      const machines = [node('a'), also(behind('b'))];
      const given = clusterOf(machines, '100%', {
        shapes: [...shapes, shapes[0] as PodShape, daemon],
        pods: [...on('a', 0, 1), ...own],
        nodePools: [{ ...general, spec: { ...general.spec, ...(replicas === undefined ? {} : { replicas }) } }],
        disruption: { rollouts: new Map([['general', halted]]) },
      });
      const plain = planDisruption(clusterOf([node('a'), node('b')]), instant(NOW));
      const steps = plain.steps.map((step) => ({ ...step, reason }));
      return auditDisruption({ ...plain, steps }, given, instant(NOW)).flatMap(({ rule, text }) =>
        rule === 'blocked' ? [text] : [],
      );
    };
    const waiting = ['step 1: b waits for a canary'];

    test('waits with a pod, also beside those of a DaemonSet, and goes with none but those and such as end', () => {
      expect(said(on('b', 1, 1))).toEqual(waiting);
      expect(said([...on('b', 1, 1), ...on('b', 2, 1)])).toEqual(waiting);
      expect(said([])).toEqual([]);
      expect(said([...on('b', 1, 1, { deleting: true }), ...on('b', 2, 1)])).toEqual([]);
    });

    test('waits without one in a pool with a fixed number, where another comes in its place', () => {
      expect(said([], 'Drifted', 2)).toEqual(waiting);
    });

    test.each(['Empty', 'Expired'] as const)('goes as %s: nothing new comes for that', (reason) => {
      expect(said([], reason, reason === 'Empty' ? undefined : 2)).toEqual([]);
    });
  });
});
