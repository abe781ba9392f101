import { describe, expect, test } from 'vitest';
import { planDisruption } from '../../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionPlan, DisruptionStep } from '../../../../shared/core/disruption/plan/disruption-plan.ts';
import {
  firstStep,
  soundDisruption,
  type DisruptionPlanner,
} from '../../../../shared/core/disruption/sound-disruption.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import { disruptionInput, keptFor, machine, NOW, on, removed } from '../../../kit/core/build-disruption.ts';

/** Somebody keeps this one. */
const kept = machine('a', { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } });

/** Node `a` has all pods and stays; `b` and `c` have none and go. */
const given = disruptionInput({
  machines: [kept, machine('b'), machine('c')],
  shapes: [shape(spec('500m', '1Gi'))],
  pods: on('a', 0, 6),
});

/** A planner with this fault in every step, and how often it was asked. */
function faulty(fault: (step: DisruptionStep) => DisruptionStep, change = (plan: DisruptionPlan) => plan) {
  const asked: Array<ReadonlyArray<string>> = [];
  const planner: DisruptionPlanner = (input, now) => {
    asked.push([...input.policy.leftOut].toSorted());
    const plan = planDisruption(input, now);
    return change({ ...plan, steps: plan.steps.map(fault) });
  };
  return { planner, asked };
}

const sound = (planner: DisruptionPlanner = planDisruption) => soundDisruption(given, instant(NOW), { planner });

/** Says that node `b` goes for a reason that it has not. */
const wrongReason = (step: DisruptionStep): DisruptionStep =>
  step.remove.includes('b') ? { ...step, reason: 'Drifted' } : step;

describe('a plan of disruption', () => {
  test('that its audit lets through is the one that is begun, step by step', () => {
    const { plan, refused } = sound();
    expect([removed(plan), refused]).toEqual([['b', 'c'], null]);
    expect(firstStep(plan)).toEqual(plan.steps[0]);
  });

  test('with a fault goes without the nodes that its findings name, and these say why they stay', () => {
    // Each step has one node.
    const apart = (plan: DisruptionPlan): DisruptionPlan => ({
      ...plan,
      steps: plan.steps.flatMap((step) =>
        step.remove.map((name) => wrongReason({ ...step, remove: [name], saved: step.saved / step.remove.length })),
      ),
    });
    const { planner, asked } = faulty((step) => step, apart);
    const { plan, refused } = sound(planner);
    expect([removed(plan), keptFor(plan, 'b')]).toEqual([['c'], 'plan-refused']);
    expect(keptFor(plan, 'a'), 'nobody has found anything wrong with it').toBe('do-not-disrupt');
    expect(refused).toMatchObject({ instead: 'rest', leftOut: ['b'] });
    expect(refused?.findings.map(({ rule, text }) => `${rule}: ${text}`)).toEqual([
      'blocked: step 1: b has not drifted',
    ]);
    expect(plan.kept.find(({ node }) => node === 'b')?.reason).toEqual({
      kind: 'plan-refused',
      finding: 'blocked: step 1: b has not drifted',
    });
    expect(asked).toEqual([[], ['b']]);
  });

  test('in which all that goes is named does nothing', () => {
    const { planner, asked } = faulty((step) => ({ ...step, saved: step.saved + 1 }));
    const { plan, refused } = sound(planner);
    expect([plan.steps, firstStep(plan), plan.after]).toEqual([[], null, plan.before]);
    expect([keptFor(plan, 'b'), keptFor(plan, 'c')]).toEqual(['plan-refused', 'plan-refused']);
    expect(refused).toMatchObject({ instead: 'nothing', leftOut: ['b', 'c'] });
    expect(asked).toEqual([[], ['b', 'c']]);
  });

  test('of which none holds does nothing, after three plans', () => {
    const many = disruptionInput({
      machines: [kept, ...['b', 'c', 'd', 'e', 'f'].map((name) => machine(name))],
      shapes: [shape(spec('500m', '1Gi'))],
      pods: on('a', 0, 6),
    });
    const firstWrong = (plan: DisruptionPlan): DisruptionPlan => ({
      ...plan,
      steps: plan.steps
        .flatMap((step) =>
          step.remove.map((name) => ({ ...step, remove: [name], saved: step.saved / step.remove.length })),
        )
        .map((step, index) => (index === 0 ? { ...step, reason: 'Drifted' as const } : step)),
    });
    const { planner, asked } = faulty((step) => step, firstWrong);
    const { plan, refused } = soundDisruption(many, instant(NOW), { planner });
    expect(asked).toEqual([[], ['b'], ['b', 'c']]);
    expect([plan.steps, refused?.instead, refused?.leftOut]).toEqual([[], 'nothing', []]);
    expect(plan.kept.map(({ node, nodePool, reason }) => [node, nodePool, reason.kind])).toEqual([
      ['a', 'general', 'do-not-disrupt'],
      ...['b', 'c', 'd', 'e', 'f'].map((name) => [name, 'general', 'plan-refused']),
    ]);
  });

  test('whose fault names no node does nothing, and is not made again', () => {
    const { planner, asked } = faulty(
      (step) => step,
      (plan) => ({ ...plan, kept: [] }),
    );
    expect(sound(planner)).toMatchObject({ plan: { steps: [] }, refused: { instead: 'nothing' } });
    expect(asked).toEqual([[]]);
  });

  test('of which one step is begun is judged up to that: what comes after it is planned anew', () => {
    const lastWrong = (plan: DisruptionPlan): DisruptionPlan => ({
      ...plan,
      steps: plan.steps
        .flatMap((step) =>
          step.remove.map((name) => ({ ...step, remove: [name], saved: step.saved / step.remove.length })),
        )
        .map((step, index) => (index === 1 ? { ...step, reason: 'Drifted' as const } : step)),
    });
    const { planner } = faulty((step) => step, lastWrong);
    const refused = (most: number) => soundDisruption(given, instant(NOW), { planner, most }).refused;
    expect([refused(1), refused(2)?.leftOut]).toEqual([null, ['c']]);
  });

  test('that its audit cannot read does nothing', () => {
    const { planner } = faulty((step) => ({ ...step, moves: null as unknown as DisruptionStep['moves'] }));
    const { plan, refused } = sound(planner);
    expect([plan.steps, refused?.findings.map(({ rule }) => rule)]).toEqual([[], ['audit']]);
  });

  test('that removes nothing is not judged', () => {
    const { planner } = faulty(
      (step) => step,
      (plan) => ({ ...plan, steps: [], kept: [] }),
    );
    expect(sound(planner).refused).toBeNull();
  });
});
