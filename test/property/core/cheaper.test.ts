import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { CheaperReason } from '../../../shared/core/model/cheaper.ts';
import type { Plan, PlannedClaim, PlannedOffering } from '../../../shared/core/model/plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { inputs } from './kit/arbitrary.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };
const runs = { numRuns: drawsOf(100) };

/** Reasons that no plan may pass over, with the rule by which the auditor, who shares no code, finds the same. */
const BINDING: ReadonlyMap<CheaperReason['kind'], string> = new Map([
  ['pod-requirement', 'node-affinity'],
  ['volume', 'volume'],
  ['too-small', 'resources'],
  ['unavailable', 'offering'],
  ['limit', 'limits'],
]);

/**
 * The plan with the claim launched as `offering`: its requirements are the pool's, so that only the pods' rules judge.
 */
function withOffering(plan: Plan, claim: PlannedClaim, offering: PlannedOffering): Plan {
  const changed = { ...claim, offering, requirements: [], fallbacks: [] };
  return { ...plan, claims: plan.claims.map((one) => (one === claim ? changed : one)) };
}

test('a claim launched as what was refused for a binding reason breaks that rule of the audit', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const plan = planProvisioning(given, instant(0));
      // A daemon that chooses nodes by a label which the pool leaves open has its room kept until the label is settled.
      const isRoomKept = given.cluster.daemonSets.some(({ spec }) => spec.template.spec.nodeSelector !== undefined);
      for (const claim of plan.claims) {
        for (const { nodePool, reason, example } of claim.cheaper) {
          const expected = BINDING.get(reason.kind);
          if (nodePool !== claim.nodePool || expected === undefined) continue;
          if (isRoomKept && reason.kind === 'too-small') continue;
          const findings = auditPlan(withOffering(plan, claim, example), given);
          expect(findings.filter(({ severity }) => severity === 'fatal').map(({ rule }) => rule)).toContain(expected);
        }
      }
    }),
    runs,
  );
});

test(
  'every offering of the pool that is cheaper has its reason, and none would do as well unless limits bind',
  slow,
  () => {
    fc.assert(
      fc.property(inputs, (given) => {
        for (const { nodePool, offering, cheaper } of planProvisioning(given, instant(0)).claims) {
          const own = cheaper.filter((group) => group.nodePool === nodePool);
          expect(own.filter(({ example }) => example.price >= offering.price)).toEqual([]);
          const pool = given.cluster.nodePools.find(({ metadata }) => metadata.name === nodePool);
          // Where limits or minValues stop nodes of one zone, pods are taken off others again, which keep their size.
          const isFree = given.cluster.nodePools.every(
            ({ spec }) =>
              spec.limits === undefined &&
              spec.template.spec.requirements.every(({ minValues }) => minValues === undefined),
          );
          if (isFree) expect(own.filter(({ reason }) => reason.kind === 'overlooked')).toEqual([]);
          const valuesOf = (key: string): ReadonlyArray<string> | undefined =>
            pool?.spec.template.spec.requirements.find((one) => one.key === key && one.operator === 'In')?.values;
          const allows = (key: string, value: string): boolean => valuesOf(key)?.includes(value) ?? true;
          const listed = (given.catalog.get(nodePool) ?? []).flatMap((type) =>
            type.offerings.filter(
              ({ price, zone, capacityType }) =>
                price < offering.price &&
                allows('topology.kubernetes.io/zone', zone) &&
                allows('karpenter.sh/capacity-type', capacityType),
            ),
          );
          expect(own.reduce((sum, group) => sum + group.offerings, 0)).toBe(listed.length);
        }
      }),
      runs,
    );
  },
);
