import { expect } from 'vitest';
import { podDisruptionBudget } from '../../kit/manifests.ts';
import {
  type Client,
  NODES,
  appOn,
  gone,
  holds,
  nodeOf,
  onBoth,
  onDouble,
  poolThat,
  protectedFor,
  protectedNode,
  settled,
  untouched,
} from './client.ts';
import type { Mode } from '../../kit/world.ts';

const SICK = 'kubernetes.azure.com/NodeHealthy';
const HALF_AN_HOUR_MS = 30 * 60_000;

/** Says of a node what a detector, or its kubelet, would say. */
async function say(
  { world }: Client,
  claim: string,
  type: string,
  status: string,
  sinceMs = Date.now(),
): Promise<void> {
  const lastTransitionTime = new Date(sinceMs).toISOString().replace(/\.\d+Z$/, 'Z');
  const condition = { type, status, reason: 'Told', message: 'by a test', lastTransitionTime };
  await world.api.patch(`${NODES}/${nodeOf(claim)}/status`, 'strategic', { status: { conditions: [condition] } });
}

/** Nodes that are sick. */
export function repairCases(client: () => Client, mode: Mode): void {
  const it = onBoth(mode);
  const rarely = onDouble(mode);
  it('a sick node is replaced, whatever budgets, annotations and its pods say [L15]', async () => {
    const { world } = client();
    await world.apply(
      poolThat('sick', { budgets: [{ nodes: '0' }] }, { template: { terminationGracePeriod: '1h' } }),
      protectedFor('true', appOn('sick', 1)),
      podDisruptionBudget('sick', 1),
    );
    const [name = ''] = await settled(client(), 'sick', 1);
    await world.api.patch(`${NODES}/${nodeOf(name)}`, 'merge', protectedNode('true'));
    await say(client(), name, SICK, 'False');
    await gone(client(), [name]);
    await settled(client(), 'sick', 1);
  });

  rarely('a node that has not been ready for half an hour is replaced [L15]', async () => {
    const { world } = client();
    await world.apply(poolThat('unready', {}), appOn('unready', 1));
    const [name = ''] = await settled(client(), 'unready', 1);
    await say(client(), name, 'Ready', 'False', Date.now() - HALF_AN_HOUR_MS);
    await gone(client(), [name]);
    await settled(client(), 'unready', 1);
  });

  rarely(
    'of a pool of which more than a fifth is sick none is replaced, and one that is sick for a moment is not [L15]',
    async () => {
      const { world } = client();
      await world.apply(poolThat('epidemic', {}), poolThat('moment', {}), appOn('epidemic', 3), appOn('moment', 1));
      const names = await settled(client(), 'epidemic', 3);
      const [brief = ''] = await settled(client(), 'moment', 1);
      const [first = '', second = '', well = ''] = names;
      // First the one that would be replaced in ten minutes only: were `first` alone sick, one of three, it would be
      // replaced at once.
      await say(client(), second, 'Ready', 'False');
      await say(client(), first, SICK, 'False');
      await say(client(), brief, 'Ready', 'False');
      await holds(client(), 'sick nodes of a sick pool stay', (state) => untouched(state, [...names, brief]));
      await say(client(), brief, 'Ready', 'True');
      await say(client(), second, 'Ready', 'True');
      await gone(client(), [first]);
      expect(untouched(await world.state(), [second, well, brief])).toBe(true);
    },
  );
}
