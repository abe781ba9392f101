import { expect } from 'vitest';
import {
  type Client,
  CLAIMS,
  POOLS,
  claimsIn,
  gone,
  holds,
  mostClaims,
  mostLeaving,
  onDouble,
  patchPool,
  poolThat,
  settled,
  untouched,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';

/** Pools with a number of nodes. */
export function staticPoolCases(client: () => Client, mode: Mode): void {
  const rarely = onDouble(mode);
  rarely(
    'a static pool has as many nodes as it says, more and fewer as it changes, within its limit, and none for being empty',
    async () => {
      const { world } = client();
      const spec = { replicas: 2, limits: { nodes: '3' } };
      await world.apply(poolThat('steady', { consolidateAfter: '0s' }, { spec }));
      const two = await settled(client(), 'steady', 2);
      await holds(client(), 'empty nodes of a static pool stay', (state) => untouched(state, two));
      const sinceMs = Date.now();
      await patchPool(client(), 'steady', { replicas: 4 });
      await settled(client(), 'steady', 3);
      const [gonePast = ''] = two;
      await world.api.remove(`${CLAIMS}/${gonePast}`, {});
      await gone(client(), [gonePast]);
      await settled(client(), 'steady', 3);
      expect(mostClaims(client(), 'steady', sinceMs), 'never more than the limit').toBeLessThanOrEqual(3);
      await patchPool(client(), 'steady', { replicas: 1 });
      const [last = ''] = await settled(client(), 'steady', 1);
      await holds(client(), 'one node stays', (state) => {
        return claimsIn(state, 'steady').length === 1 && untouched(state, [last]);
      });
      await patchPool(client(), 'steady', { replicas: 0 });
      await gone(client(), [last]);
    },
  );

  rarely('drifted nodes of a static pool are replaced under its budget, the new ones first [L03]', async () => {
    const { world } = client();
    await world.apply(poolThat('statue', { budgets: [{ nodes: '1' }] }, { spec: { replicas: 3 } }));
    const names = await settled(client(), 'statue', 3);
    const sinceMs = Date.now();
    await world.api.patch(`${POOLS}/statue`, 'merge', {
      spec: { template: { metadata: { labels: { team: 'red' } } } },
    });
    await gone(client(), names, 120_000);
    const fresh = await settled(client(), 'statue', 3);
    expect(mostLeaving(client(), 'statue', sinceMs)).toBe(1);
    expect(mostClaims(client(), 'statue', sinceMs), 'three, and one to take the place of one').toBe(4);
    await holds(client(), 'the new nodes stay', (state) => untouched(state, fresh));
  });
}
