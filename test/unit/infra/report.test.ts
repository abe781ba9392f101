import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { writeReport } from '../../../infra/hooks/report.ts';

let root = '';
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'nodewright-report-'));
});
afterEach(() => {
  rmSync(root, { recursive: true, force: true });
});

test('what azd does not show can be read beside its environment, and in the summary of a workflow', () => {
  mkdirSync(join(root, '.azure/production'), { recursive: true });
  const summary = join(root, 'summary.md');
  const written = writeReport(['! quota: low'], { root, environment: 'production', summary });
  expect(written).toEqual([join(root, '.azure/production/nodewright-preflight.txt'), summary]);
  expect(readFileSync(written[0] ?? '', 'utf8')).toBe('! quota: low\n');
  expect(readFileSync(summary, 'utf8')).toBe('### Nodewright: preflight\n\n```\n! quota: low\n```\n');
});

test('by hand nothing is written', () => {
  expect(writeReport(['x'], { root, environment: '', summary: '' })).toEqual([]);
});

test('the report of the look before is written over', () => {
  mkdirSync(join(root, '.azure/production'), { recursive: true });
  const place = { root, environment: 'production', summary: '' };
  const [file = ''] = writeReport(['one', 'two'], place);
  writeReport(['three'], place);
  expect(readFileSync(file, 'utf8')).toBe('three\n');
});
