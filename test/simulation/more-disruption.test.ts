import { seedsFrom } from './run-seed.ts';
import { simulationCases } from './simulation-cases.ts';

/** Some after that of `npm test`, on a core in a minute; thousands at once are for `run-seeds.ts`. */
simulationCases(seedsFrom(1, 24), true);
