import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { NodeClaim } from '../../../shared/core/model/manifest.ts';
import { auditPlan } from '../../../shared/core/plan/audit-plan.ts';
import type { Plan } from '../../../shared/core/plan/plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/scheduling/plan-provisioning.ts';
import type { InFlightClaim, ProvisioningInput } from '../../../shared/core/scheduling/provisioning-input.ts';
import { inputs } from './arbitrary.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: Number(process.env['PROPERTY_RUNS'] ?? 100) };

test('planning again while the claims of a plan are on their way opens no claim for a pod that has one', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const plan = planProvisioning(given, now);
      // A pod that was the first of its kind when it was placed may rightly be moved to the others.
      fc.pre(auditPlan(plan, given).length === 0);
      const after = committed(given, plan);
      const again = planProvisioning(after, now);
      expect(auditPlan(again, after).filter(({ severity }) => severity === 'fatal')).toEqual([]);
      const placed = new Set(plan.claims.flatMap(({ pods }) => pods.map(({ uid }) => uid)));
      const moved = again.claims.flatMap(({ pods }) => pods.filter(({ uid }) => placed.has(uid)));
      expect(moved).toEqual([]);
      expect(again.left.filter(({ pod }) => placed.has(pod.uid))).toEqual([]);
    }),
    runs,
  );
});

/** The input once the plan's claims exist, none of their nodes does, and pods are nominated to the nodes there were. */
function committed(given: ProvisioningInput, plan: Plan): ProvisioningInput {
  const nodeClaims = plan.claims.map((claim, index): NodeClaim => ({
    metadata: { name: nameOf(index), labels: claim.labels, annotations: claim.annotations },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: claim.requirements,
      taints: claim.taints,
      startupTaints: claim.startupTaints,
      resources: { requests: claim.requests },
    },
  }));
  const inFlight = plan.claims.map(({ offering, pods }, index): [string, InFlightClaim] => {
    const { instanceType, zone, capacityType } = offering;
    return [nameOf(index), { pods: pods.map(({ uid }) => uid), instanceType, zone, capacityType }];
  });
  const nominated = new Map(plan.nominations.flatMap(({ target, pods }) => pods.map(({ uid }) => [uid, target.name])));
  const pods = given.cluster.pods.map((pod) => ({ ...pod, nominatedNodeName: nominated.get(pod.uid) ?? null }));
  return { ...given, cluster: { ...given.cluster, nodeClaims, pods }, inFlight: new Map(inFlight) };
}

function nameOf(index: number): string {
  return `claim-${String(index).padStart(3, '0')}`;
}
