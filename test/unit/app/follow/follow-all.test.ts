import { describe, expect, test } from 'vitest';
import { followAll } from '../../../../shared/app/follow/follow-all.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { START, namesIn, smallCluster } from '../../../kit/app/small-cluster.ts';

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

describe('the next look', () => {
  /** After how many seconds a claim is looked at again that is looked at so long after the start. */
  async function nextLooks(afterMs: number, arrange: (cluster: ReturnType<typeof smallCluster>) => void) {
    const cluster = smallCluster();
    cluster.addClaim('c');
    arrange(cluster);
    cluster.clock.advance(afterMs);
    await followAll(cluster.ports, [{ kind: 'NodeClaim', name: 'c' }]);
    return cluster.sent.map(({ atMs, key }) => {
      expect(key).toBe(`look/${(atMs ?? 0) / 1_000}`);
      return ((atMs ?? 0) - START) / 1_000;
    });
  }
  /** Five seconds later, as its class has not been judged. */
  const five = ({ addClass }: ReturnType<typeof smallCluster>): void => addClass(null);
  /** A minute later, as Azure refuses the launch. */
  const sixty = ({ addClass, outside }: ReturnType<typeof smallCluster>): void => {
    addClass('True');
    outside.launch = () => ({ kind: 'rejected', reason: 'Policy', message: 'no' });
  };

  test.each([
    [0, 5],
    [1_250, 5],
    [1_251, 10],
    [4_800, 10],
    [6_000, 10],
  ])(
    'is on a grid as coarse as the pause, a quarter of a step early at most: %d ms after, at %d s',
    async (at, wanted) => {
      expect(await nextLooks(at, five)).toEqual([wanted]);
    },
  );

  test.each([
    [0, 60],
    [15_000, 60],
    [15_001, 120],
    [59_800, 120],
  ])('meets others in the same minute where the pause is one: %d ms after, at %d s', async (at, wanted) => {
    expect(await nextLooks(at, sixty)).toEqual([wanted]);
  });

  test('is in the next second when it is due at once, and not in one that is as good as over', async () => {
    const again = (cluster: ReturnType<typeof smallCluster>): void => {
      cluster.addClass('True');
      cluster.outside.launch = () => {
        cluster.clock.advance(4_000);
        return { kind: 'unavailable', scope: 'offering', retryAfterMs: 1, reason: 'r', message: 'm' };
      };
    };
    expect(await nextLooks(0, again)).toEqual([5]);
    expect(await nextLooks(749, again)).toEqual([5]);
    expect(await nextLooks(750, again)).toEqual([6]);
  });

  test('is not asked for where nothing is waited for but a change', async () => {
    const ready = (cluster: ReturnType<typeof smallCluster>): void => {
      cluster.addClass('True');
      cluster.server.delete('nodeclaims', 'c');
    };
    expect(await nextLooks(0, ready)).toEqual([]);
    const { ports, sent, addPool, addClass } = smallCluster();
    addClass('True');
    addPool();
    await followAll(ports, [{ kind: 'NodePool', name: 'general' }]);
    expect(sent).toEqual([]);
  });

  test('at a class that is in order is a quarter of an hour later', async () => {
    const { ports, sent, addClass } = smallCluster();
    addClass('True');
    await followAll(ports, [{ kind: 'AKSNodeClass', name: 'default' }]);
    const looks = sent.flatMap(({ hint, atMs }) =>
      hint.kind === 'objects' && hint.reason === 'look-again' ? [atMs] : [],
    );
    expect(looks).toEqual([START + 900_000]);
  });
});

test('who asks for a look at an object tells when a pod event was, and the next look does not tell it again', async () => {
  const { ports, sent, addClaim, addClass } = smallCluster();
  addClass(null);
  addClaim('c');
  await followAll(ports, [{ kind: 'NodeClaim', name: 'c', podEventMs: START }]);
  expect(sent).toMatchObject([{ hint: { objects: [{ kind: 'NodeClaim', name: 'c' }] } }]);
  expect(sent[0]?.hint).not.toHaveProperty('objects.0.podEventMs');
});
