import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { machine, smallCluster } from '../../../../kit/app/small-cluster.ts';

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

describe('a claim whose machine is gone', () => {
  test('is there until its decision has been executed, as that would make it again, and its machine', async () => {
    const { look, stateOf, azure, ports, clock } = await givenUp();
    const lookAgainMs = clock.now() + 5_000;
    expect(await look()).toEqual({ kind: 'wait', for: 'its decision to be executed', lookAgainMs });
    expect([azure.deleted, stateOf('c')]).toEqual([['c'], 'leaving']);
    await ports.ledger.markExecuted(await ports.ledger.read(), null);
    expect(await look()).toEqual({ kind: 'ended', why: 'terminated' });
    expect(stateOf('c')).toBe('gone');
  });

  test('goes while another decision is being executed', async () => {
    const { look, stateOf } = await givenUp('000000000-c');
    expect((await look()).kind).toBe('ended');
    expect(stateOf('c')).toBe('gone');
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
    const { look, server, outside, ports } = await givenUp();
    await ports.ledger.markExecuted(await ports.ledger.read(), null);
    outside.remove = () => {
      server.remove('nodeclaims', 'c');
      server.create('nodeclaims', { metadata: { name: 'c', finalizers: ['karpenter.sh/termination'] }, spec: {} });
      return 'gone';
    };
    await look();
    expect(server.get('nodeclaims', 'c')?.metadata.finalizers).toEqual(['karpenter.sh/termination']);
  });
});
