import { expect, test } from 'vitest';
import { logTo } from '../../../functions/deliver/deliver.ts';
import { createLog } from '../../../relay/process/log.ts';
import { isHarmless } from '../../../shared/contract/harmless.ts';
import { renderJsonLine, renderTextLine } from '../../../sandbox/functions-host/log.ts';

const EVIL = 'a\u001B[2J\u202Eb\u0085';

test('what a terminal would obey is escaped in logs, which say the same when they are read', () => {
  const lines: Array<string> = [];
  logTo({ info: (line: string) => void lines.push(line) })('said', { name: EVIL });
  createLog((line) => void lines.push(line)).info('said', { name: EVIL });
  expect(lines.map((line) => [isHarmless(line), (JSON.parse(line) as { readonly name: string }).name])).toEqual([
    [true, EVIL],
    [true, EVIL],
  ]);
});

test('the sandbox’s host shows an app’s words without what a terminal would obey', () => {
  const rest = { level: 'information', category: 'host', functionName: null, invocationId: null } as const;
  const entry = { ...rest, timeMs: 0, message: `${EVIL}\nc` };
  expect(renderTextLine(entry)).toBe('[1970-01-01T00:00:00.000Z] a\\u{1b}[2J\\u{202e}b\\u{85}\nc');
  expect(JSON.parse(renderJsonLine(entry))).toMatchObject({ message: entry.message });
  expect(isHarmless(renderJsonLine(entry))).toBe(true);
});
