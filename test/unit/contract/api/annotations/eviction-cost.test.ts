import { expect, test } from 'vitest';
import { evictionCosts } from '../../../../../shared/app/gather/eviction-costs.ts';
import { readEvictionCost } from '../../../../../shared/contract/api/annotations/eviction-cost.ts';
import { nodePoolRuntimeProblems } from '../../../../../shared/contract/api/runtime-rules.ts';
import { pool } from '../../../../kit/core/build.ts';

const KEY = 'nodewright.dev/eviction-cost';
const stating = (text: string) => ({ name: 'a', annotations: { [KEY]: text } });

test.each([
  ['30m', 1_800_000],
  ['2h', 7_200_000],
  ['1h30m', 5_400_000],
  ['0s', 0],
  ['0', 0],
  ['24h', 86_400_000],
  ['1us', 1],
])('an eviction that costs %s costs %d ms', (text, costMs) => {
  expect(readEvictionCost(stating(text))).toEqual({ costMs, problems: [] });
});

test('a pool without the annotation says nothing, and nothing is wrong with it', () => {
  expect(readEvictionCost({})).toEqual({ costMs: null, problems: [] });
});

test.each([
  ['', '"" is not a duration'],
  ['30', '"30" is not a duration'],
  ['-5m', '"-5m" is not a duration'],
  ['Never', '"Never" is not a duration'],
  ['half an hour', '"half an hour" is not a duration'],
  ['25h', '25h is more than a day'],
])('%j is told with its field and the fix, and makes the pool not ready', (text, message) => {
  const problem = {
    path: `metadata.annotations[${KEY}]`,
    message,
    fix: 'write a duration of up to 24h, such as 30m or 2h; 0s lets price alone decide',
    layer: 'runtime',
  };
  expect(readEvictionCost(stating(text))).toEqual({ costMs: null, problems: [problem] });
  const { spec } = pool('a');
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
  const stated = { metadata: stating(text), spec: { template: { spec: { nodeClassRef, requirements: [] } } } };
  expect(nodePoolRuntimeProblems(stated)).toEqual([problem]);
  expect(evictionCosts([{ metadata: stating(text), spec }])).toEqual(new Map());
});

test('what each pool says is its own', () => {
  const { spec } = pool('a');
  const named = (name: string, text: string) => ({ metadata: { ...stating(text), name }, spec });
  expect(evictionCosts([named('a', '1h'), named('b', '0s'), pool('c')])).toEqual(
    new Map([
      ['a', 3_600_000],
      ['b', 0],
    ]),
  );
});
