import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parameterFileFaults } from '../../../kit/infra/bicep/check-parameters.ts';
import { parseAll, readTexts, root } from '../../../kit/infra/bicep/parse.ts';

const folder = join(root, 'infra/variants');
const files = parseAll(readTexts());
const variants = readdirSync(folder)
  .filter((name) => name.endsWith('.bicepparam'))
  .map((name) => ({ name, text: readFileSync(join(folder, name), 'utf8') }));

/** Parameters that a variant sets. */
function setBy(text: string): ReadonlyArray<string> {
  return [...text.matchAll(/^param (\w+) =/gm)].map(([, name = '']) => name);
}

describe('the ways of deploying that the compiler is asked about', () => {
  test.for(variants)('$name fits the template, and says what it is for', ({ text }) => {
    expect(parameterFileFaults(files, text)).toEqual([]);
    expect(text).toMatch(/^\/\/ .+\.\nusing /);
  });

  test('set each parameter at least once', () => {
    const set = new Set(variants.flatMap(({ text }) => setBy(text)));
    expect([...(files.get('main.bicep')?.parameters.keys() ?? [])].filter((name) => !set.has(name))).toEqual([]);
  });

  test('set each setting and each name at least once', () => {
    for (const parameter of ['settings', 'resourceNames']) {
      const members = files.get('main.bicep')?.parameters.get(parameter)?.members ?? new Set();
      const text = variants.map((variant) => variant.text).join('\n');
      expect(members.size).toBeGreaterThan(5);
      expect([...members].filter((member) => !text.includes(`  ${member}: `))).toEqual([]);
    }
  });

  test('one that does not fit is found out', () => {
    const text = variants.find(({ name }) => name === 'settings.bicepparam')?.text ?? '';
    expect(parameterFileFaults(files, text.replace('DISRUPTION:', 'DISRUPT:'))).toEqual([
      'the parameter file: settings has no DISRUPT',
    ]);
    expect(parameterFileFaults(files, text.replace("relayNamespace = 'nodes'", 'relayNamespace = 1'))).not.toEqual([]);
  });
});
