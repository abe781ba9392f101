import { describe, expect, test } from 'vitest';
import { auditDisruption } from '../../../../shared/core/disruption/audit/audit-disruption.ts';
import { planDisruption } from '../../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionInput } from '../../../../shared/core/model/disruption-input.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { shape, spec } from '../build.ts';
import { disruptable, disruptionInput, machine, NOW, on, type Machine } from './build-disruption.ts';

/**
 * A plan is made for a cluster and audited against another, in which the rule under test forbids it: so that the audit is seen to know
 * by itself what the planner knows.
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
const starting = (one: Machine): Machine => machine(one.node.metadata.name, { initialized: false });

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

  test('nor more by the planner, which does not count nodes that are not in use yet', () => {
    const starting5 = ['p', 'q', 'r', 's', 't'].map((name) => machine(name, { initialized: false }));
    const given = clusterOf([node('a'), node('b'), node('c'), ...starting5], '34%');
    const { steps } = planDisruption(given, instant(NOW));
    expect(steps.map(({ remove }) => remove)).toEqual([['b', 'c']]);
    const least = clusterOf([node('a'), node('b'), node('c'), ...starting5], '33%');
    expect(planDisruption(least, instant(NOW)).steps.map(({ remove }) => remove.length)).toEqual([1, 1]);
  });
});
