import { seedsFrom } from './run-seed.ts';
import { simulationCases } from './simulation-cases.ts';

/** `SEED=w-17` replays one run and shows more of its trace; `SEEDS=2000` runs that many. */
const given = process.env['SEED'];
simulationCases(given === undefined ? seedsFrom(0, Number(process.env['SEEDS'] ?? 3)) : [given]);
