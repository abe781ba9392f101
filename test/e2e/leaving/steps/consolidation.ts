import { expect } from 'vitest';
import { podDisruptionBudget } from '../../kit/manifests.ts';
import { isRunning, isTrue } from '../../kit/state.ts';
import {
  type Client,
  appOn,
  deletedAt,
  gone,
  holds,
  isTainted,
  mostClaims,
  mostLeaving,
  nodeOf,
  onBoth,
  onDouble,
  patchPool,
  podsOf,
  podsOn,
  poolThat,
  scale,
  settled,
  untouched,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';

const UNDERUSED = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: '0s' };

const cores = (...values: ReadonlyArray<string>) => [{ key: 'karpenter.azure.com/sku-cpu', operator: 'In', values }];
const template = (requirements: ReadonlyArray<object>): object => ({
  template: {
    spec: {
      requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }, ...requirements],
    },
  },
});

/** Nodes that are used too little. */
export function consolidationCases(client: () => Client, mode: Mode): void {
  const it = onBoth(mode);
  const rarely = onDouble(mode);
  it('a node too large for what is left on it is replaced by a cheaper one, which is ready before a pod leaves [L04] [L12]', async () => {
    const { world, claims, pods } = client();
    const pool = poolThat('roomy', UNDERUSED, { requirements: cores('2', '4', '8') });
    await world.apply(pool, appOn('roomy', 1, { name: 'large', cpu: '6' }));
    const [name = ''] = await settled(client(), 'roomy', 1);
    await world.apply(appOn('roomy', 1, { name: 'small', cpu: '500m' }));
    await world.until('both run', (state) => podsOf(state, 'roomy').filter(isRunning).length === 2);
    const pod = podsOf(await world.state(), 'roomy').find(({ metadata }) => metadata.labels?.['app'] === 'small');
    await scale(client(), 'large', 0);
    await gone(client(), [name]);
    const [successor = ''] = await settled(client(), 'roomy', 1);
    const readyMs = claims.first(successor, (claim) => isTrue(claim, 'Initialized'))?.atMs ?? Infinity;
    expect(readyMs).toBeLessThan(deletedAt(pods, pod?.metadata.name ?? '') ?? 0);
    const { labels } = claims.of(successor).at(-1)?.object.metadata ?? {};
    expect(labels?.['karpenter.azure.com/sku-cpu']).toBe('2');
    expect(claims.first(name, (claim) => isTrue(claim, 'DisruptionReason'))).not.toBeNull();
  });

  it('three nodes become one that is cheaper, and no budget of their pods is broken [L07]', async () => {
    const { world, claims } = client();
    await world.apply(poolThat('many', UNDERUSED), appOn('many', 3), podDisruptionBudget('many', 2));
    const names = await settled(client(), 'many', 3);
    // A wider choice is no drift.
    await patchPool(client(), 'many', template(cores('2', '4')));
    let fewest = 3;
    await world.until('one node is left', (state) => {
      fewest = Math.min(fewest, podsOf(state, 'many').filter(isRunning).length);
      return names.every((name) => claims.gone.has(name));
    });
    expect(fewest).toBeGreaterThanOrEqual(2);
    const [successor = ''] = await settled(client(), 'many', 1);
    expect(claims.of(successor).at(-1)?.object.metadata.labels?.['karpenter.azure.com/sku-cpu']).toBe('4');
    expect(podsOn(await world.state(), nodeOf(successor))).toHaveLength(3);
  });

  rarely(
    'budgets of 0, 1 and 50 % hold the half of four nodes that is not needed, let it go one by one, or at once [L03]',
    async () => {
      const { world, nodes } = client();
      const budgets: Readonly<Record<string, string>> = { none: '0', 'one-by-one': '1', half: '50%' };
      const pools = Object.keys(budgets);
      await world.apply(...pools.map((pool) => poolThat(pool, { ...UNDERUSED, budgets: [{ nodes: '0' }] })));
      // A pod each that fills a node with one of the others; when it goes, two of the others fit a node.
      await world.apply(...pools.map((pool) => appOn(pool, 4, { name: `${pool}-filler`, cpu: '1' })));
      const names = new Map<string, ReadonlyArray<string>>();
      for (const pool of pools) names.set(pool, await settled(client(), pool, 4));
      await world.apply(...pools.map((pool) => appOn(pool, 4, { cpu: '800m' })));
      for (const pool of pools) await settled(client(), pool, 4);
      await Promise.all(pools.map((pool) => scale(client(), `${pool}-filler`, 0)));
      await world.until('the fillers are gone', (state) =>
        pools.every((pool) => podsOf(state, pool).length === 4 && podsOf(state, pool).every(isRunning)),
      );
      const sinceMs = Date.now();
      await Promise.all(
        pools.map((pool) => patchPool(client(), pool, { disruption: { budgets: [{ nodes: budgets[pool] }] } })),
      );
      await settled(client(), 'half', 2);
      await settled(client(), 'one-by-one', 2);
      expect(mostLeaving(client(), 'one-by-one', sinceMs)).toBe(1);
      expect(mostLeaving(client(), 'half', sinceMs)).toBe(2);
      for (const pool of pools) expect(mostClaims(client(), pool, sinceMs), `nodes of ${pool}`).toBe(4);
      const held = names.get('none') ?? [];
      await holds(client(), 'nodes of a pool with a budget of 0 stay', (state) => untouched(state, held));
      for (const name of held) expect(nodes.first(nodeOf(name), isTainted, sinceMs)).toBeNull();
    },
  );
}
