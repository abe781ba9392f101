const UNIT_MS: Readonly<Record<string, number>> = { h: 3_600_000, m: 60_000, s: 1000, ms: 1 };

/** A Go duration as Karpenter's fields have it, in milliseconds; null for `Never` and whatever else is none. */
export function parseDuration(text: string): number | null {
  if (!/^(\d+(\.\d+)?(h|ms|m|s))+$/.test(text)) return null;
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s)/g)];
  return parts.reduce((sum, [, amount, unit = '']) => sum + Number(amount) * (UNIT_MS[unit] ?? 0), 0);
}
