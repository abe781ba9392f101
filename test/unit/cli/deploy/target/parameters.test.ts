import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { carriedFrom, fillParameters, readTemplate } from '../../../../../cli/deploy/target/parameters.ts';
import { sayItHere } from '../../../../../cli/deploy/say-it-here.ts';
import { parseAll, readTexts, root } from '../../../../kit/infra/bicep/parse.ts';

const azdParameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');

describe('the template’s parameters', () => {
  test('numbers and yes or no are those that main.bicep declares', () => {
    const declared = [...(parseAll(readTexts()).get('main.bicep')?.parameters ?? [])];
    expect(declared.length).toBeGreaterThan(30);
    const { types, file } = readTemplate(root);
    expect(file).toBe(join(root, 'infra/main.bicep'));
    for (const name of ['instanceMemoryMB', 'maximumInstanceCount']) expect(types.get(name)).toBe('int');
    for (const name of ['azureEvents', 'createRegistry', 'scaleByQueueLength']) expect(types.get(name)).toBe('bool');
    expect(types.get('currency')).toBe(undefined);
    expect([...types.keys()].filter((name) => !declared.some(([one]) => one === name))).toEqual([]);
  });

  test('a template that came compiled is taken where there is no other', () => {
    const folder = mkdtempSync(join(tmpdir(), 'nodewright-template-'));
    mkdirSync(join(folder, 'infra'));
    const parameters = { a: { type: 'int' }, b: { type: 'bool' }, c: { type: 'string' } };
    writeFileSync(join(folder, 'infra/main.json'), JSON.stringify({ parameters }));
    expect(readTemplate(folder)).toEqual({
      file: join(folder, 'infra/main.json'),
      names: new Set(['a', 'b', 'c']),
      types: new Map([
        ['a', 'int'],
        ['b', 'bool'],
      ]),
    });
    rmSync(folder, { recursive: true });
  });

  test('what is filled in and kept by Azure comes back as the same variables', () => {
    const said = {
      AZURE_ENV_NAME: 'x',
      AZURE_LOCATION: 'westeurope',
      NODEWRIGHT_CLUSTER_ID: '/c',
      NODEWRIGHT_NODE_SUBNET_ID: '/s',
      NODEWRIGHT_INSTANCE_MEMORY_MB: '512',
      NODEWRIGHT_SCHEDULED_EVENTS: 'true',
      NODEWRIGHT_FEATURE_GATES: 'NodeRepair=true',
    };
    const { parameters } = fillParameters(azdParameters, readTemplate(root), said);
    // Resource Manager may write names in other letters.
    const kept = Object.fromEntries(Object.entries(parameters).map(([name, { value }]) => [name.toUpperCase(), value]));
    const { NODEWRIGHT_CLUSTER_ID: _, AZURE_ENV_NAME: __, AZURE_LOCATION: ___, ...carried } = said;
    expect(carriedFrom(azdParameters, kept)).toMatchObject(carried);
    expect(Object.keys(carriedFrom(azdParameters, kept)).filter((name) => !name.startsWith('NODEWRIGHT_'))).toEqual([]);
    expect(carriedFrom(azdParameters, kept)).not.toHaveProperty('NODEWRIGHT_CLUSTER_ID');
  });

  test('what has no default and is not said is named', () => {
    expect(() => fillParameters(azdParameters, readTemplate(root), {})).toThrow('AZURE_ENV_NAME is not set');
  });
});

test('no sentence of the hooks is in azd’s words once it is said here', () => {
  const hooks = [
    'answers',
    'cluster-checks',
    'network-checks',
    'subscription-checks',
    'install-relay',
    'relay-commands',
  ]
    .map((name) => readFileSync(join(root, `infra/hooks/${name}.ts`), 'utf8'))
    .join('\n');
  const sentences = hooks
    .split('\n')
    .filter((line) => /azd (env set|provision)/.test(line) && !/^\s*(\/\/|\*|\/\*)/.test(line));
  expect(sentences.length).toBeGreaterThan(12);
  expect(sentences.map(sayItHere).filter((line) => /\bazd (env|provision|up)\b/.test(line))).toEqual([]);
});
