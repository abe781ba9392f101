import { utcTime, type UtcTime } from '../../quantity/utc-time.ts';

/** A schedule, read: which values each field allows. */
export interface Schedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** With both fields restricted a day needs to meet one of them only; else both. */
  readonly eitherDay: boolean;
}

interface FieldRange {
  readonly least: number;
  readonly most: number;
  readonly names: ReadonlyArray<string>;
}

const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

const FIELDS = {
  minutes: { least: 0, most: 59, names: [] },
  hours: { least: 0, most: 23, names: [] },
  days: { least: 1, most: 31, names: [] },
  months: { least: 1, most: 12, names: MONTHS },
  weekdays: { least: 0, most: 6, names: WEEKDAYS },
} as const satisfies Readonly<Record<string, FieldRange>>;

const SHORT_FORMS: Readonly<Record<string, string>> = {
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
  '@monthly': '0 0 1 * *',
  '@weekly': '0 0 * * 0',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@hourly': '0 * * * *',
};

/**
 * Reads five fields, or a short form such as `@daily`; null when it is none. Source: robfig/cron v3, which Karpenter
 * reads with.
 */
export function parseSchedule(text: string): Schedule | null {
  const trimmed = text.trim();
  const fields = (SHORT_FORMS[trimmed] ?? trimmed).split(/\s+/);
  if (fields.length !== 5) return null;
  const [minute = '', hour = '', day = '', month = '', weekday = ''] = fields;
  const minutes = parseField(minute, FIELDS.minutes);
  const hours = parseField(hour, FIELDS.hours);
  const days = parseField(day, FIELDS.days);
  const months = parseField(month, FIELDS.months);
  const weekdays = parseField(weekday, FIELDS.weekdays);
  if (minutes === null || hours === null || days === null || months === null || weekdays === null) return null;
  return { minutes, hours, days, months, weekdays, eitherDay: !isOpen(day) && !isOpen(weekday) };
}

/** As robfig/cron has it: `*` is open, and with a step of more than 1 it is a restriction. */
function isOpen(field: string): boolean {
  return field.split(',').some((part) => /^[*?](-[^/]*)?(\/1)?$/.test(part));
}

function parseField(text: string, range: FieldRange): ReadonlySet<number> | null {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const span = parsePart(part, range);
    if (span === null) return null;
    for (let value = span.from; value <= span.to; value += span.step) values.add(value);
  }
  return values;
}

interface Span {
  readonly from: number;
  readonly to: number;
}

function parsePart(text: string, range: FieldRange): (Span & { readonly step: number }) | null {
  const [spanText = '', stepText, more] = text.split('/');
  const step = stepText === undefined ? 1 : wholeNumber(stepText);
  // `5/15` means from 5 on.
  const span = parseSpan(spanText, range, stepText !== undefined);
  if (more !== undefined || step === null || step < 1 || span === null || span.from > span.to) return null;
  return { ...span, step };
}

function parseSpan(text: string, range: FieldRange, isOpenEnded: boolean): Span | null {
  const [first = '', last, more] = text.split('-');
  // Whatever follows.
  if (first === '*' || first === '?') return { from: range.least, to: range.most };
  const from = valueOf(first, range);
  const to = last === undefined ? (isOpenEnded ? range.most : from) : valueOf(last, range);
  return more !== undefined || from === null || to === null ? null : { from, to };
}

function valueOf(text: string, { least, most, names }: FieldRange): number | null {
  const named = names.indexOf(text.toLowerCase());
  const value = named < 0 ? wholeNumber(text) : named + least;
  return value !== null && value >= least && value <= most ? value : null;
}

function wholeNumber(text: string): number | null {
  return /^\d+$/.test(text) ? Number(text) : null;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** Looking back further than this finds nothing new: leap days come every 8 years at most. */
const LONGEST_LOOK_MS = 9 * 366 * DAY_MS;

/**
 * Does the schedule strike in the minutes after `fromMs` up to `toMs`, both counted? The first exclusive, as Karpenter
 * asks.
 */
export function strikesWithin(schedule: Schedule, fromMs: number, toMs: number): boolean {
  const from = Math.max(fromMs, toMs - LONGEST_LOOK_MS);
  // Ends: every turn goes back by a minute at least.
  for (let at = Math.floor(toMs / MINUTE_MS) * MINUTE_MS; at > from;) {
    const time = utcTime(at);
    if (!isDay(schedule, time)) at = Math.floor(at / DAY_MS) * DAY_MS - MINUTE_MS;
    else if (!schedule.hours.has(time.hour)) at = Math.floor(at / 3_600_000) * 3_600_000 - MINUTE_MS;
    else if (!schedule.minutes.has(time.minute)) at -= MINUTE_MS;
    else return true;
  }
  return false;
}

function isDay({ days, months, weekdays, eitherDay }: Schedule, { month, day, weekday }: UtcTime): boolean {
  if (!months.has(month)) return false;
  return eitherDay ? days.has(day) || weekdays.has(weekday) : days.has(day) && weekdays.has(weekday);
}
