import { expect } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan, PodReference } from '../../../shared/core/model/plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';

/** The plan for the input, audited, as lines of text. */
export function planned(input: ProvisioningInput): ReadonlyArray<string> {
  const plan = planProvisioning(input, instant(0));
  expect(auditPlan(plan, input)).toEqual([]);
  return renderPlan(plan);
}

/** One line per claim, nomination and reason. Zones are left out where the claim could be in several. */
export function renderPlan(plan: Plan): ReadonlyArray<string> {
  return [
    ...plan.claims.map(({ nodePool, offering, requirements, pods }) => {
      const zones = requirements.find(({ key }) => key === 'topology.kubernetes.io/zone')?.values ?? [];
      const zone = zones.length === 1 ? ` in ${zones[0]}` : '';
      return `launch ${offering.instanceType} ${offering.capacityType}${zone} of ${nodePool}: ${names(pods)}`;
    }),
    ...plan.nominations.map(({ target, pods }) => `nominate to ${target.kind} ${target.name}: ${names(pods)}`),
    ...plan.left.map(({ pod, refusals }) => `leave ${names([pod])}: ${refusals.map(({ kind }) => kind).join(', ')}`),
  ];
}

function names(pods: ReadonlyArray<PodReference>): string {
  return pods.map(({ name }) => name.replace('default/', '').replace(/-0+(\d+)$/, '-$1')).join(' ');
}
