import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { type Failure, type Results, SECOND_TRIES_MAX, failuresOf, withSecondTry } from './test-results.ts';

const SECOND = '.second.json';

/**
 * `node scripts/count-results.ts FOLDER STATUS`: adds up the result files of a folder and prints the one line that CI
 * reads. `NAME.second.json` has the files of `NAME.json` that were tried once more: their results count, and what had
 * failed before is named. A file that could not even load counts as a failure, and so does each file that needed a
 * second try when they are more than a few.
 */
const [folder = '.', status = '0'] = process.argv.slice(2);
let unreadable = 0;
const read = (name: string): Results => {
  try {
    return JSON.parse(readFileSync(join(folder, name), 'utf8')) as Results;
  } catch (error) {
    console.log(`${name} cannot be read: ${String(error)}`);
    unreadable++;
    return { testResults: [] };
  }
};
const suites = readdirSync(folder)
  .filter((name) => name.endsWith('.json') && !name.endsWith(SECOND))
  .map((name) => {
    const first = read(name);
    const second = name.replace(/\.json$/u, SECOND);
    return existsSync(join(folder, second))
      ? { results: withSecondTry(first, read(second)), before: failuresOf(first) }
      : { results: first, before: [] };
  });
const tests = suites.flatMap(({ results }) => results.testResults.flatMap(({ assertionResults }) => assertionResults));
const failures = suites.flatMap(({ results }) => failuresOf(results));
const before = suites.flatMap((suite) => suite.before);
for (const failure of before) show('failed at the first try', failure);
// What failed is named last: of a long run only the end is kept.
for (const failure of failures) show('failed', failure);

const again = new Set(before.map(({ file }) => file)).size;
const tooOften = again > SECOND_TRIES_MAX ? again : 0;
if (tooOften > 0) console.log(`${again} files needed a second try; ${SECOND_TRIES_MAX} are borne`);
// A step that failed without a failed test, such as the linter, must not read as success.
const failed = Math.max(failures.length + tooOften + unreadable, Number(status));
const passed = tests.filter((test) => test.status === 'passed').length;
const skipped = tests.filter((test) => test.status !== 'passed' && test.status !== 'failed').length;
process.exitCode = failed > 0 ? 1 : 0;
console.log(`${passed} passed, ${failed} failed, ${skipped} skipped`);

function show(what: string, { file, test, said }: Failure): void {
  console.log(`${what}: ${test === null ? file : `${file} > ${test}`}`);
  for (const line of said) console.log(`  ${line}`);
}
