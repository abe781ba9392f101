import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** What vitest's JSON reporter writes, as far as it is counted. */
interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: ReadonlyArray<{
    readonly name: string;
    readonly status: string;
    readonly assertionResults: ReadonlyArray<unknown>;
  }>;
}

/** Adds up the result files of a folder and prints the one line that CI reads. A file that could not even load counts as a failure. */
const [folder = '.', status = '0'] = process.argv.slice(2);
const files = readdirSync(folder).filter((name) => name.endsWith('.json'));
const all = files.map((name) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Results);
const sum = (count: (results: Results) => number): number => all.reduce((total, results) => total + count(results), 0);
const unloaded = sum(
  ({ testResults }) =>
    testResults.filter((file) => file.status === 'failed' && file.assertionResults.length === 0).length,
);
const passed = sum(({ numPassedTests }) => numPassedTests);
const skipped = sum(({ numPendingTests, numTodoTests }) => numPendingTests + numTodoTests);
// A step that failed without a failed test, such as the linter, must not read as success.
const failed = Math.max(sum(({ numFailedTests }) => numFailedTests) + unloaded, Number(status));
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);
