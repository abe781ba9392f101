import { expect, test } from 'vitest';
import { isDisrupted } from '../../../shared/kubernetes/disrupted-taint.ts';

const tainted = (key: string, effect: string) => ({
  spec: {
    taints: [
      { key: 'team', effect: 'NoSchedule' },
      { key, effect },
    ],
  },
});

test.each([
  ['with Karpenter’s taint is', tainted('karpenter.sh/disrupted', 'NoSchedule'), true],
  ['with that key and another effect is not', tainted('karpenter.sh/disrupted', 'PreferNoSchedule'), false],
  ['with another key is not', tainted('karpenter.sh/unregistered', 'NoSchedule'), false],
  ['without taints is not', { spec: {} }, false],
  ['that is not there is not', null, false],
])('a node %s marked to go', (_, node, expected) => {
  expect(isDisrupted(node)).toBe(expected);
});
