import type { ResourceList } from '../manifest.ts';

/** Resource name to integer amount: thousandths for `cpu`, whole units (bytes, devices, pods) for all others. */
export type Amounts = ReadonlyMap<string, number>;

export type Rounding = 'up' | 'down';

const QUANTITY = /^([+-]?)(\d+\.?\d*|\.\d+)(?:([numkMGTPE]|[KMGTPE]i)|[eE]([+-]?\d{1,3}))?$/;
const DECIMAL: Readonly<Record<string, number>> = { n: -9, u: -6, m: -3, k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const BINARY: Readonly<Record<string, number>> = { Ki: 10, Mi: 20, Gi: 30, Ti: 40, Pi: 50, Ei: 60 };
const LARGEST = BigInt(Number.MAX_SAFE_INTEGER);

/**
 * A Kubernetes quantity in units of 1/`perUnit`, exactly, then rounded. Saturates at 2^53 − 1; a negative one is 0.
 * Null when it is not a quantity. Source: apimachinery's quantity grammar.
 */
export function parseQuantity(text: string | number, perUnit: number, rounding: Rounding): number | null {
  const match = QUANTITY.exec(String(text).trim());
  if (match === null) return null;
  // Not taken apart as a list is: that takes longer than all else here.
  const { 1: sign, 2: digits = '', 3: suffix = '', 4: exponent } = match;
  if (sign === '-') return 0;
  const simple = simpleQuantity(digits, suffix, exponent, perUnit);
  if (simple !== null) return simple;
  const [whole = '', fraction = ''] = digits.split('.');
  const power = (exponent === undefined ? (DECIMAL[suffix] ?? 0) : Number(exponent)) - fraction.length;
  let numerator = BigInt(whole + fraction) * BigInt(perUnit);
  let denominator = 1n;
  if (suffix in BINARY) numerator <<= BigInt(BINARY[suffix] ?? 0);
  if (power >= 0) numerator *= 10n ** BigInt(power);
  else denominator = 10n ** BigInt(-power);
  const rounded = rounding === 'up' ? (numerator + denominator - 1n) / denominator : numerator / denominator;
  return Number(rounded < LARGEST ? rounded : LARGEST);
}

/**
 * Whole numbers with a suffix that leaves no fraction, as nearly all quantities are: null where doubles are not exact.
 */
function simpleQuantity(digits: string, suffix: string, exponent: string | undefined, perUnit: number): number | null {
  if (exponent !== undefined || digits.length > 15 || digits.includes('.')) return null;
  if (suffix === 'm') return perUnit === 1000 ? Number(digits) : null;
  const binary = suffix === '' ? 0 : BINARY[suffix];
  const amount = binary === undefined ? Infinity : Number(digits) * perUnit * 2 ** binary;
  return Number.isSafeInteger(amount) ? amount : null;
}

/** Thousandths for CPU, whole units for everything else. */
export function unitsOf(resource: string): number {
  return resource === 'cpu' ? 1000 : 1;
}

/**
 * A resource list in integers: what is asked for rounds up, what is offered rounds down. An unreadable quantity counts
 * as impossible to serve when asked for, and as nothing when offered.
 */
export function parseAmounts(list: ResourceList | undefined, rounding: Rounding): Map<string, number> {
  const amounts = new Map<string, number>();
  const unreadable = rounding === 'up' ? Number.MAX_SAFE_INTEGER : 0;
  for (const name in list) amounts.set(name, parseQuantity(list[name] ?? '', unitsOf(name), rounding) ?? unreadable);
  return amounts;
}

/** Adds `more` to `total` in place. */
export function addAmounts(total: Map<string, number>, more: Amounts): Map<string, number> {
  for (const [name, amount] of more) total.set(name, (total.get(name) ?? 0) + amount);
  return total;
}

/** Raises `total` in place to at least `other`, resource by resource. */
export function raiseAmounts(total: Map<string, number>, other: Amounts): Map<string, number> {
  for (const [name, amount] of other) total.set(name, Math.max(total.get(name) ?? 0, amount));
  return total;
}

/**
 * The integer amounts as Kubernetes writes them, names sorted: `250m` for CPU that is no whole core, `2014Mi` for
 * bytes, plain integers else.
 */
export function renderAmounts(amounts: Amounts): ResourceList {
  const names = [...amounts.keys()].toSorted((a, b) => (a < b ? -1 : 1));
  return Object.fromEntries(names.map((name) => [name, renderAmount(name, amounts.get(name) ?? 0)]));
}

/** One amount as Kubernetes writes it. Exact. */
export function renderAmount(name: string, amount: number): string {
  if (isBytes(name)) return renderBytes(amount);
  if (name !== 'cpu') return String(amount);
  return amount % 1000 === 0 ? String(amount / 1000) : `${amount}m`;
}

/** Is the resource counted in bytes? */
export function isBytes(resource: string): boolean {
  return resource === 'memory' || resource === 'ephemeral-storage' || resource.startsWith('hugepages-');
}

const BINARY_SUFFIXES = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi'];

/** With the largest binary suffix that leaves a whole number, which is Kubernetes' canonical form. */
function renderBytes(bytes: number): string {
  let [amount, power] = [bytes, 0];
  while (amount !== 0 && amount % 1024 === 0 && power < BINARY_SUFFIXES.length - 1) {
    amount /= 1024;
    power += 1;
  }
  return `${amount}${BINARY_SUFFIXES[power] ?? ''}`;
}
