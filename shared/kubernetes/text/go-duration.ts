const UNIT_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1000,
  ms: 1,
  us: 0.001,
  µs: 0.001,
  ns: 0.000001,
};

/** A Go duration (`1h30m`, `90s`, `1.5h`) in milliseconds; null when it is not one, and so for `Never`. */
export function parseGoDuration(text: string): number | null {
  if (text === '0') return 0;
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(text)) return null;
  const parts = text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g);
  return parts.reduce((total, [, amount = '0', unit = 's']) => total + Number(amount) * (UNIT_MS[unit] ?? 0), 0);
}
