import { expect, test } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { input, pods, pool, shape, size, spec } from '../../../kit/core/build.ts';

test('a claim of a pool of another provider breaks a rule of the audit, though there are sizes under its name', () => {
  const given = input({
    types: [size('Standard_D2s_v5', 2, 8, 100_000)],
    nodePools: [pool('general')],
    shapes: [shape(spec('1', '1Gi'))],
    pods: pods(0, 1),
  });
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  const foreign = { ...given, cluster: { ...given.cluster, nodePools: [] }, foreignPools: given.cluster.nodePools };
  expect(auditPlan(plan, foreign)).toContainEqual(expect.objectContaining({ rule: 'pool', severity: 'fatal' }));
});
