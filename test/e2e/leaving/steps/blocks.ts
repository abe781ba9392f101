import { expect } from 'vitest';
import { podDisruptionBudget } from '../../kit/manifests.ts';
import {
  type Client,
  BUDGETS,
  NODES,
  appOn,
  deletedAt,
  driftOf,
  gone,
  holds,
  nodeOf,
  onBoth,
  onDouble,
  patchPool,
  poolThat,
  protectedFor,
  protectedNode,
  settled,
  untouched,
  withPodMetadata,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';

const DRIFTS = { template: { metadata: { labels: { team: 'red' } } } };
const FOR_S = 45;

/** What keeps a node, whatever the reason to take it. */
export function blockCases(client: () => Client, mode: Mode): void {
  const it = onBoth(mode);
  const rarely = onDouble(mode);
  it('do-not-disrupt on pod or node and a budget of its pods keep a drifted node, as long as they are there [L01]', async () => {
    const { world } = client();
    const held = ['pod-says-no', 'node-says-no', 'budget-says-no'];
    const pools = [...held, 'grace', 'well-budgeted'];
    await world.apply(
      ...held.map((pool) => poolThat(pool, {})),
      poolThat('grace', {}, { template: { terminationGracePeriod: '10s' } }),
      poolThat('well-budgeted', {}),
      protectedFor('true', appOn('pod-says-no', 1)),
      appOn('node-says-no', 1),
      appOn('budget-says-no', 1),
      podDisruptionBudget('budget-says-no', 1),
      protectedFor('true', appOn('grace', 1)),
      appOn('well-budgeted', 2),
      podDisruptionBudget('well-budgeted', 1),
    );
    const names = new Map<string, ReadonlyArray<string>>();
    for (const pool of pools) {
      names.set(pool, await settled(client(), pool, pool === 'well-budgeted' ? 2 : 1));
    }
    const of = (some: ReadonlyArray<string>): ReadonlyArray<string> => some.flatMap((pool) => names.get(pool) ?? []);
    const [node = ''] = of(['node-says-no']);
    await world.api.patch(`${NODES}/${nodeOf(node)}`, 'merge', protectedNode('true'));
    await Promise.all(pools.map((pool) => patchPool(client(), pool, DRIFTS)));
    // With a grace period drift does not ask the pods; a budget that lets one go at a time lets all go.
    await gone(client(), of(['grace', 'well-budgeted']));
    await holds(client(), 'nodes that are kept stay', (state) => {
      return untouched(state, of(held)) && of(held).every((name) => driftOf(state, name) !== null);
    });
    await world.apply(appOn('pod-says-no', 1));
    await world.api.patch(`${NODES}/${nodeOf(node)}`, 'merge', protectedNode(null));
    await world.api.remove(`${BUDGETS}/budget-says-no`, {});
    await gone(client(), of(held));
  });

  rarely('do-not-disrupt for a time keeps a pod so long after its start, and then its node goes [L05]', async () => {
    const { world, claims, pods } = client();
    await world.apply(poolThat('a-while', {}), protectedFor(`${FOR_S}s`, appOn('a-while', 1)));
    const [name = ''] = await settled(client(), 'a-while', 1);
    const pod = pods.versions.find(({ object }) => object.spec.nodeName === nodeOf(name));
    const boundMs = pod?.atMs ?? 0;
    await patchPool(client(), 'a-while', DRIFTS);
    await gone(client(), [name], 120_000);
    // Times in the API are whole seconds.
    expect((deletedAt(claims, name) ?? 0) - boundMs).toBeGreaterThan((FOR_S - 1) * 1_000);
  });

  rarely(
    'pods that are not ready hold no node where their budget says AlwaysAllow, and do where it does not [L01]',
    async () => {
      const { world } = client();
      const sick = (pool: string): object =>
        withPodMetadata(appOn(pool, 1), { labels: { 'kwok.x-k8s.io/stage': 'unhealthy' } });
      const [lax, strict] = [podDisruptionBudget('lax', 1), podDisruptionBudget('strict', 1)] as [
        { spec: object },
        { spec: object },
      ];
      await world.apply(
        poolThat('lax', {}),
        poolThat('strict', {}),
        sick('lax'),
        sick('strict'),
        { ...lax, spec: { ...lax.spec, unhealthyPodEvictionPolicy: 'AlwaysAllow' } },
        strict,
      );
      const [goes = ''] = await settled(client(), 'lax', 1);
      const [stays = ''] = await settled(client(), 'strict', 1);
      await Promise.all(['lax', 'strict'].map((pool) => patchPool(client(), pool, DRIFTS)));
      await gone(client(), [goes]);
      await holds(client(), 'the node of the strict budget stays', (state) => untouched(state, [stays]));
      await world.api.remove(`${BUDGETS}/strict`, {});
      await gone(client(), [stays]);
    },
  );
}
