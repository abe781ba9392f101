import { relative } from 'node:path';

/** What vitest's JSON reporter writes, as far as it is counted. */
export interface Results {
  readonly testResults: ReadonlyArray<FileResults>;
}

/** One file of tests. */
interface FileResults {
  /** Where it is, absolute. */
  readonly name: string;
  readonly status: string;
  readonly message?: string;
  readonly assertionResults: ReadonlyArray<{
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages?: ReadonlyArray<string | null>;
  }>;
}

/** A test that failed, or a file that does not load or whose preparing or clearing up failed. */
export interface Failure {
  /** Relative to the folder that the process runs in. */
  readonly file: string;
  /** Null: the file as a whole. */
  readonly test: string | null;
  /** How what it said begins, without the stack, on one line; one for each error. */
  readonly said: ReadonlyArray<string>;
}

/** Machines are busy now and then; more files than these that need a second try at one run are faults that hide. */
export const SECOND_TRIES_MAX = 3;

/** So much is shown of how a failure's message begins. */
const MESSAGE_MAX = 300;

/** Where processes and connections are real. What is pure and in memory has one try. */
const REAL_PROCESSES = /^test\/(?:contract|e2e)\//u;

/** All that failed, in the order of the files. */
export function failuresOf({ testResults }: Results): ReadonlyArray<Failure> {
  return testResults.flatMap(({ name, status, message, assertionResults }): ReadonlyArray<Failure> => {
    const file = relative(process.cwd(), name);
    const failed = assertionResults.filter((test) => test.status === 'failed');
    if (failed.length === 0) return status === 'failed' ? [{ file, test: null, said: [beginOf(message)] }] : [];
    return failed.map((test) => ({ file, test: test.fullName, said: (test.failureMessages ?? []).map(beginOf) }));
  });
}

/**
 * The files to try once more, each in worlds of its own: all that failed, or none where one of them has no real
 * processes, or where they are more than a few.
 */
export function filesForSecondTry(results: Results): ReadonlyArray<string> {
  const files = [...new Set(failuresOf(results).map(({ file }) => file))];
  return files.length <= SECOND_TRIES_MAX && files.every((file) => REAL_PROCESSES.test(file)) ? files : [];
}

/**
 * The results of a suite, with those of files that were tried twice as they were at the second. What failed at the
 * first, and was skipped or is not there at the second, has failed.
 */
export function withSecondTry(first: Results, second: Results): Results {
  const again = new Map(second.testResults.map((file) => [file.name, file]));
  const testResults = first.testResults.map((file) => {
    const then = again.get(file.name);
    if (then === undefined) return file;
    const isDone = (name: string): boolean =>
      then.assertionResults.some((one) => one.fullName === name && ['passed', 'failed'].includes(one.status));
    const never = file.assertionResults.filter(({ status, fullName }) => status === 'failed' && !isDone(fullName));
    const rest = then.assertionResults.filter(({ fullName }) => !never.some((one) => one.fullName === fullName));
    return { ...then, assertionResults: [...rest, ...never] };
  });
  return { testResults };
}

/**
 * What is thrown need not be an Error, and has no message then; a file whose preparing failed, or whose worker died,
 * has an empty one.
 */
function beginOf(message: string | null | undefined): string {
  const [said = ''] = (message || 'no message here: see above').split(/\n\s+at /u, 1);
  return said.replaceAll(/\s+/gu, ' ').slice(0, MESSAGE_MAX);
}
