import { defineConfig } from 'vitest/config';

/**
 * The tests that mutants have to survive: those of one part by itself and the planner's scenarios, a second or two in all.
 * What starts processes, reads sources as text or draws many inputs is left out, as every mutant would pay for it; so are the
 * recorded plans, which are made while their file loads and so count as covering everything.
 */
export default defineConfig({
  test: {
    include: ['test/unit/{adapters,app,contract,core,functions,relay}/**/*.test.ts', 'test/scenario/**/*.test.ts'],
    exclude: ['test/scenario/karpenter/recorded-plans.test.ts'],
    isolate: false,
  },
});
