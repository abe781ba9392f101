import { describe, expect, test } from 'vitest';
import type { NodePool } from '../../../../shared/contract/api/kinds/node-pool.ts';
import { inspect, kinds } from '../../../../shared/contract/api/parse.ts';
import { nodePoolRuntimeProblems } from '../../../../shared/contract/api/runtime-rules.ts';
import { didYouMean, wordMeant } from '../../../../shared/kubernetes/text/word-meant.ts';

describe('the word that was meant', () => {
  test.each([
    ['a letter too much', 'weights', ['limits', 'weight'], 'weight'],
    ['two letters in each other’s place', 'weigth', ['weight'], 'weight'],
    ['another case, which is no letter', 'NODESELECTOR', ['nodeSelector'], 'nodeSelector'],
    ['one near and one nearer', 'limitss', ['limtss', 'limits', 'limit'], 'limtss'],
    ['one wrong letter of few', 'keys', ['key'], 'key'],
  ])('is the nearest: %s', (_, given, known, meant) => {
    expect(wordMeant(given, known)).toBe(meant);
    expect(didYouMean(given, known)).toBe(` (did you mean ${meant}?)`);
  });

  test.each([
    ['is itself known', 'weight', ['weight', 'weights']],
    ['has two wrong letters of few', 'kyes', ['key']],
    ['has three wrong letters', 'wweigghht', ['weight']],
    ['is another word', 'budget', ['weight']],
  ])('is none where the word %s', (_, given, known) => {
    expect([wordMeant(given, known), didYouMean(given, known)]).toEqual([null, '']);
  });
});

describe('what is wrong with a NodePool names what was meant', () => {
  const [poolKind] = kinds;
  function problemsWith(template: object): ReadonlyArray<string> {
    const reference = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const spec = { template: { spec: { nodeClassRef: reference, requirements: [] }, ...template } };
    const pool = { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', metadata: { name: 'a' }, spec };
    if (poolKind === undefined) throw new Error('there are no kinds');
    return inspect(poolKind, pool).problems.map(({ path, fix }) => `${path}: ${fix}`);
  }
  const requiring = (key: string) => ({
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: [{ key, operator: 'Exists' }],
    },
  });

  test('by the key of a requirement', () => {
    expect(problemsWith(requiring('karpenter.azure.com/sku-famly'))).toEqual([
      'spec.template.spec.requirements[0].key: use a well-known key, or a key in a domain of your own (did you mean karpenter.azure.com/sku-family?)',
    ]);
  });

  test('and by that of a label, with the one that is wrong', () => {
    const labels = { 'karpenter.sh/capacity-type': 'spot', 'karpenter.sh/capacity-typ': 'spot' };
    expect(problemsWith({ metadata: { labels } })[0]).toMatch(
      /use a well-known key, .* \(did you mean karpenter\.sh\/capacity-type\?\)$/,
    );
  });

  test('and in its condition, where an older definition let it in', () => {
    const spec = {
      ...requiring('karpenter.azure.com/sku-famly'),
      metadata: { labels: { 'karpenter.sh/nodepol': 'a' } },
    };
    const stored = { metadata: { name: 'a' }, spec: { template: spec } } as unknown as NodePool;
    expect(nodePoolRuntimeProblems(stored).map(({ fix }) => fix)).toEqual([
      'remove it, or use a domain of your own (did you mean karpenter.sh/nodepool?)',
      'use a well-known key, or a domain of your own (did you mean karpenter.azure.com/sku-family?)',
    ]);
  });

  test('and by nothing where no key is near', () => {
    expect(problemsWith(requiring('karpenter.sh/pool-of-mine'))[0]).toMatch(/a key in a domain of your own$/);
  });
});
