import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { expect, test } from 'vitest';
import { readSettings } from '../../../shared/contract/settings/settings.ts';

const file = resolve(import.meta.dirname, '../../../local.settings.sample.json');
const { Values: values } = JSON.parse(readFileSync(file, 'utf8')) as {
  readonly Values: Readonly<Record<string, string>>;
};

test('the sample of local settings has everything that the app asks for', () => {
  expect(readSettings(values).CLUSTER_NAME).toBe('my-cluster');
});

test('the sample names every setting that a function file refers to', () => {
  expect(values).toHaveProperty('SWEEP_SCHEDULE');
});
