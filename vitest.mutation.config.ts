import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** A mutant is done with at the first test that fails: those of the part itself are quick and come first. */
class UnitFirst extends BaseSequencer {
  override sort(files: Array<TestSpecification>): Promise<Array<TestSpecification>> {
    const rank = ({ moduleId }: TestSpecification): number => (moduleId.includes('/test/unit/') ? 0 : 1);
    return Promise.resolve(files.toSorted((a, b) => rank(a) - rank(b) || (a.moduleId < b.moduleId ? -1 : 1)));
  }
}

/**
 * The tests that mutants have to survive: those of one part by itself and the planner's scenarios, a second or two in
 * all. What starts processes, reads sources as text or draws many inputs is left out, as every mutant would pay for it;
 * so are the recorded plans, which are made while their file loads and so count as covering everything. What the relay
 * does over a connection is tested on one, on loopback.
 */
export default defineConfig({
  test: {
    include: [
      'test/unit/{adapters,app,contract,core,functions,relay}/**/*.test.ts',
      'test/scenario/**/*.test.ts',
      'test/contract/relay/{feed-faults,workload-identity}.test.ts',
    ],
    exclude: ['test/scenario/karpenter/recorded-plans.test.ts'],
    isolate: false,
    // On a busy machine a day of looks takes longer than vitest's five seconds; a test that hangs is Stryker's to end.
    testTimeout: 30_000,
    sequence: { sequencer: UnitFirst },
  },
});
