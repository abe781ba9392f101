import { describe, expect, test } from 'vitest';
import {
  NO_EVICTIONS,
  shortageIn,
  spotShortages,
  stormsAt,
  stormsOver,
  withEviction,
  type SpotEviction,
  type SpotMemory,
  type SpotRefusal,
  type SpotStorm,
} from '../../../../shared/core/offerings/spot-storms.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const [D, E] = ['standardDSv5Family', 'standardESv5Family'];

type Parts = Partial<SpotEviction> & Pick<SpotEviction, 'claim'>;

/** Evictions one after the other, of a family with ten machines in a zone with twenty unless they say else. */
function after(evictions: ReadonlyArray<Parts>, memory: SpotMemory = NO_EVICTIONS): SpotMemory {
  const plain = { family: D, zone: 'z-1', atMs: 0, ofFamily: 10, ofZone: 20 };
  return evictions.reduce((known, one) => withEviction(known, { ...plain, ...one }), memory);
}

/** So many of family D at once. */
const burst = (count: number, atMs: number, parts: Partial<SpotEviction> = {}): ReadonlyArray<Parts> =>
  Array.from({ length: count }, (_, index) => ({ claim: `${atMs}-${parts.zone ?? ''}-${index}`, atMs, ...parts }));

const only = ({ storms }: SpotMemory): SpotStorm | undefined => (expect(storms).toHaveLength(1), storms[0]);

describe('a storm', () => {
  test('is three machines of a family and zone within ten minutes that are a fifth of what there was', () => {
    expect(after(burst(2, 0)).storms).toEqual([]);
    expect(after(burst(3, 0)).storms).toEqual([
      { zone: 'z-1', family: D, times: 1, evicted: 3, of: 10, untilMs: 30 * MINUTE },
    ]);
    expect(after(burst(3, 0, { ofFamily: 15 })).storms).toHaveLength(1);
    expect(after(burst(3, 0, { ofFamily: 16 })).storms).toEqual([]);
  });

  test('is not what is further apart than ten minutes', () => {
    const first = burst(2, 0);
    expect(after([...first, { claim: 'late', atMs: 10 * MINUTE }]).storms).toEqual([]);
    expect(after([...first, { claim: 'late', atMs: 10 * MINUTE - 1 }]).storms).toHaveLength(1);
  });

  test('is of one zone: elsewhere the family is not in it, nor are others', () => {
    const { storms } = after([...burst(2, 0), ...burst(2, 0, { zone: 'z-2' })]);
    expect(storms).toEqual([]);
    const known = after(burst(3, 0)).storms;
    expect([stormsOver(known, D, 'z-1'), stormsOver(known, D, 'z-2'), stormsOver(known, E, 'z-1')]).toEqual([
      known,
      [],
      [],
    ]);
  });

  test('of several families is the zone’s, whatever family comes next', () => {
    const two = after([
      ...burst(2, 0),
      ...burst(2, 0, { family: E, zone: 'z-1' }).map((one) => ({ ...one, claim: `e${one.claim}` })),
    ]);
    expect(only(two)).toEqual({ zone: 'z-1', family: null, times: 1, evicted: 4, of: 20, untilMs: 30 * MINUTE });
    expect(stormsOver(two.storms, 'another', 'z-1')).toHaveLength(1);
  });

  test('of one family is not the zone’s, though it is all that went', () => {
    expect(only(after(burst(8, 0, { ofZone: 8 })))?.family).toBe(D);
  });

  test('counts an eviction once, by however many ways it is told of', () => {
    const twice = after([...burst(2, 0), ...burst(2, MINUTE).map((one, index) => ({ ...one, claim: `0--${index}` }))]);
    expect(twice).toEqual(after(burst(2, 0)));
  });

  test('counts against what there was before nodes left, and against no fewer than went', () => {
    const leaving = [9, 8, 7].map((ofFamily, index) => ({ claim: String(index), ofFamily }));
    expect(only(after(leaving))).toMatchObject({ evicted: 3, of: 9 });
    expect(only(after(burst(4, 0, { ofFamily: 0, ofZone: 0 })))).toMatchObject({ evicted: 4, of: 4 });
  });

  test('lasts half an hour from its last eviction', () => {
    const { storms } = after([...burst(3, 0), { claim: 'more', atMs: 5 * MINUTE }]);
    expect(storms).toMatchObject([{ times: 1, evicted: 4, untilMs: 35 * MINUTE }]);
    const memory = { evictions: [], storms };
    expect([stormsAt(memory, 35 * MINUTE - 1).length, stormsAt(memory, 35 * MINUTE).length]).toEqual([1, 0]);
  });

  test('that one eviction follows goes on only where that is a fifth too', () => {
    const calm = after([...burst(3, 0), { claim: 'one', atMs: 20 * MINUTE, ofFamily: 10 }]);
    expect(only(calm)?.untilMs).toBe(30 * MINUTE);
    const few = after([...burst(3, 0), { claim: 'one', atMs: 20 * MINUTE, ofFamily: 5 }]);
    expect(only(few)).toMatchObject({ times: 1, evicted: 1, of: 5, untilMs: 50 * MINUTE });
  });
});

