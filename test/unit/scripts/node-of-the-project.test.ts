import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const root = join(import.meta.dirname, '../../..');
const read = (path: string): string => readFileSync(join(root, path), 'utf8');

interface Manifest {
  readonly engines: { readonly node: string };
  readonly devDependencies: { readonly node: string };
}

test('the oldest Node that is asked for is the same wherever it is said, and so is the one that runs all', () => {
  const { engines, devDependencies } = JSON.parse(read('package.json')) as Manifest;
  const oldest = /^>=(\d+)$/.exec(engines.node)?.[1];
  for (const page of ['README.md', 'CONTRIBUTING.md', 'docs/deploy.md']) {
    expect(/Node(?:\.js)? (\d+) or newer/.exec(read(page))?.[1], page).toBe(oldest);
  }
  const own = /^\^(\d+)\./.exec(devDependencies.node)?.[1];
  expect(read('.nvmrc').trim()).toBe(own);
  expect(read('README.md')).toMatch(new RegExp(`Node\\.js ${own}, which runs\\s+everything here`));
  expect(read('CONTRIBUTING.md')).toContain(`The Node that runs everything (${own})`);
});

/** What the script says, and its exit code, where npm was started by that Node. */
function preinstallOn(version: string): { readonly status: number | null; readonly stderr: string } {
  const environment = { npm_config_user_agent: `npm/10.8.2 node/v${version} linux x64 workspaces/false` };
  return spawnSync(process.execPath, [join(root, 'scripts/preinstall.js')], { env: environment, encoding: 'utf8' });
}

test('an older Node gets one sentence that says what to install, and Node 20 none', () => {
  expect(preinstallOn('18.20.4')).toMatchObject({
    status: 1,
    stderr:
      'Nodewright needs Node.js 22 or newer, and this is 18.20.4: install it from https://nodejs.org, then run npm install.\n',
  });
  for (const version of ['20.20.2', '22.9.0', '24.1.0'])
    expect(preinstallOn(version)).toMatchObject({ status: 0, stderr: '' });
});

test('what is started says in one sentence what is missing', async () => {
  const { whatToInstall } = (await import(join(root, 'scripts/what-to-install.js'))) as {
    readonly whatToInstall: (machine: object) => string | null;
  };
  const machine = { version: '24.1.0', runsTypeScript: true, isInstalled: true };
  expect(whatToInstall(machine)).toBeNull();
  expect(whatToInstall({ ...machine, isInstalled: false })).toBe('Run npm install first.');
  const twenty = { version: '20.20.2', runsTypeScript: false, isInstalled: false };
  expect(whatToInstall(twenty)).toBe('Run npm install first.');
  expect(whatToInstall({ ...twenty, isInstalled: true })).toMatch(/^Run npm install first: it brings the Node/);
  expect(whatToInstall({ ...twenty, version: '16.0.0' })).toMatch(/^Nodewright needs Node\.js 22 or newer/);
});

test('npm does not warn of packages that want a newer Node than the oldest', () => {
  expect(read('.npmrc')).toMatch(/^loglevel=error$/m);
});
