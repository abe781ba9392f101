const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

/**
 * Reads a .NET time span of host.json, `[d.]hh:mm[:ss[.fraction]]`, in milliseconds. `-1` and a negative span mean
 * "never" there and give null. Throws, naming `field`, on anything else.
 */
export function parseTimeSpan(text: string, field: string): number | null {
  const trimmed = text.trim();
  if (trimmed === '-1' || trimmed.startsWith('-')) return null;
  const match = /^(?:(\d+)\.)?(\d{1,2}):(\d{1,2})(?::(\d{1,2})(?:\.(\d{1,7}))?)?$/.exec(trimmed);
  if (match === null) throw new Error(`${field}: "${text}" is no time span. Write hh:mm:ss, for example 00:05:00.`);
  const [, days, hours, minutes, seconds, fraction] = match;
  return (
    Number(days ?? 0) * DAY_MS +
    Number(hours) * HOUR_MS +
    Number(minutes) * 60_000 +
    Number(seconds ?? 0) * 1000 +
    Math.round(Number(`0.${fraction ?? '0'}`) * 1000)
  );
}
