import { expect, test } from 'vitest';
import { rngFrom } from '../../sandbox/base/rng.ts';
import { noFaults } from './world/faults.ts';
import { createStormyLoad, sendNotices } from './course/notices.ts';
import { Simulation } from './course/simulation.ts';

/**
 * Half of the messages come twice; all calls take their time, and none fails, as nothing is promised of when those are
 * done over.
 */
const faults = { ...noFaults, queues: { ...noFaults.queues, duplicate: 50 } };

const MINUTE = 60_000;

/** On a machine that does much else at the same time. */
const TIMEOUT_MS = 600_000;

/** One storm for each: how many nodes with three pods each, and the seed. */
export function noticeCases(storms: ReadonlyArray<readonly [nodes: number, seed: string]>): void {
  test.each(storms)(
    'of %i notices at once each that is true has its node closed and its pods told in time, and none moves another: SEED=%s',
    { timeout: TIMEOUT_MS },
    async (nodes, seed) => {
      const simulation = new Simulation(seed, faults);
      createStormyLoad(simulation, 3 * nodes);
      expect(await simulation.runUntilSettled(20)).toBe(true);
      simulation.laws.beStrict();
      const told = sendNotices(simulation, rngFrom(`${seed} notices`));
      expect(told.confirmed).toBeGreaterThan(nodes / 2);
      expect(told.forged).toBeGreaterThan(0);
      await simulation.pass(2 * MINUTE);
      simulation.heal();
      expect([await simulation.runUntilSettled(20), simulation.unsettled()]).toEqual([true, []]);
    },
  );
}
