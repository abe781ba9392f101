import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const tests = join(import.meta.dirname, '..', '..', '..');
const decisions = join(tests, '..', 'docs', 'decisions');

/** Text in quotes on one line: how a title of a test is written. */
const QUOTED = /(['`])((?:(?!\1)[^\\\n]|\\.)*)\1/g;
const NUMBER = /\[([A-Z]\d{2})\]/g;

/**
 * Registers a test for each of Karpenter's scenarios in `numbers`, such as `L12`: it is held by a test whose title has
 * the number in square brackets, or `decision`, the name of a file in `docs/decisions`, has a row about it in its
 * table.
 */
export function heldCases(numbers: ReadonlyArray<string>, decision: string): void {
  const tagged = new Set(titles().flatMap((title) => Array.from(title.matchAll(NUMBER), ([, number]) => number)));
  const decided = new Set(firstCells(readFileSync(join(decisions, decision), 'utf8')));
  test.each(numbers)('scenario %s has a test, or a row in the decision', (number) => {
    expect(tagged.has(number) || decided.has(number), `no test in test/ has [${number}] in its title`).toBe(true);
  });
}

function titles(): ReadonlyArray<string> {
  const files = readdirSync(tests, { recursive: true, encoding: 'utf8' }).filter((path) => path.endsWith('.ts'));
  return files.flatMap((path) =>
    Array.from(readFileSync(join(tests, path), 'utf8').matchAll(QUOTED), ([, , title = '']) => title),
  );
}

/** The scenarios that the rows of a Markdown table begin with, as `| L04, L05 | … |` names two. */
function firstCells(markdown: string): ReadonlyArray<string> {
  const rows = markdown.split('\n').filter((line) => line.startsWith('| '));
  return rows.flatMap((row) => row.split('|')[1]?.match(/\b[A-Z]\d{2}\b/g) ?? []);
}
