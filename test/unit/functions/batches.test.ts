import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';

const folder = join(import.meta.dirname, '../../../functions');

test('each function that takes batches has them bound as text, so that one message that is no JSON does not take the others along', () => {
  const sources = globSync('*.ts', { cwd: folder }).map(
    (file) => [file, readFileSync(join(folder, file), 'utf8')] as const,
  );
  const ofBatches = sources.filter(([, source]) => source.includes("cardinality: 'many'"));
  expect(ofBatches.map(([file]) => file).toSorted()).toEqual(['interrupt.ts', 'provision.ts']);
  for (const [file, source] of ofBatches) expect(source, file).toContain("dataType: 'string'");
});
