import type { MaintenanceRecurrence, MaintenanceSchedule } from '../../../ports/maintenance.ts';

/** Milliseconds since the epoch; `opensAtMs` null: not within the next two years. */
export type WindowState = { readonly isOpen: true } | { readonly isOpen: false; readonly opensAtMs: number | null };

const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
/** The rarest schedule has one window in half a year; blocked days may take some of them. */
const LOOKED_AHEAD_DAYS = 2 * 366;

/** Whether maintenance may be done now, and else from when on. */
export function windowAt(schedule: MaintenanceSchedule, nowMs: number): WindowState {
  const now = Math.floor(nowMs / MINUTE_MS) + schedule.offsetMinutes;
  const today = Math.floor(now / DAY_MINUTES);
  // One of yesterday may last until today.
  for (let day = today - 1; day <= today + LOOKED_AHEAD_DAYS; day++) {
    const from = isWindowDay(schedule, day) ? firstAllowed(schedule, day, now) : null;
    if (from === null) continue;
    if (from === now) return { isOpen: true };
    return { isOpen: false, opensAtMs: (from - schedule.offsetMinutes) * MINUTE_MS };
  }
  return { isOpen: false, opensAtMs: null };
}

/**
 * The first local minute from `now` on of the window that begins on `day`, blocked days left out; null when there is
 * none.
 */
function firstAllowed(schedule: MaintenanceSchedule, day: number, now: number): number | null {
  const start = day * DAY_MINUTES + schedule.startMinutes;
  const end = start + schedule.durationMinutes;
  let minute = Math.max(start, now);
  while (minute < end && isBlocked(schedule, minute)) minute = (Math.floor(minute / DAY_MINUTES) + 1) * DAY_MINUTES;
  return minute < end ? minute : null;
}

function isBlocked({ blockedDays }: MaintenanceSchedule, minute: number): boolean {
  const day = Math.floor(minute / DAY_MINUTES);
  return blockedDays.some(({ first, last }) => first <= day && day <= last);
}

function isWindowDay({ recurrence, firstDay, countedFromDay }: MaintenanceSchedule, day: number): boolean {
  if (firstDay !== null && day < firstDay) return false;
  const since = countedFromDay === null ? 0 : periodsBetween(recurrence, countedFromDay, day);
  return since % recurrence.every === 0 && falls(recurrence, day);
}

/**
 * How many days, weeks or months of the recurrence one day is after another. A week begins with the first window's
 * weekday.
 */
function periodsBetween(recurrence: MaintenanceRecurrence, from: number, day: number): number {
  switch (recurrence.kind) {
    case 'daily':
      return day - from;
    case 'weekly': {
      const first = from + ((recurrence.weekday - weekdayOf(from) + 7) % 7);
      return Math.floor((day - first) / 7);
    }
    case 'monthly':
    case 'weekday-of-month':
      return monthOf(day) - monthOf(from);
    default:
      return recurrence satisfies never;
  }
}

function falls(recurrence: MaintenanceRecurrence, day: number): boolean {
  const date = dateOf(day);
  const isLast = (days: number): boolean => monthOf(day + days) !== monthOf(day);
  switch (recurrence.kind) {
    case 'daily':
      return true;
    case 'weekly':
      return weekdayOf(day) === recurrence.weekday;
    case 'monthly':
      return date === recurrence.day || (date < recurrence.day && isLast(1));
    case 'weekday-of-month':
      if (weekdayOf(day) !== recurrence.weekday) return false;
      return recurrence.week === 'last' ? isLast(7) : Math.ceil(date / 7) === recurrence.week;
    default:
      return recurrence satisfies never;
  }
}

/** 1970-01-01 was a Thursday. */
function weekdayOf(day: number): number {
  return (((day + 4) % 7) + 7) % 7;
}

function dateOf(day: number): number {
  return new Date(day * DAY_MINUTES * MINUTE_MS).getUTCDate();
}

/** Months since year 0. */
function monthOf(day: number): number {
  const date = new Date(day * DAY_MINUTES * MINUTE_MS);
  return date.getUTCFullYear() * 12 + date.getUTCMonth();
}
