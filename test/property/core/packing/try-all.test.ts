import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { zones } from '../../../kit/core/build.ts';
import { drawsOf } from '../../../setup/draws.ts';
import { inputOf, sizeName, smallWorlds, workloadOf, type SmallWorld } from '../kit/small-worlds.ts';
import { breachesOf, cheapestBelow, costOfNodes, type FilledNode } from '../kit/try-all.ts';

/** Every plan for a small world is tried: thousands each. */
const slow = { timeout: 3_600_000 };
const runs = { numRuns: drawsOf(3_000) };

/** As much work as any of them can use. */
const ENOUGH = 3_000_000;
/** With little work plans need not be good, but what is said of them is true all the same. */
const works = fc.constantFrom(0, 50_000, ENOUGH, ENOUGH, ENOUGH);

/**
 * Plans with enough work: of how many a cheaper one is found by trying all, and what all cost above the cheapest. Zones
 * that differ in price, as some drawn here do, are harder than any cloud. Seen in 9,000 draws: 5.2 % and 1.3 %; in 300
 * of them twice that by chance.
 */
const MOST_DEARER = 0.15;
const MOST_EXCESS = 0.05;
/** And so many leave a pod that trying all finds a place for: none that was seen. */
const MOST_LEAVING = 0.02;

test(
  'no plan for a small world is cheaper than its bound says, a proved one is the cheapest, and each keeps all rules',
  slow,
  () => {
    const seen = { plans: 0, proved: 0, dearer: 0, leaving: 0, cost: 0, cheapest: 0, worst: 0 };
    fc.assert(
      fc.property(smallWorlds, works, (world, operations) => {
        const given = inputOf(world, operations);
        const plan = planProvisioning(given, instant(0));
        expect(auditPlan(plan, given)).toEqual([]);
        const nodes = nodesOf(world, plan);
        expect(breachesOf(world, nodes)).toEqual([]);
        expect(costOfNodes(world, nodes)).toBe(plan.cost);
        if (plan.left.length > 0) {
          if (operations === ENOUGH && cheapestBelow(world, Infinity) !== null) {
            seen.leaving++;
            tell('leaves pods', world);
          }
          return;
        }
        const cheaper = cheapestBelow(world, plan.cost);
        const cheapest = cheaper === null ? plan.cost : costOfNodes(world, cheaper);
        expect(plan.lowerBound).toBeLessThanOrEqual(cheapest);
        if (operations !== ENOUGH) return;
        seen.plans++;
        seen.cost += plan.cost;
        seen.cheapest += cheapest;
        if (plan.lowerBound === plan.cost) seen.proved++;
        if (cheaper === null) return;
        seen.dearer++;
        seen.worst = Math.max(seen.worst, plan.cost / cheapest - 1);
        tell(`costs ${plan.cost} and could ${cheapest}`, { world, nodes, cheaper });
      }),
      runs,
    );
    tell('seen', seen);
    expect(seen.dearer).toBeLessThanOrEqual(Math.max(5, MOST_DEARER * seen.plans));
    expect(seen.cost).toBeLessThanOrEqual(seen.cheapest * (1 + (seen.plans < 100 ? 1 : MOST_EXCESS)));
    expect(seen.leaving).toBeLessThanOrEqual(Math.max(2, MOST_LEAVING * seen.plans));
  },
);

test('a port on two addresses binds nobody to two nodes, also where others take it on all of them', () => {
  const workload = {
    cpu: 500,
    memory: 1024,
    count: 1,
    app: 'web',
    skew: null,
    apart: null,
    together: false,
    zone: null,
  };
  const workloads = [null, null, '10.0.0.1', '10.0.0.2'].map((ip) => ({ ...workload, ports: [{ port: 80, ip }] }));
  const sizes = [{ cpu: 2_000, memory: 8_192, pods: 30, prices: [10, 10, 10] }];
  const world = { sizes, workloads, daemons: [], nodes: [] };
  const { cost, lowerBound } = planProvisioning(inputOf(world, ENOUGH), instant(0));
  expect(costOfNodes(world, cheapestBelow(world, Infinity) ?? [])).toBe(30);
  expect([cost, lowerBound <= 30]).toEqual([30, true]);
});

/** What the draws showed, where somebody asks. */
function tell(what: string, about: object): void {
  if (process.env['TELL_DRAWS'] === '1') process.stdout.write(`${what} ${JSON.stringify(about)}\n`);
}

/** The plan as nodes with pods, those that were there first. */
function nodesOf({ sizes, workloads, nodes }: SmallWorld, plan: Plan): ReadonlyArray<FilledNode> {
  const countsOf = (pods: ReadonlyArray<{ readonly uid: string }>): ReadonlyArray<number> =>
    workloads.map((_, of) => pods.filter(({ uid }) => workloadOf(uid) === of).length);
  const existing = nodes.map(({ zone }, index): FilledNode => {
    const own = plan.nominations.filter(({ target }) => target.name === `node-${index}`);
    return { zone, existing: index, size: null, counts: countsOf(own.flatMap(({ pods }) => pods)) };
  });
  const made = plan.claims.map(({ offering, pods }): FilledNode => ({
    zone: zones.findIndex((name) => name === offering.zone),
    existing: null,
    size: sizes.findIndex((_, index) => sizeName(index) === offering.instanceType),
    counts: countsOf(pods),
  }));
  return [...existing, ...made];
}
