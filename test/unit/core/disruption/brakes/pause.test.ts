import { expect, test } from 'vitest';
import { readPause } from '../../../../../shared/core/disruption/brakes/pauses.ts';

const NOW = Date.UTC(2026, 11, 1, 6);
const read = (text: string) => readPause({ annotations: { 'nodewright.dev/pause-disruption': text } }, NOW);

test.each([
  ['true', { kind: 'paused', untilMs: null }],
  ['false', { kind: 'none' }],
  ['2026-12-01T06:00:01Z', { kind: 'paused', untilMs: NOW + 1_000 }],
  ['2026-12-01T08:00:00+01:00', { kind: 'paused', untilMs: NOW + 3_600_000 }],
  ['2026-12-01T07:00Z', { kind: 'paused', untilMs: NOW + 3_600_000 }],
  ['2026-12-01T06:00:00Z', { kind: 'none' }],
])('%s means %j', (text, pause) => {
  expect(read(text)).toEqual(pause);
});

test.each(['', 'yes', 'True', '2h', '2026-12-01', '2026-13-01T00:00:00Z', '2026-12-01T06:00:01', 'December 1'])(
  '%j cannot be read, and is given back',
  (given) => {
    expect(read(given)).toEqual({ kind: 'unreadable', given });
  },
);

test('a pool without the annotation is not paused', () => {
  expect(readPause({}, NOW)).toEqual({ kind: 'none' });
});
