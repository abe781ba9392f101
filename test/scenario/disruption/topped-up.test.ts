import { expect, test } from 'vitest';
import { createSet, driftPool, fullBeside, quiet, sized, threeQuarters } from '../../simulation/course/quiet.ts';
import type { Simulation } from '../../simulation/course/simulation.ts';

/**
 * Five pods of one ReplicaSet are on a node that drifts. Three of them have room on an open node of another pool, two
 * are to come to a small replacement.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;

interface Begun {
  readonly simulation: Simulation;
  readonly old: string;
  readonly replacement: string;
}

/** Until the replacement has been made; it boots. */
async function begun(): Promise<Begun> {
  const simulation = quiet('topped-up');
  const { server } = simulation;
  await fullBeside(simulation, 'z', { staying: 7, left: 3 });
  const [old = '', ...others] = ofPool(simulation);
  expect(others).toEqual([]);
  const requirements = [
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] },
    ...sized('Standard_D2s_v5', 'Standard_D4s_v5'),
  ];
  server.patch('nodepools', 'y', { spec: { template: { spec: { requirements } } } }, 'object');
  driftPool(simulation, 'y');
  for (let second = 0; second < 180; second++) {
    await simulation.pass(SECOND);
    const replacement = ofPool(simulation).find((name) => name !== old);
    if (replacement !== undefined) return { simulation, old, replacement };
  }
  throw new Error('nothing has begun');
}

function ofPool({ server }: Simulation): ReadonlyArray<string> {
  return server
    .list('nodeclaims')
    .filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'y')
    .map(({ metadata }) => metadata.name);
}

/** Why nodes that were marked have stayed after all. */
function takenBack({ server }: Simulation): ReadonlyArray<string> {
  return server
    .list('events')
    .map((event) => String((event as unknown as Record<string, unknown>)['message']))
    .filter((message) => message.startsWith('Keeping node'));
}

function waitingPods({ server }: Simulation): number {
  return server.list('pods').filter(({ spec: of }) => of?.['nodeName'] === undefined).length;
}

test('what others take of their room meanwhile is bought, and the node goes', async () => {
  const { simulation, old, replacement } = await begun();
  createSet(simulation, 'k', 3, threeQuarters);
  await simulation.pass(6 * MINUTE);
  const claims = ofPool(simulation);
  expect([takenBack(simulation), claims.includes(old), claims.includes(replacement)]).toEqual([[], false, true]);
  // For the three pods that had room, and for nobody else.
  expect([claims.length, waitingPods(simulation)]).toEqual([2, 0]);
  // The larger one holds all five, so that the smaller may be left with none: it goes as empty then.
  await simulation.pass(6 * MINUTE);
  const used = new Set(simulation.server.list('pods').map(({ spec: of }) => String(of?.['nodeName'])));
  expect(ofPool(simulation).filter((name) => !used.has(`aks-${name}`))).toEqual([]);
});

test('a replacement that somebody deletes before it is a node is bought again, and the node goes', async () => {
  const { simulation, old, replacement } = await begun();
  simulation.server.delete('nodeclaims', replacement);
  await simulation.pass(6 * MINUTE);
  const claims = ofPool(simulation);
  expect([takenBack(simulation), claims.includes(old), claims.length]).toEqual([[], false, 1]);
  expect(waitingPods(simulation)).toBe(0);
});
