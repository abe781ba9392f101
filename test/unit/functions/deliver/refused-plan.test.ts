import { expect, test } from 'vitest';
import { deliverTo } from '../../../../functions/deliver/deliver.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { parsePodsHint } from '../../../../shared/contract/messages/messages.ts';
import type { PlannedClaim } from '../../../../shared/core/model/plan.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { pendingPods } from '../../../../shared/core/present/pending-pods.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { Planner } from '../../../../shared/core/recovery/sound-plan.ts';
import type { Decision } from '../../../../shared/ports/store.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';
import { never } from '../../../kit/app/workers.ts';

interface ClaimSpec {
  readonly resources?: { readonly requests?: { readonly cpu?: string } };
}

interface ToldEvent {
  readonly involvedObject: { readonly kind: string; readonly name: string };
  readonly reason: string;
  readonly message: string;
}

/** By then no more pods are waited for. */
const WINDOW_MS = 15_000;

/** The planner with a fault in the claims of pods that are called so: it states a price that nobody asks. */
function mispricing(name: string): Planner {
  return (input, now) => {
    const plan = planProvisioning(input, now);
    const isWrong = ({ pods }: PlannedClaim) => pods.some((pod) => pod.name.endsWith(name));
    const claims = plan.claims.map((claim) =>
      isWrong(claim) ? { ...claim, offering: { ...claim.offering, price: microUsdPerHour(1) } } : claim,
    );
    const cost = microUsdPerHour(claims.reduce((sum, { offering }) => sum + offering.price, 0));
    const none = microUsdPerHour(0);
    return { ...plan, claims, cost, lowerBound: none, weighed: { cost, lowerBound: none } };
  };
}

/** Every claim of it is of a size that its pods do not fit, and nominations are to nodes that are not there. */
const hopeless: Planner = (input, now) => {
  const plan = planProvisioning(input, now);
  const pods = pendingPods(input.cluster, input.inFlight, now).map(({ name, uid }) => ({
    name: `default/${name}`,
    uid,
  }));
  return { ...plan, claims: plan.claims.map((claim) => ({ ...claim, pods })), left: [] };
};

/** Two pods that new nodes would hold, and one that none holds. */
function cluster(planner: Planner) {
  const small = smallCluster();
  small.addClass('True');
  small.addPool();
  small.addPod('fits', '1500m');
  small.addPod('other', '1200m');
  small.addPod('never', '64');
  small.clock.advance(WINDOW_MS);
  const records: Array<Decision> = [];
  const logged: Array<readonly [string, Readonly<Record<string, unknown>>]> = [];
  const decisions = {
    ...small.ports.decisions,
    put: (decision: Decision) => {
      records.push(decision);
      return small.ports.decisions.put(decision);
    },
  };
  const log: Ports['log'] = (event, facts) => void logged.push([event, facts]);
  const ports = { ...small.ports, planner, decisions, log };
  const requests = (): ReadonlyArray<string> =>
    small.server
      .list('nodeclaims')
      .map(({ spec }) => String((spec as ClaimSpec).resources?.requests?.cpu))
      .toSorted();
  const events = (kind: string): ReadonlyArray<string> =>
    small.server
      .list('events')
      .map((event) => event as unknown as ToldEvent)
      .flatMap(({ involvedObject, reason, message }) =>
        involvedObject.kind === kind ? [`${reason} ${involvedObject.name}: ${message}`] : [],
      );
  return { ...small, ports, records, logged, requests, events };
}

/** Delivers a hint to the function; what it keeps as poison and what it tells the host. */
async function deliver({ ports, clock }: ReturnType<typeof cluster>) {
  const poisoned: Array<readonly [unknown, string, string]> = [];
  const errors: Array<ReadonlyArray<unknown>> = [];
  const app = {
    cluster: ports.cluster,
    hints: ports.hints,
    ports: () => Promise.resolve(ports),
    poison: (message: unknown, reason: string, from: string) =>
      Promise.resolve(void poisoned.push([message, reason, from])),
  };
  const context = {
    functionName: 'provision',
    invocationId: 'i',
    info: () => undefined,
    error: (...told: ReadonlyArray<unknown>) => void errors.push(told),
  };
  const hint = { kind: 'pods', version: 1, cluster: ports.cluster, snapshot: null, reason: 'test' };
  await deliverTo({ app, now: () => clock.now(), after: never }, context, hint, parsePodsHint, async (given) => {
    await provision(given);
  });
  return { hint, poisoned, errors };
}

const facts = (logged: ReturnType<typeof cluster>['logged'], name: string) =>
  logged.find(([event]) => event === name)?.[1];

test('a plan with a fault about one pod is not carried out as it is: the others get their nodes, and so does that one, by first-fit', async () => {
  const refused = cluster(mispricing('fits'));
  const { poisoned, errors } = await deliver(refused);
  expect([poisoned, errors]).toEqual([[], []]);
  expect(refused.requests()).toEqual(['1200m', '1500m']);
  expect(refused.records).toHaveLength(1);
  expect(facts(refused.logged, 'plan-refused')).toMatchObject({
    findings: expect.stringContaining('offering: planned-'),
    nodePools: 'general',
    instead: 'rest',
    rescued: 1,
    leftOut: 0,
  });
  expect(refused.events('NodePool')).toEqual([
    expect.stringMatching(
      /^PlanRefused general: A plan with nodes of this NodePool broke a rule of the audit and was not carried out \(offering: .*the plan that was made instead has room for all pods/,
    ),
    expect.stringMatching(/^Provisioned general: Decision \S+ creates 2 nodes/),
  ]);
});

test('a pod for which nothing sound is found hears of the finding, and keeps nobody waiting', async () => {
  const { outside, ...refused } = cluster(hopeless);
  const { poisoned, errors } = await deliver({ ...refused, outside });
  expect([poisoned, errors]).toEqual([[], []]);
  expect(refused.requests()).toEqual(['1200m', '1500m']);
  const told = refused.events('Pod').filter((text) => !text.startsWith('Nominated '));
  expect(told).toEqual([
    expect.stringMatching(
      /^FailedScheduling never: .*no plan for it passed the audit, which is a fault of Nodewright: .*other pods do not wait for it$/,
    ),
  ]);
});

test('a planner that fails in all it does stops nothing: the same hint is done, and nothing is poison', async () => {
  const failing = cluster(() => {
    throw new Error('out of columns');
  });
  const { poisoned, errors } = await deliver(failing);
  expect([poisoned, errors]).toEqual([[], []]);
  expect(failing.requests()).toEqual(['1200m', '1500m']);
  expect(facts(failing.logged, 'plan-refused')).toMatchObject({
    findings: 'planner: the planner failed: out of columns',
    instead: 'first-fit',
  });
  expect(facts(failing.logged, 'provisioned')).toMatchObject({ claims: 2 });
});

test('a plan with which nothing is wrong is carried out as it is', async () => {
  const right = cluster(planProvisioning);
  const { poisoned, errors } = await deliver(right);
  expect([poisoned, errors]).toEqual([[], []]);
  expect(right.requests()).toEqual(['1200m', '1500m']);
  expect(facts(right.logged, 'plan-refused')).toBeUndefined();
});
