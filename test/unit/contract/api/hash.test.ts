import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { nodeClassHash, nodePoolHash } from '../../../../shared/contract/api/hash.ts';

interface Vectors {
  readonly vectors: ReadonlyArray<{ readonly hash: string; readonly yaml: string }>;
}

function vectorsOf(file: string): Vectors['vectors'] {
  const path = new URL(`../../../fixtures/${file}`, import.meta.url);
  return (JSON.parse(readFileSync(path, 'utf8')) as Vectors).vectors;
}

describe('the hash of a pool', () => {
  it.each(vectorsOf('nodepool-hash-vectors.json'))('is the one Karpenter computes: $hash', ({ hash, yaml }) => {
    expect(nodePoolHash(parse(yaml) as Parameters<typeof nodePoolHash>[0])).toBe(hash);
  });
});

describe('the hash of a node class', () => {
  it.each(vectorsOf('aksnodeclass-hash-vectors.json'))(
    "is the one Azure's provider computes: $hash",
    ({ hash, yaml }) => {
      expect(nodeClassHash(parse(yaml) as Parameters<typeof nodeClassHash>[0])).toBe(hash);
    },
  );
});
