import { readFileSync, readdirSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';

/** What every folder of adapters may import, beside itself. */
const adapter = ['shared/kubernetes', 'shared/core', 'shared/ports', 'shared/contract', 'shared/adapters/once.ts'];

/** Who may import whom, by folder; a folder may always import itself. The longest prefix that fits a file decides. */
const allowed: Readonly<Record<string, ReadonlyArray<string>>> = {
  'shared/kubernetes': [],
  'shared/core': ['shared/kubernetes'],
  'shared/contract': ['shared/kubernetes'],
  'shared/ports': ['shared/kubernetes', 'shared/core', 'shared/contract'],
  'shared/app': ['shared/kubernetes', 'shared/core', 'shared/ports', 'shared/contract'],
  'shared/adapters/azure': adapter,
  'shared/adapters/cel': adapter,
  'shared/adapters/kubernetes': adapter,
  'shared/adapters/servicebus': adapter,
  'shared/adapters/storage': adapter,
  'shared/adapters/once.ts': [],
  'shared/composition.ts': ['shared'],
  functions: ['shared/kubernetes', 'shared/composition.ts', 'shared/contract', 'shared/app', 'shared/ports/errors.ts'],
  relay: ['shared/kubernetes', 'shared/contract'],
  // What deploys by hand and with azd, deploys by the command too: there is one way, in infra/hooks.
  cli: ['shared', 'infra/hooks'],
  'infra/hooks': [],
  // The page of reasons is made from the public format of plans.
  scripts: ['shared', 'sandbox', 'cli'],
  // Each double knows what it stands in for, and of the product at most the contract: others could use it.
  'sandbox/base': [],
  'sandbox/node': [],
  'sandbox/azure': ['sandbox/base'],
  'sandbox/servicebus': ['sandbox/base', 'shared/contract'],
  'sandbox/functions-host': ['sandbox/base', 'sandbox/servicebus', 'shared/contract'],
  'sandbox/kubernetes': ['sandbox/base', 'shared/kubernetes'],
  sandbox: ['shared'],
  test: ['shared', 'functions', 'relay', 'cli', 'infra/hooks', 'sandbox', 'scripts'],
};

/**
 * Which folder may name which package, beside Node's own modules. Packages not listed here may be named nowhere else.
 */
const packages: Readonly<Record<string, ReadonlyArray<string>>> = {
  'shared/kubernetes': [],
  'shared/core': [],
  // What messages are, ours and Azure's.
  'shared/contract': ['typebox', '@azure/eventgrid'],
  'shared/ports': [],
  'shared/app': [],
  'shared/adapters/once.ts': [],
  'shared/adapters/azure': [
    '@azure/arm-compute',
    '@azure/arm-containerservice',
    '@azure/arm-network',
    '@azure/arm-resourcegraph',
    '@azure/identity',
  ],
  'shared/adapters/cel': ['@marcbachmann/cel-js'],
  'shared/adapters/kubernetes': ['@kubernetes/client-node'],
  'shared/adapters/servicebus': ['@azure/service-bus'],
  'shared/adapters/storage': ['@azure/storage-blob'],
  'shared/composition.ts': ['@azure/service-bus', '@azure/identity', '@azure/storage-blob'],
  functions: ['@azure/functions'],
  'infra/hooks': [],
};

/**
 * The folders of the core in the order in which a decision passes through them: each may import only what stands before
 * it.
 */
const coreFolders = [
  'quantity',
  'model',
  'rules',
  'devices',
  'present',
  'offerings',
  'packing/problem',
  'packing/lp',
  'packing/knapsack',
  'packing/columns',
  'packing/first',
  'packing/whole',
  'packing/relaxed',
  'packing',
  'packing/zones',
  'placing/state',
  'placing/crowding',
  'placing/one-by-one',
  'placing/together',
  'placing/fewest',
  'placing',
  'bound',
  'telling/claims',
  'telling/remedies',
  'telling/reasons',
  'telling/cheaper',
  'telling',
  'finishing',
  '.',
  'audit/seen',
  'audit/devices',
  'audit/topology',
  'audit/rules',
  'audit',
  'launch',
  'recovery',
  'disruption/plan',
  'disruption/candidates',
  'disruption/brakes',
  'disruption/search',
  'disruption/bound',
  'disruption/steps',
  'disruption/audit',
  'disruption',
  'disruption/second-look',
  'disruption/withdrawal',
];

/** More files than this in one folder, and nobody sees at a glance what it holds. */
const FILES_MAX = 13;

/**
 * Where that holds, and where arrows between folders run one way. What is recorded or generated, and fixtures, are no
 * rooms of code.
 */
const rooms = ['shared', 'relay', 'cli', 'sandbox', 'functions', 'test'];

const folders = ['functions', 'shared', 'relay', 'cli', 'infra/hooks', 'sandbox', 'scripts', 'test'];
const files = folders.flatMap(listTypeScript);
const targets = new Map<string, ReadonlyArray<string>>();
const roomFiles = files.filter((file) => rooms.some((room) => file.startsWith(`${room}/`)));

test('every import points the way the architecture says', () => {
  expect(files.flatMap(strayImports)).toEqual([]);
});

test('arrows between the folders of the core run one way', () => {
  expect(files.filter((file) => file.startsWith('shared/core/')).flatMap(climbingImports)).toEqual([]);
});

test('a folder can be taken in at a glance', () => {
  const perFolder = Object.groupBy(roomFiles, (file) => dirname(file));
  const crowded = Object.entries(perFolder).filter(([, own = []]) => own.length > FILES_MAX);
  expect(crowded.map(([folder, own = []]) => `${folder}: ${own.length}`)).toEqual([]);
});

test('of two folders that stand beside each other one may know the other, and never both, round about or not', () => {
  const parents = new Set(roomFiles.flatMap((file) => parentsOf(dirname(file))));
  expect([...parents].flatMap(circlesWithin)).toEqual([]);
});

test('no file imports itself round about, types included', () => {
  expect(circlesOf(new Map(roomFiles.map((file) => [file, targetsOf(file)])))).toEqual([]);
});

test('CONTRIBUTING has a row for every folder, and says who may import whom as it is held here', () => {
  const page = readFileSync('CONTRIBUTING.md', 'utf8');
  const [places = '', imports = ''] = page.slice(page.indexOf('## Where things live')).split('## Who may import whom');
  const named = rowsOf(places).flatMap(([names = '']) => codeIn(names).map((name) => name.replace(/\/$/, '')));
  const within = ['shared', 'test'].flatMap((folder) => foldersIn(folder).map((name) => `${folder}/${name}`));
  const wanted = [...foldersIn('.').filter((name) => !['shared', 'test'].includes(name)), ...within];
  expect(named.toSorted()).toEqual([...wanted, 'shared/composition.ts'].toSorted());
  const said = rowsOf(imports.split('\n## ')[0] ?? '').flatMap(([from = '', to = '']) =>
    codeIn(from).map((name) => [name, codeIn(to)]),
  );
  expect(Object.fromEntries(said)).toEqual(allowed);
});

test('the folders of the use cases, the relay and the adapter to Azure stand in the order that the page on architecture has', () => {
  const page = readFileSync('docs/architecture.md', 'utf8');
  const [, code = ''] = page.split('## Where the code is');
  for (const table of (code.split('\n## ')[0] ?? '').split('\n\n').filter((part) => part.startsWith('| '))) {
    const [head, ...rows] = table.split('\n').map((row) => codeIn(row.split('|')[1] ?? '')[0] ?? '');
    const [area = '', order] = [head, rows.filter((name) => name !== '')];
    expect(order.toSorted(), area).toEqual(foldersIn(area));
    const folderOf = (file: string): number => order.indexOf(relative(area, file).split('/')[0] ?? '');
    const own = files.filter((file) => file.startsWith(`${area}/`) && folderOf(file) !== -1);
    const climbing = own.flatMap((file) =>
      targetsOf(file)
        .filter((target) => target.startsWith(`${area}/`) && folderOf(target) > folderOf(file))
        .map((target) => `${file} imports ${target}`),
    );
    expect(climbing).toEqual([]);
  }
});

test('a package is named in one folder only, and the core names none', () => {
  expect(files.flatMap(strayPackages)).toEqual([]);
});

test('no file is named for what it is not', () => {
  const vague = files.filter((file) => /(^|[/-])(utils?|helpers?|common|misc)\.ts$|(^|[/])index\.ts$/.test(file));
  expect(vague).toEqual([]);
});

/** What the formatter keeps code to; comments it leaves alone. */
const WIDTH = 120;

test('comments end where lines of code do, but for commands to type and words to tools', () => {
  const wide = files.flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .flatMap((line, index) => {
        const isComment = /^\s*(\*|\/\/|\/\*\*) /.test(line);
        const isExempt = /^\s*\* {4,}\S|(Stryker|oxlint-disable)|https?:/.test(line);
        return isComment && !isExempt && line.length > WIDTH ? [`${file}:${index + 1}`] : [];
      }),
  );
  expect(wide).toEqual([]);
});

