import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { planAll, readOracle } from '../../oracle/run.ts';
import { toInput } from '../../oracle/scenario.ts';

/** 252 scenarios with what Karpenter made of them: test/oracle/README.md. */
const { catalog, scenarios } = readOracle();
const plans = planAll();

/** 252 audits take a second, and several where the machine is busy. */
const slow = { timeout: 60_000 };

test('no plan for a recorded scenario has a finding of the audit', slow, () => {
  const findings = scenarios.flatMap((scenario) => {
    const plan = plans.get(scenario.name);
    return plan === undefined
      ? [`${scenario.name} has no plan`]
      : auditPlan(plan, toInput(scenario, catalog)).map(({ rule, text }) => `${scenario.name} ${rule} ${text}`);
  });
  expect(findings).toEqual([]);
});

test('where Karpenter always places as many pods, by the rules, ours places no fewer', () => {
  const fewer = scenarios.filter(({ name, karpenter }) => {
    const plan = plans.get(name);
    const placed = [...(plan?.claims ?? []), ...(plan?.nominations ?? [])].reduce(
      (sum, { pods }) => sum + pods.length,
      0,
    );
    return karpenter.strict && placed < karpenter.minPlaced;
  });
  expect(fewer.map(({ name }) => name)).toEqual([]);
});

test('every pod that is left in a recorded scenario has a reason', () => {
  const silent = [...plans].flatMap(([name, { left }]) =>
    left.filter(({ refusals }) => refusals.length === 0).map(({ pod }) => `${name} ${pod.name}`),
  );
  expect(silent).toEqual([]);
});
