import { expect, test } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan, PlannedClaim } from '../../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { input, pods, pool, shape, size, spec } from '../../../kit/core/build.ts';

const own = { key: 'own', value: 'yes', effect: 'NoSchedule' };
const given = input({
  types: [size('Standard_D2s_v5', 2, 8, 100_000)],
  nodePools: [pool('general', { taints: [own], startupTaints: [{ key: 'starting', effect: 'NoSchedule' }] })],
  shapes: [shape(spec('1', '1Gi', { tolerations: [{ operator: 'Exists' }] }))],
  pods: pods(0, 1),
});
const right = planProvisioning(given, instant(0));

function found(change: Partial<PlannedClaim>, plan: Partial<Plan> = {}): ReadonlyArray<string> {
  const claims = right.claims.map((claim) => ({ ...claim, ...change }));
  return [...new Set(auditPlan({ ...right, claims, ...plan }, given).map(({ rule }) => rule))];
}

test('the plan that is changed below is right', () => {
  expect(found({})).toEqual([]);
});

test.each<readonly [string, Partial<PlannedClaim>]>([
  ['without the taints of its pool', { taints: [] }],
  ['with one taint more', { taints: [own, { key: 'more', effect: 'NoExecute' }] }],
  ['with another value', { taints: [{ ...own, value: 'no' }] }],
  ['without the startup taints of its pool', { startupTaints: [] }],
])('a claim %s is refused', (_, change) => {
  expect(found(change)).toEqual(['taints']);
});

test('a claim whose labels say of its size what is not so is refused', () => {
  const labels = { ...right.claims[0]?.labels, 'kubernetes.io/arch': 'arm64' };
  expect(found({ labels })).toEqual(['claim-labels']);
});

test('a bound that is no number is refused', () => {
  expect(found({}, { lowerBound: Number.NaN as Plan['lowerBound'] })).toContain('bound');
});
