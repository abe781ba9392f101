import { describe, expect, test } from 'vitest';
import { driftPool, fullBeside, quiet } from '../../simulation/course/quiet.ts';

/**
 * Five pods of one ReplicaSet are on a node that drifts. One of them has room on a node of another pool, four are to
 * come to a replacement that would hold all five. Which of them goes where is all the same: the removal waits for
 * nobody.
 */

const SECOND = 1000;

/**
 * Seconds from when the replacement is in use until the node that has drifted is deleted. `other`: what the other pool
 * is called.
 */
async function waited(other: string): Promise<number> {
  const simulation = quiet('own-replacement-1');
  const { server, timeline } = simulation;
  await fullBeside(simulation, other, { staying: 9, left: 1 });
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
