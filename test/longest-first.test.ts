import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { TestSpecification, Vitest } from 'vitest/node';
import { LongestFirst, SECONDS } from './setup/longest-first.ts';

const file = (project: string, name: string): TestSpecification =>
  ({ project: { name: project }, moduleId: `/work/test/${name}.test.ts` }) as TestSpecification;
const sorted = async (...files: ReadonlyArray<TestSpecification>): Promise<ReadonlyArray<string>> => {
  const sequencer = new LongestFirst({} as Vitest);
  return (await sequencer.sort([...files])).map(({ project, moduleId }) => `${project.name} ${moduleId.slice(11, -8)}`);
};

test('a file that takes longer begins sooner, whatever its project', async () => {
  const files = [
    file('laws', 'property/any'),
    file('slow', 'e2e/broken/chaos'),
    file('slow', 'e2e/leaving/leaving-cheaper'),
  ];
  expect(await sorted(...files)).toEqual([
    'slow e2e/leaving/leaving-cheaper',
    'slow e2e/broken/chaos',
    'laws property/any',
  ]);
});

test('files of a project that take little time stay together', async () => {
  const files = [file('b', 'unit/one'), file('a', 'unit/two'), file('b', 'unit/three'), file('a', 'unit/four')];
  expect(await sorted(...files)).toEqual(['a unit/four', 'a unit/two', 'b unit/one', 'b unit/three']);
});

test('whose seconds are known is a file', () => {
  const missing = Object.keys(SECONDS).filter((name) => !existsSync(join(import.meta.dirname, `${name}.test.ts`)));
  expect(missing).toEqual([]);
});
