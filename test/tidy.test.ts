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
  sandbox: ['shared'],
  test: ['shared', 'functions', 'relay', 'cli', 'infra/hooks', 'sandbox', 'scripts'],
};

/** Which folder may name which package, beside Node's own modules. Packages not listed here may be named nowhere else. */
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

/** The folders of the core in the order in which a decision passes through them: each may import only what stands before it. */
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
];

/** More files than this in one folder of the core, and nobody sees at a glance what it holds. */
const FILES_MAX = 13;

const folders = ['functions', 'shared', 'relay', 'cli', 'infra/hooks', 'sandbox', 'scripts', 'test'];
const files = folders.flatMap(listTypeScript);

test('every import points the way the architecture says', () => {
  expect(files.flatMap(strayImports)).toEqual([]);
});

test('arrows between the folders of the core run one way', () => {
  expect(files.filter((file) => file.startsWith('shared/core/')).flatMap(climbingImports)).toEqual([]);
});

test('a folder of the core can be taken in at a glance', () => {
  const perFolder = Object.groupBy(
    files.filter((file) => file.startsWith('shared/core/')),
    (file) => dirname(file),
  );
  const crowded = Object.entries(perFolder).filter(([, own = []]) => own.length > FILES_MAX);
  expect(crowded.map(([folder]) => folder)).toEqual([]);
});

test('a package is named in one folder only, and the core names none', () => {
  expect(files.flatMap(strayPackages)).toEqual([]);
});

test('no file is named for what it is not', () => {
  const vague = files.filter((file) => /(^|[/-])(utils?|helpers?|common|misc)\.ts$|(^|[/])index\.ts$/.test(file));
  expect(vague).toEqual([]);
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
