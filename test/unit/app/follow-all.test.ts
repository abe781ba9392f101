import { expect, test } from 'vitest';
import { followAll } from '../../../shared/app/follow/follow-all.ts';
import { RetryableError } from '../../../shared/ports/errors.ts';
import { START, namesIn, smallCluster } from './small-cluster.ts';

/** Follows claims that want machines; what was asked for then, with the pause until it. */
async function followed(names: ReadonlyArray<string>, arrange: (cluster: ReturnType<typeof smallCluster>) => void) {
  const cluster = smallCluster();
  cluster.addClass('True');
  for (const name of names) cluster.addClaim(name);
  arrange(cluster);
  const objects = names.map((name) => ({ kind: 'NodeClaim', name }) as const);
  const outcomes = await followAll(cluster.ports, objects);
  const asked = cluster.sent.map(({ hint, atMs }) => [namesIn(hint), (atMs ?? 0) - START]);
  return { ...cluster, asked, kinds: outcomes.map(({ outcome }) => outcome.kind) };
}

test('looks that are due in the same second are asked for together', async () => {
  const { asked } = await followed(['a', 'b', 'c', 'd'], ({ outside }) => {
    const { launch } = outside;
    outside.launch = (order) =>
      ['b', 'd'].includes(order.claim) ? { kind: 'rejected', reason: 'Policy', message: 'no' } : launch(order);
  });
  expect(asked).toEqual([
    [['a', 'c'], 5_000],
    [['b', 'd'], 60_000],
  ]);
});

test('an object that fails keeps no other from being moved, nor from its next look', async () => {
  const { asked, kinds, azure } = await followed(['a', 'b', 'c'], ({ outside }) => {
    outside.onRequest = ({ path }) => {
      if (path.endsWith('/b')) throw new RetryableError('busy');
    };
  });
  expect(kinds).toEqual(['wait', 'failed', 'wait']);
  expect(azure.orders.map(({ claim }) => claim)).toEqual(['a', 'c']);
  expect(asked).toEqual([[['a', 'c'], 5_000]]);
});
