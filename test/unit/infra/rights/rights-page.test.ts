import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { askedByFunctions, askedByRelay } from '../../../kit/infra/access.ts';
import { actionsOfCalls, linkedActions } from '../../../kit/infra/azure-calls.ts';
import { readTexts, root } from '../../../kit/infra/bicep/parse.ts';
import { accessRows, actionRows, rowsUnder } from '../../../kit/infra/rights-page.ts';

const page = readFileSync(join(root, 'docs/rights.md'), 'utf8');
const roles = Object.entries(readTexts()).flatMap(([path, text]) => {
  const [, name] = /roleName: 'Nodewright (\w+) \$\{suffix\}'/.exec(text) ?? [];
  return path.startsWith('modules/access/') && name !== undefined ? [{ name, text }] : [];
});
const rolesWith = (action: string): ReadonlyArray<string> =>
  roles.filter(({ text }) => text.includes(`'${action}'`)).map(({ name }) => name);

describe('the page of all rights', () => {
  test('has each action in Azure with the calls that need it and the roles that have it', async () => {
    const needed = new Map([...(await actionsOfCalls()), ...linkedActions()]);
    expect(rowsUnder(page, 'The functions in Azure')).toEqual(actionRows(needed, rolesWith));
    expect(needed.size).toBeGreaterThan(20);
  });

  test('has what the functions ask of the API server', async () => {
    expect(rowsUnder(page, 'The functions in the cluster')).toEqual(accessRows(await askedByFunctions()));
  });

  test('has what the relay asks of the API server', () => {
    expect(rowsUnder(page, 'The relay in the cluster')).toEqual(accessRows(askedByRelay()));
  });

  test('is read as it is: a row that lacks a call is another row', () => {
    const [row = []] = rowsUnder(page, 'The functions in Azure');
    expect(row).toHaveLength(3);
    expect(rowsUnder(page.replace(`\`${row[0]}\``, '`nothing`'), 'The functions in Azure')[0]).not.toEqual(row);
  });
});
