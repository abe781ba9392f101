import { test } from 'vitest';
import { runSeed } from './run-seed.ts';

const isReplay = process.env['SEED'] !== undefined;
const TRACE_LINES = isReplay ? 400 : 40;

/** A run takes from 200 ms to some seconds. This is for machines that do much else at the same time. */
const TIMEOUT_MS = 180_000;

/** One run for each seed. A failure begins with what its seed drew and ends with what happened last. */
export function simulationCases(seeds: ReadonlyArray<string>, disrupts = false): void {
  test.for(seeds)(
    disrupts
      ? 'nodes that are not needed go, and whatever goes wrong no law is broken and everything comes to rest: SEED=%s'
      : 'whatever goes wrong, no law is broken and everything comes to rest: SEED=%s',
    { timeout: TIMEOUT_MS },
    async (seed) => {
      const failure = await runSeed(seed, disrupts, TRACE_LINES);
      if (failure !== null) throw new Error(failure);
    },
  );
}
