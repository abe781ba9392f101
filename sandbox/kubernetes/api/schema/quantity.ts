import { badRequest } from '../status-error.ts';

const binary: ReadonlyArray<readonly [string, bigint]> = [
  ['Ei', 1n << 60n],
  ['Pi', 1n << 50n],
  ['Ti', 1n << 40n],
  ['Gi', 1n << 30n],
  ['Mi', 1n << 20n],
  ['Ki', 1n << 10n],
];

/** Decimal suffixes by the power of ten they stand for. */
const decimal: ReadonlyArray<readonly [string, number]> = [
  ['E', 18],
  ['P', 15],
  ['T', 12],
  ['G', 9],
  ['M', 6],
  ['k', 3],
  ['', 0],
  ['m', -3],
  ['u', -6],
  ['n', -9],
];

const form = /^([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|[numkMGTPE]|[eE][+-]?\d+)?$/;

/** A quantity in nano-units, exact; throws BadRequest that names `field` for text that is none. */
export function quantityNanos(text: string, field: string): bigint {
  return parse(text, field).nanos;
}

interface Parsed {
  readonly nanos: bigint;
  readonly style: 'binary' | 'decimal' | 'exponent';
}

function scaleByTen(digits: bigint, power: number): bigint {
  if (power >= 0) return digits * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  // Rounded away from zero, as the API does with digits below nano.
  return (digits + divisor - 1n) / divisor;
}

function parse(text: string, field: string): Parsed {
  const match = form.exec(text.trim());
  if (match === null) {
    const why = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
    throw badRequest(`${field}: ${why}`);
  }
  const [, sign, amount = '', suffix = ''] = match;
  const [whole = '', fraction = ''] = amount.split('.');
  const digits = BigInt(`${whole}${fraction}` || '0');
  const signed = (nanos: bigint): bigint => (sign === '-' ? -nanos : nanos);
  const unit = binary.find(([name]) => name === suffix);
  if (unit !== undefined) return { nanos: signed(scaleByTen(digits * unit[1], 9 - fraction.length)), style: 'binary' };
  if (suffix.length > 1) {
    const power = Number(suffix.slice(1));
    if (Math.abs(power) > 30) throw badRequest(`${field}: quantity exponent out of range`);
    return { nanos: signed(scaleByTen(digits, 9 - fraction.length + power)), style: 'exponent' };
  }
  const power = decimal.find(([name]) => name === suffix)?.[1] ?? 0;
  return { nanos: signed(scaleByTen(digits, 9 - fraction.length + power)), style: 'decimal' };
}

const nano = 10n ** 9n;

/**
 * The quantity as the API server prints it: the largest suffix that leaves a whole number, binary suffixes kept binary
 * (`1024Mi` → `1Gi`, `1000m` → `1`, `0.5` → `500m`).
 */
export function canonicalQuantity(text: string, field: string): string {
  const { nanos, style } = parse(text, field);
  if (nanos === 0n) return '0';
  const size = nanos < 0n ? -nanos : nanos;
  const sign = nanos < 0n ? '-' : '';
  if (style === 'binary' && size % nano === 0n && size >= 1024n * nano) {
    const units = size / nano;
    const unit = binary.find(([, factor]) => units % factor === 0n);
    return `${sign}${unit === undefined ? units : units / unit[1]}${unit?.[0] ?? ''}`;
  }
  if (style === 'binary' && size % nano === 0n) return `${sign}${size / nano}`;
  const unit = decimal.find(([, power]) => size % 10n ** BigInt(power + 9) === 0n) ?? (['n', -9] as const);
  const count = size / 10n ** BigInt(unit[1] + 9);
  const suffix = style === 'exponent' && unit[1] !== 0 ? `e${unit[1]}` : unit[0];
  return `${sign}${count}${suffix}`;
}
