import { expect, test } from 'vitest';
import { createPool, createSet, driftPool, quiet, scale } from '../../simulation/course/quiet.ts';
import type { Simulation } from '../../simulation/course/simulation.ts';

/**
 * A replacement is kept for five pods. Others that wait have room on it beside those that come, and on no other node.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const spec = { containers: [{ name: 'main', resources: { requests: { cpu: '700m', memory: '64Mi' } } }] };

/** Everything of pool `y` is on one node, which drifts; and its replacement is in use by now. */
async function replaced(): Promise<Simulation> {
  const simulation = quiet('spare-room');
  const { server } = simulation;
  const requirements = [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: ['Standard_D4s_v5'] }];
  createPool(simulation, 'y', { requirements, limits: { cpu: '8' } });
  createSet(simulation, 'h', 5, spec);
  await simulation.pass(3 * MINUTE);
  const [old] = server.list('nodeclaims');
  driftPool(simulation, 'y');
  for (let second = 0; second < 300; second++) {
    await simulation.pass(SECOND);
    const fresh = server.list('nodeclaims').find(({ metadata }) => metadata.name !== old?.metadata.name);
    const conditions: ReadonlyArray<Record<string, string>> = fresh?.status?.['conditions'] ?? [];
    if (conditions.some(({ type, status }) => type === 'Initialized' && status === 'True')) return simulation;
  }
  throw new Error('no replacement has come');
}

/** Seconds until all pods of the set have a node. */
async function waited(simulation: Simulation, set: string): Promise<number> {
  for (let second = 1; second < 300; second++) {
    await simulation.pass(SECOND);
    const own = simulation.server.list('pods').filter(({ metadata }) => metadata.labels?.['app'] === set);
    if (own.length > 0 && own.every((pod) => pod.spec?.['nodeName'] !== undefined)) return second;
  }
  return Infinity;
}

test('a pod comes at once to room that is kept for pods that are not wanted any more', async () => {
  const simulation = await replaced();
  scale(simulation, 'h', 1);
  createSet(simulation, 'p', 3, spec);
  expect(await waited(simulation, 'p')).toBeLessThan(10);
  await simulation.pass(2 * MINUTE);
  expect(simulation.server.list('nodeclaims')).toHaveLength(1);
});
