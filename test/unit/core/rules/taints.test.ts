import { expect, test } from 'vitest';
import { blockingTaint } from '../../../../shared/core/audit/seen/matching.ts';
import { untolerated } from '../../../../shared/core/rules/taints.ts';

const taint = { key: 'dedicated', value: 'x', effect: 'NoSchedule' };

test.each([
  [{ key: 'dedicated', operator: 'Equal', value: 'x', effect: 'NoSchedule' }, true],
  [{ key: 'dedicated', value: 'x' }, true],
  [{ key: 'dedicated', operator: 'Exists' }, true],
  [{ operator: 'Exists' }, true],
  [{ key: 'dedicated', value: 'y' }, false],
  [{ key: 'dedicated', operator: 'Exists', effect: 'NoExecute' }, false],
  [{ key: 'other', operator: 'Exists' }, false],
  [{ operator: 'Equal' }, false],
])('%j tolerates dedicated=x:NoSchedule: %j', (toleration, tolerated) => {
  expect(untolerated([toleration], [taint], false) === null).toBe(tolerated);
  expect(blockingTaint([taint], [toleration]) === null).toBe(tolerated);
});

test('PreferNoSchedule keeps a pod off only while it is respected', () => {
  const soft = { key: 'soft', effect: 'PreferNoSchedule' };
  expect(untolerated([], [soft], false)).toBe(null);
  expect(untolerated([], [soft], true)).toEqual(soft);
});
