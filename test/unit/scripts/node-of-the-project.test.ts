import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');

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
  expect(read('README.md')).toContain(`the Node that runs it all (${own})`);
  expect(read('CONTRIBUTING.md')).toContain(`The Node that runs everything (${own})`);
});

test('npm does not warn of packages that want a newer Node than the oldest', () => {
  expect(read('.npmrc')).toMatch(/^loglevel=error$/m);
});
