const QUANTITY = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };

/** Fine enough for `1n`, the smallest that the grammar has. */
const DIGITS = 9;

/** A quantity as selectors compare it, in billionths. */
export class Quantity {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

/** Reads a quantity exactly, down to a billionth. Throws RangeError. Source: apimachinery's quantity grammar. */
export function toQuantity(text: string): Quantity {
  const match = QUANTITY.exec(text.trim());
  if (match === null) throw new RangeError(`${text} is not a quantity`);
  const [, sign, digits = '', suffix = '', exponent] = match;
  const [whole = '', fraction = ''] = digits.split('.');
  const power = (exponent === undefined ? (DECIMAL[suffix] ?? 0) : Number(exponent)) - fraction.length + DIGITS;
  let nanos = BigInt(whole + fraction);
  if (suffix in BINARY) nanos <<= BigInt(BINARY[suffix] ?? 0);
  nanos = power >= 0 ? nanos * 10n ** BigInt(power) : nanos / 10n ** BigInt(-power);
  return new Quantity(sign === '-' ? -nanos : nanos);
}
