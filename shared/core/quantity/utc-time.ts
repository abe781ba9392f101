/** A moment in UTC as a calendar has it. */
export interface UtcTime {
  readonly year: number;
  /** 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  /** 0 is Sunday. */
  readonly weekday: number;
}

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;
/** 1 January 1970 was a Thursday. */
const EPOCH_WEEKDAY = 4;

/**
 * Days since the epoch of a date of the Gregorian calendar. Source: Howard Hinnant, chrono-compatible date algorithms.
 */
export function daysOf(year: number, month: number, day: number): number {
  const shifted = month <= 2 ? year - 1 : year;
  const era = Math.floor(shifted / 400);
  const yearOfEra = shifted - era * 400;
  const dayOfYear = Math.floor((153 * (month + (month > 2 ? -3 : 9)) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

/** The reverse of it: the same source. */
function dateOf(days: number): Pick<UtcTime, 'year' | 'month' | 'day'> {
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day };
}

/** The calendar's view of a moment, to the minute. */
export function utcTime(ms: number): UtcTime {
  const days = Math.floor(ms / DAY_MS);
  const minutes = Math.floor((ms - days * DAY_MS) / MINUTE_MS);
  return {
    ...dateOf(days),
    hour: Math.floor(minutes / 60),
    minute: minutes % 60,
    weekday: (((days + EPOCH_WEEKDAY) % 7) + 7) % 7,
  };
}

const TIMESTAMP = /^(\d{4})-(\d{2})-(\d{2})T(\d{2}):(\d{2}):(\d{2})(?:\.(\d{1,9}))?(?:Z|([+-])(\d{2}):(\d{2}))$/;

/** Milliseconds since the epoch of an RFC 3339 time, as Kubernetes writes them; null when it is none. */
export function parseTimestamp(text: string | undefined): number | null {
  const match = TIMESTAMP.exec(text ?? '');
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction = '', sign, offsetHours, offsetMinutes] = match;
  const date = daysOf(Number(year), Number(month), Number(day)) * DAY_MS;
  const time = Number(hour) * 3_600_000 + Number(minute) * MINUTE_MS + Number(second) * 1000;
  const offset = (Number(offsetHours ?? 0) * 60 + Number(offsetMinutes ?? 0)) * MINUTE_MS;
  const millis = Number(fraction.padEnd(3, '0').slice(0, 3));
  return date + time + millis - (sign === '-' ? -offset : offset);
}

/** A moment as Kubernetes writes times: RFC 3339 in UTC, in whole seconds. */
export function renderTimestamp(ms: number): string {
  const { year, month, day, hour, minute } = utcTime(ms);
  const second = Math.floor((ms - Math.floor(ms / MINUTE_MS) * MINUTE_MS) / 1000);
  const [mm, dd, hh, min, ss] = [month, day, hour, minute, second].map((part) => String(part).padStart(2, '0'));
  return `${String(year).padStart(4, '0')}-${mm}-${dd}T${hh}:${min}:${ss}Z`;
}
