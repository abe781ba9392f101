import { describe, expect, test } from 'vitest';
import { parseObjectsHint, parseSignalHint } from '../../../../shared/contract/messages/messages.ts';

const LAST_DATE_MS = 8_640_000_000_000_000;

const signal = {
  kind: 'signal',
  version: 1,
  cluster: 'c',
  vmId: null,
  nodeName: 'aks-a',
  event: 'preempt',
  eventId: null,
  source: 'node-condition',
};
const objects = { kind: 'objects', version: 1, cluster: 'c', reason: 'test' };

describe('times in messages', () => {
  test('up to the last date are taken', () => {
    const times = { notBeforeMs: LAST_DATE_MS, noticedMs: LAST_DATE_MS };
    expect(parseSignalHint({ ...signal, ...times })).toMatchObject(times);
  });

  // What writes a deadline on a claim would fail, and the message come again for ever.
  test.each([LAST_DATE_MS + 1, 1e300, -1, 0.5])('that are no date are refused, and the field is named: %d', (ms) => {
    expect(() => parseSignalHint({ ...signal, notBeforeMs: ms })).toThrow(/notBeforeMs/);
    expect(() => parseSignalHint({ ...signal, notBeforeMs: null, noticedMs: ms })).toThrow(/noticedMs/);
    const named = [{ kind: 'NodeClaim', name: 'a', podEventMs: ms }];
    expect(() => parseObjectsHint({ ...objects, objects: named })).toThrow(/podEventMs/);
  });
});
