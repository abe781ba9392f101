import { describe, expect, test } from 'vitest';
import {
  durationBucketsSeconds,
  NO_DURATIONS,
  withDurations,
} from '../../../../shared/contract/figures/duration-histogram.ts';
import {
  NO_FIGURES,
  parseFigures,
  withPlan,
  type FiguresRecord,
  type PlanFigures,
} from '../../../../shared/contract/figures/plan-figures.ts';

const plan = (id: number, more: Partial<PlanFigures> = {}): PlanFigures => ({
  id: String(id),
  atMs: 1_000 * id + 40,
  tookMs: 40,
  decidedUpToMs: 1_000 * id,
  waiting: { pending: id, unschedulable: 0, ignored: 0, zones: { flexible: id } },
  ...more,
});
const total = ({ durations }: FiguresRecord): number => durations.counts.reduce((a, b) => a + b, 0);
const idsOf = ({ recent }: FiguresRecord): ReadonlyArray<string> => recent.map(({ id }) => id);

describe('the record of figures', () => {
  test('counts a plan once, however often it is said', () => {
    const once = withPlan(NO_FIGURES, plan(1), 'holds');
    expect(withPlan(once, plan(1), 'holds')).toBe(once);
    expect([total(once), once.durations.sumMs]).toEqual([1, 40]);
  });

  test('has of a plan that lost only how long it took: it decided about nobody', () => {
    const record = withPlan(withPlan(NO_FIGURES, plan(1), 'holds'), plan(2), 'lost');
    expect(total(record)).toBe(2);
    expect(record.recent.at(-1)?.decidedUpToMs).toBeNull();
    expect(record.last).toMatchObject({ pending: 1, decidedUpToMs: 1_000 });
  });

  test('shows the plan of the latest snapshot, though an earlier one is told later', () => {
    const record = withPlan(withPlan(NO_FIGURES, plan(2), 'holds'), plan(1), 'holds');
    expect([total(record), record.last?.pending]).toEqual([2, 2]);
  });

  test('keeps the latest 64 plans one by one, counts all, and stays below 8 KiB', () => {
    let record = NO_FIGURES;
    for (let id = 1; id <= 100; id++) {
      record = withPlan(record, plan(id, { id: `abcdef0123456789-${id}`, atMs: 1.79e12 + id }), 'holds');
    }
    expect([total(record), record.recent.length, idsOf(record)[0]]).toEqual([100, 64, 'abcdef0123456789-37']);
    expect(JSON.stringify(record).length).toBeLessThan(8_192);
  });

  test('is read as it was written', () => {
    const record = withPlan(withPlan(NO_FIGURES, plan(1), 'holds'), plan(2), 'lost');
    expect(parseFigures(JSON.stringify(record))).toEqual(record);
    expect(parseFigures(JSON.stringify(NO_FIGURES))).toEqual(NO_FIGURES);
  });

  test.each([
    ['no JSON', '{'],
    ['nothing', 'null'],
    ['of another version', JSON.stringify({ ...NO_FIGURES, version: 2 })],
    ['over other buckets', JSON.stringify({ ...NO_FIGURES, durations: { counts: [1, 2], sumMs: 3 } })],
    ['without its plans', JSON.stringify({ ...NO_FIGURES, recent: null })],
  ])('is not read where it is %s', (_, text) => {
    expect(parseFigures(text)).toBeNull();
  });

  test('parts of it that cannot be read are left out, and the rest counts', () => {
    const record = withPlan(NO_FIGURES, plan(1), 'holds');
    const odd = { ...record, recent: [null, {}, ...record.recent], last: { ...record.last, zones: { a: 'x', b: 2 } } };
    expect(parseFigures(JSON.stringify(odd))).toEqual({ ...record, last: { ...record.last, zones: { b: 2 } } });
    expect(parseFigures(JSON.stringify({ ...record, last: { atMs: 'x' } }))?.last).toBeNull();
  });
});

describe('a histogram of durations', () => {
  test('has the buckets of Karpenter, from 5 ms to 10 minutes', () => {
    expect([durationBucketsSeconds.length, durationBucketsSeconds[0], durationBucketsSeconds.at(-1)]).toEqual([
      45, 0.005, 600,
    ]);
    expect(durationBucketsSeconds.toSorted((a, b) => a - b)).toEqual(durationBucketsSeconds);
  });

  test('counts a duration in the first bucket that holds it, the bound included', () => {
    const { counts, sumMs } = withDurations(NO_DURATIONS, [5, 6, 600_000, 600_001, -3]);
    expect([counts[0], counts[1], counts.at(-2), counts.at(-1), sumMs]).toEqual([2, 1, 1, 1, 1_200_012]);
  });
});
