import { expect, test } from 'vitest';
import { createLog, reasonOf, silentLog } from '../../../../relay/process/log.ts';

test('each line is one JSON object with its time, its level, its words and its fields', () => {
  const lines: Array<string> = [];
  const log = createLog((line) => lines.push(line), { now: () => 0 });
  log.info('started', { port: 8080 });
  log.warn('slow');
  log.error('broken', { reason: null });
  expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
    { time: '1970-01-01T00:00:00.000Z', level: 'info', message: 'started', port: 8080 },
    { time: '1970-01-01T00:00:00.000Z', level: 'warn', message: 'slow' },
    { time: '1970-01-01T00:00:00.000Z', level: 'error', message: 'broken', reason: null },
  ]);
});

test('what is below the least level is not written', () => {
  const lines: Array<string> = [];
  const log = createLog((line) => lines.push(line), { least: 'warn', now: () => 0 });
  log.info('started');
  log.warn('slow');
  log.error('broken');
  expect(lines.map((line) => (JSON.parse(line) as { readonly message: string }).message)).toEqual(['slow', 'broken']);
});

test('a silent log says nothing and fails nobody', () => {
  expect([silentLog.info('a'), silentLog.warn('b'), silentLog.error('c')]).toEqual([undefined, undefined, undefined]);
});

test('a reason is the first line of what was thrown, and not too much of it', () => {
  expect(reasonOf(new Error('first\nsecond'))).toBe('first');
  expect(reasonOf('text')).toBe('text');
  expect(reasonOf(undefined)).toBe('undefined');
  expect(reasonOf(new Error('x'.repeat(501)))).toHaveLength(500);
});
