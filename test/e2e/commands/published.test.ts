import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { promisify } from 'node:util';
import { deadLinks } from '../../../scripts/release/links.ts';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');
const { KUBEBUILDER_ASSETS: _, NODE_COMPILE_CACHE: __, ...environment } = process.env;

/**
 * Nodes that the published command is tried on: this one, and those of other versions that the variable NODES names,
 * apart from each other by a colon.
 */
const nodes = [process.execPath, ...(process.env['NODES'] ?? '').split(':').filter((path) => path !== '')];

/** A folder that holds the package alone, as `npm install nodewright` leaves it. */
let folder = '';
let installed = '';

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'nodewright-published-'));
  const [assembled, alone] = [join(folder, 'npm'), join(folder, 'alone')];
  mkdirSync(alone);
  const options = { cwd: root, env: { ...environment, PATH: process.env['PATH'] } };
  const assemble = ['scripts/release/assemble.ts', '--repository', 'o/p', '--out', assembled];
  await run(process.execPath, assemble, options);
  await run('npm', ['pack', '--silent', '--pack-destination', folder, assembled], options);
  const archive = readdirSync(folder).find((name) => name.endsWith('.tgz')) ?? '';
  writeFileSync(join(alone, 'package.json'), '{"private": true}');
  // Nothing may have to be fetched beside it.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', join(folder, archive)], {
    ...options,
    cwd: alone,
  });
  installed = join(alone, 'node_modules/nodewright');
});

afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Ended {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

async function type(node: string, command: string, args: ReadonlyArray<string>): Promise<Ended> {
  const ended = await run(node, [command, ...args], { cwd: folder, env: environment }).catch((error: unknown) => error);
  const { code = 0, stdout, stderr } = ended as Partial<Ended> & Pick<Ended, 'stdout' | 'stderr'>;
  return { code, stdout, stderr };
}

/** What is decided, without what it took. */
const decided = ({ stdout }: Ended): unknown => {
  const { stats: ___, ...rest } = JSON.parse(stdout) as Readonly<Record<string, unknown>>;
  return JSON.parse(JSON.stringify(rest, (key, value: unknown) => (key.endsWith('Ms') ? undefined : value)));
};

test('the package names the repository that it is published from, or npm refuses its provenance', () => {
  const manifest = JSON.parse(readFileSync(join(installed, 'package.json'), 'utf8')) as {
    readonly repository: unknown;
  };
  expect(manifest.repository).toEqual({ type: 'git', url: 'git+https://github.com/o/p.git' });
});

test('every link of its pages leads to a file that came along, or to the version in the repository', () => {
  const pages = readdirSync(installed, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.md'));
  const texts = pages.map((page) => [page, readFileSync(join(installed, page), 'utf8')] as const);
  expect(texts.length).toBeGreaterThan(10);
  expect(texts.flatMap(([page, text]) => deadLinks(text, page, (path) => existsSync(join(installed, path))))).toEqual(
    [],
  );
  const out = texts.flatMap(([, text]) => text.match(/(?<=\]\()https:\/\/github\.com\/o\/p\/[^)#]+/g) ?? []);
  expect(out.length).toBeGreaterThan(10);
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
  const paths = out.map((link) => link.replace(`https://github.com/o/p/blob/v${version}/`, ''));
  expect(paths.filter((path) => !existsSync(join(root, path)))).toEqual([]);
});

describe.each(nodes)('the published command on %s', (node) => {
  const typed = (args: ReadonlyArray<string>): Promise<Ended> => type(node, join(installed, 'cli/bin.js'), args);

  test('brings all that it needs, and names its version', async () => {
    expect(readdirSync(join(installed, '..')).filter((name) => !name.startsWith('.'))).toEqual(['nodewright']);
    const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { readonly version: string };
    expect(await typed(['--version'])).toEqual({ code: 0, stdout: `nodewright ${version}\n`, stderr: '' });
  });

  test('plans as the checkout does', async () => {
    const args = ['plan', '-f', join(root, 'examples/general-purpose.yaml'), '-f', join(root, 'examples/inflate.yaml')];
    const all = [...args, '--output', 'json'];
    const [published, ours] = [await typed(all), await type(process.execPath, join(root, 'cli/bin.js'), all)];
    expect(published.stderr).toBe(ours.stderr);
    expect(decided(published)).toEqual(decided(ours));
  });

  test('writes YAML, and reads what of it is not plain or is wrong, as the checkout does', async () => {
    const merged = join(folder, 'merged.yaml');
    writeFileSync(merged, 'a: &a {kind: Pod}\nb: {<<: *a}\n');
    const wrong = join(folder, 'wrong.yaml');
    writeFileSync(wrong, 'a: [1\nb: 2\n');
    const pool = join(root, 'examples/general-purpose.yaml');
    const typings = [
      ['convert', '-f', pool],
      ['plan', '-f', merged],
      ['plan', '-f', wrong],
    ];
    for (const args of typings) {
      expect(await typed(args)).toEqual(await type(process.execPath, join(root, 'cli/bin.js'), args));
    }
    expect(await typed(['plan', '-f', pool, '-o', 'yaml'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('kind: Plan\n'),
    });
  });

  test.each(['plan', 'disrupt', 'launch', 'convert', 'deploy', 'upgrade', 'status', 'uninstall'])(
    'helps with %s',
    async (name) => {
      const { code, stdout, stderr } = await typed([name, '--help']);
      expect([code, stderr]).toEqual([0, '']);
      expect(stdout).toContain(`nodewright ${name}`);
      const files = stdout.match(/\b(?:docs|examples|infra)\/[\w./-]*\w/g) ?? [];
      expect(files.filter((file) => !existsSync(join(installed, file)))).toEqual([]);
    },
  );

  test('says what it lacks, where it was assembled for a look', async () => {
    const cluster =
      '/subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/g/providers/Microsoft.ContainerService/managedClusters/c';
    const { code, stderr } = await typed(['deploy', '--cluster', cluster, '--yes']);
    // No az here, or one that knows no such subscription: neither is an error of ours.
    expect(code).toBe(2);
    expect(stderr).toMatch(/^✗ /);
    expect(stderr).not.toContain('internal error');
  });
});

test('an older Node gets one sentence', async () => {
  const older = join(folder, 'older.mjs');
  writeFileSync(
    older,
    `Object.defineProperty(process.versions, 'node', { value: '20.1.0' });\nawait import(${JSON.stringify(join(installed, 'cli/bin.js'))});\n`,
  );
  expect(await type(process.execPath, older, ['--version'])).toEqual({
    code: 2,
    stdout: '',
    stderr:
      'nodewright needs Node.js 22; this is 20.1.0: install Node.js 22 or newer, from https://nodejs.org or a package manager.\n',
  });
});

test('a Node without zstd, which 22.15 brought, plans too', async () => {
  const older = `--import=${pathToFileURL(join(root, 'test/kit/cli/without-zstd.mjs')).href}`;
  const plan = ['plan', '-f', join(root, 'examples/general-purpose.yaml'), '-f', join(root, 'examples/inflate.yaml')];
  expect(await type(process.execPath, older, [join(installed, 'cli/bin.js'), ...plan])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('10 pods on 2 new nodes.'),
  });
});
