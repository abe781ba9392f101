import { seedsFrom, simulationCases } from './simulation-cases.ts';

/** The seeds after those of `npm test`. */
simulationCases(seedsFrom(3, 297));
