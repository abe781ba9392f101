import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import { readExecutions } from '../kit/executions.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { isTrue } from '../kit/state.ts';
import { type Mode, type World, readQueues, startWorld, tell } from '../kit/world.ts';

const AFTER_S = 10;

/**
 * A cluster at rest costs nothing: no function runs until something happens, though the pool may be consolidated and
 * disruption looks all the while. `restMs`: how long that is watched.
 */
export function idleCases(mode: Mode, restMs: number): void {
  describe(`rest (${mode})`, () => {
    let world: World;

    beforeAll(async () => {
      // The timers that always run are left out of the count here, and the sweep of the picture: it repairs what others
      // do wrong.
      const settings = { DISRUPT_SCHEDULE: '*/5 * * * * *' };
      world = await startWorld(mode, { sweepSchedule: '0 0 0 1 1 *', settings });
      const disruption = { consolidationPolicy: 'WhenEmptyOrUnderutilized', consolidateAfter: `${AFTER_S}s` };
      // A pod a node, however many plans it takes: nothing is left to consolidate.
      const small = { key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] };
      const pool = nodePool('general', { requirements: [small], spec: { disruption } });
      await world.apply(nodeClass, pool, deployment('inflate', 8));
    });
    afterAll(async () => {
      await world?.close();
    });

    it('at rest no message runs a function', async () => {
      const { nodes } = await expectConsistent(world, { pods: 8 });
      await world.until('its nodes may be consolidated', ({ claims }) =>
        claims.every((claim) => isTrue(claim, 'Consolidatable')),
      );
      await world.until('the looks at new machines are over', async () => {
        const { pods, claims, signals } = await readQueues(world.sandbox);
        // One message waits: the next look at the class, in a quarter of an hour.
        return (
          [pods, claims, signals].every((queue) => queue !== undefined && queue.active + queue.locked === 0) &&
          (pods?.scheduled ?? 0) + (claims?.scheduled ?? 0) <= 1
        );
      });
      const before = await readExecutions(world);
      const startedMs = Date.now();
      await sleep(restMs);
      const after = await readExecutions(world);
      const ran = Object.keys(after).map((name) => `${name} ${(after[name] ?? 0) - (before[name] ?? 0)}`);
      tell(`executions in ${((Date.now() - startedMs) / 1000).toFixed(0)} s at rest: ${ran.join(', ')}`);
      for (const name of ['provision', 'launch', 'follow', 'interrupt'])
        expect(after[name] ?? 0, name).toBe(before[name] ?? 0);
      expect(after['disrupt'], 'looks of disruption').toBeGreaterThan(before['disrupt'] ?? 0);
      const names = (some: typeof nodes): ReadonlyArray<string> => some.map(({ metadata }) => metadata.name).toSorted();
      expect(names((await world.state()).nodes), 'nodes').toEqual(names(nodes));
    });
  });
}
