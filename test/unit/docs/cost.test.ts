import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

/** Rows of the table of what clusters cost at rest: what it is, and dollars for one, five and twenty. */
function rowsAtRest(): ReadonlyArray<{ readonly what: string; readonly dollars: ReadonlyArray<number> }> {
  const [, section = ''] = read('docs/cost.md').split('\n## At rest\n');
  const [own = ''] = section.split('\n## ');
  return [...own.matchAll(/^\| (.+) \| (.+) \| (.+) \| (.+) \|$/gm)]
    .slice(1)
    .map(([, what = '', ...cells]) => ({ what, dollars: cells.map((cell) => Number(cell.replaceAll(/[^\d]/g, ''))) }));
}

const totals = rowsAtRest().filter(({ what }) => what.startsWith('**'));
const parts = rowsAtRest().filter(({ what }) => !what.startsWith('**'));

/** Less than the reader rounds by. */
const ROUNDING_DOLLARS = 3;

test('what clusters cost at rest is the sum of its parts, with two instances that wait, one and none', () => {
  const sums = [0, 1, 2].map((column) => parts.reduce((sum, { dollars }) => sum + (dollars[column] ?? 0), 0));
  const waiting = parts[0]?.dollars ?? [];
  expect(totals).toHaveLength(3);
  for (const [index, share] of [0, 1 / 2, 1].entries()) {
    const told = totals[index]?.dollars ?? [];
    const wanted = sums.map((sum, column) => sum - share * (waiting[column] ?? 0));
    expect(told.map((one, column) => Math.abs(one - (wanted[column] ?? 0)) <= ROUNDING_DOLLARS)).toEqual([
      true,
      true,
      true,
    ]);
  }
});

test('what each cluster pays for itself is five and twenty times as much', () => {
  const own = parts.filter(({ what }) => /instances|alerts|registry/.test(what));
  expect(own).toHaveLength(3);
  for (const { dollars } of own) expect(dollars).toEqual([1, 5, 20].map((clusters) => clusters * (dollars[0] ?? 0)));
});

test('the alerts and the instances that it counts are those that are deployed', () => {
  const portal = read('infra/modules/portal.bicep');
  const [, always = ''] = /\salwaysReadyFunctions string\[\] = \[([^\]]*)\]/.exec(read('infra/main.bicep')) ?? [];
  const inList = (name: string): number =>
    [...(portal.split(`var ${name} = [`)[1]?.split('\n]\n')[0] ?? '').matchAll(/^ {4}name: /gm)].length;
  expect(always.trim().split(/\s+/)).toHaveLength(2);
  expect(inList('logAlerts')).toBe(10);
  expect(inList('queueAlerts')).toBe(2);
  expect(read('docs/cost.md')).toContain('alerts: ten on logs');
});
