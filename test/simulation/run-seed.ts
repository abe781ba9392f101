import { Simulation } from './course/simulation.ts';

/**
 * Virtual minutes of trouble, and those in which everything must have come to rest after it: a node has fifteen to
 * join, a size whose node has not done so is asked for again half an hour later, and a node that a policy did not let
 * us write is left alone for an hour.
 */
const TROUBLE_MINUTES = 12;
const REST_MINUTES = 70;

/**
 * Runs what a seed draws. Null where no law is broken and everything comes to rest; else what was drawn, what is wrong
 * then, and what happened last, virtual seconds first: a failure is read from its head.
 */
export async function runSeed(seed: string, disrupts: boolean, traceLines: number): Promise<string | null> {
  const simulation = new Simulation(seed, undefined, disrupts);
  const problems = await problemsOf(simulation, disrupts);
  if (problems.length === 0) return null;
  const head = simulation.drawn().map((line) => `  ${line}`);
  const wrong = problems.map((line) => `  ${line}`);
  const trace = traceLines === 0 ? [] : simulation.trace.slice(-traceLines);
  return [`SEED=${seed} drew`, ...head, 'and breaks', ...wrong, 'after', ...trace].join('\n');
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
    if (!(await simulation.runUntilQuiet(REST_MINUTES))) return simulation.unsettled();
    // Fixpoint: a world that has what it asked for is left alone.
    const changed = await simulation.lookOnceMore();
    if (changed.length > 0 || simulation.storms.count === 0) return changed;
    // The way back: when spot storms have passed, what was bought on demand for them becomes spot, and rests again.
    await simulation.endStorms();
    if (!(await simulation.runUntilQuiet(REST_MINUTES))) return simulation.unsettled();
    const left = disrupts ? await simulation.notBackOnSpot() : [];
    return left.length > 0 ? left : await simulation.lookOnceMore();
  } catch (error) {
    return [error instanceof Error ? error.message : String(error)];
  }
}
