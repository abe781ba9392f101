/**
 * NCRONTAB, the cron dialect of timer triggers: `{second} {minute} {hour} {day} {month} {day of week}`, in UTC. Its
 * rules are those of the .NET library the host uses, where they differ from Vixie cron: day and day of week must both
 * match; `a/n` counts from `a` to the field's end; a reversed range is swapped; Sunday is 0 only. Five fields mean
 * second 0.
 */
export interface Ncrontab {
  /** The text it was read from. */
  readonly text: string;
  readonly seconds: ReadonlyArray<number>;
  readonly minutes: ReadonlyArray<number>;
  readonly hours: ReadonlyArray<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
}

interface FieldRule {
  readonly name: string;
  readonly least: number;
  readonly most: number;
  readonly names: ReadonlyArray<string>;
}

const monthNames = 'january february march april may june july august september october november december'.split(' ');
const weekdayNames = ['sunday', 'monday', 'tuesday', 'wednesday', 'thursday', 'friday', 'saturday'];

const secondRule: FieldRule = { name: 'second', least: 0, most: 59, names: [] };
const minuteRule: FieldRule = { name: 'minute', least: 0, most: 59, names: [] };
const hourRule: FieldRule = { name: 'hour', least: 0, most: 23, names: [] };
const dayRule: FieldRule = { name: 'day', least: 1, most: 31, names: [] };
const monthRule: FieldRule = { name: 'month', least: 1, most: 12, names: monthNames };
const weekdayRule: FieldRule = { name: 'day of week', least: 0, most: 6, names: weekdayNames };

/** 29 February on one weekday comes back after 40 years at most, over a century without a leap day. */
const SEARCH_DAYS = 41 * 366;

const DAY_MS = 86_400_000;

/** Reads a schedule. Throws, naming the field and the range, when it is not NCRONTAB. */
export function parseNcrontab(text: string): Ncrontab {
  const fields = text.trim().split(/\s+/);
  const six = fields.length === 5 ? ['0', ...fields] : fields;
  const [second, minute, hour, day, month, weekday] = six;
  if (six.length !== 6 || second === undefined || minute === undefined || hour === undefined) {
    throw new Error(`"${text}" is no NCRONTAB schedule: six fields are expected, as in "0 */5 * * * *".`);
  }
  return {
    text,
    seconds: sorted(parseField(second, secondRule)),
    minutes: sorted(parseField(minute, minuteRule)),
    hours: sorted(parseField(hour, hourRule)),
    days: parseField(day ?? '', dayRule),
    months: parseField(month ?? '', monthRule),
    weekdays: parseField(weekday ?? '', weekdayRule),
  };
}

/**
 * The first instant after `afterMs` (epoch milliseconds, on a whole second) that the schedule names; null when none
 * ever comes.
 */
export function nextOccurrence(schedule: Ncrontab, afterMs: number): number | null {
  const from = Math.floor(afterMs / 1000) * 1000 + 1000;
  const firstDay = Math.floor(from / DAY_MS) * DAY_MS;
  for (let ahead = 0; ahead < SEARCH_DAYS; ahead += 1) {
    const dayMs = firstDay + ahead * DAY_MS;
    if (!namesDay(schedule, dayMs)) continue;
    const time = firstTimeOfDay(schedule, ahead === 0 ? (from - dayMs) / 1000 : 0);
    if (time !== null) return dayMs + time * 1000;
  }
  return null;
}

function namesDay(schedule: Ncrontab, dayMs: number): boolean {
  const date = new Date(dayMs);
  return (
    schedule.months.has(date.getUTCMonth() + 1) &&
    schedule.days.has(date.getUTCDate()) &&
    schedule.weekdays.has(date.getUTCDay())
  );
}

/** The first second of the day, at or after `least`, that the schedule names. */
function firstTimeOfDay(schedule: Ncrontab, least: number): number | null {
  for (const hour of schedule.hours) {
    for (const minute of schedule.minutes) {
      const minuteStart = (hour * 60 + minute) * 60;
      if (minuteStart + 59 < least) continue;
      const second = schedule.seconds.find((candidate) => minuteStart + candidate >= least);
      if (second !== undefined) return minuteStart + second;
    }
  }
  return null;
}

function parseField(text: string, rule: FieldRule): ReadonlySet<number> {
  const values = new Set<number>();
  for (const part of text.split(',')) {
    const { first, last, step } = parsePart(part, rule);
    for (let value = first; value <= last; value += step) values.add(value);
  }
  return values;
}

function parsePart(part: string, rule: FieldRule): { first: number; last: number; step: number } {
  const [range = '', stepText, ...more] = part.split('/');
  if (more.length > 0) throw fieldError(part, rule);
  const step = stepText === undefined ? 1 : parseStep(stepText, part, rule);
  if (range === '*') return { first: rule.least, last: rule.most, step };
  const [firstText = '', lastText, ...rest] = range.split('-');
  if (rest.length > 0) throw fieldError(part, rule);
  const first = parseValue(firstText, rule);
  if (lastText === undefined) return { first, last: stepText === undefined ? first : rule.most, step };
  const last = parseValue(lastText, rule);
  return { first: Math.min(first, last), last: Math.max(first, last), step };
}

function parseStep(text: string, part: string, rule: FieldRule): number {
  const step = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (step < 1) throw fieldError(part, rule);
  return step;
}

function parseValue(text: string, rule: FieldRule): number {
  if (/^\d{1,4}$/.test(text)) {
    const value = Number(text);
    if (value < rule.least || value > rule.most) throw fieldError(text, rule);
    return value;
  }
  // Any beginning of at least three letters names a month or a weekday: Jan, Sept, Wednesday.
  const index = text.length < 3 ? -1 : rule.names.findIndex((name) => name.startsWith(text.toLowerCase()));
  if (index < 0) throw fieldError(text, rule);
  return index + rule.least;
}

function fieldError(text: string, rule: FieldRule): Error {
  return new Error(`"${text}" is no value of the ${rule.name} field, which takes ${rule.least} to ${rule.most}.`);
}

function sorted(values: ReadonlySet<number>): ReadonlyArray<number> {
  return [...values].toSorted((a, b) => a - b);
}
