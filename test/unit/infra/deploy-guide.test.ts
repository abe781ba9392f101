import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAll, readTexts, root } from '../../kit/infra/bicep/parse.ts';

const files = parseAll(readTexts());
const main = files.get('main.bicep');
const guide = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const azdParameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');
const hooks = readdirSync(join(root, 'infra/hooks'))
  .map((name) => readFileSync(join(root, 'infra/hooks', name), 'utf8'))
  .join('\n');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

function words(text: string, pattern: RegExp): ReadonlyArray<string> {
  return [...new Set([...text.matchAll(pattern)].map(([, word = '']) => word))].toSorted();
}

const settingsTaken = words(readTexts()['modules/function-app.bicep'] ?? '', /settings\.\?(\w+)/g);
const variables = words(`${azdParameters}\n${hooks}`, /\b(NODEWRIGHT_[A-Z_]+)\b/g);

/** What the guide says that is not so, and what it leaves out. */
function guideFaults(text: string): ReadonlyArray<string> {
  const [, settings = ''] = /## Settings of the app\n([\s\S]*?)\n## /.exec(text) ?? [];
  const said = words(settings, /`([A-Z][A-Z_]+)`/g);
  const known = new Set([...variables, ...settingsTaken]);
  const parameters = words(
    text,
    /`((?:existing|functions|private|scale|always|create|node|resource|additional|zone|relay|ssh)[A-Z]\w+)`/g,
  );
  return [
    ...said.filter((name) => !settingsTaken.includes(name)).map((name) => `no setting ${name} is taken`),
    ...settingsTaken.filter((name) => !said.includes(name)).map((name) => `the setting ${name} is not told of`),
    ...words(text, /\b(NODEWRIGHT_[A-Z_]+)\b/g)
      .filter((name) => !known.has(name))
      .map((name) => `nothing reads ${name}`),
    ...variables.filter((name) => !text.includes(name)).map((name) => `the variable ${name} is not told of`),
    ...words(text, /"\$([A-Z_]+)"/g)
      .filter((name) => main?.outputs.has(name) !== true)
      .map((name) => `there is no output ${name}`),
    ...parameters.filter((name) => main?.parameters.has(name) !== true).map((name) => `there is no parameter ${name}`),
    ...words(text, /npm run (?:--silent )?(\w+)/g)
      .filter((name) => scripts[name] === undefined)
      .map((name) => `there is no script ${name}`),
  ];
}

test('the guide names settings, variables, outputs, parameters and scripts that there are, and all of the first two', () => {
  expect(guideFaults(guide)).toEqual([]);
});

test.for([
  ['`RESERVE_NODES`', '`RESERVE_NODE`', 'no setting RESERVE_NODE is taken'],
  ['`RESERVE_NODES`', '`FEATURE_GATES`', 'the setting RESERVE_NODES is not told of'],
  ['`NODEWRIGHT_DISRUPTION`', '`NODEWRIGHT_DISRUPT`', 'nothing reads NODEWRIGHT_DISRUPT'],
  ['`NODEWRIGHT_DISRUPTION`', '`nothing`', 'the variable NODEWRIGHT_DISRUPTION is not told of'],
  ['"$FUNCTION_APP_NAME"', '"$APP_NAME"', 'there is no output APP_NAME'],
  ['`functionsSubnetResourceId`', '`functionsSubnetId`', 'there is no parameter functionsSubnetId'],
  ['npm run relay', 'npm run relays', 'there is no script relays'],
] as const)('a slip in the guide is found out: %s for %s', ([from, to, said]) => {
  expect(guide).toContain(from);
  expect(guideFaults(guide.replaceAll(from, to)).join('\n')).toContain(said);
});
