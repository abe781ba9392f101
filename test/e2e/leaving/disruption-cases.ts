import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { isRunning } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

/** Nodes of 1.9 CPU, each with room for one pod of 1 CPU. */
const smallest = [{ key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] }];

const disruption = {
  consolidateAfter: '0s',
  consolidationPolicy: 'WhenEmptyOrUnderutilized',
  budgets: [{ nodes: '100%' }],
};

/** The second half of a node's life: what nobody needs any more goes, its pods first, and nothing else. */
export function disruptionCases(mode: Mode): void {
  describe(`disruption (${mode})`, () => {
    let world: World;

    beforeAll(async () => {
      world = await startWorld(mode);
      await world.apply(nodeClass, nodePool('general', { requirements: smallest, spec: { disruption } }));
    });
    afterAll(async () => {
      await world?.close();
    });

    it('a deployment that shrinks gives its nodes back, and the pods that stay run all the while', async () => {
      await world.apply(deployment('web', 4));
      await world.until('four pods run on four nodes', ({ pods, nodes }) => {
        return pods.filter(isRunning).length === 4 && nodes.length === 4;
      });
      await world.apply(deployment('web', 1));
      await world.until('one node is left', ({ nodes, claims }) => nodes.length === 1 && claims.length === 1);
      await expectConsistent(world, { pods: 1 });
    });

    it('a node that may not be disrupted stays, empty as it is, until it may', async () => {
      const [node] = (await world.state()).nodes;
      const name = node?.metadata.name ?? '';
      const say = (value: string | null): Promise<unknown> =>
        world.api.patch(`/api/v1/nodes/${name}`, 'merge', {
          metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value } },
        });
      await say('true');
      await world.apply(deployment('web', 0));
      await world.until('the pod is gone', ({ pods }) => pods.length === 0);
      // Two looks and more.
      await new Promise((resolve) => setTimeout(resolve, 12_000));
      expect((await world.state()).nodes.map(({ metadata }) => metadata.name)).toEqual([name]);
      await say(null);
      await world.until('no node is left', ({ nodes, claims }) => nodes.length === 0 && claims.length === 0);
    });
  });
}
