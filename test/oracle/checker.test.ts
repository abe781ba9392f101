import { expect, test } from 'vitest';
import { auditPlan } from '../../shared/core/audit/audit-plan.ts';
import { check, checkKarpenter, planAll, readOracle } from './run.ts';
import { karpenterPlan, toInput } from './scenario.ts';

test('no plan for a recorded scenario breaks a rule that the recorder’s checker knows, and none places fewer pods where it is strict', (context) => {
  const answer = check(planAll());
  context.skip(answer === null, 'python3 is needed to run check.py');
  const wrong = (answer?.text ?? '')
    .split('\n')
    .filter((line) => /^s\d+ /.test(line) && !/^\S+ (more|\S+\?)( |$)/.test(line));
  expect(wrong).toEqual([]);
});

test('the audit says of Karpenter’s own plans what the recorder’s checker says of them', (context) => {
  const answer = checkKarpenter();
  context.skip(answer === null, 'python3 is needed to run check.py');
  const { catalog, scenarios } = readOracle();
  const ours = scenarios.flatMap((scenario) => {
    const input = toInput(scenario, catalog);
    return auditPlan(karpenterPlan(scenario, input), input).map(({ rule }) => `${scenario.name} ${rule}`);
  });
  const theirs = (answer?.text ?? '').split('\n').flatMap((line) => {
    const [name = '', code = ''] = line.split(' ');
    const rule = { 'limit-nodes?': 'limits', 'affinity-bootstrap?': 'affinity-start' }[code] ?? code;
    return /^s\d+$/.test(name) ? [`${name} ${rule}`] : [];
  });
  expect(ours).toEqual(theirs);
});
