import { expect, test } from 'vitest';
import { pauses, readPause } from '../../../../../shared/core/disruption/brakes/pauses.ts';
import { disruptable } from '../../../../kit/core/build-disruption.ts';

const NOW = Date.UTC(2026, 11, 1, 6);
const read = (text: string) => readPause({ annotations: { 'nodewright.dev/pause-disruption': text } }, NOW);

test.each([
  ['true', { kind: 'paused', untilMs: null }],
  ['false', { kind: 'none' }],
  ['2026-12-01T06:00:01Z', { kind: 'paused', untilMs: NOW + 1_000 }],
  ['2026-12-01T08:00:00+01:00', { kind: 'paused', untilMs: NOW + 3_600_000 }],
  ['2026-12-01T07:00Z', { kind: 'paused', untilMs: NOW + 3_600_000 }],
  ['2026-12-01T07:00:30.5Z', { kind: 'paused', untilMs: NOW + 3_630_500 }],
  ['2026-12-31T23:59:59.123456789Z', { kind: 'paused', untilMs: Date.UTC(2026, 11, 31, 23, 59, 59, 123) }],
  ['2027-10-09T19:09:00-09:30', { kind: 'paused', untilMs: Date.UTC(2027, 9, 10, 4, 39) }],
  ['2027-02-28T00:00:00+14:00', { kind: 'paused', untilMs: Date.UTC(2027, 1, 27, 10) }],
  ['2027-09-19T20:00:00Z', { kind: 'paused', untilMs: Date.UTC(2027, 8, 19, 20) }],
  ['2027-03-30T09:05Z', { kind: 'paused', untilMs: Date.UTC(2027, 2, 30, 9, 5) }],
  ['2026-12-01T06:00:00Z', { kind: 'none' }],
  ['2026-11-30T00:00:00Z', { kind: 'none' }],
])('%s means %j', (text, pause) => {
  expect(read(text)).toEqual(pause);
});

test.each([
  '',
  'yes',
  'True',
  '2h',
  '2026-12-01',
  '2026-12-01T06:00:01',
  'December 1',
  'until 2027-12-01T06:00:00Z',
  '2027-12-01T06:00:00Z or so',
  '27-12-01T06:00:00Z',
  '2027-00-01T06:00:00Z',
  '2026-13-01T00:00:00Z',
  '2027-12-00T06:00:00Z',
  '2027-12-32T06:00:00Z',
  '2027-12-40T06:00:00Z',
  '2027-12-01T24:00:00Z',
  '2027-12-01T30:00:00Z',
  '2027-12-01T06:60:00Z',
  '2027-12-01T06:0:00Z',
  '2027-12-01T06:00:60Z',
  '2027-12-01T06:00:00.Z',
  '2027-12-01T06:00:00.1234567890Z',
  '2027-12-01T06:00:00+24:00',
  '2027-12-01T06:00:00+01',
])('%j cannot be read, and is given back', (given) => {
  expect(read(given)).toEqual({ kind: 'unreadable', given });
});

test('a pool without the annotation is not paused', () => {
  expect(readPause({}, NOW)).toEqual({ kind: 'none' });
});

test('pools are held by what is said of them, until when it is over', () => {
  const pool = (name: string, pause?: string) => {
    const annotations = pause === undefined ? {} : { 'nodewright.dev/pause-disruption': pause };
    return { ...disruptable(name), metadata: { name, annotations } };
  };
  const pools = [
    pool('plain'),
    pool('ever', 'true'),
    pool('soon', '2026-12-01T07:00:30Z'),
    pool('over', '2026-12-01T05:00:00Z'),
    pool('odd', 'yes'),
  ];
  expect([...pauses(pools, NOW)]).toEqual([
    ['ever', { kind: 'paused', until: null }],
    ['soon', { kind: 'paused', until: '2026-12-01T07:00:30Z' }],
    ['odd', { kind: 'pause-unread', given: 'yes' }],
  ]);
});
