import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseCommand } from '../../../../cli/command.ts';
import { deployUsage, statusUsage, uninstallUsage } from '../../../../cli/deploy/deploy-options.ts';
import { CLUSTER_ID } from '../../../kit/infra/azure-answers.ts';
import { newcomer, optionsOf, ready, root, type } from '../../../kit/cli/fake-azure.ts';

const guide = readFileSync(join(root, 'docs/deploy.md'), 'utf8');
const [, section = ''] = /## With one command\n([\s\S]*?)\n## /.exec(guide) ?? [];

test('the guide counts the commands and the questions as they are', async () => {
  const typed = section.split('\n').flatMap((line) => (/^ {4}\S/.test(line) ? [line.trim()] : []));
  expect(typed).toHaveLength(3);
  expect(section).toContain('Three commands and at most two questions');
  const words =
    typed
      .at(-1)
      ?.replace(/"\$\(.*\)"/, CLUSTER_ID)
      .split(' ')
      .slice(2) ?? [];
  expect(parseCommand(words)).toEqual(optionsOf());
  const { questions } = await type(newcomer(), optionsOf());
  expect(questions).toHaveLength(2);
});

test('the guide has the steps that the command takes, in their order', async () => {
  const { said } = await type(ready(), optionsOf());
  const taken = [...said.matchAll(/^\[(\d)\/6\] (.*?) \(/gm)].map(([, number, title]) => `${number} ${title}`);
  const told = [...section.matchAll(/^\| (\d .*?) \|/gm)].map(([, step = '']) => step.replaceAll("'", '’'));
  expect(taken).toHaveLength(6);
  expect(told).toEqual(taken);
});

test('every option that the guide names is one, and the variables that are not kept are those that neither a parameter nor the cluster has', () => {
  const options = [...section.matchAll(/`(--[a-z-]+)/g)].map(([, option = '']) => option);
  const help = `${deployUsage}${statusUsage}${uninstallUsage}`;
  expect(options.length).toBeGreaterThan(4);
  expect(options.filter((option) => !help.includes(option))).toEqual([]);
  const [, unkept = ''] = /Set (.*?) every time/.exec(section) ?? [];
  const parameters = readFileSync(join(root, 'infra/main.parameters.json'), 'utf8');
  const hooks = ['answers', 'relay-commands'].map((name) => readFileSync(join(root, `infra/hooks/${name}.ts`), 'utf8'));
  const read = new Set(hooks.join('\n').match(/(?<=of\('|: ')NODEWRIGHT_[A-Z_]+(?=')/g));
  const ofChart = /values of the chart in the cluster \(`(NODEWRIGHT_[A-Z_]+)`\)/.exec(section)?.[1] ?? '';
  expect([...read].filter((name) => !parameters.includes(`{${name}`)).toSorted()).toEqual(
    [ofChart, ...(unkept.match(/NODEWRIGHT_[A-Z_]+/g) ?? [])].toSorted(),
  );
});
