import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';

interface Step {
  readonly id?: string;
  readonly run?: string;
  readonly uses?: string;
}

interface Job {
  readonly needs?: string | ReadonlyArray<string>;
  readonly permissions?: Readonly<Record<string, string>>;
  readonly steps: ReadonlyArray<Step>;
}

interface Workflow {
  readonly defaults?: { readonly run?: { readonly shell?: string } };
  readonly permissions: Readonly<Record<string, string>>;
  readonly jobs: Readonly<Record<string, Job>>;
}

const root = join(import.meta.dirname, '../../..');
const folder = join(root, '.github/workflows');
const texts = new Map(readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]));
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
  readonly scripts: Readonly<Record<string, string>>;
};

describe.each([...texts])('%s', (_, text) => {
  const workflow = parse(text) as Workflow;
  const jobs = Object.values(workflow.jobs);
  const commands = jobs.flatMap(({ steps }) => steps.flatMap(({ run = '' }) => run.split('\n')));

  test('runs scripts that there are', () => {
    const files = commands.flatMap((line) =>
      [...line.matchAll(/node (scripts\/\S+\.ts)/g)].map(([, file = '']) => file),
    );
    const names = commands.flatMap((line) => [...line.matchAll(/npm run (\w+)/g)].map(([, name = '']) => name));
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([]);
    expect(names.filter((name) => !(name in scripts))).toEqual([]);
    expect(files.length + names.length).toBeGreaterThan(0);
  });

  test('may read only, but for the jobs that publish, and keeps no secret', () => {
    expect(workflow.permissions).toEqual({ contents: 'read' });
    expect(text).not.toMatch(/secrets\./);
  });

  test('ends a step where a command of a pipe fails', () => {
    const isPiped = commands.some((line) => /[^|]\|[^|]/.test(line.replaceAll(/'[^']*'/g, '')));
    // GitHub's own default has no pipefail.
    expect(isPiped ? workflow.defaults?.run?.shell : 'bash').toBe('bash');
  });

  test('waits for jobs, and takes outputs of steps, that there are', () => {
    const needed = jobs.flatMap(({ needs = [] }) => needs);
    expect(needed.filter((name) => !(name in workflow.jobs))).toEqual([]);
    for (const { steps } of jobs) {
      const taken = [...JSON.stringify(steps).matchAll(/steps\.(\w+)\.outputs\.(\w+)/g)];
      for (const [, id, output = ''] of taken) {
        expect(steps.find((step) => step.id === id)?.run).toContain(`"${output}=`);
      }
    }
  });
});

test('a release publishes last what cannot be taken back, after its version was checked', () => {
  const { jobs } = parse(texts.get('release.yml') ?? '') as Workflow;
  const [build = [], publish = []] = ['build', 'publish'].map((name) => jobs[name]?.steps.map(({ run = '' }) => run));
  const place = (steps: ReadonlyArray<string>, command: string): number =>
    steps.findIndex((run) => run.includes(command));
  expect(place(build, 'check-version.ts')).toBeGreaterThan(-1);
  expect(place(build, 'check-version.ts')).toBeLessThan(place(build, 'npm test'));
  expect(place(build, 'bicep.ts --required')).toBeGreaterThan(-1);
  expect(place(publish, 'npm publish')).toBe(publish.length - 1);
  expect(place(publish, 'gh release create')).toBe(publish.length - 2);
});

test('the parts of the image are handed on by names without a colon, which an artifact cannot have', () => {
  const { jobs } = parse(texts.get('release.yml') ?? '') as Workflow;
  const handedOn = jobs['image']?.steps.find(({ run = '' }) => run.includes('touch'))?.run ?? '';
  const parts = ['docker() { :; }', 'jq() { echo sha256:ab; }', handedOn.replaceAll(/\$\{\{.*?\}\}/g, 'x')];
  const folderOfRun = mkdtempSync(join(tmpdir(), 'nodewright-release-'));
  try {
    execFileSync('bash', ['--norc', '-eo', 'pipefail', '-c', parts.join('\n')], {
      cwd: folderOfRun,
      env: { PATH: process.env['PATH'], IMAGE: 'ghcr.io/O/i', GITHUB_REF_NAME: 'v1' },
    });
    expect(readdirSync(join(folderOfRun, 'digests'))).toEqual(['ab']);
  } finally {
    rmSync(folderOfRun, { recursive: true });
  }
});
