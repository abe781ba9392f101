import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';

/**
 * Names the tests that passed only at their second try, at the end of the run, and adds them to the file that
 * FLAKY_TESTS names, one a line. Such a test has found something.
 */
export default class FlakyReporter implements Reporter {
  readonly #names: Array<string> = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky === true) this.#names.push(`${test.module.relativeModuleId} > ${test.fullName}`);
  }

  onTestRunEnd(): void {
    if (this.#names.length === 0) return;
    console.log(`\npassed at the second try only:\n${this.#names.map((name) => `  flaky: ${name}`).join('\n')}`);
    const file = process.env['FLAKY_TESTS'];
    if (file !== undefined) appendFileSync(file, `${this.#names.join('\n')}\n`);
  }
}
