import { expect, test } from 'vitest';
import { moveCosts } from '../../../../../shared/app/gather/move-costs.ts';
import { readMoveCost } from '../../../../../shared/contract/api/annotations/move-cost.ts';
import { nodePoolRuntimeProblems } from '../../../../../shared/contract/api/runtime-rules.ts';
import { pool } from '../../../../kit/core/build.ts';

const KEY = 'nodewright.dev/move-cost';
const stating = (text: string) => ({ name: 'a', annotations: { [KEY]: text } });

test.each([
  ['0', 0],
  ['0.25', 0.25],
  ['10', 10],
])('a move that costs %s costs that share', (text, share) => {
  expect(readMoveCost(stating(text))).toEqual({ share, problems: [] });
});

test('a pool without the annotation says nothing, and nothing is wrong with it', () => {
  expect(readMoveCost({})).toEqual({ share: null, problems: [] });
});

test.each(['', 'dear', '-1', '.5', '1e3', 'Infinity', '50%'])(
  '%j is told with its field and the fix, and makes the pool not ready',
  (text) => {
    const problem = {
      path: `metadata.annotations[${KEY}]`,
      message: `${JSON.stringify(text)} is no share`,
      fix: 'write a number such as 0.25, or 0 for moves that cost nothing',
      layer: 'runtime',
    };
    expect(readMoveCost(stating(text))).toEqual({ share: null, problems: [problem] });
    const { spec } = pool('a');
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const stated = { metadata: stating(text), spec: { template: { spec: { nodeClassRef, requirements: [] } } } };
    expect(nodePoolRuntimeProblems(stated)).toEqual([problem]);
    expect(moveCosts([{ metadata: stating(text), spec }])).toEqual(new Map());
  },
);

test('what each pool says is its own', () => {
  const { spec } = pool('a');
  const named = (name: string, text: string) => ({ metadata: { ...stating(text), name }, spec });
  expect(moveCosts([named('a', '0.5'), named('b', '0'), pool('c')])).toEqual(
    new Map([
      ['a', 0.5],
      ['b', 0],
    ]),
  );
});
