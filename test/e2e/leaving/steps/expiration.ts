import { expect } from 'vitest';
import { podDisruptionBudget } from '../../kit/manifests.ts';
import { isTrue } from '../../kit/state.ts';
import type { Mode } from '../../kit/world.ts';
import {
  type Client,
  CLAIMS,
  appOn,
  claimsIn,
  deletedAt,
  gone,
  onDouble,
  podsOf,
  poolThat,
  protectedFor,
  settled,
} from './client.ts';

/** Longer than it takes until the node and its pod are there: what is patched then is for its successor. */
const LIFE_S = 60;

/** Nodes that are older than they may be. */
export function expirationCases(client: () => Client, mode: Mode): void {
  const rarely = onDouble(mode);
  rarely(
    'a node goes when its time is over, not before, whatever budgets and pods say, and its successor is ready first [J07]',
    async () => {
      const { world, claims, pods } = client();
      const template = { expireAfter: `${LIFE_S}s`, terminationGracePeriod: '5s' };
      await world.apply(
        poolThat('mortal', { budgets: [{ nodes: '0' }] }, { template }),
        protectedFor('true', appOn('mortal', 1)),
        podDisruptionBudget('mortal', 1),
      );
      const [name = ''] = await settled(client(), 'mortal', 1);
      const [pod] = podsOf(await world.state(), 'mortal');
      // Those that come live on; a claim keeps the time that it was made with.
      await world.api.patch('/apis/karpenter.sh/v1/nodepools/mortal', 'merge', {
        spec: { template: { spec: { expireAfter: 'Never' } } },
      });
      const { items } = await world.api.get<{
        readonly items: ReadonlyArray<{
          readonly metadata: { readonly name: string; readonly creationTimestamp: string };
        }>;
      }>(CLAIMS);
      const born = items.find(({ metadata }) => metadata.name === name)?.metadata.creationTimestamp ?? '';
      await gone(client(), [name], 180_000);
      const livedMs = (deletedAt(claims, name) ?? 0) - Date.parse(born);
      expect(livedMs).toBeGreaterThanOrEqual(LIFE_S * 1_000);
      const [successor = ''] = await settled(client(), 'mortal', 1);
      expect(claimsIn(await world.state(), 'mortal')[0]?.spec.expireAfter).toBe('Never');
      const readyMs = claims.first(successor, (claim) => isTrue(claim, 'Initialized'))?.atMs ?? Infinity;
      expect(readyMs).toBeLessThan(deletedAt(pods, pod?.metadata.name ?? '') ?? 0);
    },
  );
}
