import { seedsFrom } from './run-seed.ts';
import { simulationCases } from './simulation-cases.ts';

/** Those that once broke a law, as things were drawn then. */
const broken = [
  'w-10101',
  'w-10250',
  'w-10257',
  'w-10424',
  'w-10582',
  'w-10694',
  'w-11005',
  'w-11123',
  'w-11148',
  'w-11327',
  'w-11395',
  'w-11549',
  'w-11560',
  'w-11768',
  'w-20068',
  'w-61804',
];

/** Some after those of `npm test`; thousands at once are for `run-seeds.ts`. */
simulationCases([...seedsFrom(3, 84), ...broken]);
