import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const FLAKY = 'test/e2e/lives/one.real.test.ts';
const PURE = 'test/unit/core/one.test.ts';

/** A file as vitest's JSON reporter writes it; of a test that failed what it said is given. */
const file = (path: string, tests: Readonly<Record<string, string | null>>, message?: string): object => ({
  name: join(root, path),
  status: message === undefined && Object.values(tests).every((said) => said === null) ? 'passed' : 'failed',
  message: message ?? '',
  assertionResults: Object.entries(tests).map(([fullName, said]) => ({
    fullName,
    status: said === null ? 'passed' : 'failed',
    failureMessages: said === null ? [] : [said],
  })),
});
const flaky = file(FLAKY, { 'a > stays': null, 'a > goes': 'Error: it is\n  there\n    at one.ts:1:1' });
const well = file(FLAKY, { 'a > stays': null, 'a > goes': null });
const pure = file(PURE, { 'b > adds': null });

describe('what CI counts of its suites', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'nodewright-results-'));
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs one of the two scripts in the repository, as CI does. */
  const run = (
    script: string,
    ...args: ReadonlyArray<string>
  ): { readonly code: number | null; readonly out: string } => {
    const { status, stdout } = spawnSync(process.execPath, [join('scripts', script), ...args], {
      cwd: root,
      encoding: 'utf8',
    });
    return { code: status, out: stdout };
  };
  /** Writes the files of each report and counts them. */
  const countOf = (
    status: number,
    reports: Readonly<Record<string, ReadonlyArray<object>>>,
  ): ReturnType<typeof run> => {
    const own = mkdtempSync(join(folder, 'counted-'));
    for (const [name, testResults] of Object.entries(reports)) {
      writeFileSync(join(own, name), JSON.stringify({ testResults }));
    }
    return run('count-results.ts', own, String(status));
  };
  const secondTryOf = (...testResults: ReadonlyArray<object>): ReturnType<typeof run> => {
    const path = join(folder, 'first.json');
    writeFileSync(path, JSON.stringify({ testResults }));
    return run('second-try.ts', path);
  };

  test('a file with real processes that failed is tried once more, and it alone', () => {
    expect(secondTryOf(pure, flaky, file('test/contract/a.test.ts', { c: null }))).toEqual({
      code: 0,
      out: `${FLAKY}\n`,
    });
  });

  test('each file that failed is tried once more, once, however many of its tests failed', () => {
    const many = file(FLAKY, { a: 'Error: 1', b: 'Error: 2', c: 'Error: 3', d: 'Error: 4' });
    const other = file('test/contract/a.test.ts', { c: 'Error: 5' });
    expect(secondTryOf(many, other)).toEqual({ code: 0, out: `${FLAKY}\ntest/contract/a.test.ts\n` });
    const { code, out } = countOf(0, {
      'real.json': [many, other],
      'real.second.json': [
        file(FLAKY, { a: null, b: null, c: null, d: null }),
        file('test/contract/a.test.ts', { c: null }),
      ],
    });
    expect({ code, end: out.split('\n').at(-2) }).toEqual({ code: 0, end: '5 passed, 0 failed, 0 skipped' });
  });

  test('a file whose preparing failed, of which no message tells, is tried once more', () => {
    const unprepared = { ...file(FLAKY, { a: null }), status: 'failed' };
    expect(secondTryOf(unprepared)).toEqual({ code: 0, out: `${FLAKY}\n` });
    expect(countOf(1, { 'real.json': [unprepared] }).out).toContain(`failed: ${FLAKY}\n  no message here: see above\n`);
  });

  test('what failed and was skipped, or was not there, at the second try has failed', () => {
    const lacking = file(FLAKY, { 'a > stays': null });
    const skipping = {
      ...lacking,
      assertionResults: [
        { fullName: 'a > stays', status: 'passed' },
        { fullName: 'a > goes', status: 'skipped' },
      ],
    };
    for (const then of [lacking, skipping]) {
      const { code, out } = countOf(0, { 'real.json': [flaky], 'real.second.json': [then] });
      expect({ code, end: out.split('\n').slice(-4, -1) }).toEqual({
        code: 1,
        end: [`failed: ${FLAKY} > a > goes`, '  Error: it is there', '1 passed, 1 failed, 0 skipped'],
      });
    }
  });

  test('a file that is not in the report of the second try has failed, and so has a report that cannot be read', () => {
    expect(countOf(0, { 'real.json': [flaky], 'real.second.json': [] }).code).toBe(1);
    const own = mkdtempSync(join(folder, 'broken-'));
    writeFileSync(join(own, 'real.json'), '{"testResults":[');
    const { code, out } = run('count-results.ts', own, '0');
    expect({ code, end: out.split('\n').at(-2) }).toEqual({ code: 1, end: '0 passed, 1 failed, 0 skipped' });
  });

  test('what was thrown and has no message, and what says much, are told in a line', () => {
    const said = `Error: ${'x'.repeat(1_000)}`;
    const thrown = { fullName: 'b', status: 'failed', failureMessages: [null, said] };
    const { out } = countOf(0, { 'a.json': [{ ...pure, status: 'failed', assertionResults: [thrown] }] });
    expect(out.split('\n').slice(1, 3)).toEqual(['  no message here: see above', `  ${said.slice(0, 300)}`]);
  });

  test('nothing is tried once more where all passed, where a pure test failed, or where many files did', () => {
    const many = [1, 2, 3, 4].map((index) => file(`test/e2e/${index}.test.ts`, { a: 'Error: no' }));
    expect(secondTryOf(pure, well)).toEqual({ code: 1, out: '' });
    expect(secondTryOf(flaky, file(PURE, { 'b > adds': 'Error: 3' }))).toEqual({ code: 1, out: '' });
    expect(secondTryOf(...many)).toEqual({ code: 1, out: '' });
    expect(secondTryOf(...many.slice(1)).code).toBe(0);
  });

  test('what passed at its second try counts as passed, and is named with what it said before', () => {
    expect(countOf(0, { 'real.json': [pure, flaky], 'real.second.json': [well] })).toEqual({
      code: 0,
      out: `failed at the first try: ${FLAKY} > a > goes\n  Error: it is there\n3 passed, 0 failed, 0 skipped\n`,
    });
  });

  test('what failed twice has failed, and what fails at the second try only has failed too', () => {
    const other = file(FLAKY, { 'a > stays': 'Error: gone', 'a > goes': null });
    const { code, out } = countOf(1, { 'real.json': [pure, flaky], 'real.second.json': [other] });
    expect({ code, end: out.split('\n').slice(-4) }).toEqual({
      code: 1,
      end: [`failed: ${FLAKY} > a > stays`, '  Error: gone', '2 passed, 1 failed, 0 skipped', ''],
    });
  });

  test('more than three files at their second try fail the run, over all suites', () => {
    const each = (said: string | null) => (index: number) => file(`test/e2e/${index}.test.ts`, { a: said });
    const { code, out } = countOf(0, {
      'slow.json': [1, 2].map(each('Error: no')),
      'slow.second.json': [1, 2].map(each(null)),
      'real.json': [3, 4].map(each('Error: no')),
      'real.second.json': [3, 4].map(each(null)),
    });
    expect(code).toBe(1);
    expect(out).toContain('4 files needed a second try; 3 are borne\n');
  });

  test('what does not load, a step without tests that failed, and what was skipped are counted', () => {
    const skipped = {
      ...pure,
      assertionResults: [
        { fullName: 'b', status: 'skipped' },
        { fullName: 'c', status: 'todo' },
      ],
    };
    expect(countOf(1, { 'a.json': [file(PURE, {}, 'SyntaxError: no\n    at x'), skipped] })).toEqual({
      code: 1,
      out: `failed: ${PURE}\n  SyntaxError: no\n0 passed, 1 failed, 2 skipped\n`,
    });
    expect(countOf(1, { 'a.json': [pure] }).out).toBe('1 passed, 1 failed, 0 skipped\n');
  });
});
