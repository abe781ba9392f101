import { type JsonObject, textAt } from '../json.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** A duration as kubectl prints ages: two units at most, and fewer the longer it is. Negative is `<invalid>`. */
export function humanDuration(ms: number): string {
  if (ms < -second) return '<invalid>';
  if (ms < 0) return '0s';
  const whole = (unit: number): number => Math.floor(ms / unit);
  const pair = (unit: number, name: string, small: number, smallName: string): string => {
    const rest = Math.floor((ms % unit) / small);
    return rest === 0 ? `${whole(unit)}${name}` : `${whole(unit)}${name}${rest}${smallName}`;
  };
  if (ms < 2 * minute) return `${whole(second)}s`;
  if (ms < 10 * minute) return pair(minute, 'm', second, 's');
  if (ms < 3 * hour) return `${whole(minute)}m`;
  if (ms < 8 * hour) return pair(hour, 'h', minute, 'm');
  if (ms < 2 * day) return `${whole(hour)}h`;
  if (ms < 8 * day) return pair(day, 'd', hour, 'h');
  if (ms < 2 * year) return `${whole(day)}d`;
  return ms < 8 * year ? pair(year, 'y', day, 'd') : `${whole(year)}y`;
}

/** How long ago an API timestamp was. */
export function ageOf(time: string, nowMs: number): string {
  if (time === '') return '<unknown>';
  return humanDuration(nowMs - Date.parse(time));
}

/** An object's age. */
export function age(object: JsonObject, nowMs: number): string {
  return ageOf(textAt(object, 'metadata', 'creationTimestamp'), nowMs);
}
