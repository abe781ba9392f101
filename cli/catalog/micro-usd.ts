import { microUsdPerHour, type MicroUsdPerHour } from '../../shared/core/quantity/units.ts';

const DECIMAL = /^(\d{1,9})(?:\.(\d{1,18}))?$/;

/** Dollars as decimal text, exactly, rounded up to a millionth; null when it is no such text. */
export function parseUsd(text: string): MicroUsdPerHour | null {
  const [, whole, fraction = ''] = DECIMAL.exec(text) ?? [];
  if (whole === undefined) return null;
  const micro = Number(whole) * 1_000_000 + Number(fraction.slice(0, 6).padEnd(6, '0'));
  return microUsdPerHour(micro + (/[1-9]/.test(fraction.slice(6)) ? 1 : 0));
}
