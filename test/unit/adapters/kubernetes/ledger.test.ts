import { describe, expect, test } from 'vitest';
import { createKubernetes } from '../../../../shared/adapters/kubernetes/kubernetes.ts';
import { createLedger } from '../../../../shared/adapters/kubernetes/ledger.ts';
import type { Answer } from '../../../../shared/adapters/kubernetes/transport.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Ledger, LedgerState } from '../../../../shared/ports/store.ts';
import { scripted } from './scripted-transport.ts';

const AT_MS = Date.UTC(2026, 10, 22, 9, 30, 0, 250);
const path = '/apis/coordination.k8s.io/v1/namespaces/n/leases/nodewright-generation';
const mergePatch = 'application/merge-patch+json';

function lease(annotations: Record<string, string> | undefined, spec: object = { leaseTransitions: 4 }): object {
  const metadata = { name: 'nodewright-generation', resourceVersion: '70' };
  return { metadata: annotations === undefined ? metadata : { ...metadata, annotations }, spec };
}

const state: LedgerState = {
  generation: 4,
  decision: 'd4',
  executed: false,
  heardAtMs: null,
  claimsResourceVersion: null,
  token: '70',
};

/** A ledger over an API server that gives these answers in turn. */
async function using<T>(use: (ledger: Ledger) => Promise<T>, ...answers: ReadonlyArray<readonly [number, unknown?]>) {
  const { transport, asked } = scripted(...answers.map(([status, body = {}]): Answer => ({ status, body })));
  return { outcome: await use(createLedger(createKubernetes(transport), 'n', () => AT_MS)), asked };
}

describe('a ledger that is read', () => {
  test('tells the latest decision, how far it got, when it was heard of and what it is conditional on', async () => {
    const annotations = {
      'nodewright.dev/decision': 'd4',
      'nodewright.dev/executed-generation': '4',
      'nodewright.dev/claims-resource-version': '66',
    };
    const renewed = { leaseTransitions: 4, renewTime: '2026-11-22T09:30:00.250000Z' };
    const { outcome, asked } = await using((one) => one.read(), [200, lease(annotations, renewed)]);
    expect(outcome).toEqual({ ...state, executed: true, heardAtMs: AT_MS, claimsResourceVersion: '66' });
    expect(asked).toEqual([{ method: 'GET', path }]);
  });

  test.for([
    ['whose claims are not there yet', { 'nodewright.dev/executed-generation': '3' }],
    ['of which nobody said that its claims are there', {}],
  ] as const)('says of a decision %s that it is not executed', async ([, annotations]) => {
    const { outcome } = await using(
      (one) => one.read(),
      [200, lease({ ...annotations, 'nodewright.dev/decision': 'd4' })],
    );
    expect(outcome).toEqual(state);
  });

  test('has nothing to execute before the first decision', async () => {
    const first = { ...state, generation: 0, decision: null, executed: true };
    expect((await using((one) => one.read(), [200, lease(undefined, {})])).outcome).toEqual(first);
    const { metadata } = lease({}) as { readonly metadata: object };
    expect((await using((one) => one.read(), [200, { metadata }])).outcome).toEqual(first);
  });

  test('is made where there is none, and counts from nothing', async () => {
    const { outcome, asked } = await using(
      (one) => one.read(),
      [404],
      [201, lease(undefined, { leaseTransitions: 0 })],
    );
    expect(outcome).toEqual({ ...state, generation: 0, decision: null, executed: true });
    expect(asked[1]).toEqual({
      method: 'POST',
      path: '/apis/coordination.k8s.io/v1/namespaces/n/leases',
      body: {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'nodewright-generation', namespace: 'n' },
        spec: { holderIdentity: 'nodewright', leaseTransitions: 0 },
      },
    });
  });

  test('is another’s where another made it meanwhile', async () => {
    const { outcome } = await using(
      (one) => one.read(),
      [404],
      [409],
      [200, lease({ 'nodewright.dev/decision': 'd4' })],
    );
    expect(outcome).toEqual(state);
  });

  test('that was made and removed meanwhile is empty', async () => {
    const { outcome } = await using((one) => one.read(), [404], [409], [404]);
    expect(outcome).toEqual({ ...state, generation: 0, decision: null, executed: true, token: null });
  });

  test('is an error where it may not be made, or cannot be read', async () => {
    const refused = using((one) => one.read(), [404], [422, { message: 'no namespace' }]);
    await expect(refused).rejects.toBeInstanceOf(RetryableError);
    await expect(refused).rejects.toThrow('may not create Lease nodewright-generation: no namespace');
    await expect(using((one) => one.read(), [400])).rejects.toBeInstanceOf(RetryableError);
  });
});

