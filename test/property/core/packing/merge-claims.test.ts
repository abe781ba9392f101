import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import type { InstanceType, Offering } from '../../../../shared/core/model/catalog.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import { parseAmounts } from '../../../../shared/kubernetes/text/quantity.ts';
import { instant, microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { mergeClaims } from '../../../../shared/core/placing/together/merge-claims.ts';
import {
  join,
  emptyClaim,
  offeringsAt,
  settledValue,
  type OpenClaim,
} from '../../../../shared/core/placing/state/open-claim.ts';
import { joiningOf } from '../../../../shared/core/placing/state/joining.ts';
import { pendingPods } from '../../../../shared/core/present/pending-pods.ts';
import { guardFor } from '../../../../shared/core/placing/one-by-one/place.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { amountOf } from '../../../../shared/core/offerings/pool-state.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { lookedAtKeys } from '../../../../shared/core/placing/together/settled-alike.ts';
import { recordOnClaim } from '../../../../shared/core/placing/state/topology.ts';
import {
  costOf,
  optionsFor,
  compileInput,
  workspaceFor,
  type Workspace,
} from '../../../../shared/core/placing/state/workspace.ts';
import { input, pods, pool, shape, spec } from '../../../kit/core/build.ts';
import { inputs, inputsWithReservations, plainInputs } from '../kit/arbitrary.ts';
import { drawsOf } from '../../../setup/draws.ts';

/** A law is a few hundred plans: a second here, more where the machine is busy. */
const slow = { timeout: 120_000 };

const now = instant(0);
const runs = { numRuns: drawsOf(100, 25) };

/** Prices in proportion to cores, so that one node often costs what two do; some sizes are evicted now and then. */
const proportional = fc
  .tuple(fc.constantFrom(0, 0.025, 0.25), fc.constantFrom(0, 0.025))
  .map(([first, second]) => ({ catalog, ...given }: ProvisioningInput): ProvisioningInput => {
    const priced = (type: InstanceType, index: number): InstanceType => {
      const offerings = type.offerings.map((one): Offering => {
        if (one.capacityType === 'reserved') return one;
        const price = microUsdPerHour(50_000 * Number(type.capacity['cpu']) * (one.capacityType === 'spot' ? 1 : 3));
        const rate = index % 2 === 0 ? first : second;
        return one.capacityType === 'spot' && rate > 0 ? { ...one, price, evictionsPerHour: rate } : { ...one, price };
      });
      return { ...type, offerings };
    };
    return { ...given, catalog: new Map([...catalog].map(([name, types]) => [name, types.map(priced)])) };
  });

const drawn = fc
  .tuple(fc.oneof(inputs, inputsWithReservations, plainInputs), proportional)
  .map(([given, withPrices]) => withPrices(given));

/** A workspace with a claim for each pod that can have one, as its pool and all rules allow. */
function oneNodeEach(given: ProvisioningInput): Workspace {
  const waiting = pendingPods(given.cluster, given.inFlight, now);
  const workspace = workspaceFor(compileInput(given, waiting));
  for (const one of waiting) {
    const need = workspace.needs.get(one.shape)?.at(-1);
    for (const state of workspace.pools) {
      if (need === undefined) continue;
      const empty = emptyClaim(state, workspace.dimensions.names.length, false);
      const applicant = { need, guard: guardFor(workspace, need, true) };
      const joining = joiningOf(empty, applicant, optionsFor(workspace, state, need));
      if (joining === null) continue;
      join(joining, need.shape, one);
      workspace.claims.push(empty);
      recordOnClaim(workspace.topology, one.shape, empty, () => null);
      break;
    }
  }
  return workspace;
}

/** What rules about the pods of `claim` see of the labels of a node; null where they look at hosts. */
const labelsSeen = (workspace: Workspace, { pods: own }: OpenClaim, node: OpenClaim): ReadonlyArray<unknown> =>
  own.map(({ shape: index }) => lookedAtKeys(workspace, index)?.map((key) => settledValue(node, key)) ?? null);

test('joined claims hold the same pods, cost no more, and each is an offering that holds its own', slow, () => {
  let joined = 0;
  fc.assert(
    fc.property(drawn, (given) => {
      const workspace = oneNodeEach(given);
      const before = workspace.claims.map((claim) => ({ ...claim, pods: [...claim.pods], load: claim.load.slice() }));
      mergeClaims(workspace);
      const { claims } = workspace;
      joined += before.length - claims.length;
      const podsOf = (list: ReadonlyArray<OpenClaim>): ReadonlyArray<string> =>
        list.flatMap((claim) => claim.pods.map(({ uid }) => uid)).toSorted();
      expect(podsOf(claims)).toEqual(podsOf(before));
      expect(costOf(claims)).toBeLessThanOrEqual(costOf(before));
      for (const claim of claims) {
        const { chosen, load, bits } = claim;
        expect((offeringsAt(claim, chosen?.type ?? 0) >> (chosen?.bit ?? 0)) & 1).toBe(1);
        const parts = before.filter((one) => one.pods.some((pod) => claim.pods.includes(pod)));
        if (parts.length > 1) {
          const seen = labelsSeen(workspace, claim, claim);
          expect(seen).not.toContain(null);
          for (const part of parts) expect(labelsSeen(workspace, claim, part)).toEqual(seen);
        }
        expect([...load]).toEqual([...load].map((_, k) => parts.reduce((sum, part) => sum + (part.load[k] ?? 0), 0)));
        for (const part of parts) {
          expect(part.bits & bits).toBe(bits);
          expect(part.state).toBe(claim.state);
          expect(claim.offered.every((mask, type) => (mask & ~(part.offered[type] ?? 0)) === 0)).toBe(true);
        }
      }
    }),
    runs,
  );
  expect(joined).toBeGreaterThan(0);
});

test('joined claims take of limits what they are, and break none that was kept', slow, () => {
  fc.assert(
    fc.property(drawn, (given) => {
      const workspace = oneNodeEach(given);
      const before = new Map(workspace.pools.map(({ pool: own, remaining }) => [own.name, new Map(remaining)]));
      const taken = (name: string, resource: string): number =>
        workspace.claims
          .filter(({ state }) => state.pool.name === name)
          .reduce((sum, { booked }) => sum + amountOf(booked ?? new Map(), resource), 0);
      const whole = workspace.pools.map(({ pool: own, remaining }) =>
        [...remaining].map(([resource, left]) => left + taken(own.name, resource)),
      );
      mergeClaims(workspace);
      workspace.pools.forEach(({ pool: own, remaining }, index) => {
        [...remaining].forEach(([resource, left], at) => {
          expect(left + taken(own.name, resource)).toBe(whole[index]?.[at]);
          const wasLeft = before.get(own.name)?.get(resource) ?? 0;
          if (wasLeft >= 0) expect(left).toBeGreaterThanOrEqual(0);
        });
      });
    }),
    runs,
  );
});

test(
  'with prices in proportion every plan passes its audit, and its cost is still no less than its bound',
  slow,
  () => {
    fc.assert(
      fc.property(drawn, (given) => {
        const plan = planProvisioning(given, now);
        expect(auditPlan(plan, given).filter(({ severity }) => severity === 'fatal')).toEqual([]);
        expect(plan.lowerBound).toBeLessThanOrEqual(plan.cost);
      }),
      runs,
    );
  },
);

test('of a plan for pods that only resources bind no two nodes could be one that costs as much', slow, () => {
  const few = fc
    .array(
      fc.tuple(
        fc.constantFrom('500m', '1', '1900m', '3'),
        fc.constantFrom('1Gi', '7Gi'),
        fc.integer({ min: 1, max: 4 }),
      ),
      {
        minLength: 1,
        maxLength: 3,
      },
    )
    .chain((requests) => proportional.map((withPrices) => ({ requests, withPrices })));
  fc.assert(
    fc.property(fc.tuple(few, plainInputs), ([{ requests, withPrices }, { catalog }]) => {
      const given = withPrices(
        input({
          types: [...catalog.values()][0] ?? [],
          nodePools: [pool('pool-0')],
          shapes: requests.map(([cpu, memory]) => shape(spec(cpu, memory))),
          pods: requests.flatMap(([, , count], index) => pods(index, count)),
        }),
      );
      const { claims } = planProvisioning(given, now);
      const types = (given.catalog.get('pool-0') ?? []).filter(({ name }) => !name.startsWith('Standard_B'));
      claims.forEach((one, index) => {
        for (const other of claims.slice(index + 1)) {
          const [first, second] = [parseAmounts(one.requests, 'up'), parseAmounts(other.requests, 'up')];
          const holding = types.filter(({ capacity }) =>
            [...parseAmounts(capacity, 'down')].every(
              ([name, has]) => (first.get(name) ?? 0) + (second.get(name) ?? 0) <= has,
            ),
          );
          const prices = holding.flatMap(({ offerings }) =>
            offerings.filter(({ capacityType }) => capacityType === 'on-demand').map(({ price }) => price),
          );
          expect(Math.min(...prices)).toBeGreaterThan(one.offering.price + other.offering.price);
        }
      });
    }),
    runs,
  );
});
