import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { placeForOneMore } from './kit/one-more-pod.ts';
import { openLabelInputs } from './kit/open-labels.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
/** Each tries a pod on every node there could be, a few hundred audits. */
const runs = { numRuns: drawsOf(50) };

test(
  'with labels that pools leave open and several required terms, a pod is left only where no node could hold it',
  slow,
  () => {
    fc.assert(
      fc.property(openLabelInputs, (given) => {
        const plan = planProvisioning(given, now);
        expect(auditPlan(plan, given)).toEqual([]);
        const shapes = Map.groupBy(
          plan.left,
          ({ pod }) => given.cluster.pods.find(({ uid }) => uid === pod.uid)?.shape,
        );
        const wrong = [...shapes.values()].flatMap(([first]) => {
          const place = first === undefined ? null : placeForOneMore(plan, given, first.pod);
          return place === null ? [] : [`${first?.pod.name} could be on ${place}`];
        });
        expect(wrong).toEqual([]);
      }),
      runs,
    );
  },
);
