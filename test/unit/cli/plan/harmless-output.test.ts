import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { cutColumn, textTable, wrapText } from '../../../../cli/plan/text-table.ts';
import { isHarmless } from '../../../../shared/contract/harmless.ts';
import { planManifests, pool, workload } from '../../../kit/cli/plan-manifests.ts';

/** A label that clears the screen, turns the direction of writing round, and begins a line of its own. */
const EVIL = `a\u001B[2J\u202Eb\u0085\u200Bc\nWithout a place: nobody`;

const evilPod = workload('Deployment', 'web', 1).replace(
  'spec: { containers',
  `spec: { nodeSelector: { example.com/team: ${JSON.stringify(EVIL)} }, containers`,
);

async function printed(output: 'table' | 'json' | 'yaml'): Promise<string> {
  return (await planManifests([pool, evilPod], { output })).text;
}

const SHOWN = 'a\\u{1b}[2J\\u{202e}b\\u{85}\\u{200b}c Without a place: nobody';

describe('what a terminal would obey or hide', () => {
  test('is shown as its number in a table, and begins no line', async () => {
    const text = await printed('table');
    expect(text.split('\n').filter((line) => !isHarmless(line))).toEqual([]);
    expect(text.replaceAll(/\s+/g, ' ')).toContain(SHOWN);
    expect(text).not.toMatch(/^\s*Without a place: nobody/m);
  });

  test.each([
    ['json', (text: string): unknown => JSON.parse(text)],
    ['yaml', (text: string): unknown => parse(text)],
  ] as const)('is escaped in %s, which says the same when it is read', async (output, read) => {
    const text = await printed(output);
    expect(text.split('\n').filter((line) => !isHarmless(line))).toEqual([]);
    expect(read(text)).toMatchObject({ left: [{ reasons: [{ wanted: [{ values: [EVIL] }] }] }] });
  });

  test('is put in quotes in YAML, which plain text has not', async () => {
    const left = evilPod.replace(JSON.stringify(EVIL), '"a\\u202Eb"');
    const { text } = await planManifests([pool, left], { output: 'yaml' });
    expect(text).toContain('- "a\\u202eb"');
    expect(parse(text)).toMatchObject({ left: [{ reasons: [{ wanted: [{ values: ['a\u202Eb'] }] }] }] });
  });

  test('is counted at the width at which a table shows it', () => {
    const rows = cutColumn(['NAME', 'N'], [['\u001Bx', 'y']], { column: 0, width: 9 });
    expect(textTable(['NAME', 'N'], rows, ['left', 'left'])).toBe('NAME    N\n\\u{…}x  y');
    expect(textTable(['NAME', 'N'], [['\u001Bx', 'y']], ['left', 'left'])).toBe('NAME     N\n\\u{1b}x  y');
    expect(wrapText('\u001Bx y', 7)).toBe('\\u{1b}x\ny');
  });
});
