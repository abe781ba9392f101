import { expect } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { renderLeftReason } from '../../../../shared/core/telling/reasons/render-left-reason.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { input, pool, size } from '../../../kit/core/build.ts';
import { deviceClass, planned as on, template } from '../../../kit/core/build-devices.ts';

/** A plain size and one that could carry devices. */
export const types = [size('Standard_D4_v5', 4, 16, 200_000), size('Standard_N8_v5', 8, 32, 900_000)];

export const nodePools = [pool('general')];

/** A cluster with DRA planned for, one class and one template `one` of one device. */
export function given(parts: Parameters<typeof input>[0]): ReturnType<typeof input> {
  const base = {
    types,
    nodePools,
    devices: on(),
    deviceClasses: [deviceClass()],
    resourceClaimTemplates: [template('one')],
  };
  return input({ ...base, ...parts });
}

/** The plan, audited. */
export function planOf(cluster: ReturnType<typeof input>): Plan {
  const plan = planProvisioning(cluster, instant(0));
  expect(auditPlan(plan, cluster)).toEqual([]);
  return plan;
}

/** Why the first pod is left. */
export function reasonOf(cluster: ReturnType<typeof input>): string {
  const [left] = planOf(cluster).left;
  return left?.refusals.map((one) => `${one.kind}: ${renderLeftReason(one).detail}`).join('; ') ?? 'nothing is left';
}
