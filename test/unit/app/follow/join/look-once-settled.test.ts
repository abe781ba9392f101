import { expect, test } from 'vitest';
import { lookOnceSettled } from '../../../../../shared/app/follow/join/look-once-settled.ts';
import { claim } from '../../../../kit/app/build-claim.ts';
import { smallCluster } from '../../../../kit/app/small-cluster.ts';

const SETTLING_MS = 20_000;

/** What is asked for when a claim of this decision, or of none, is opened so long after the start. */
async function asked(afterMs: number, name: string, decision: string | null) {
  const { ports, clock, sent } = smallCluster();
  clock.advance(afterMs);
  const said = decision === null ? {} : { annotations: { 'nodewright.dev/decision': decision } };
  await lookOnceSettled(ports, { ...claim(), metadata: { name, ...said } });
  const [{ key, atMs } = { key: undefined, atMs: 0 }] = sent;
  return { key, waitsMs: (atMs ?? 0) - clock.now() };
}

test.each([0, 1, 4_999])(
  'nodes are looked at when they count as settled, and soon then: opened %d ms late',
  async (ms) => {
    const { waitsMs } = await asked(ms, 'a', '1-d');
    expect(waitsMs).toBeGreaterThan(SETTLING_MS);
    expect(waitsMs).toBeLessThanOrEqual(SETTLING_MS + 10_000);
  },
);

test('nodes of one decision that are opened together share a look', async () => {
  expect((await asked(1, 'a', '1-d')).key).toBe((await asked(5_000, 'b', '1-d')).key);
});

test.each([
  ['of another decision', 1, 'b', '2-d'],
  ['of no decision', 1, 'b', null],
  ['opened later', 5_001, 'b', '1-d'],
] as const)('a node %s has a look of its own', async (_, afterMs, name, decision) => {
  expect((await asked(afterMs, name, decision)).key).not.toBe((await asked(1, 'a', '1-d')).key);
});

test('nodes of no decision have a look each', async () => {
  expect((await asked(1, 'a', null)).key).not.toBe((await asked(1, 'b', null)).key);
});
