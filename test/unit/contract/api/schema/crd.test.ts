import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { kinds } from '../../../../../shared/contract/api/parse.ts';
import type { StructuralSchema } from '../../../../../shared/contract/api/schema/structural.ts';
import { renderCrdFiles } from '../../../../../scripts/generate-crds.ts';

const folder = new URL('../../../../../infra/chart/definitions/', import.meta.url);

function pathsWithoutDescription(schema: StructuralSchema, path: string): ReadonlyArray<string> {
  const below = [
    ...Object.entries(schema.properties ?? {}).map(([key, each]) => [`${path}.${key}`, each] as const),
    ...(schema.items === undefined ? [] : [[`${path}[]`, schema.items] as const]),
  ];
  const own = schema.description === undefined || schema.description === '' ? [path] : [];
  return [...own, ...below.flatMap(([each, child]) => pathsWithoutDescription(child, each))];
}

describe('the custom resource definitions', () => {
  it('are what scripts/generate-crds.ts writes', () => {
    const files = renderCrdFiles();
    expect(readdirSync(folder).toSorted()).toEqual([...files.keys()].toSorted());
    for (const [name, content] of files) expect(readFileSync(new URL(name, folder), 'utf8'), name).toBe(content);
  });

  it.each(kinds)('explain every field of $kind', ({ spec, status }) => {
    expect(pathsWithoutDescription(spec, 'spec')).toEqual([]);
    expect(pathsWithoutDescription(status, 'status')).toEqual([]);
  });

  it('keep code out of the API', () => {
    const text = [...renderCrdFiles().values()].join('\n');
    expect(text).not.toMatch(/^\s*(fix|holds|keeps):/mu);
  });
});