test('no source file carries a path of a machine or the address of a registry', () => {
  // Spelled in parts, so that this file does not carry them either.
  const traces = [
    ['/work', '/main'],
    ['/root', '/'],
    ['/home', '/[a-z]+/(?!\\.ssh)'],
    ['registry', '.npmjs'],
  ];
  const pattern = new RegExp(traces.map((parts) => parts.join('')).join('|'));
  expect(files.filter((file) => pattern.test(readFileSync(file, 'utf8')))).toEqual([]);
});

test('core reads no clock, draws nothing and waits for nothing', () => {
  const core = files.filter((file) => file.startsWith('shared/core/'));
  const impure = /\b(Date|Math\.random|setTimeout|setInterval|performance|process|crypto|Promise|async|await)\b\s*[.(]/;
  expect(core.filter((file) => impure.test(withoutComments(readFileSync(file, 'utf8'))))).toEqual([]);
});

function strayImports(file: string): ReadonlyArray<string> {
  const home = homeOf(file, allowed);
  const reachable = [home, ...(allowed[home] ?? [])];
  return specifiersOf(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative('.', resolve(dirname(file), specifier)))
    .filter((target) => !reachable.some((prefix) => target === prefix || target.startsWith(`${prefix}/`)))
    .map((target) => `${file} imports ${target}`);
}

function climbingImports(file: string): ReadonlyArray<string> {
  const own = rankOf(file);
  if (own === -1) return [`${file} is in a folder without a place in the order`];
  return specifiersOf(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative('.', resolve(dirname(file), specifier)))
    .filter((target) => target.startsWith('shared/core/') && rankOf(target) > own)
    .map((target) => `${file} imports ${target}`);
}

/** Every folder that the folder is in, itself left out; of the checkout's own folders there is no order. */
function parentsOf(folder: string): ReadonlyArray<string> {
  const parent = dirname(folder);
  return parent === '.' ? [] : [parent, ...parentsOf(parent)];
}

/** The circles among the folders right in `parent`, each with all that is in it. */
function circlesWithin(parent: string): ReadonlyArray<string> {
  const childOf = (file: string): string | null => {
    const [child, ...deeper] = file.startsWith(`${parent}/`) ? file.slice(parent.length + 1).split('/') : [];
    return child === undefined || deeper.length === 0 ? null : `${parent}/${child}`;
  };
  const arrows = new Map<string, Set<string>>();
  for (const file of roomFiles) {
    const own = childOf(file);
    if (own === null) continue;
    const known = arrows.get(own) ?? new Set<string>();
    arrows.set(own, known);
    for (const target of targetsOf(file).map(childOf)) if (target !== null && target !== own) known.add(target);
  }
  return circlesOf(arrows);
}

/** Whoever comes to itself again along the arrows, each with the others on the way. */
function circlesOf(arrows: ReadonlyMap<string, Iterable<string>>): ReadonlyArray<string> {
  const reached = new Map([...arrows.keys()].map((from) => [from, reachedFrom(from, arrows)]));
  return [...reached]
    .filter(([from, all]) => all.has(from))
    .map(([from, all]) => [from, ...[...all].filter((to) => to !== from && reached.get(to)?.has(from))].join(' ↔ '));
}

function reachedFrom(start: string, arrows: ReadonlyMap<string, Iterable<string>>): ReadonlySet<string> {
  const seen = new Set<string>();
  const left = [start];
  for (let from = left.pop(); from !== undefined; from = left.pop()) {
    for (const to of arrows.get(from) ?? []) {
      if (seen.has(to)) continue;
      seen.add(to);
      left.push(to);
    }
  }
  return seen;
}

/** The files that a file imports, whatever for. */
function targetsOf(file: string): ReadonlyArray<string> {
  const known = targets.get(file);
  if (known !== undefined) return known;
  const found = specifiersOf(file)
    .filter((specifier) => specifier.startsWith('.'))
    .map((specifier) => relative('.', resolve(dirname(file), specifier)));
  targets.set(file, found);
  return found;
}

/** The cells of the rows of a page's tables, heads left out. */
function rowsOf(text: string): ReadonlyArray<ReadonlyArray<string>> {
  const rows = text.split('\n').filter((line) => line.startsWith('| `'));
  return rows.map((row) => row.split('|').slice(1, -1));
}

function codeIn(text: string): ReadonlyArray<string> {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, code = '']) => code);
}

