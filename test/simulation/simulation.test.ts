import { expect, test } from 'vitest';
import { Simulation } from '../../sandbox/simulation/simulation.ts';

const SEEDS = Number(process.env['SEEDS'] ?? 200);
const given = process.env['SEED'];
const seeds = given === undefined ? Array.from({ length: SEEDS }, (_, index) => `w-${index}`) : [given];

/** Virtual minutes of trouble, and those in which everything must have come to rest after it. */
const TROUBLE_MINUTES = 12;
const REST_MINUTES = 40;

test.for(seeds)('whatever goes wrong, no law is broken and everything comes to rest: SEED=%s', async (seed) => {
  const simulation = new Simulation(seed);
  try {
    await simulation.runWithFaults(TROUBLE_MINUTES);
    simulation.heal();
    const settled = await simulation.runUntilSettled(REST_MINUTES);
    expect(settled ? [] : simulation.unsettled()).toEqual([]);
    expect(await simulation.lookOnceMore()).toEqual([]);
  } catch (error) {
    const lines = simulation.trace.slice(given === undefined ? -40 : -400).join('\n');
    throw new Error(`SEED=${seed}: ${error instanceof Error ? error.message : String(error)}\n${lines}`, {
      cause: error,
    });
  }
});
