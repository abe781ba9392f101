import type { Case } from './case.ts';
import { nodeClassCases } from './node-class-cases.ts';
import { nodePoolCases } from './node-pool-cases.ts';
import { capacityBufferCases, nodeClaimCases, nodeOverlayCases, typeCases } from './other-cases.ts';
import { requirementCases } from './requirement-cases.ts';
import { wireCases } from './wire-cases.ts';

/**
 * Every rule of the API, both ways. Three suites read it: the parsers (test/unit/contract/api), a real API server and
 * the double (here). What they say must agree; that is what keeps the rules in code equal to the rules in CEL.
 */
export const cases: ReadonlyArray<Case> = [
  ...nodePoolCases,
  ...requirementCases,
  ...nodeClaimCases,
  ...nodeOverlayCases,
  ...capacityBufferCases,
  ...nodeClassCases,
  ...typeCases,
  ...wireCases,
];
