import { execFile } from 'node:child_process';
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  statSync,
  symlinkSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';

const run = promisify(execFile);
const root = resolve(import.meta.dirname, '../../..');

interface Instruction {
  readonly word: string;
  readonly rest: string;
}

/** The instructions of relay/Dockerfile, stage by stage; a stage begins with FROM. */
const stages = readStages();
const [before = [], build = [], final = []] = stages;

function readStages(): ReadonlyArray<ReadonlyArray<Instruction>> {
  const parts: Array<Array<Instruction>> = [[]];
  for (const line of readFileSync(join(root, 'relay/Dockerfile'), 'utf8').split('\n')) {
    const [, word = '', rest = ''] = /^([A-Z]+) (.*)$/.exec(line) ?? [];
    if (word === '') continue;
    if (word === 'FROM') parts.push([]);
    parts.at(-1)?.push({ word, rest });
  }
  return parts;
}

const restsOf = (stage: ReadonlyArray<Instruction>, word: string): ReadonlyArray<string> =>
  stage.filter((one) => one.word === word).map(({ rest }) => rest);

const wordsOf = (rest: string): ReadonlyArray<string> => rest.split(' ').filter((word) => !word.startsWith('--'));

let context = '';
let source = '';
let app = '';

/** What the builder gets of a checkout: .dockerignore leaves out everything but what it names with a `!`. */
function send(): void {
  const [all, ...kept] = readFileSync(join(root, '.dockerignore'), 'utf8')
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'));
  expect(all).toBe('*');
  for (const path of kept.map((line) => line.replace(/^!/, ''))) {
    mkdirSync(dirname(join(context, path)), { recursive: true });
    cpSync(join(root, path), join(context, path), { recursive: true });
  }
}

/** Copies what a COPY names, as a builder does: a folder's content, and a file under its name or into a folder. */
function copy(rest: string, from: string, to: string): void {
  const words = wordsOf(rest);
  const target = words.at(-1) ?? '';
  for (const path of words.slice(0, -1)) {
    const isFile = statSync(join(from, path)).isFile();
    const destination = isFile && target.endsWith('/') ? join(to, target, path) : join(to, target);
    mkdirSync(dirname(destination), { recursive: true });
    cpSync(join(from, path), destination, { recursive: true });
  }
}

beforeAll(async () => {
  context = mkdtempSync(join(tmpdir(), 'image-'));
  source = join(context, '.stage-build');
  app = join(context, '.stage-final');
  mkdirSync(app);
  send();
  for (const { word, rest } of build) {
    if (word === 'COPY') copy(rest, context, source);
    if (word !== 'RUN') continue;
    // The packages of the lock file are here already; whoever builds an image fetches the same.
    if (rest.startsWith('npm ci')) symlinkSync(join(root, 'node_modules'), join(source, 'node_modules'));
    else await run('sh', ['-c', rest], { cwd: source });
  }
  for (const rest of restsOf(final, 'COPY')) copy(rest.replace('/src/', ''), source, app);
});

afterAll(() => {
  if (context !== '') rmSync(context, { recursive: true, force: true });
});

describe("the relay's image", () => {
  test('is built in two stages, and has of the first only the bundle', () => {
    expect(stages).toHaveLength(3);
    expect(restsOf(build, 'WORKDIR')).toEqual(['/src']);
    expect(restsOf(final, 'COPY')).toEqual(['--from=build /src/dist/relay/ ./']);
    expect(readdirSync(app, { recursive: true, encoding: 'utf8' }).toSorted()).toEqual(['relay.js', 'relay.js.map']);
  });

  test('gets from a checkout only what its first stage copies', () => {
    const sent = [
      'package.json',
      'package-lock.json',
      'relay',
      'scripts/build.ts',
      'shared/contract',
      'shared/kubernetes',
    ];
    expect(
      restsOf(build, 'COPY')
        .flatMap((rest) => wordsOf(rest).slice(0, -1))
        .toSorted(),
    ).toEqual(sent.toSorted());
    expect(existsSync(join(context, 'shared/app'))).toBe(false);
    expect(existsSync(join(context, 'node_modules'))).toBe(false);
  });

  test('runs with nothing but its files', async () => {
    const { stdout } = await run(process.execPath, ['relay.js', '--help'], { cwd: app, env: environment() });
    expect(stdout).toContain('CLUSTER_NAME');
  });

  test('says in one line which setting is wrong, and ends with 2', async () => {
    const asked = run(process.execPath, ['relay.js'], { cwd: app, env: environment() });
    await expect(asked).rejects.toMatchObject({
      code: 2,
      stdout: expect.stringContaining('CLUSTER_NAME is not set') as string,
    });
  });

  test('is started by its Node without a shell, as nobody in particular', () => {
    expect(restsOf(before, 'ARG')).toContain('RUN_IMAGE=gcr.io/distroless/nodejs24-debian12:nonroot');
    expect(restsOf(final, 'USER')).toEqual(['65532:65532']);
    expect(JSON.parse(restsOf(final, 'ENTRYPOINT')[0] ?? '')).toEqual(['/nodejs/bin/node', 'relay.js']);
    expect(restsOf(final, 'RUN')).toEqual([]);
    const [, major = ''] = /nodejs(\d+)/.exec(restsOf(before, 'ARG').join(' ')) ?? [];
    expect(restsOf(before, 'ARG')).toContain(`BUILD_IMAGE=mcr.microsoft.com/azurelinux/base/nodejs:${major}`);
    expect(process.versions.node.split('.')[0]).toBe(major);
  });

  test('opens the ports that the relay listens on unless it is told others', async () => {
    const { stdout } = await run(process.execPath, ['relay.js', '--help'], { cwd: app, env: environment() });
    const ports = ['METRICS_PORT', 'HEALTH_PORT'].map(
      (name) => new RegExp(`${name} +default (\\d+)`).exec(stdout)?.[1],
    );
    expect(restsOf(final, 'EXPOSE')).toEqual([ports.join(' ')]);
  });
});

/** What the image sets, and no more. */
function environment(): Readonly<Record<string, string>> {
  const [stated = ''] = restsOf(final, 'ENV');
  return Object.fromEntries(
    [...stated.matchAll(/(\w+)=("[^"]*"|\S+)/g)].map(([, name = '', value = '']) => [name, value.replaceAll('"', '')]),
  );
}
