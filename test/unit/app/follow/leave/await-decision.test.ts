import { describe, expect, test } from 'vitest';
import { createLedger } from '../../../../../shared/adapters/kubernetes/ledger.ts';
import { resumeNow } from '../../../../../shared/app/commit/commit-plan.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { Ports } from '../../../../../shared/app/ports/ports.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { START, decisionOf, machine, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

const DECISION = '000000001-d';

/** A claim `c` of the decision `by`, deleted, whose machine never came; `DECISION` has been committed, not executed. */
async function givenUp(by: string | null = DECISION) {
  const cluster = smallCluster();
  const { server, ports } = cluster;
  cluster.addClaim('c', { annotations: by === null ? {} : { 'nodewright.dev/decision': by } });
  server.delete('nodeclaims', 'c');
  await ports.ledger.commit(await ports.ledger.read(), DECISION);
  return { ...cluster, look: () => follow(ports, { kind: 'NodeClaim', name: 'c' }) };
}

/** As `givenUp`, and the decision has been executed; `ageMs` later another is committed. */
async function followed(ageMs: number) {
  const cluster = await givenUp();
  const { ledger } = cluster.ports;
  await ledger.markExecuted(await ledger.read(), null);
  cluster.clock.advance(ageMs);
  await ledger.commit(await ledger.read(), '000000002-e');
  return cluster;
}

describe('a claim whose machine is gone', () => {
  test('is there until its decision has been executed, as that would make it again, and its machine', async () => {
    const { look, stateOf, azure, clock } = await givenUp();
    const lookAgainMs = clock.now() + 5_000;
    expect(await look()).toEqual({ kind: 'wait', for: 'its decision to be executed', lookAgainMs });
    expect([azure.deleted, stateOf('c')]).toEqual([['c'], 'leaving']);
  });

  test('is there for 35 s after that, as a request of another executor may stand still for so long', async () => {
    const { look, stateOf, ports, clock } = await givenUp();
    clock.advance(20_000);
    await ports.ledger.markExecuted(await ports.ledger.read(), null);
    const wait = { kind: 'wait', for: 'the last requests of its decision', lookAgainMs: clock.now() + 35_000 };
    expect(await look()).toEqual(wait);
    clock.advance(34_999);
    expect(await look()).toEqual(wait);
    clock.advance(1);
    expect(await look()).toEqual({ kind: 'ended', why: 'terminated' });
    expect(stateOf('c')).toBe('gone');
  });

  test('is not made again by a request that stood still while others made it, and gave it up', async () => {
    const { ports, clock, server, stateOf, addClass, addPool } = smallCluster();
    addClass('True');
    addPool();
    await ports.decisions.put(decisionOf(['c']));
    await ports.ledger.commit(await ports.ledger.read(), decisionOf(['c']).name);
    const create = (async (...given: Parameters<Ports['kubernetes']['create']>) => {
      await resumeNow(ports);
      clock.advance(2_000);
      server.delete('nodeclaims', 'c');
      await follow(ports, { kind: 'NodeClaim', name: 'c' });
      clock.advance(28_000);
      await follow(ports, { kind: 'NodeClaim', name: 'c' });
      return ports.kubernetes.create(...given);
    }) as Ports['kubernetes']['create'];
    await resumeNow({ ...ports, kubernetes: { ...ports.kubernetes, create } });
    expect(stateOf('c')).toBe('leaving');
  });

  test('goes at once where its decision was executed long before its deletion', async () => {
    const { look, ports, clock, server, addClaim } = await givenUp();
    await ports.ledger.markExecuted(await ports.ledger.read(), null);
    server.remove('nodeclaims', 'c');
    addClaim('c', { annotations: { 'nodewright.dev/decision': DECISION } });
    clock.advance(35_000);
    server.delete('nodeclaims', 'c');
    expect((await look()).kind).toBe('ended');
  });

  test('goes at once where its node has joined, which takes a VM longer than a request may stand still', async () => {
    const { look, ports, server } = await givenUp();
    server.patch('nodeclaims', 'c', { status: { conditions: [since(START, 'Registered')] } }, 'status');
    expect((await look()).kind).toBe('wait');
    await ports.ledger.markExecuted(await ports.ledger.read(), null);
    expect((await look()).kind).toBe('ended');
  });

  test.each(['False', 'Unknown'])(
    'waits where its node has not joined, and it says so (Registered %s)',
    async (status) => {
      const { look, ports, server } = await givenUp();
      server.patch(
        'nodeclaims',
        'c',
        { status: { conditions: [{ ...since(START, 'Registered'), status }] } },
        'status',
      );
      await look();
      await ports.ledger.markExecuted(await ports.ledger.read(), null);
      expect((await look()).kind).toBe('wait');
    },
  );

  test('does not wait for its decision where it was old when it was deleted, and others have followed', async () => {
    const cluster = smallCluster();
    const { server, ports, clock } = cluster;
    cluster.addClaim('c', { annotations: { 'nodewright.dev/decision': DECISION } });
    clock.advance(60_000);
    server.delete('nodeclaims', 'c');
    await ports.ledger.commit(await ports.ledger.read(), '000000002-e');
    expect((await follow(ports, { kind: 'NodeClaim', name: 'c' })).kind).toBe('ended');
  });

  test('is there for 35 s after another decision was committed, as its own was executed before', async () => {
    const { look, clock } = await followed(10_000);
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 35_000 });
    clock.advance(35_000);
    expect((await look()).kind).toBe('ended');
  });

  test.each([
    [59_999, 'wait'],
    [60_000, 'ended'],
  ])('waits by its age where others have followed its decision (%i ms: %s)', async (ageMs, kind) => {
    const { look, clock, ports } = await followed(20_000);
    clock.advance(ageMs - 20_000);
    const { ledger } = ports;
    await ledger.markExecuted(await ledger.read(), null);
    expect((await look()).kind).toBe(kind);
  });

  test.each([
    [35_000, 'wait'],
    [35_001, 'ended'],
  ])('does not wait by the clock of an executor that is far ahead (%i ms: %s)', async (aheadMs, kind) => {
    const { look, ports, clock } = await givenUp();
    const ahead = createLedger(ports.kubernetes, 'nodewright-system', () => clock.now() + aheadMs);
    await ahead.markExecuted(await ahead.read(), null);
    expect((await look()).kind).toBe(kind);
  });

  test('goes where nothing is known of any decision any more', async () => {
    const { look, server } = await givenUp();
    server.remove('leases', 'nodewright-system/nodewright-generation');
    expect((await look()).kind).toBe('ended');
  });

  test('goes five minutes after its deletion, though nobody can finish its decision', async () => {
    const { look, stateOf, clock } = await givenUp();
    clock.advance(300_000);
    expect((await look()).kind).toBe('wait');
    clock.advance(1);
    expect((await look()).kind).toBe('ended');
    expect(stateOf('c')).toBe('gone');
  });

  test('goes without a question to the ledger where no decision made it', async () => {
    const { look, stateOf, outside } = await givenUp(null);
    outside.onRequest = ({ path }) => {
      if (path.includes('/leases')) throw new RetryableError('503');
    };
    expect((await look()).kind).toBe('ended');
    expect(stateOf('c')).toBe('gone');
  });

  test('waits as long where it is old', async () => {
    const { look, clock, server, addClaim } = await givenUp();
    server.remove('nodeclaims', 'c');
    addClaim('c', { annotations: { 'nodewright.dev/decision': DECISION } });
    clock.advance(20 * 60_000);
    server.delete('nodeclaims', 'c');
    expect(await look()).toMatchObject({ kind: 'wait' });
  });

  test('waits where it had a node, and that goes at once', async () => {
    const { look, stateOf, server, azure, addNode, clock } = await givenUp();
    server.patch('nodeclaims', 'c', { status: { providerID: 'azure://c' } }, 'status');
    azure.machines.set('c', machine('c'));
    addNode('c', { finalizers: ['karpenter.sh/termination'] });
    await look();
    // A pod may have been on its way to it.
    clock.advance(5_000);
    expect(await look()).toMatchObject({ kind: 'wait', for: 'its decision to be executed' });
    expect([azure.deleted, stateOf('c'), server.get('nodes', 'aks-c')]).toEqual([['c'], 'leaving', null]);
  });

  test('stays where nobody answers whether its decision has been executed, and its machine goes all the same', async () => {
    const { look, stateOf, azure, outside, clock } = await givenUp();
    outside.onRequest = ({ path }) => {
      if (path.includes('/leases')) throw new RetryableError('503');
    };
    await expect(look()).rejects.toThrow('503');
    expect([azure.deleted, stateOf('c')]).toEqual([['c'], 'leaving']);
    clock.advance(300_001);
    expect((await look()).kind).toBe('ended');
  });

  test('is let go by its finalizer, and not another that has its name by then', async () => {
    const { look, server, outside, ports, clock } = await givenUp();
    await ports.ledger.markExecuted(await ports.ledger.read(), null);
    clock.advance(35_000);
    outside.remove = () => {
      server.remove('nodeclaims', 'c');
      server.create('nodeclaims', { metadata: { name: 'c', finalizers: ['karpenter.sh/termination'] }, spec: {} });
      return 'gone';
    };
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.finalizers).toEqual(['karpenter.sh/termination']);
  });
});
