import { writeFileSync } from 'node:fs';
import type { Reporter, SerializedError } from 'vitest/node';

/**
 * Writes what no test is to blame for, such as a promise that nobody waited for, to the file that UNHANDLED_ERRORS
 * names: the JSON report has nothing of it, and a second try of files that failed beside it would hide it.
 */
export default class UnhandledReporter implements Reporter {
  onTestRunEnd(_: unknown, errors: ReadonlyArray<SerializedError>): void {
    const file = process.env['UNHANDLED_ERRORS'];
    if (file === undefined || errors.length === 0) return;
    writeFileSync(file, errors.map(({ message }) => `${message}\n`).join(''));
  }
}
