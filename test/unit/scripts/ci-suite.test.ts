import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const FILE = 'test/e2e/one.test.ts';

/** What a run of the tests does: the results it writes, its exit code, and whether an error was nobody's. */
interface Run {
  readonly results?: ReadonlyArray<'passed' | 'failed'>;
  readonly code: number;
  readonly isUnhandled?: boolean;
}
const failing: Run = { results: ['failed'], code: 1 };
const passing: Run = { results: ['passed'], code: 0 };

/** Takes npm's place: the first and the second run do what their files say. */
const npm = `#!/usr/bin/env bash
for argument in "$@"; do case $argument in --outputFile.json=*) out=\${argument#*=} ;; esac; done
run=$RUNS/first
case $out in *.second.json) run=$RUNS/second ;; esac
echo "$REAL_FOLLOWS $*" >>"$RUNS/asked"
[ -e "$run.json" ] && cp "$run.json" "$out"
[ -e "$run.unhandled" ] && echo x >"$UNHANDLED_ERRORS"
exit "$(cat "$run.code")"
`;

describe('a suite in CI', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'nodewright-ci-'));
    writeFileSync(join(folder, 'npm'), npm);
    chmodSync(join(folder, 'npm'), 0o755);
  });
  afterAll(() => {
    rmSync(folder, { recursive: true, force: true });
  });

  /** Runs `suite` of `.ci/run` with two runs of the tests: the run's status, and what npm was asked for. */
  function suite(first: Run, second: Run = passing) {
    const runs = mkdtempSync(join(folder, 'runs-'));
    for (const [name, { results, code, isUnhandled = false }] of Object.entries({ first, second })) {
      writeFileSync(join(runs, `${name}.code`), String(code));
      if (isUnhandled) writeFileSync(join(runs, `${name}.unhandled`), '');
      if (results === undefined) continue;
      const assertionResults = results.map((status) => ({ status, fullName: 'a', failureMessages: [] }));
      const file = { name: join(root, FILE), status: results[0], assertionResults };
      writeFileSync(join(runs, `${name}.json`), JSON.stringify({ testResults: [file] }));
    }
    const script = [
      'set -uo pipefail',
      `results='${runs}' status=0 failed_steps=() seconds_of=()`,
      `eval "$(sed -n '/^timed()/,/^# What stands beside/p' .ci/run)"`,
      "REAL_FOLLOWS=1 suite 'tests' 1 tests --slow",
      'exit $status',
    ].join('\n');
    const env = { ...process.env, PATH: `${folder}:${process.env['PATH'] ?? ''}`, RUNS: runs };
    const { status } = spawnSync('bash', ['-c', script], { cwd: root, env, encoding: 'utf8' });
    const asked = existsSync(join(runs, 'asked')) ? readFileSync(join(runs, 'asked'), 'utf8').trim().split('\n') : [];
    return { status, asked };
  }

  test('runs once where all passed', () => {
    const { status, asked } = suite(passing);
    expect([status, asked.length]).toEqual([0, 1]);
    expect(asked[0]).toMatch(/^1 test --silent -- --slow /);
  });

  test('runs what failed once more, alone, and has passed where that passes', () => {
    const { status, asked } = suite(failing);
    expect([status, asked.length]).toEqual([0, 2]);
    expect(asked[1]).toMatch(new RegExp(`^1 test --silent -- --slow .* --no-file-parallelism ${FILE}$`));
  });

  test('has failed where that fails, or tells nothing', () => {
    for (const second of [failing, { ...passing, code: 1 }]) expect(suite(failing, second).status).toBe(1);
  });

  test.for([
    ['its time was over', { ...failing, code: 124 }],
    ['it was killed', { ...failing, code: 137 }],
    ['an error beside what failed is nobody’s', { ...failing, isUnhandled: true }],
    ['nothing has failed but the run itself', { ...passing, code: 1 }],
    ['it wrote no results', { code: 1 }],
  ] as const)('has failed, and runs nothing once more, where %s', ([, first]) => {
    const { status, asked } = suite(first);
    expect([status, asked.length]).toEqual([1, 1]);
  });
});
