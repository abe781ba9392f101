import { describe, expect, test } from 'vitest';
import { follow } from '../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { machine, smallCluster } from '../../../kit/app/small-cluster.ts';

const finalizer = 'karpenter.sh/termination';

describe('a node whose claim has gone before it [K01]', () => {
  const bereft = (given: {
    readonly finalizers?: ReadonlyArray<string>;
    readonly withMachine?: boolean;
    readonly leaves?: boolean;
  }) => {
    const cluster = smallCluster();
    cluster.addNode('c', { finalizers: given.finalizers ?? [finalizer, 'other'] });
    if (given.withMachine ?? false) cluster.azure.machines.set('c', machine('c'));
    if (given.leaves ?? true) cluster.server.delete('nodes', 'aks-c');
    cluster.trace.length = 0;
    return {
      ...cluster,
      look: () => follow(cluster.ports, { kind: 'NodeClaim', name: 'c' }),
      held: () => cluster.server.get('nodes', 'aks-c')?.metadata.finalizers,
    };
  };

  test('is let go when its machine is gone, as far as we hold it', async () => {
    const { look, held } = bereft({});
    expect(await look()).toEqual({ kind: 'ended', why: 'its claim has gone before it' });
    expect(held()).toEqual(['other']);
  });

  test('is held while its machine is there', async () => {
    const { look, held, azure, clock } = bereft({ withMachine: true });
    expect(await look()).toMatchObject({ kind: 'wait', lookAgainMs: clock.now() + 30_000 });
    expect([held(), azure.deleted]).toEqual([[finalizer, 'other'], []]);
  });

  test.each([
    ['is not on its way out', { leaves: false }],
    ['is held by others only', { finalizers: ['other'] }],
  ])('is left alone when it %s', async (_, given) => {
    const { look, trace } = bereft(given);
    await look();
    expect(trace).toEqual([expect.stringContaining('/nodeclaims/c'), expect.stringContaining('/nodes/aks-c')]);
  });

  test('is looked at again when it changes while it is let go', async () => {
    const { look, outside, server } = bereft({});
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH') server.patch('nodes', 'aks-c', { metadata: { labels: { a: 'b' } } }, 'object');
    };
    await expect(look()).rejects.toThrow(RetryableError);
  });

  test('is no error when it has gone while it is let go', async () => {
    const { look, outside, server } = bereft({});
    outside.onRequest = ({ method }) => {
      if (method === 'PATCH') server.remove('nodes', 'aks-c');
    };
    expect((await look()).kind).toBe('ended');
  });
});
