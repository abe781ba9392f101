import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import type { PodShape } from '../../../shared/core/model/cluster.ts';
import type { Plan } from '../../../shared/core/model/plan.ts';
import { parseAmounts } from '../../../shared/kubernetes/text/quantity.ts';
import { instant, microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { DEFAULT_WORK, type ProvisioningInput } from '../../../shared/core/model/provisioning-input.ts';
import { compareLeft, type LeftByPriority } from '../../../shared/core/placing/one-by-one/left-pods.ts';
import { podRequests } from '../../../shared/core/rules/pod-requests.ts';
import { input, pods, pool, shape, size, spec } from '../../kit/core/build.ts';
import { inputs, plainInputs } from './kit/arbitrary.ts';
import { drawsOf } from '../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100) };

/** One size cheaper in all its offerings, or one size more. */
interface Improvement {
  readonly index: number;
  readonly percent: number;
}

const improvements = fc.record({ index: fc.nat(5), percent: fc.constantFrom(40, 90, 99) });

function improved({ catalog, ...given }: ProvisioningInput, { index, percent }: Improvement): ProvisioningInput {
  const better = (types: ReadonlyArray<InstanceType>): ReadonlyArray<InstanceType> =>
    index >= types.length
      ? [...types, size('Standard_F6s_v2', 6, 12, 2_000 * percent)]
      : types.with(index, cheaper(types[index], percent));
  return { ...given, catalog: new Map([...catalog].map(([name, types]) => [name, better(types)])) };
}

function cheaper(type: InstanceType | undefined, percent: number): InstanceType {
  if (type === undefined) throw new Error('the index is within the list');
  const offerings = type.offerings.map((one) => ({
    ...one,
    price: microUsdPerHour(Math.floor((one.price * percent) / 100)),
  }));
  return { ...type, offerings };
}

test(
  'a cheaper or additional offering never leaves more pods, nor proves more than the plan without it costs',
  slow,
  () => {
    fc.assert(
      fc.property(plainInputs, improvements, (given, improvement) => {
        const before = planProvisioning(given, now);
        const after = planProvisioning(improved(given, improvement), now);
        expect(after.left.length).toBeLessThanOrEqual(before.left.length);
        // The plan before is possible still, and no dearer: so a bound above it is wrong, and a proved plan is not
        // dearer.
        if (after.left.length === before.left.length) expect(after.lowerBound).toBeLessThanOrEqual(before.cost);
      }),
      runs,
    );
  },
);

/**
 * Each is three plans with as much work as they are allowed: with less, fewer places are tried and the law holds less
 * often.
 */
const fewerRuns = { numRuns: Math.ceil(runs.numRuns / 3) };

/** Pods of drawn priorities. */
const withPriorities = fc
  .tuple(inputs, fc.array(fc.constantFrom(0, 0, 10), { minLength: 4, maxLength: 4 }))
  .map(([given, priorities]): ProvisioningInput => {
    const shapes = given.cluster.shapes.map((one, index) => {
      const priority = priorities[index] ?? 0;
      return priority === 0 ? one : { ...one, spec: { ...one.spec, priority } };
    });
    return { ...given, work: DEFAULT_WORK, cluster: { ...given.cluster, shapes } };
  });

test(
  'with limits and rules about other pods, none of two cheaper or additional offerings leaves more of a priority',
  slow,
  () => {
    fc.assert(
      fc.property(withPriorities, fc.array(improvements, { minLength: 2, maxLength: 2 }), (given, [one, two]) => {
        let [before, plan] = [given, planProvisioning(given, now)];
        for (const improvement of [one, two]) {
          if (improvement === undefined) continue;
          const after = improved(before, improvement);
          const next = planProvisioning(after, now);
          expect(compareLeft(leftIn(after, next), leftIn(before, plan))).toBeLessThanOrEqual(0);
          // The same pods were placed for less or as much, so that a bound above that is wrong.
          if (shapesLeft(after, next) === shapesLeft(before, plan))
            expect(next.lowerBound).toBeLessThanOrEqual(plan.cost);
          [before, plan] = [after, next];
        }
      }),
      fewerRuns,
    );
  },
);

/** Pods left, by priority: the highest first. */
function leftIn(given: ProvisioningInput, plan: Plan): LeftByPriority {
  const counts = Map.groupBy(plan.left, ({ pod }) => shapeOf(given, pod.uid).spec.priority ?? 0);
  return [...counts].map(([priority, own]) => [priority, own.length] as const).toSorted(([a], [b]) => b - a);
}

function shapesLeft(given: ProvisioningInput, plan: Plan): string {
  return plan.left
    .map(({ pod }) => given.cluster.shapes.indexOf(shapeOf(given, pod.uid)))
    .toSorted((a, b) => a - b)
    .join(' ');
}

function shapeOf({ cluster }: ProvisioningInput, uid: string): PodShape {
  const found = cluster.shapes[cluster.pods.find((pod) => pod.uid === uid)?.shape ?? -1];
  if (found === undefined) throw new Error(`no shape of ${uid}`);
  return found;
}

/** Pods that only resources bind, few enough to try every way to place them, in one pool with a limit. */
const limitedInputs: fc.Arbitrary<ProvisioningInput> = fc
  .record({
    requests: fc.array(
      fc.tuple(fc.constantFrom('500m', '1', '1900m', '3', '7'), fc.constantFrom('1Gi', '7Gi', '20Gi')),
      { minLength: 2, maxLength: 5 },
    ),
    limits: fc.constantFrom(
      { cpu: '4' },
      { cpu: '6' },
      { cpu: '8' },
      { memory: '24Gi' },
      { nodes: '1' },
      { nodes: '2' },
    ),
  })
  .map(({ requests, limits }) =>
    input({
      types: [
        size('Standard_D2s_v5', 2, 8, 100_000),
        size('Standard_D4s_v5', 4, 16, 150_000),
        size('Standard_D8s_v5', 8, 32, 390_000),
        size('Standard_E4s_v5', 4, 32, 110_000),
      ],
      nodePools: [pool('pool-0', { limits })],
      shapes: requests.map(([cpu, memory]) => shape(spec(cpu, memory))),
      pods: requests.flatMap((_, index) => pods(index, 1)),
      operations: DEFAULT_WORK.operations,
    }),
  );

test('of a few pods in a pool with a limit, no way to place them leaves fewer', slow, () => {
  fc.assert(
    fc.property(limitedInputs, (given) => {
      expect(planProvisioning(given, now).left.length).toBe(fewestLeft(given));
    }),
    runs,
  );
});

/** Found by trying every way to group the pods, and every size for every group. */
function fewestLeft({ cluster, catalog }: ProvisioningInput): number {
  const types = ([...catalog.values()][0] ?? []).map(({ capacity }) => parseAmounts(capacity, 'down'));
  const [limit = ['', 0]] = parseAmounts(cluster.nodePools[0]?.spec.limits ?? {}, 'down');
  const requests = cluster.pods.map(({ shape: index }) =>
    podRequests(cluster.shapes[index]?.spec ?? { containers: [] }),
  );
  /** What a node for the pods takes of the limit at least; Infinity when no size holds them. */
  const taken = (group: ReadonlyArray<number>): number => {
    const holding = types.filter((has) =>
      ['cpu', 'memory'].every(
        (name) => group.reduce((sum, pod) => sum + (requests[pod]?.get(name) ?? 0), 0) <= (has.get(name) ?? 0),
      ),
    );
    return Math.min(...holding.map((has) => (limit[0] === 'nodes' ? 1 : (has.get(limit[0]) ?? 0))));
  };
  let fewest = requests.length;
  const visit = (pod: number, left: number, groups: ReadonlyArray<ReadonlyArray<number>>): void => {
    if (left >= fewest) return;
    if (pod === requests.length) {
      if (groups.reduce((sum, group) => sum + taken(group), 0) <= limit[1]) fewest = left;
      return;
    }
    groups.forEach((own, index) => visit(pod + 1, left, groups.with(index, [...own, pod])));
    visit(pod + 1, left, [...groups, [pod]]);
    visit(pod + 1, left + 1, groups);
  };
  visit(0, 0, []);
  return fewest;
}
