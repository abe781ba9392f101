import { expect, test } from 'vitest';
import { bakeTimeProblems } from '../../../../../shared/contract/api/annotations/bake-time.ts';
import { nodePoolRuntimeProblems } from '../../../../../shared/contract/api/runtime-rules.ts';
import { bakeMsOf } from '../../../../../shared/kubernetes/bake-time.ts';

const KEY = 'nodewright.dev/bake-time';
const stating = (text: string) => ({ name: 'a', annotations: { [KEY]: text } });

test.each([
  ['30m', 1_800_000],
  ['1h30m', 5_400_000],
  ['168h', 604_800_000],
])('a canary that bakes for %s does so for as many milliseconds', (text, bakeMs) => {
  expect([bakeMsOf(stating(text)), bakeTimeProblems(stating(text))]).toEqual([bakeMs, []]);
});

test('a pool without the annotation has no canaries, and nothing is wrong with it', () => {
  expect([bakeMsOf({}), bakeTimeProblems({})]).toEqual([null, []]);
});

test.each([
  ['', '"" is not a duration'],
  ['soon', '"soon" is not a duration'],
  ['30', '"30" is not a duration'],
  ['0s', '0s is no time'],
  ['-5m', '"-5m" is not a duration'],
  ['168h1s', '168h1s is more than a week'],
])('%j is told with its field and the fix, and makes the pool not ready', (text, message) => {
  const problem = {
    path: `metadata.annotations[${KEY}]`,
    message,
    fix: 'write a duration of up to 168h, such as 30m or 4h, or remove it to replace nodes without a canary',
    layer: 'runtime',
  };
  expect([bakeMsOf(stating(text)), bakeTimeProblems(stating(text))]).toEqual([null, [problem]]);
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
  const stated = { metadata: stating(text), spec: { template: { spec: { nodeClassRef, requirements: [] } } } };
  expect(nodePoolRuntimeProblems(stated)).toEqual([problem]);
});
