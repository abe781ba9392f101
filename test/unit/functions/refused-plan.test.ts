import { expect, test } from 'vitest';
import { deliverTo } from '../../../functions/deliver.ts';
import { gather } from '../../../shared/app/gather.ts';
import { provision } from '../../../shared/app/provision.ts';
import { makePlan } from '../../../shared/app/make-plan.ts';
import { carryOut } from '../app/carry-out.ts';
import { parsePodsHint } from '../../../shared/contract/messages.ts';
import type { InstanceType } from '../../../shared/core/model/catalog.ts';
import { microUsdPerHour } from '../../../shared/core/quantity/units.ts';
import { TerminalError } from '../../../shared/ports/errors.ts';
import type { Decision } from '../../../shared/ports/store.ts';
import { size } from '../core/build.ts';
import { smallCluster } from '../app/small-cluster.ts';

const D2 = size('Standard_D2_v5', 2, 8, 100_000);
/** By then no more pods are waited for. */
const WINDOW_MS = 15_000;
const REFUSAL =
  'plan refused by its audit: planned-0: Standard_D2_v5 westeurope-1 on-demand is not available at that price';

/** The size at prices that are looked up anew whenever somebody asks. */
function priced(price: () => number): InstanceType {
  const offerings = D2.offerings.map((offering) => ({
    ...offering,
    get price() {
      return microUsdPerHour(price());
    },
  }));
  return { ...D2, offerings };
}

/**
 * One pod that a new node would hold, and one that none holds. The event about the latter is written between planning and
 * the audit: `afterPlan` happens then.
 */
function cluster(afterPlan: () => void) {
  const small = smallCluster();
  small.addClass('True');
  small.addPool();
  small.addPod('fits', '1');
  small.addPod('never', '64');
  small.clock.advance(WINDOW_MS);
  const records: Array<Decision> = [];
  const logged: Array<string> = [];
  const decisions = {
    ...small.ports.decisions,
    put: (decision: Decision) => {
      records.push(decision);
      return small.ports.decisions.put(decision);
    },
  };
  small.outside.onRequest = ({ method, path }) => {
    if (method === 'POST' && path.endsWith('/events')) afterPlan();
  };
  const ports = { ...small.ports, decisions, log: (event: string) => void logged.push(event) };
  const generation = async (): Promise<number> => (await small.ports.ledger.read()).generation;
  return { ...small, ports, records, logged, generation, claims: () => small.server.list('nodeclaims').length };
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
  await deliverTo({ app, now: () => clock.now() }, context, hint, parsePodsHint, async (given) => {
    await provision(given);
  });
  return { hint, poisoned, errors };
}

test('a plan that its audit refuses is neither recorded as a decision, nor committed, nor executed', async () => {
  const prices = { now: 100_000 };
  const refused = cluster(() => (prices.now = 100_001));
  refused.outside.types = [priced(() => prices.now)];
  await deliver(refused);
  expect(refused.records).toEqual([]);
  expect([await refused.generation(), refused.claims()]).toEqual([0, 0]);
  expect(refused.sent.filter(({ hint }) => hint.kind !== 'pods')).toEqual([]);
});

test('a plan that its audit refuses is kept as poison with what is wrong, and the host hears of an error', async () => {
  const prices = { now: 100_000 };
  const refused = cluster(() => (prices.now = 100_001));
  refused.outside.types = [priced(() => prices.now)];
  const { hint, poisoned, errors } = await deliver(refused);
  expect(poisoned).toEqual([[hint, expect.stringContaining(REFUSAL), 'provision']]);
  expect(errors).toEqual([['poison', expect.stringContaining(REFUSAL)]]);
  expect(refused.logged).toContain('plan-refused');
  // Nothing that would have it planned again at once: it would be refused again.
  expect(refused.sent.filter(({ hint: next }) => 'attempt' in next)).toEqual([]);
});

test('the same plan is committed and executed when nothing is wrong with it', async () => {
  const right = cluster(() => undefined);
  right.outside.types = [priced(() => 100_000)];
  const { poisoned, errors } = await deliver(right);
  expect([poisoned, errors]).toEqual([[], []]);
  expect([right.records.length, await right.generation(), right.claims()]).toEqual([1, 1, 1]);
  expect(right.logged).toContain('provisioned');
});

test('whatever asks for a commit, a plan with a fatal finding is not recorded, and all that is wrong is told', async () => {
  const { ports, records, generation, claims } = cluster(() => undefined);
  const gathered = await gather(ports, await ports.ledger.read(), false);
  if (gathered === null) throw new Error('there is a snapshot');
  const { plan } = makePlan(ports, gathered, gathered.input);
  const wrong = { ...plan, cost: microUsdPerHour(1), lowerBound: microUsdPerHour(2) };
  const refusal = carryOut(ports, gathered, wrong, 'test');
  await expect(refusal).rejects.toThrow(TerminalError);
  await expect(refusal).rejects.toThrow('the claims cost 100000, the plan says 1; bound 2 above cost 1');
  expect([records, await generation(), claims()]).toEqual([[], 0, 0]);
});