describe('the way back to spot', () => {
  const second = (atMs: number): ReadonlyArray<Parts> => [{ claim: 'again', atMs, ofFamily: 4 }];

  test('is tried, not trusted: one eviction soon after a storm is the next, and lasts twice as long', () => {
    const memory = after([...burst(3, 0), ...second(40 * MINUTE)]);
    expect(only(memory)).toMatchObject({ times: 2, evicted: 1, of: 4, untilMs: 100 * MINUTE });
  });

  test('is trusted after as long as the storm lasted: then it takes three again', () => {
    expect(only(after([...burst(3, 0), ...second(60 * MINUTE - 1)]))?.times).toBe(2);
    expect(only(after([...burst(3, 0), ...second(60 * MINUTE)]))?.times).toBe(1);
  });

  test('takes four hours at most, however many storms there were', () => {
    let memory = NO_EVICTIONS;
    let atMs = 0;
    const lasted: Array<number> = [];
    for (let round = 0; round < 6; round++) {
      memory = after(burst(3, atMs), memory);
      const { untilMs } = only(memory) ?? { untilMs: 0 };
      lasted.push((untilMs - atMs) / MINUTE);
      atMs = untilMs;
    }
    expect(lasted).toEqual([30, 60, 120, 240, 240, 240]);
  });

  test('is short again after a day without a storm', () => {
    const soon = after(burst(3, 24 * HOUR), after(burst(3, 0)));
    expect(only(soon)?.times).toBe(2);
    const late = after(burst(3, 24 * HOUR + 30 * MINUTE), after(burst(3, 0)));
    expect(only(late)?.times).toBe(1);
  });
});

test('what is remembered stays small: an hour of evictions, and five hundred of them', () => {
  expect(after([{ claim: 'new', atMs: HOUR }], after(burst(3, 0))).evictions.map(({ claim }) => claim)).toEqual([
    'new',
  ]);
  expect(after([{ claim: 'new', atMs: HOUR - 1 }], after(burst(3, 0))).evictions).toHaveLength(4);
  const many = after(burst(501, 0));
  expect(many.evictions).toHaveLength(500);
  expect(many.evictions.at(-1)?.claim).toBe('0--500');
});

describe('a shortage of spot', () => {
  const refusal = (size: string, family: string, zone = 'z-1', atMs = 0): SpotRefusal => ({ size, family, zone, atMs });
  const shortages = (refusals: ReadonlyArray<SpotRefusal>, nowMs = 0): ReadonlyArray<unknown> =>
    spotShortages(refusals, nowMs).map(({ zone, refused, untilMs }) => [zone, refused, untilMs / MINUTE]);
  const three = [refusal('D4', D), refusal('D8', D), refusal('E4', E)];

  test('is three sizes of a zone, of two families', () => {
    expect(shortages(three)).toEqual([['z-1', 3, 10]]);
    expect(shortages(three.slice(1))).toEqual([]);
    expect(shortages([...three, ...three].map((one) => ({ ...one, size: 'D4' })))).toEqual([]);
    expect(shortages(three.map((one) => ({ ...one, family: D })))).toEqual([]);
  });

  test('is one of the region from five that were asked for on, in two zones or more', () => {
    const over = [refusal('D4', D), refusal('D4', D, 'z-2'), refusal('D4', D, 'z-3'), refusal('E4', E)];
    expect(shortages(over)).toEqual([]);
    expect(shortages([...over, refusal('E4', E, 'z-2')])).toEqual([[null, 2, 10]]);
    const oneZone = ['D4', 'D8', 'D16', 'D32', 'E4'].map((size) => refusal(size, size.charAt(0)));
    expect(shortages(oneZone)).toEqual([['z-1', 5, 10]]);
  });

  test('lasts for ten minutes from the refusal with which there were enough, and counts none that is older', () => {
    const later = three.map((one, index) => ({ ...one, atMs: index * MINUTE }));
    expect(shortages(later, 2 * MINUTE)).toEqual([['z-1', 3, 10]]);
    expect(shortages(later, 10 * MINUTE - 1)).toHaveLength(1);
    expect(shortages(later, 10 * MINUTE)).toEqual([]);
    expect(shortages([...later, refusal('E8', E, 'z-1', 9 * MINUTE)], 9 * MINUTE)).toEqual([['z-1', 4, 11]]);
  });

  test('is about its zone, and one of the region about all: that counts which lasts longest', () => {
    const found = [
      { zone: 'z-1', refused: 3, untilMs: 5 },
      { zone: null, refused: 2, untilMs: 9 },
    ];
    expect(shortageIn(found.slice(0, 1), 'z-2')).toBeNull();
    expect([shortageIn(found, 'z-1'), shortageIn(found, 'z-2')].map((one) => one?.untilMs)).toEqual([9, 9]);
  });
});
