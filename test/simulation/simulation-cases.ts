import { test } from 'vitest';
import { Simulation } from './world/simulation.ts';

const isReplay = process.env['SEED'] !== undefined;
const TRACE_LINES = isReplay ? 400 : 40;

/** Virtual minutes of trouble, and those in which everything must have come to rest after it. */
const TROUBLE_MINUTES = 12;
const REST_MINUTES = 40;

/** A run takes from 200 ms to some seconds. This is for machines that do much else at the same time. */
const TIMEOUT_MS = 180_000;

/** One run for each seed. A failure names its seed and ends with what happened last, virtual seconds first. */
export function simulationCases(seeds: ReadonlyArray<string>, disrupts = false): void {
  test.for(seeds)(
    disrupts
      ? 'nodes that are not needed go, and whatever goes wrong no law is broken and everything comes to rest: SEED=%s'
      : 'whatever goes wrong, no law is broken and everything comes to rest: SEED=%s',
    { timeout: TIMEOUT_MS },
    async (seed) => {
      const simulation = new Simulation(seed, undefined, disrupts);
      const problems = await problemsOf(simulation, disrupts);
      if (problems.length === 0) return;
      const trace = simulation.trace.slice(-TRACE_LINES).join('\n');
      throw new Error(`SEED=${seed}: ${problems.join('; ')}\n${trace}`);
    },
  );
}

/** `w-0`, `w-1` and on: so many, from the given one. */
export function seedsFrom(first: number, count: number): ReadonlyArray<string> {
  return Array.from({ length: count }, (_, index) => `w-${first + index}`);
}

async function problemsOf(simulation: Simulation, disrupts: boolean): Promise<ReadonlyArray<string>> {
  try {
    // Safety: the laws hold at every step, whatever goes wrong.
    await simulation.runWithFaults(TROUBLE_MINUTES);
    // Liveness: once nothing goes wrong any more, all that was asked for comes, and soon.
    simulation.heal();
    if (!(await simulation.runUntilSettled(REST_MINUTES))) return simulation.unsettled();
    // Fixpoint: a world that has what it asked for is left alone.
    const changed = await simulation.lookOnceMore();
    if (changed.length > 0 || simulation.storms.count === 0) return changed;
    // The way back: when spot storms have passed, what was bought on demand for them becomes spot, and rests again.
    await simulation.endStorms();
    if (!(await simulation.runUntilSettled(REST_MINUTES))) return simulation.unsettled();
    const left = disrupts ? await simulation.notBackOnSpot() : [];
    return left.length > 0 ? left : await simulation.lookOnceMore();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
