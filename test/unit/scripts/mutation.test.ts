import { expect, test } from 'vitest';
import { readDiff } from '../../../scripts/changed-files.ts';
import { readReport, renderScores, renderSurvivor, scoreOf } from '../../../scripts/mutation-report.ts';

test('of a diff the lines that are new are mutated, and a file that only lost lines is not', () => {
  const diff = [
    'diff --git a/shared/a.ts b/shared/a.ts',
    '--- a/shared/a.ts',
    '+++ b/shared/a.ts',
    '@@ -3 +3,2 @@ function a() {',
    '-old',
    '+new',
    '+new',
    '@@ -9,2 +11 @@',
    '+new',
    'diff --git a/shared/b.ts b/shared/b.ts',
    '--- a/shared/b.ts',
    '+++ b/shared/b.ts',
    '@@ -5,2 +4,0 @@',
    '-gone',
  ].join('\n');
  expect(readDiff(diff)).toEqual([
    {
      path: 'shared/a.ts',
      lines: [
        [3, 4],
        [11, 11],
      ],
    },
  ]);
});

const at = (line: number, from: number, to: number) => ({
  start: { line, column: from },
  end: { line, column: to },
});
const report = (...statuses: ReadonlyArray<string>): string =>
  JSON.stringify({
    files: {
      'shared/app/a.ts': {
        source: 'first\nif (a > b) return;\n',
        mutants: statuses.map((status) => ({
          mutatorName: 'EqualityOperator',
          replacement: 'a >= b',
          status,
          location: at(2, 5, 10),
        })),
      },
    },
  });

test('a change that no test notices is told with its line, what stood there and what stands there now', () => {
  const texts = readReport(report('Survived', 'NoCoverage', 'Killed')).map(renderSurvivor);
  expect(texts).toEqual([
    'shared/app/a.ts:2 EqualityOperator\n    a > b\n  → a >= b',
    'shared/app/a.ts:2 EqualityOperator (no test gets there)\n    a > b\n  → a >= b',
    null,
  ]);
});

test('the score counts what was noticed among what can be, and what means the same is left out', () => {
  expect(scoreOf(readReport(report('Killed', 'Timeout', 'Survived', 'NoCoverage', 'Ignored', 'RuntimeError')))).toBe(
    50,
  );
  expect(scoreOf(readReport(report('Ignored')))).toBe(100);
});

test('scores are told per area and per file', () => {
  const mutants = readReport(report('Killed', 'Killed', 'Killed', 'Survived'));
  expect(renderScores(mutants, () => 'shared/app').split('\n')).toEqual([
    '  score  found missed',
    ' 75.0 %      3      1  shared/app',
    ' 75.0 %      3      1    shared/app/a.ts',
  ]);
  expect(renderScores([], () => undefined)).toBe('nothing to mutate');
});
