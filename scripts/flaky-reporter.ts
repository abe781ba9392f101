import { appendFileSync } from 'node:fs';
import type { Reporter, TestCase } from 'vitest/node';

/** So much of what the first try said is shown. */
const MESSAGE_MAX = 2_000;

/** So much of it goes into the file. */
const SHORT_MAX = 300;

/**
 * Names the tests that passed only at their second try, at the end of the run, each with what its first try said, and
 * adds them to the file that FLAKY_TESTS names, one a line: the name, and how what it said begins. Such a test has
 * found something.
 */
export default class FlakyReporter implements Reporter {
  readonly #lines: Array<string> = [];
  readonly #shown: Array<string> = [];

  onTestCaseResult(test: TestCase): void {
    if (test.diagnostic()?.flaky !== true) return;
    const name = `${test.module.relativeModuleId} > ${test.fullName}`;
    // What is thrown need not be an Error.
    const errors: ReadonlyArray<{ readonly message?: string }> = test.result().errors ?? [];
    const messages = errors.map(({ message }) => (message ?? 'no message').slice(0, MESSAGE_MAX));
    const begin = messages.join(' ').slice(0, SHORT_MAX);
    this.#lines.push(`${name}: ${begin}`.replaceAll(/\s+/gu, ' '));
    this.#shown.push(`  flaky: ${name}`, ...messages.map((message) => message.replaceAll(/^/gmu, '    ')));
  }

  onTestRunEnd(): void {
    if (this.#lines.length === 0) return;
    console.log(`\npassed at the second try only:\n${this.#shown.join('\n')}`);
    const file = process.env['FLAKY_TESTS'];
    if (file !== undefined) appendFileSync(file, `${this.#lines.join('\n')}\n`);
  }
}
