import type { NodePool } from '../../../kubernetes/manifest.ts';
import type { Instant } from '../../quantity/units.ts';
import { parseDuration } from '../../../kubernetes/text/duration.ts';
import { utcTime } from '../../quantity/utc-time.ts';
import type { DisruptionReason } from '../plan/disruption-reason.ts';

interface BudgetQuestion {
  readonly reason: DisruptionReason;
  readonly nodes: number;
  readonly now: Instant;
}

/** How many nodes of the pool may go at once. Written for the audit alone: schedules are tried minute by minute. */
export function mostAtOnce({ spec }: NodePool, { reason, nodes, now }: BudgetQuestion): number {
  if (reason === 'Expired' || reason === 'Unhealthy' || reason === 'StaticSurplus') return Infinity;
  let most = Infinity;
  for (const budget of spec.disruption?.budgets ?? [{ nodes: '10%' }]) {
    const concerned = budget.reasons === undefined || budget.reasons.includes(reason);
    if (!concerned || !isOn(budget.schedule, budget.duration, now)) continue;
    const share = /^(\d+)%$/.exec(budget.nodes)?.[1];
    most = Math.min(most, share === undefined ? Number(budget.nodes) : Math.ceil((nodes * Number(share)) / 100));
  }
  return most;
}

const MINUTE_MS = 60_000;

function isOn(schedule: string | undefined, duration: string | undefined, now: Instant): boolean {
  if (schedule === undefined) return true;
  const lengthMs = parseDuration(duration ?? '') ?? 0;
  const fields = fieldsOf(schedule);
  for (let at = Math.floor(now / MINUTE_MS) * MINUTE_MS; at > now - lengthMs; at -= MINUTE_MS) {
    if (strikes(fields, at)) return true;
  }
  return false;
}

const SHORT: Readonly<Record<string, string>> = {
  '@hourly': '0 * * * *',
  '@daily': '0 0 * * *',
  '@midnight': '0 0 * * *',
  '@weekly': '0 0 * * 0',
  '@monthly': '0 0 1 * *',
  '@yearly': '0 0 1 1 *',
  '@annually': '0 0 1 1 *',
};

function fieldsOf(schedule: string): ReadonlyArray<string> {
  const named = [
    ['sun', 0],
    ['mon', 1],
    ['tue', 2],
    ['wed', 3],
    ['thu', 4],
    ['fri', 5],
    ['sat', 6],
  ] as const;
  const months = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
  let text = (SHORT[schedule.trim()] ?? schedule).trim().toLowerCase();
  for (const [name, number] of named) text = text.replaceAll(name, String(number));
  months.forEach((name, index) => (text = text.replaceAll(name, String(index + 1))));
  return text.split(/\s+/);
}

function strikes(
  [minute = '', hour = '', day = '', month = '', weekday = '']: ReadonlyArray<string>,
  ms: number,
): boolean {
  const time = utcTime(ms);
  if (!has(minute, time.minute, 59) || !has(hour, time.hour, 23) || !has(month, time.month, 12)) return false;
  const [onDay, onWeekday] = [has(day, time.day, 31), has(weekday, time.weekday, 6)];
  const isAny = [day, weekday].some((field) => field.split(',').some((part) => /^[*?](-[^/]*)?(\/1)?$/.test(part)));
  return isAny ? onDay && onWeekday : onDay || onWeekday;
}

function has(field: string, value: number, last: number): boolean {
  return field.split(',').some((part) => {
    const [span = '', step = ''] = part.split('/');
    const [from = '', to] = span.split('-');
    const isAll = from === '*' || from === '?';
    const first = isAll ? (last === 31 || last === 12 ? 1 : 0) : Number(from);
    const end = isAll ? last : to === undefined ? (step !== '' ? last : first) : Number(to);
    return value >= first && value <= end && (value - first) % (step === '' ? 1 : Number(step)) === 0;
  });
}
