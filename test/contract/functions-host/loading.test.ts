import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { expect, onTestFinished, test } from 'vitest';
import { copyApp, startTestHost, until } from './host-under-test.ts';

const main = resolve(import.meta.dirname, '../../../sandbox/functions-host/main.ts');

interface HostProcess {
  readonly child: ChildProcess;
  /** Everything it wrote, both streams. */
  output(): string;
  /** Resolves with the exit code when it has ended. */
  readonly ended: Promise<number | null>;
}

function spawnHost(folder: string, args: ReadonlyArray<string> = [], environment: object = {}): HostProcess {
  const child = spawn(process.execPath, [main, '--app', folder, '--port', '0', ...args], {
    env: { ...process.env, ...environment },
  });
  onTestFinished(() => void child.kill('SIGKILL'));
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const ended = new Promise<number | null>((resolveEnd) => {
    child.once('close', (code) => resolveEnd(code));
  });
  return { child, output: () => output, ended };
}

/** The port a host process tells in its list of functions. */
const portOf = (output: string): string => /localhost:(\d+)/.exec(output)?.[1] ?? '';

test('as a process it lists its functions, tells when it is ready, logs executions, and stops on SIGTERM', async () => {
  const running = spawnHost(await copyApp('hooks'));
  await until('it is ready', () => running.output().includes('Host started ('));
  expect(running.output()).toMatch(/Functions:\n\n\tforgivable: \[GET\] http:\/\/localhost:\d+\/api\/forgivable\n/);
  await fetch(`http://127.0.0.1:${portOf(running.output())}/api/plain`);
  running.child.kill('SIGTERM');
  expect(await running.ended).toBe(0);
  expect(running.output()).toMatch(/Executing 'Functions\.plain' \(Reason='[^']+', Id=[0-9a-f-]{36}\)/);
  expect(running.output()).toMatch(/Executed 'Functions\.plain' \(Succeeded, Id=[0-9a-f-]{36}, Duration=\d+ms\)/);
  expect(running.output()).toContain('terminated of the app');
});

test('with --log json every line is an object', async () => {
  const running = spawnHost(await copyApp('glob'), ['--log', 'json', '--verbose']);
  await until('it is ready', () => running.output().includes('Host started ('));
  running.child.kill('SIGINT');
  expect(await running.ended).toBe(0);
  const lines = running.output().trim().split('\n');
  expect(lines.map((line): unknown => JSON.parse(line))).toContainEqual(
    expect.objectContaining({ level: 'debug', category: 'host', message: 'Loading entry point file "dist/index.js"' }),
  );
});

test('a glob loads every match, ESM with top-level await included, and settings of the file reach the app', async () => {
  const running = spawnHost(await copyApp('glob'));
  await until('it is ready', () => running.output().includes('Host started ('));
  const url = `http://127.0.0.1:${portOf(running.output())}/api`;
  expect(await (await fetch(`${url}/one`)).text()).toBe('from the file');
  expect(await (await fetch(`${url}/two`)).text()).toBe('two');
  expect(running.output()).toContain("A function named 'Two' is registered twice");
});

test('the environment stands over local.settings.json', async () => {
  const running = spawnHost(await copyApp('glob'), [], { GREETING: 'from the environment' });
  await until('it is ready', () => running.output().includes('Host started ('));
  const answer = await fetch(`http://127.0.0.1:${portOf(running.output())}/api/one`);
  expect(await answer.text()).toBe('from the environment');
});

test.each(['cjs', 'esm'] as const)(
  'an esbuild bundle in %s, with the library inside it, runs as it is',
  async (format) => {
    const folder = await copyApp('web');
    const require = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
    const bundle = `bundle.${format === 'cjs' ? 'cjs' : 'mjs'}`;
    await build({
      entryPoints: [join(folder, 'main.js')],
      outfile: join(folder, bundle),
      format,
      platform: 'node',
      bundle: true,
      minify: true,
      external: ['@azure/functions-core'],
      banner: { js: format === 'esm' ? require : '' },
      logLevel: 'silent',
    });
    await writeFile(join(folder, 'package.json'), JSON.stringify({ main: bundle }));
    const { url } = await startTestHost(folder);
    expect(await (await fetch(`${url}/api/hello/you`)).json()).toMatchObject({ name: 'you' });
  },
);

test.each([
  ['no main', { 'package.json': '{}' }, /package\.json: "main" is missing/],
  [
    'a main that matches nothing',
    { 'package.json': '{"main":"dist/*.js"}' },
    /no file in .* matches\. Is the app built\?/,
  ],
  ['an entry point that throws', { 'main.js': 'throw new Error("broken at load")' }, /"main\.js": broken at load/],
  ['a package.json that is no JSON', { 'package.json': '{' }, /package\.json: not valid JSON/],
  [
    'a host.json with a wrong value',
    { 'host.json': '{"functionTimeout":"soon"}' },
    /functionTimeout: "soon" is no time span/,
  ],
  ['a host.json with a wrong type', { 'host.json': '{"extensions":3}' }, /extensions: an object is expected, found 3/],
  ['settings that are encrypted', { 'local.settings.json': '{"IsEncrypted":true}' }, /IsEncrypted is true/],
] as const)('an app with %s stops the host with a message that says so', async (_what, files, message) => {
  await expect(startTestHost(await copyApp('web', files))).rejects.toThrow(message);
});

test('a bad app ends the process with its message and code 1, and a folder without host.json is no app', async () => {
  const folder = await copyApp('web');
  await mkdir(join(folder, 'empty'));
  const running = spawnHost(join(folder, 'empty'));
  expect(await running.ended).toBe(1);
  expect(running.output()).toMatch(/host\.json is missing\. .* is --app right\?\n$/);
});

test('hooks run in order, share their data, may replace the handler and forgive an error', async () => {
  const { url, entries } = await startTestHost(await copyApp('hooks'));
  expect(await (await fetch(`${url}/api/plain`)).text()).toBe('plain');
  expect(await (await fetch(`${url}/api/replaced`)).json()).toEqual({ wrapped: 'inner' });
  expect(await (await fetch(`${url}/api/forgivable`)).text()).toBe('forgiven');
  expect(await (await fetch(`${url}/api/history`)).json()).toEqual([
    'appStart',
    'before plain',
    'before again',
    'handler',
    'after, began true, error undefined',
    'before replaced',
    'before again',
    'after, began true, error undefined',
    'before forgivable',
    'before again',
    'after, began true, error forgivable',
    'before history',
    'before again',
    'after, began true, error undefined',
  ]);
  expect(entries).toContainEqual(expect.objectContaining({ message: 'the ******** is safe', level: 'information' }));
  expect(entries).toContainEqual(
    expect.objectContaining({ message: 'beware', level: 'warning', category: 'Function.plain.User' }),
  );
});

test('functions cannot be registered once the app has started', async () => {
  const late = `import { app } from '@azure/functions';
    app.get('late', () => { app.get('later', () => ({})); return { body: 'never' }; });`;
  const { url, entries } = await startTestHost(await copyApp('web', { 'main.js': late }));
  expect((await fetch(`${url}/api/late`)).status).toBe(500);
  expect(entries.map(({ message }) => message).join('\n')).toContain('was called after the app had started');
});
