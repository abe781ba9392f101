import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { DaemonSet, Requirement } from '../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { inputs } from './kit/arbitrary.ts';
import { committed } from './kit/committed.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100) };

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

test('what a plan leaves, no plan made while its claims are on their way has a place for', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      // With minValues a claim counts against limits as more than the node that it becomes: once that is known, more
      // fits.
      fc.pre(given.cluster.nodePools.every(({ spec }) => !spec.template.spec.requirements.some(hasMinValues)));
      // A daemon that a label left open may select is reserved on every claim, as in Karpenter, until the node has
      // another value.
      fc.pre(!given.cluster.daemonSets.some((one) => selectsOpenLabel(given, one)));
      const plan = planProvisioning(given, now);
      fc.pre(auditPlan(plan, given).length === 0);
      const again = planProvisioning(committed(given, plan), now);
      const left = new Set(plan.left.map(({ pod }) => pod.uid).filter((uid) => !isUnsure(given, plan, uid)));
      const placed = [...again.claims, ...again.nominations].flatMap(({ pods }) => pods);
      expect(placed.filter(({ uid }) => left.has(uid))).toEqual([]);
    }),
    runs,
  );
});

function selectsOpenLabel({ cluster }: ProvisioningInput, { spec }: DaemonSet): boolean {
  const selected = Object.keys(spec.template.spec.nodeSelector ?? {});
  return cluster.nodePools.some((pool) =>
    pool.spec.template.spec.requirements.some(({ key }) => key.startsWith('example.com/') && selected.includes(key)),
  );
}

/**
 * A spread counts the nodes that the pod's own node affinity allows. A claim that may become one or not, as its zone is
 * open, counts as whichever is worse; once it is launched its zone is known, and the pod may have a place.
 */
function isUnsure({ cluster }: ProvisioningInput, { claims }: Plan, uid: string): boolean {
  const spec = cluster.shapes[cluster.pods.find((pod) => pod.uid === uid)?.shape ?? -1]?.spec;
  if ((spec?.topologySpreadConstraints ?? []).length === 0) return false;
  const terms = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const named = terms.flatMap(({ matchExpressions }) => (matchExpressions ?? []).map(({ key }) => key));
  const keys = new Set([...named, ...Object.keys(spec?.nodeSelector ?? {})]);
  return claims.some(({ requirements }) =>
    requirements.some(({ key, values }) => keys.has(key) && (values ?? []).length !== 1),
  );
}

function hasMinValues({ minValues }: Requirement): boolean {
  return minValues !== undefined;
}