describe('a commit', () => {
  test('counts one up from what was read, on condition that nobody has written since', async () => {
    const written = lease({ 'nodewright.dev/decision': 'd5' }, { leaseTransitions: 5 });
    const { outcome, asked } = await using((one) => one.commit(state, 'd5'), [200, written]);
    expect(outcome).toEqual({ kind: 'committed', state: { ...state, generation: 5, decision: 'd5' } });
    expect(asked).toEqual([
      {
        method: 'PATCH',
        path,
        contentType: mergePatch,
        body: {
          metadata: { resourceVersion: '70', annotations: { 'nodewright.dev/decision': 'd5' } },
          spec: { leaseTransitions: 5, renewTime: '2026-11-22T09:30:00.250000Z' },
        },
      },
    ]);
  });

  test.for([409, 404])('is lost where another was first, or the ledger is gone (%s)', async (status) => {
    expect((await using((one) => one.commit(state, 'd5'), [status])).outcome).toEqual({ kind: 'lost' });
  });

  test('that is refused is neither', async () => {
    const refused = using((one) => one.commit(state, 'd5'), [422, { message: 'bad' }]);
    await expect(refused).rejects.toBeInstanceOf(RetryableError);
    await expect(refused).rejects.toThrow('may not patch Lease nodewright-generation: bad');
  });
});

describe('an executor that goes on', () => {
  test('tells when, on condition that nobody else has written, and goes by what it wrote', async () => {
    const written = lease(
      { 'nodewright.dev/decision': 'd4' },
      { leaseTransitions: 4, renewTime: '2026-11-22T09:30:00Z' },
    );
    const { outcome, asked } = await using((one) => one.goOn({ ...state, token: '69' }), [200, written]);
    expect(outcome).toEqual({ ...state, heardAtMs: AT_MS - 250 });
    expect(asked).toEqual([
      {
        method: 'PATCH',
        path,
        contentType: mergePatch,
        body: { metadata: { resourceVersion: '69' }, spec: { renewTime: '2026-11-22T09:30:00.250000Z' } },
      },
    ]);
  });

  test.for([404, 409, 422])('that lost the race goes by what it knew (%s)', async (status) => {
    expect((await using((one) => one.goOn(state), [status])).outcome).toBe(state);
  });
});

describe('a decision whose claims are there is noted', () => {
  const noted = async (known: LedgerState, claims: string | null, status = 200): Promise<unknown> => {
    const { asked } = await using((one) => one.markExecuted(known, claims), [status, lease({})]);
    return asked[0]?.body;
  };

  test('as executed and when, with how fresh a snapshot knows its claims, on condition that nobody else has written', async () => {
    expect(await noted(state, '80')).toEqual({
      metadata: {
        resourceVersion: '70',
        annotations: {
          'nodewright.dev/executed-generation': '4',
          'nodewright.dev/claims-resource-version': '80',
        },
      },
      spec: { renewTime: '2026-11-22T09:30:00.250000Z' },
    });
  });

  test('without losing what was known of its claims', async () => {
    expect(await noted({ ...state, claimsResourceVersion: '66' }, null)).toMatchObject({
      metadata: { annotations: { 'nodewright.dev/claims-resource-version': '66' } },
    });
    expect(await noted({ ...state, claimsResourceVersion: '66' }, '80')).toMatchObject({
      metadata: { annotations: { 'nodewright.dev/claims-resource-version': '80' } },
    });
  });

  test('without a word of its claims where nothing is known', async () => {
    expect(await noted(state, null)).toEqual({
      metadata: { resourceVersion: '70', annotations: { 'nodewright.dev/executed-generation': '4' } },
      spec: { renewTime: '2026-11-22T09:30:00.250000Z' },
    });
  });

  test('or not, where another was first', async () => {
    await expect(noted(state, '80', 409)).resolves.toBeDefined();
  });
});
