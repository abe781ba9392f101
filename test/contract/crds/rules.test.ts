import { startApiServer } from '../../../sandbox/kubernetes/api/start-api-server.ts';
import { systemClock } from '../../../sandbox/base/clock.ts';
import { describeApiRules } from './rules-suite.ts';

/** The double refuses nulls where the real server drops them, and does not know the formats of integers. */
const beyond: ReadonlySet<string> = new Set([
  'pool: a null where there is no default is dropped',
  'wire: a null spec of a class is none',
  'wire: a null list without a default is dropped',
  'wire: null metadata of a template is dropped',
  'wire: a null limit is dropped',
  'wire: a null label is dropped',
  'wire: a null tag is dropped',
  'wire: 32 bits are not exceeded',
  'wire: 64 bits are not exceeded',
]);

describeApiRules('the API double', () => startApiServer({ port: 0, clock: systemClock }), beyond);
