import { expect, test } from 'vitest';
import {
  changedMs,
  conditionIn,
  createdMs,
  says,
} from '../../../../../shared/core/disruption/candidates/claim-conditions.ts';
import { machine } from '../../../../kit/core/build-disruption.ts';

const MADE = '1970-01-02T00:00:00Z';
const SINCE = '1970-01-02T01:00:00Z';
const { claim } = machine('a');
const made = { ...claim, metadata: { ...claim.metadata, creationTimestamp: MADE } };

test('a claim that says nothing yet has no condition, and has not changed since it was made', () => {
  const { status: _, ...silent } = made;
  for (const one of [silent, { ...made, status: {} }, { ...made, status: { conditions: [] } }]) {
    expect([says(one, 'Drifted'), changedMs(one, 'Drifted')]).toEqual([false, Date.parse(MADE)]);
  }
  expect(conditionIn(undefined, 'Drifted')).toBeUndefined();
  expect(createdMs(claim), 'nor is it known when that was').toBe(0);
});

test('a claim says what is true of it, and since when it is so, or is not', () => {
  const of = (status: string) => ({
    ...made,
    status: {
      conditions: [
        { type: 'Ready', status: 'True' },
        { type: 'Drifted', status, lastTransitionTime: SINCE },
      ],
    },
  });
  expect([says(of('True'), 'Drifted'), says(of('False'), 'Drifted'), says(of('False'), 'Ready')]).toEqual([
    true,
    false,
    true,
  ]);
  expect([changedMs(of('False'), 'Drifted'), changedMs(of('True'), 'Ready')]).toEqual([
    Date.parse(SINCE),
    Date.parse(MADE),
  ]);
});