/** Folders that are in the repository: what is built, installed or hidden is not. */
function foldersIn(folder: string): ReadonlyArray<string> {
  const all = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return all
    .map(({ name }) => name)
    .filter((name) => !/^\.|^node_modules$|^dist|^coverage$/.test(name))
    .toSorted();
}

function rankOf(file: string): number {
  return coreFolders.indexOf(relative('shared/core', dirname(file)) || '.');
}

function strayPackages(file: string): ReadonlyArray<string> {
  const home = homeOf(file, packages);
  const permitted = packages[home];
  if (permitted === undefined) return [];
  return specifiersOf(file)
    .filter((specifier) => !specifier.startsWith('.') && !specifier.startsWith('node:'))
    .filter((specifier) => !permitted.some((name) => specifier === name || specifier.startsWith(`${name}/`)))
    .map((specifier) => `${file} imports ${specifier}`);
}

function homeOf(file: string, table: Readonly<Record<string, ReadonlyArray<string>>>): string {
  const fitting = Object.keys(table).filter((prefix) => file === prefix || file.startsWith(`${prefix}/`));
  return fitting.toSorted((a, b) => b.length - a.length)[0] ?? '';
}

function specifiersOf(file: string): ReadonlyArray<string> {
  const source = withoutComments(readFileSync(file, 'utf8'));
  const found = source.matchAll(
    /(?:^|\s)(?:import|export)\b[^'";]*?from\s+'([^']+)'|\bimport\(\s*'([^']+)'\s*\)|^import\s+'([^']+)'/gm,
  );
  return [...found].flatMap(([, from, dynamic, bare]) => from ?? dynamic ?? bare ?? []);
}

function withoutComments(source: string): string {
  return source.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '');
}

function listTypeScript(folder: string): ReadonlyArray<string> {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts') && !name.includes('fixtures/'))
      .map((name) => join(folder, name));
  } catch {
    return [];
  }
}
