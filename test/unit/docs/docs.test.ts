import { existsSync, globSync, readFileSync, readdirSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { parseCommand } from '../../../sandbox/start/command.ts';
import { annotations } from '../../../shared/contract/messages/health-annotations.ts';

const root = resolve(import.meta.dirname, '../../..');

interface Page {
  readonly name: string;
  readonly text: string;
}

const atTheTop = [
  'README.md',
  'CONTRIBUTING.md',
  'CHANGELOG.md',
  'infra/kubernetes/README.md',
  'infra/chart/README.md',
];
const pages: ReadonlyArray<Page> = [...atTheTop, ...listMarkdown('docs')].map((name) => ({
  name,
  text: readFileSync(join(root, name), 'utf8'),
}));

function listMarkdown(folder: string): ReadonlyArray<string> {
  return readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join(folder, name));
}

/** All matches of the pattern's first group, each with its page's name. */
function findAll(pattern: RegExp): ReadonlyArray<readonly [page: string, found: string]> {
  return pages.flatMap(({ name, text }) => [...text.matchAll(pattern)].map(([, found = '']) => [name, found] as const));
}

test('every link to a file of the repository leads to one', () => {
  const links = findAll(/\]\((?!https?:)([^)#\s]+)(?:#[^)\s]*)?\)/g);
  expect(links.length).toBeGreaterThan(30);
  expect(links.filter(([page, link]) => !existsSync(join(root, dirname(page), link)))).toEqual([]);
});

/** A title as GitHub makes an anchor of it. */
function anchorOf(title: string): string {
  return title
    .replaceAll(/[`*]|\[([^\]]*)\]\([^)]*\)/g, '$1')
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N} _-]/gu, '')
    .replaceAll(' ', '-');
}

test('every link to a title leads to one', () => {
  const titles = (name: string): ReadonlyArray<string> =>
    [...readFileSync(join(root, name), 'utf8').matchAll(/^#+ (.+)$/gm)].map(([, title = '']) => anchorOf(title.trim()));
  const links = pages.flatMap(({ name, text }) =>
    [...text.matchAll(/\]\((?!https?:)([^)#\s]*)#([^)\s]+)\)/g)].map(([, path = '', anchor = '']) => {
      return { name, to: path === '' ? name : join(dirname(name), path), anchor };
    }),
  );
  expect(links.length).toBeGreaterThan(40);
  expect(links.filter(({ to, anchor }) => to.endsWith('.md') && !titles(to).includes(anchor))).toEqual([]);
});

test('every command of npm start that a page shows is understood', () => {
  const commands = findAll(/npm start -- ([^`#\n]+)/g).filter(([, words]) => !/[A-Z[…]{2}|\[/.test(words));
  expect(commands.length).toBeGreaterThan(10);
  const refused = commands.filter(([, words]) => {
    try {
      parseCommand(words.trim().split(/\s+/));
      return false;
    } catch {
      return true;
    }
  });
  expect(refused).toEqual([]);
});

test('every example, script and test that a page names is there', () => {
  const named = findAll(/\b((?:examples|scripts|test|infra|shared|sandbox|cli|relay)\/[\w./-]*\w)/g);
  expect(named.length).toBeGreaterThan(30);
  expect(named.filter(([, path]) => !existsSync(join(root, path)))).toEqual([]);
});

test('every npm script that a page names exists', () => {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly scripts: object };
  expect(findAll(/npm run ([a-z]+)/g).filter(([, script]) => !(script in scripts))).toEqual([]);
});

test('every dependency says what it is for', () => {
  const { dependencies, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly dependencies: object;
    readonly devDependencies: object;
  };
  const text = readFileSync(join(root, 'docs/decisions/dependencies.md'), 'utf8');
  const [production = '', development = ''] = text.split('## In development');
  const unsaid = (names: object, part: string): ReadonlyArray<string> =>
    Object.keys(names).filter((name) => !part.includes(`\`${name}\``));
  expect([...unsaid(dependencies, production), ...unsaid(devDependencies, development)]).toEqual([]);
});

test('every decision is in the list of decisions, under its own title', () => {
  const index = readFileSync(join(root, 'docs/decisions/README.md'), 'utf8');
  const decisions = pages.filter(({ name }) => /decisions\/\d{4}-/.test(name));
  const missing = decisions.filter(({ name, text }) => {
    const [, number = '', title = ''] = /^# (\d+)\. (.+)$/m.exec(text) ?? [];
    return !index.includes(`${number}. [${title}](${name.split('/').at(-1)})`);
  });
  expect(missing.map(({ name }) => name)).toEqual([]);
});

test('the decisions are numbered without a gap, and no number stands for two', () => {
  const names = pages.flatMap(({ name }) => /decisions\/(\d{4})-/.exec(name)?.[1] ?? []).toSorted();
  expect(names).toEqual(names.map((_, index) => String(index + 1).padStart(4, '0')));
});

test('every metric under a name of Karpenter that the relay shows has its row', () => {
  const sources = globSync('relay/**/*.ts', { cwd: root }).map((name) => readFileSync(join(root, name), 'utf8'));
  const shown = new Set(sources.flatMap((text) => text.match(/\bkarpenter_[a-z]+(?:_[a-z]+)+(?![_a-z])/g) ?? []));
  const text = readFileSync(join(root, 'docs/metrics.md'), 'utf8');
  expect(shown.size).toBeGreaterThan(15);
  expect([...shown].filter((name) => !text.includes(`\`${name}\``))).toEqual([]);
});

test('the page on interruptions says of every annotation what is done', () => {
  const page = pages.find(({ name }) => name === 'docs/interruptions.md')?.text ?? '';
  const words = { replace: 'replacement', look: 'look', note: 'note', ignore: 'nothing' } as const;
  const said = [...page.matchAll(/^\| `(\w+)` \| (replacement|look|note|nothing) \|/gm)].map(([, name, does]) => [
    name,
    does,
  ]);
  expect(said).toEqual(Object.entries(annotations).map(([name, { does }]) => [name, words[does]]));
});
