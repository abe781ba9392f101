import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Check } from 'typebox/schema';
import { afterAll, describe, expect, test } from 'vitest';

/** The command as a user starts it: a process of its own, from another folder. */
const root = resolve(import.meta.dirname, '../../..');
const bin = join(root, 'cli/bin.js');
const folder = mkdtempSync(join(tmpdir(), 'nodewright-cli-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

interface Run {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

function run(args: ReadonlyArray<string>, stdin: string | Uint8Array = '', command = process.execPath): Promise<Run> {
  return new Promise((done, failed) => {
    const child = spawn(command, [bin, ...args], { cwd: folder });
    const read = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk: Buffer) => (read.stdout += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (read.stderr += chunk.toString()));
    // A command that needs no input may be gone before it is written.
    child.stdin.on('error', () => {});
    child.on('error', failed);
    child.on('close', (code) => done({ code, ...read }));
    child.stdin.end(stdin);
  });
}

function write(name: string, content: string | Uint8Array): string {
  writeFileSync(join(folder, name), content);
  return name;
}

const pool = readFileSync(join(root, 'examples/general-purpose.yaml'), 'utf8');
const inflate = readFileSync(join(root, 'examples/inflate.yaml'), 'utf8');

describe('nodewright plan, as a process', () => {
  test('plans the examples and ends with 0', async () => {
    const { code, stdout, stderr } = await run([
      'plan',
      '-f',
      write('pool.yaml', pool),
      '-f',
      write('app.yaml', inflate),
    ]);
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(stdout).toContain('10 pods on');
  });

  test('shows as its number what a terminal would obey, in problems and in notes', async () => {
    const evil = 'a\u001B[2J\u202Eb';
    const named = JSON.stringify({ apiVersion: 'v1', kind: 'Pod', metadata: { name: evil }, spec: { containers: [] } });
    const wrong = await run(['plan', '-f', '-'], named);
    expect(wrong.code).toBe(2);
    expect(wrong.stderr).toContain('Pod default/a\\u{1b}[2J\\u{202e}b: ');
    expect(wrong.stderr).not.toContain('\u202E');
    const noted = await run(['plan', '-f', '-'], JSON.stringify({ apiVersion: 'v1', kind: evil }));
    expect(noted.stderr).toBe('note: ignored, as no plan depends on it: 1 a\\u{1b}[2J\\u{202e}b\n');
  });

  test('reads a folder, and kubectl’s list from standard input beside it', async () => {
    mkdirSync(join(folder, 'pools'), { recursive: true });
    write('pools/pool.yml', pool);
    write('pools/README.md', 'not a manifest');
    const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'a' }, spec: { containers: [{ name: 'a' }] } };
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: [pod] });
    const { code, stdout } = await run(['plan', '-f', 'pools', '-f', '-', '-o', 'json'], list);
    const plan: unknown = JSON.parse(stdout);
    expect(code).toBe(0);
    expect(plan).toMatchObject({ kind: 'Plan', nodeClaims: [{ pods: ['default/a'] }] });
    const schema = JSON.parse(readFileSync(join(root, 'docs/schema/plan.schema.json'), 'utf8')) as object;
    expect(Check(schema as never, plan)).toBe(true);
  });

  test('ends with 1 when pods are left, and tells why on standard output', async () => {
    const { code, stdout } = await run(['plan', '-f', write('alone.yaml', inflate)]);
    expect(code).toBe(1);
    expect(stdout).toContain('there is no NodePool. To fix it: create a NodePool.');
  });

  test('ends with 2 for files that are no manifests, and names each with what is wrong', async () => {
    const files: ReadonlyArray<readonly [string, string | Uint8Array, string]> = [
      ['binary.yaml', new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0xff, 0xfe]), 'is not text'],
      ['cut.json', '{"apiVersion":', 'is not JSON'],
      ['tabs.yaml', 'a:\n\t- b: [', 'is not YAML'],
      ['number.yaml', '42', 'is not a Kubernetes object'],
      [
        'bomb.yaml',
        `a: &a [${'1,'.repeat(99)}1]\nb: &b [${'*a,'.repeat(99)}*a]\nc: [${'*b,'.repeat(99)}*b]\n`,
        'has an alias',
      ],
      ['deep.json', `${'['.repeat(100_000)}${']'.repeat(100_000)}`, 'is not a Kubernetes object'],
    ];
    const { code, stdout, stderr } = await run(['plan', ...files.flatMap(([name, text]) => ['-f', write(name, text)])]);
    expect({ code, stdout }).toEqual({ code: 2, stdout: '' });
    for (const [name, , message] of files) {
      expect(stderr).toMatch(new RegExp(`^nodewright: ${name}.*: ${message}.*\\(.+\\)\n`, 'm'));
    }
  });

  test('ends with 2 for a file that is not there, and for a command that does not exist', async () => {
    const runs = await Promise.all([run(['plan', '-f', 'nowhere.yaml']), run(['destroy'])]);
    expect(runs).toEqual([
      { code: 2, stdout: '', stderr: 'nodewright: nowhere.yaml: there is no such file or folder (correct the path)\n' },
      {
        code: 2,
        stdout: '',
        stderr:
          'nodewright: destroy: is not a command (use deploy, upgrade, status, uninstall, plan, disrupt, convert, launch, version or --help)\n',
      },
    ]);
  });

  test('nothing at all is wrong input, and an empty list is a plan of nothing', async () => {
    const fix = 'give manifests, or see whether the command that should write them has failed';
    const [file, stdin, list] = await Promise.all([
      run(['plan', '-f', write('empty.yaml', '')]),
      run(['plan', '-f', '-']),
      run(['plan', '-f', '-'], '{"apiVersion":"v1","kind":"List","items":[]}'),
    ]);
    expect([file.code, stdin.code, list.code]).toEqual([2, 2, 0]);
    expect(file.stderr).toBe(`nodewright: empty.yaml: holds no object (${fix})\n`);
    expect(stdin.stderr).toBe(`nodewright: standard input: holds no object (${fix})\n`);
    expect(list.stderr).toBe('note: nothing to plan: - holds an empty list\n');
  });

  test('reads UTF-16, as Windows PowerShell writes it', async () => {
    const text = Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from(`${pool}\n---\n${inflate}`, 'utf16le')]);
    expect((await run(['plan', '-f', write('windows.yaml', text)])).code).toBe(0);
  });

  test('help and version need no input', async () => {
    const [help, planHelp, version] = await Promise.all([run(['--help']), run(['plan', '--help']), run(['version'])]);
    expect([help.code, planHelp.code, version.code]).toEqual([0, 0, 0]);
    expect(planHelp.stdout).toContain('Exit codes:');
    expect(version.stdout).toMatch(/^nodewright \d+\.\d+\.\d+\n$/);
  });

  test('a reader that stops early is no error', async () => {
    const child = spawn(
      'sh',
      ['-c', `"$0" "$1" plan -f pool.yaml -f app.yaml -o json | head -c 10`, process.execPath, bin],
      {
        cwd: folder,
      },
    );
    write('pool.yaml', pool);
    write('app.yaml', inflate.replace('replicas: 10', 'replicas: 5000'));
    let stderr = '';
    child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
    await new Promise((done) => child.on('close', done));
    expect(stderr).toBe('');
  });
});

/** A Node.js of the machine that is older than ours; there may be none. */
const older = (process.env['PATH'] ?? '')
  .split(':')
  .map((path) => join(path, 'node'))
  .find((path) => !dirname(path).startsWith(root) && existsSync(path));

test.skipIf(older === undefined)('any Node.js of the machine hands over to ours where it is too old', async () => {
  const { code, stdout } = await run(['version'], '', older);
  expect({ code, stdout }).toMatchObject({ code: 0, stdout: expect.stringMatching(/^nodewright /) as string });
});
