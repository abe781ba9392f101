import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { smallCluster } from '../../../../kit/app/small-cluster.ts';

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

  test('goes once it is five minutes old, though nobody can finish its decision', async () => {
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
});
