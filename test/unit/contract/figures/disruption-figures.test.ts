import { expect, test } from 'vitest';
import {
  NO_DISRUPTION,
  parseDisruptionFigures,
  STATE_AGAIN_MS,
  withLook,
  type DisruptionLook,
} from '../../../../shared/contract/figures/disruption-figures.ts';

const labels = { decision: 'delete', reason: 'empty', consolidation_type: 'empty' };
const state = { eligible: { empty: 1 }, budgets: [{ nodepool: 'a', reason: 'empty', allowed: null, consuming: 0 }] };
const look = (id: string, given: Partial<DisruptionLook> = {}): DisruptionLook => ({
  id,
  atMs: 1_000,
  counts: [{ counter: 'decisions_total', labels, by: 1 }],
  state: null,
  ...given,
});

test('a look is counted once, however often it is said, and looks with the same labels add up', () => {
  const once = withLook(NO_DISRUPTION, look('a'));
  expect(withLook(once, look('a'))).toBe(once);
  expect(withLook(once, look('b')).totals).toEqual([{ counter: 'decisions_total', labels, by: 2 }]);
});

test('a look that counts nothing and finds what was found before changes nothing, until that has to be said again', () => {
  const found = withLook(NO_DISRUPTION, look('', { counts: [], state }));
  expect(found.state).toEqual({ ...state, atMs: 1_000 });
  const again = (afterMs: number) => withLook(found, look('', { counts: [], state, atMs: 1_000 + afterMs }));
  expect(again(STATE_AGAIN_MS - 1)).toBe(found);
  expect(again(STATE_AGAIN_MS).state?.atMs).toBe(1_000 + STATE_AGAIN_MS);
  const other = { ...state, eligible: { empty: 2 } };
  expect(withLook(found, look('', { counts: [], state: other })).state?.eligible).toEqual({ empty: 2 });
});

test('a record is read back as it was written, and what is none is no record', () => {
  const record = withLook(NO_DISRUPTION, look('a', { state }));
  expect(parseDisruptionFigures(JSON.stringify(record))).toEqual(record);
  for (const text of ['', 'null', '{}', '{"version":2,"recent":[],"totals":[]}']) {
    expect(parseDisruptionFigures(text)).toBeNull();
  }
});

test('counters that nobody knows are left out', () => {
  const text = JSON.stringify({ version: 1, recent: [], totals: [{ counter: 'other', labels: {}, by: 1 }] });
  expect(parseDisruptionFigures(text)).toEqual(NO_DISRUPTION);
});
