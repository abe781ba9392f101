import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { pendingPods } from '../../../shared/core/present/pending-pods.ts';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { soundPlan, type Planner } from '../../../shared/core/recovery/sound-plan.ts';
import { drawsOf } from '../../setup/draws.ts';
import { inputs, inputsWithBuffers } from './kit/arbitrary.ts';

/**
 * A planner that is wrong about something in every plan: whatever it is, what is executed holds, and nobody is
 * forgotten.
 */

const slow = { timeout: 120_000 };
const now = instant(0);

const faults: Readonly<Record<string, (plan: Plan, at: number) => Plan>> = {
  'a claim at another price': (plan, at) => ({
    ...plan,
    claims: plan.claims.map((claim, index) =>
      index === at % plan.claims.length
        ? { ...claim, offering: { ...claim.offering, price: microUsdPerHour(claim.offering.price + 1) } }
        : claim,
    ),
  }),
  'a claim of a size that is not listed': (plan, at) => ({
    ...plan,
    claims: plan.claims.map((claim, index) => {
      const requirements = claim.requirements.map((one) =>
        one.key === 'node.kubernetes.io/instance-type' ? { ...one, values: ['Standard_None'] } : one,
      );
      return index === at % plan.claims.length ? { ...claim, requirements } : claim;
    }),
  }),
  'all pods on one claim': (plan) => {
    const all = plan.claims.flatMap(({ pods }) => pods);
    return { ...plan, claims: plan.claims.map((claim, index) => ({ ...claim, pods: index === 0 ? all : [] })) };
  },
  'a pod twice': (plan) => ({ ...plan, claims: plan.claims.flatMap((claim) => [claim, claim]) }),
  'a cost that is none': (plan) => ({ ...plan, cost: microUsdPerHour(1) }),
  'a failure': (plan) => {
    if (plan.claims.length > 0) throw new Error('a failure');
    return plan;
  },
};

test.each(Object.entries(faults))('with %s in every plan, a sound one takes its place', slow, (_, fault) => {
  fc.assert(
    fc.property(fc.oneof(inputs, inputsWithBuffers), fc.nat(9), (given, at) => {
      const planner: Planner = (input, when) => fault(planProvisioning(input, when), at);
      const { plan, input, refused } = soundPlan(given, now, planner);
      if (plan.claims.length > 0) {
        expect(auditPlan(plan, input).filter(({ severity }) => severity === 'fatal')).toEqual([]);
      }
      const waiting = pendingPods(given.cluster, given.inFlight, now).map(({ uid }) => uid);
      const placed = [...plan.claims, ...plan.nominations].flatMap(({ pods }) => pods.map(({ uid }) => uid));
      expect([...placed, ...plan.left.map(({ pod }) => pod.uid)].toSorted()).toEqual(waiting.toSorted());
      if (refused !== null) expect(refused.findings.length).toBeGreaterThan(0);
    }),
    { numRuns: drawsOf(60) },
  );
});

/**
 * Of pods without rules about others, volumes or devices, in pools without minValues, first-fit leaves none that one
 * node would hold.
 */
test(
  'a planner that always fails leaves only pods that have no place by themselves, or that rules of others keep out',
  slow,
  () => {
    fc.assert(
      fc.property(inputs, (given) => {
        const failing: Planner = () => {
          throw new Error('a failure');
        };
        const { plan } = soundPlan(given, now, failing);
        const right = planProvisioning(given, now);
        const isPlain = given.cluster.shapes.every(
          ({ spec }) => spec.affinity === undefined && spec.topologySpreadConstraints === undefined,
        );
        const isFree = given.cluster.nodePools.every(
          ({ spec }) =>
            spec.limits === undefined &&
            spec.template.spec.requirements.every(({ minValues }) => minValues === undefined),
        );
        if (!isPlain || !isFree) return;
        expect(plan.left.length).toBeLessThanOrEqual(right.left.length);
      }),
      { numRuns: drawsOf(100) },
    );
  },
);
