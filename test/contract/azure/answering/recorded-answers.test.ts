import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readRecordings, type Recorded } from './recorded-exchanges.ts';
import { scenesFor } from './recorded-scenes.ts';
import { playRecording } from './recorded-play.ts';

/** What the double does not serve, and in what it differs, with the reasons. Labels are flows, or exchanges of them. */
interface Known {
  readonly notServed: ReadonlyArray<{ readonly reason: string; readonly exchanges: ReadonlyArray<string> }>;
  readonly differences: ReadonlyArray<{
    readonly reason: string;
    readonly members: Readonly<Record<string, ReadonlyArray<string>>>;
  }>;
}

const known = JSON.parse(readFileSync(join(import.meta.dirname, 'recorded-differences.json'), 'utf8')) as Known;
const notServed = new Set(known.notServed.flatMap(({ exchanges }) => exchanges));
const recordings = readRecordings();
const scenes = scenesFor(recordings);

function isServed({ label }: Recorded): boolean {
  return !notServed.has(label) && !notServed.has(label.split(' ')[0] ?? '');
}

const parts = [...recordings].flatMap(([flow, all]) =>
  all.map((exchanges, index) => ({ part: `${flow} ${index + 1}`, exchanges })),
);
const played = parts.filter(({ exchanges }) => exchanges.some(isServed));

/** Differences that are known of an exchange. */
function knownOf(label: string): ReadonlyArray<string> {
  return known.differences
    .flatMap(({ members }) => Object.entries(members))
    .flatMap(([difference, labels]) => (labels.includes(label) ? [difference] : []));
}

describe('what Azure was recorded to answer, the double answers, but for what is listed', () => {
  test.for(played)('$part', async ({ part, exchanges }) => {
    const found = await playRecording(exchanges, scenes[part] ?? {}, isServed);
    const listed = Object.keys(found).map((label) => [label, knownOf(label).toSorted()] as const);
    expect(sorted(found)).toEqual(Object.fromEntries(listed));
  });
});

function sorted(found: Readonly<Record<string, ReadonlyArray<string>>>): object {
  return Object.fromEntries(Object.entries(found).map(([label, lines]) => [label, lines.toSorted()]));
}

test('what is said not to be served was recorded, and no difference is listed of it', () => {
  const labels = new Set(parts.flatMap(({ exchanges }) => exchanges.map(({ label }) => label)));
  const all = new Set([...labels, ...recordings.keys()]);
  expect([...notServed].filter((label) => !all.has(label))).toEqual([]);
  const served = new Set(played.flatMap(({ exchanges }) => exchanges.filter(isServed).map(({ label }) => label)));
  const differing = known.differences.flatMap(({ members }) => Object.values(members).flat());
  expect([...new Set(differing)].filter((label) => !served.has(label))).toEqual([]);
});

test('most of what the product sees of VMs and network interfaces is played', () => {
  const served = played.flatMap(({ exchanges }) => exchanges.filter(isServed));
  expect(served.length).toBeGreaterThanOrEqual(39);
});
