import { describe, expect, test } from 'vitest';
import { createPool, createSet, driftPool, quiet, scale } from '../../simulation/course/quiet.ts';

/**
 * Five pods of one ReplicaSet are on a node that drifts. One of them has room on a node of another pool, four are to
 * come to a replacement that would hold all five. Which of them goes where is all the same: the removal waits for
 * nobody.
 */

const SECOND = 1000;
const MINUTE = 60 * SECOND;
const sized = (name: string) => [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [name] }];
const spec = { containers: [{ name: 'main', resources: { requests: { cpu: '750m', memory: '64Mi' } } }] };

/**
 * Seconds from when the replacement is in use until the node that has drifted is deleted. `other`: what the other pool
 * is called.
 */
async function waited(other: string): Promise<number> {
  const simulation = quiet('own-replacement-1');
  const { server, timeline } = simulation;
  createPool(simulation, other, { requirements: sized('Standard_D8s_v5'), weight: 20, limits: { cpu: '8' } });
  createSet(simulation, 'g', 9, spec);
  createSet(simulation, 'f', 1, spec);
  await simulation.pass(3 * MINUTE);
  createPool(simulation, 'y', { requirements: sized('Standard_D4s_v5') });
  createSet(simulation, 'h', 5, spec);
  await simulation.pass(3 * MINUTE);
  scale(simulation, 'f', 0);
  await simulation.pass(MINUTE);
  const ofPool = () =>
    server.list('nodeclaims').filter(({ metadata }) => metadata.labels?.['karpenter.sh/nodepool'] === 'y');
  const [old, ...others] = ofPool();
  // Another seed may draw that some of the pods come too late for the node, and get one of their own.
  expect(others).toEqual([]);
  driftPool(simulation, 'y');
  let inUseMs = Infinity;
  for (let second = 0; second < 600; second++) {
    await simulation.pass(SECOND);
    const fresh = ofPool().find(({ metadata }) => metadata.name !== old?.metadata.name);
    const conditions: ReadonlyArray<Record<string, string>> = fresh?.status?.['conditions'] ?? [];
    const isInUse = conditions.some(({ type, status }) => type === 'Initialized' && status === 'True');
    if (isInUse) inUseMs = Math.min(inUseMs, timeline.now());
    const own = server.get('nodeclaims', old?.metadata.name ?? '');
    if (own === null || own.metadata.deletionTimestamp !== undefined) return (timeline.now() - inUseMs) / SECOND;
  }
  return Infinity;
}

describe('a node goes as soon as its replacement is in use', () => {
  test.each(['x', 'z'])('whatever the pool is called where one of its pods has room: %s', async (other) => {
    // By the next look or the one after, a minute apart: which depends on what the seed draws. One that waits does so
    // for ten minutes.
    expect(await waited(other)).toBeLessThan(130);
  });
});
