import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join, relative } from 'node:path';

/** What vitest's JSON reporter writes, as far as it is counted. */
interface Results {
  readonly numPassedTests: number;
  readonly numFailedTests: number;
  readonly numPendingTests: number;
  readonly numTodoTests: number;
  readonly testResults: ReadonlyArray<{
    readonly name: string;
    readonly status: string;
    readonly message?: string;
    readonly assertionResults: ReadonlyArray<{
      readonly status: string;
      readonly fullName: string;
      readonly failureMessages?: ReadonlyArray<string | null>;
    }>;
  }>;
}

/** So much is shown of how a failure's message begins. */
const MESSAGE_MAX = 300;

/** Machines are busy now and then; more than these at one run are faults that hide. */
const FLAKY_MAX = 3;

/**
 * Adds up the result files of a folder and prints the one line that CI reads. A file that could not even load counts as
 * a failure, and so does each test that needed a second try when they are more than a few.
 */
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
const flakyFile = join(folder, 'flaky');
/** Names of tests, each with how what its first try said begins. */
const flaky = existsSync(flakyFile) ? readFileSync(flakyFile, 'utf8').split('\n').filter(Boolean) : [];
for (const line of flaky) console.log(`flaky: ${line}`);
// What failed is named last: of a long run only the end is kept.
for (const { name, status: ended, message, assertionResults } of all.flatMap(({ testResults }) => testResults)) {
  const file = relative(process.cwd(), name);
  const failedTests = assertionResults.filter((test) => test.status === 'failed');
  // It does not load, or what prepares or clears up has failed.
  if (ended === 'failed' && failedTests.length === 0) console.log(`failed: ${file}\n  ${beginOf(message)}`);
  for (const test of failedTests) {
    console.log(`failed: ${file} > ${test.fullName}`);
    for (const said of test.failureMessages ?? []) console.log(`  ${beginOf(said)}`);
  }
}
const tooFlaky = flaky.length > FLAKY_MAX ? flaky.length : 0;
if (tooFlaky > 0) console.log(`${flaky.length} tests passed at their second try only; ${FLAKY_MAX} are borne`);
// A step that failed without a failed test, such as the linter, must not read as success.
const failed = Math.max(sum(({ numFailedTests }) => numFailedTests) + unloaded + tooFlaky, Number(status));
process.exitCode = failed > 0 ? 1 : 0;
console.log(`${passed - tooFlaky} passed, ${failed} failed, ${skipped} skipped`);

/** Without the stack. What is thrown need not be an Error, and has no message then. */
function beginOf(message: string | null | undefined): string {
  const [said = ''] = (message ?? 'no message').split(/\n\s+at /u, 1);
  return said.replaceAll(/\s+/gu, ' ').slice(0, MESSAGE_MAX);
}
