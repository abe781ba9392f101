import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const read = (path: string): string => readFileSync(join(import.meta.dirname, '../../..', path), 'utf8');

test('the app is built for the Node that it is deployed with: on an older one it does not load, and the host says nothing', () => {
  const [, deployed] = /name: 'node'\s+version: '(\d+)'/.exec(read('infra/modules/function-app.bicep')) ?? [];
  const [, built] = /target: 'node(\d+)'/.exec(read('scripts/build.ts')) ?? [];
  const [, stated] = /engines = \{ node: '>=(\d+)' \}/.exec(read('scripts/pack.ts')) ?? [];
  expect([deployed, built, stated]).toEqual(['24', '24', '24']);
});
