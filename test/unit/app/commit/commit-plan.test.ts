import { describe, expect, test } from 'vitest';
import { resume, resumeNow, toDecision } from '../../../../shared/app/commit/commit-plan.ts';
import { type Gathered, gather } from '../../../../shared/app/gather/gather.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { carryOut } from '../../../kit/app/carry-out.ts';
import { START, decisionOf, namesIn, smallCluster } from '../../../kit/app/small-cluster.ts';

/** A pod that waits, what was gathered of its cluster, and the plan for it. */
async function planned() {
  const cluster = smallCluster();
  const { ports, trace, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  cluster.addPod('a');
  const gathered = await gather(ports, await ports.ledger.read(), true);
  if (gathered === null) throw new Error('there is a snapshot');
  const plan = planProvisioning(gathered.input, instant(START));
  trace.length = 0;
  return {
    ...cluster,
    gathered,
    plan,
    claims: () => server.list('nodeclaims').map(({ metadata }) => metadata.name),
    generation: async () => (await ports.ledger.read()).generation,
    writes: () => trace.filter((step) => !step.startsWith('GET')),
  };
}

/** The ports with `changes` in their store of decisions. */
function withDecisions(ports: Ports, changes: Partial<Ports['decisions']>): Ports {
  return { ...ports, decisions: { ...ports.decisions, ...changes } };
}

describe('a plan that its audit refuses', () => {
  const broken = (plan: Plan): Plan => ({ ...plan, claims: [...plan.claims, ...plan.claims] });

  test('is not committed, not stored and not executed', async () => {
    const { ports, gathered, plan, writes, sent, claims } = await planned();
    const stored: Array<string> = [];
    const watched = withDecisions(ports, { put: ({ name }) => Promise.resolve(void stored.push(name)) });
    const committing = carryOut(watched, gathered, broken(plan), 'test');
    await expect(committing).rejects.toThrow('refused by its audit');
    expect([writes(), stored, sent, claims()]).toEqual([[], [], [], []]);
  });
});

describe('a plan that is committed', () => {
  test('is stored, then made the latest, then executed', async () => {
    const { ports, gathered, plan, trace, claims, generation } = await planned();
    const put: Ports['decisions']['put'] = (decision) => {
      trace.push('stored');
      return ports.decisions.put(decision);
    };
    const outcome = await carryOut(withDecisions(ports, { put }), gathered, plan, 'test');
    expect(outcome).toMatchObject({
      kind: 'committed',
      decision: { cause: 'test', generation: 1, claimNames: claims() },
    });
    expect([await generation(), claims().length]).toEqual([1, 1]);
    const order = ['stored', 'PATCH /apis/coordination', 'POST /apis/karpenter.sh/v1/nodeclaims'].map((start) =>
      trace.findIndex((step) => step.startsWith(start)),
    );
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test('makes claims whose names, decision and finalizer say whose they are', async () => {
    const { ports, gathered, plan, server } = await planned();
    const outcome = await carryOut(ports, gathered, plan, 'test');
    const name = outcome.kind === 'committed' ? outcome.decision.name : '';
    expect(server.list('nodeclaims')).toMatchObject([
      { metadata: { annotations: { 'nodewright.dev/decision': name }, finalizers: ['karpenter.sh/termination'] } },
    ]);
  });

  test('is executed once: who commits another on the same ground has lost, and makes nothing', async () => {
    const { ports, gathered, plan, claims, sent } = await planned();
    await carryOut(ports, gathered, plan, 'test');
    const first = claims();
    sent.length = 0;
    expect(await carryOut(ports, gathered, plan, 'test')).toEqual({ kind: 'lost' });
    expect([claims(), sent]).toEqual([first, []]);
  });

  test('is not the latest when it cannot be stored', async () => {
    const { ports, gathered, plan, claims, generation } = await planned();
    const put = (): Promise<never> => Promise.reject(new RetryableError('storage is down'));
    await expect(carryOut(withDecisions(ports, { put }), gathered, plan, 'test')).rejects.toThrow('storage is down');
    expect([claims(), await generation()]).toEqual([[], 0]);
  });

  test('has made nothing when the write that commits it fails', async () => {
    const { ports, gathered, plan, claims, outside } = await planned();
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH') throw new RetryableError('busy');
    };
    await expect(carryOut(ports, gathered, plan, 'test')).rejects.toThrow('busy');
    expect(claims()).toEqual([]);
  });
});

describe('the name of a decision', () => {
  const named = (ports: Ports, gathered: Gathered, plan: Plan): string =>
    toDecision(ports, gathered, plan, 'test').name;

  test('is the same for the same plan on the same ground, and so are the names of its claims', async () => {
    const { ports, gathered, plan } = await planned();
    expect(toDecision(ports, gathered, plan, 'test')).toEqual(toDecision(ports, gathered, plan, 'test'));
    expect(named(ports, gathered, plan)).toMatch(/^000000001-/);
  });

  test('is another for another plan, snapshot or generation', async () => {
    const { ports, gathered, plan } = await planned();
    const names = [
      named(ports, gathered, plan),
      named(ports, gathered, { ...plan, claims: [] }),
      named(ports, { ...gathered, snapshot: { ...gathered.snapshot, version: 'later' } }, plan),
      named(ports, { ...gathered, ledger: { ...gathered.ledger, generation: 1 } }, plan),
    ];
    expect(new Set(names).size).toBe(4);
  });
});

/** A cluster whose latest decision, of these claims, is committed and not executed. */
async function committed(...names: ReadonlyArray<string>) {
  const cluster = smallCluster();
  const { ports, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(names);
  await ports.decisions.put(decision);
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
  return { ...cluster, decision, claims: () => server.list('nodeclaims').map(({ metadata }) => metadata.name) };
}

describe('a decision that is executed', () => {
  test('makes no claim of a pool that is being deleted or has gone', async () => {
    const going = await committed('a');
    going.server.patch('nodepools', 'general', { metadata: { finalizers: ['other'] } }, 'object');
    going.server.delete('nodepools', 'general');
    await resumeNow(going.ports);
    const gone = await committed('a');
    gone.server.remove('nodepools', 'general');
    await resumeNow(gone.ports);
    for (const { claims, sent, ports } of [going, gone]) {
      expect([claims(), sent, (await ports.ledger.read()).executed]).toEqual([[], [], true]);
    }
  });

  test('leaves a claim alone that is there already, and asks for its machine all the same', async () => {
    const { ports, server, addClaim, sent } = await committed('a', 'b');
    addClaim('b');
    const before = server.get('nodeclaims', 'b');
    await resumeNow(ports);
    expect(server.get('nodeclaims', 'b')).toEqual(before);
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([['a', 'b']]);
    expect((await ports.ledger.read()).claimsResourceVersion).toBe(
      server.get('nodeclaims', 'a')?.metadata.resourceVersion,
    );
  });

  test('tells of a claim that the API server refuses, asks for no machine for it, and makes the others', async () => {
    const { ports, claims, sent } = await committed('a', 'b');
    const logged: Array<unknown> = [];
    const refusal = {
      act: 'create',
      kind: 'NodeClaim',
      key: { name: 'a', namespace: null },
      reason: 'spec is wrong',
      policy: null,
    };
    const create = ((kind: 'NodeClaim', object: { readonly metadata: { readonly name: string } }) =>
      object.metadata.name === 'a'
        ? Promise.resolve({ kind: 'refused', reason: 'spec is wrong', refusal })
        : ports.kubernetes.create(kind, object)) as Ports['kubernetes']['create'];
    await resumeNow({
      ...ports,
      kubernetes: { ...ports.kubernetes, create },
      log: (...line) => void logged.push(line),
    });
    expect([claims(), sent.map(({ hint }) => namesIn(hint))]).toEqual([['b'], [['b']]]);
    expect(logged).toContainEqual([
      'nodeclaim-refused',
      expect.objectContaining({ claim: 'a', reason: 'spec is wrong' }),
    ]);
  });

  test('is not noted as executed while a claim of it could not be made', async () => {
    const { ports, outside, claims, clock } = await committed('a');
    outside.onRequest = ({ method }) => {
      if (method === 'POST') throw new RetryableError('busy');
    };
    await expect(resumeNow(ports)).rejects.toThrow('busy');
    expect((await ports.ledger.read()).executed).toBe(false);
    outside.onRequest = () => undefined;
    clock.advance(60_000);
    expect(await resume(ports)).toMatchObject({ kind: 'ready', ledger: { executed: true } });
    expect(claims()).toEqual(['a']);
  });

  test('makes sixteen claims at once and no more', async () => {
    const { ports } = await committed(...Array.from({ length: 40 }, (_, index) => `c-${index}`));
    let [now, most] = [0, 0];
    const create = (async (...given: Parameters<Ports['kubernetes']['create']>) => {
      now += 1;
      most = Math.max(most, now);
      await new Promise((done) => setImmediate(done));
      now -= 1;
      return ports.kubernetes.create(...given);
    }) as Ports['kubernetes']['create'];
    await resumeNow({ ...ports, kubernetes: { ...ports.kubernetes, create } });
    expect(most).toBe(16);
  });
});

describe('a decision that somebody else has committed', () => {
  test('is finished first, three times in a row, and then others have their turn', async () => {
    const { ports } = await committed('a');
    let reads = 0;
    const restless: Ports['ledger'] = {
      ...ports.ledger,
      read: async () => {
        reads += 1;
        return { ...(await ports.ledger.read()), executed: false };
      },
    };
    await expect(resumeNow({ ...ports, ledger: restless })).rejects.toMatchObject({
      name: 'RetryableError',
      retryAfterMs: 500,
    });
    expect(reads).toBe(3);
  });

  test('and whose executor was never heard of is taken over', async () => {
    const { ports, claims } = await committed('a');
    const read: Ports['ledger']['read'] = async () => ({ ...(await ports.ledger.read()), heardAtMs: null });
    expect(await resume({ ...ports, ledger: { ...ports.ledger, read } })).toMatchObject({ kind: 'ready' });
    expect(claims()).toEqual(['a']);
  });
});

test('where nothing was ever decided there is nothing to finish', async () => {
  const { ports, trace } = smallCluster();
  expect(await resume(ports)).toMatchObject({ kind: 'ready', ledger: { generation: 0, decision: null } });
  expect(await resumeNow(ports)).toMatchObject({ generation: 0, decision: null });
  expect(trace.filter((step) => step.includes('nodeclaims'))).toEqual([]);
});
