import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Cluster } from '../../../shared/core/model/cluster.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import type { ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { node } from '../../kit/core/build.ts';
import { inputs, plainInputs } from './kit/arbitrary.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100) };

test('every plan passes its audit', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const findings = auditPlan(planProvisioning(given, now), given);
      expect(findings.filter(({ severity }) => severity === 'fatal')).toEqual([]);
    }),
    runs,
  );
});

test('every waiting pod is placed once or left once, with a reason', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const plan = planProvisioning(given, now);
      const waiting = given.cluster.pods.filter(({ nodeName }) => nodeName === null).map(({ uid }) => uid);
      expect([...placedIn(plan), ...plan.left.map(({ pod }) => pod.uid)].toSorted()).toEqual(waiting.toSorted());
      expect(plan.left.filter(({ refusals }) => refusals.length === 0)).toEqual([]);
    }),
    runs,
  );
});

test('no new node is asked for more CPU or memory than it has', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      for (const { offering, pods, nodePool } of planProvisioning(given, now).claims) {
        const type = given.catalog.get(nodePool)?.find(({ name }) => name === offering.instanceType);
        for (const resource of ['cpu', 'memory']) {
          const asked = pods.reduce((sum, { uid }) => sum + requestOf(given, uid, resource), 0);
          expect(asked, resource).toBeLessThanOrEqual(unitsIn(type?.capacity[resource]) * (1 + 1e-9));
        }
      }
    }),
    runs,
  );
});

test('the order of lists does not change the plan', slow, () => {
  const shuffled = inputs.chain((given) => fc.tuple(fc.constant(given), shufflesOf(given)));
  fc.assert(
    fc.property(shuffled, ([given, other]) => {
      expect(planProvisioning(other, now)).toEqual(planProvisioning(given, now));
    }),
    runs,
  );
});

test('a pod that only resources bind is left only when no size in the pool could hold it', slow, () => {
  fc.assert(
    fc.property(plainInputs, (given) => {
      const left = planProvisioning(given, now).left.map(({ pod }) => requestOf(given, pod.uid, 'cpu'));
      expect(left.every((cores) => cores > 8)).toBe(true);
    }),
    runs,
  );
});

test('an empty node more never leaves more pods; with as many left, the new nodes cost no more', slow, () => {
  fc.assert(
    fc.property(plainInputs, (given) => {
      const before = planProvisioning(given, now);
      const nodes = [...given.cluster.nodes, node('node-9', 64, 256)];
      const after = planProvisioning({ ...given, cluster: { ...given.cluster, nodes } }, now);
      expect(after.left.length).toBeLessThanOrEqual(before.left.length);
      // Where it takes a pod that no size could hold, others make way for that.
      if (after.left.length === before.left.length) expect(after.cost).toBeLessThanOrEqual(before.cost);
    }),
    runs,
  );
});

test('the bound is never above the cost', slow, () => {
  fc.assert(
    fc.property(inputs, (given) => {
      const plan = planProvisioning(given, now);
      expect(plan.lowerBound).toBeLessThanOrEqual(plan.cost);
    }),
    runs,
  );
});

function placedIn(plan: Plan): ReadonlyArray<string> {
  return [...plan.claims, ...plan.nominations].flatMap(({ pods }) => pods.map(({ uid }) => uid));
}

function requestOf({ cluster }: ProvisioningInput, uid: string, resource: string): number {
  const pod = cluster.pods.find((one) => one.uid === uid);
  return unitsIn(cluster.shapes[pod?.shape ?? -1]?.spec.containers[0]?.resources?.requests?.[resource]);
}

/** Cores or bytes. By hand, so that a mistake in reading quantities does not hide itself here. */
function unitsIn(quantity: string | number | undefined): number {
  const [, digits = '0', suffix = ''] = /^([\d.]+)(.*)$/.exec(String(quantity ?? '0')) ?? [];
  const factor = { '': 1, m: 1e-3, k: 1e3, M: 1e6, G: 1e9, Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 }[suffix];
  if (factor === undefined) throw new Error(`${String(quantity)} is not expected here`);
  return Number(digits) * factor;
}

/**
 * The same input with pods, nodes, pools, daemons, instance types and offerings in another order, and shapes
 * renumbered.
 */
function shufflesOf(given: ProvisioningInput): fc.Arbitrary<ProvisioningInput> {
  const { cluster, catalog } = given;
  const whole = <T>(list: ReadonlyArray<T>) => fc.shuffledSubarray([...list], { minLength: list.length });
  const types = [...catalog.values()][0] ?? [];
  return fc
    .record({
      pods: whole(cluster.pods),
      nodes: whole(cluster.nodes),
      nodePools: whole(cluster.nodePools),
      order: whole(cluster.shapes.map((_, index) => index)),
      types: whole(types),
    })
    .map(({ pods, nodes, nodePools, order, types: reordered }) => {
      const flipped = reordered.map((type) => ({ ...type, offerings: type.offerings.toReversed() }));
      const shuffled: Cluster = {
        ...cluster,
        nodes,
        nodePools,
        shapes: order.map((index) => cluster.shapes[index]).filter((shape) => shape !== undefined),
        pods: pods.map((pod) => ({ ...pod, shape: order.indexOf(pod.shape) })),
      };
      return { ...given, cluster: shuffled, catalog: new Map([...catalog.keys()].map((name) => [name, flipped])) };
    });
}
