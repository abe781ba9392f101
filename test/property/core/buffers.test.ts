import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { PodTemplate } from '../../../shared/kubernetes/buffer-manifest.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { withoutBuffers } from '../../../shared/core/present/buffer-pods.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { inputsWithBuffers } from './kit/arbitrary.ts';
import { committed } from './kit/committed.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100) };

test('every plan with buffers passes its audit, and tells of every pod that stands for room once', slow, () => {
  fc.assert(
    fc.property(inputsWithBuffers, (given) => {
      const findings = auditPlan(planProvisioning(given, now), given);
      expect(findings.filter(({ severity }) => severity === 'fatal')).toEqual([]);
    }),
    runs,
  );
});

test('where pods go, and which are left and why, does not depend on buffers', slow, () => {
  fc.assert(
    fc.property(inputsWithBuffers, (given) => {
      const alone = planProvisioning(withoutBuffers(given), now);
      const both = planProvisioning(given, now);
      expect([both.left, both.nominations]).toEqual([alone.left, alone.nominations]);
      const together = ({ claims }: Plan) => claims.map(({ pods }) => pods).filter(({ length }) => length > 0);
      expect(together(both)).toEqual(together(alone));
    }),
    runs,
  );
});

test('planning again while the claims of a plan are on their way buys no more room', slow, () => {
  fc.assert(
    fc.property(inputsWithBuffers.map(withoutRulesAboutPods), (given) => {
      const plan = planProvisioning(given, now);
      const again = planProvisioning(committed(given, plan), now);
      const wanted = (one: Plan): number => one.buffers.reduce((sum, { left }) => sum + left.length, 0);
      if (plan.left.length > 0 || wanted(plan) > 0) return;
      expect(again.claims).toEqual([]);
    }),
    runs,
  );
});

test('the order in which buffers are listed does not change the plan', slow, () => {
  fc.assert(
    fc.property(inputsWithBuffers, (given) => {
      const { capacityBuffers, podTemplates } = given.cluster;
      const turned = { capacityBuffers: capacityBuffers.toReversed(), podTemplates: podTemplates.toReversed() };
      const other = { ...given, cluster: { ...given.cluster, ...turned } };
      expect(planProvisioning(other, now)).toEqual(planProvisioning(given, now));
    }),
    runs,
  );
});

/** The same with templates whose pods may be on any node that has room: those with rules may find another layout. */
function withoutRulesAboutPods(given: ProvisioningInput): ProvisioningInput {
  const podTemplates = given.cluster.podTemplates.map((one): PodTemplate => {
    const { affinity, topologySpreadConstraints: _, containers, ...others } = one.template.spec;
    const { podAffinity: __, podAntiAffinity: ___, ...rules } = affinity ?? {};
    const plain = containers.map(({ ports: ____, ...container }) => container);
    const spec = { ...others, containers: plain, affinity: rules };
    return { ...one, template: { ...one.template, spec } };
  });
  return { ...given, cluster: { ...given.cluster, podTemplates } };
}
