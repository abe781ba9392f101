const NUMBER = '(?:0|[1-9]\\d*)';
const FULL = new RegExp(`^(${NUMBER})\\.(${NUMBER})\\.(${NUMBER})(?:-([0-9A-Za-z.-]+))?(?:\\+([0-9A-Za-z.-]+))?$`);

/** A version by semver 2.0.0. What follows `+` counts for nothing. */
export class Semver {
  readonly numbers: readonly [bigint, bigint, bigint];
  /** Empty for a release. */
  readonly prerelease: ReadonlyArray<string>;

  constructor(numbers: readonly [bigint, bigint, bigint], prerelease: ReadonlyArray<string>) {
    this.numbers = numbers;
    this.prerelease = prerelease;
  }
}

/**
 * Reads a version. `lenient`: with a leading `v`, missing numbers and leading zeros, as the API server's `semver(text,
 * true)`.
 */
export function toSemver(text: string, lenient = false): Semver {
  const match = FULL.exec(lenient ? normalized(text) : text);
  if (match === null) throw new RangeError(`${text} is not a semantic version`);
  const [, major = '0', minor = '0', patch = '0', prerelease] = match;
  return new Semver([BigInt(major), BigInt(minor), BigInt(patch)], prerelease?.split('.') ?? []);
}

/** Less than, equal to or greater than zero, as semver 2.0.0 orders versions. */
export function compareVersions(a: Semver, b: Semver): number {
  for (const [index, number] of a.numbers.entries()) {
    const other = b.numbers[index] ?? 0n;
    if (number !== other) return number < other ? -1 : 1;
  }
  if (a.prerelease.length === 0 || b.prerelease.length === 0) return b.prerelease.length - a.prerelease.length;
  for (const [index, part] of a.prerelease.entries()) {
    const other = b.prerelease[index];
    if (other === undefined) return 1;
    const order = compareParts(part, other);
    if (order !== 0) return order;
  }
  return a.prerelease.length - b.prerelease.length;
}

function compareParts(a: string, b: string): number {
  const [isNumber, isOther] = [/^\d+$/.test(a), /^\d+$/.test(b)];
  if (isNumber && isOther) return Number(BigInt(a) - BigInt(b));
  if (isNumber !== isOther) return isNumber ? -1 : 1;
  return a === b ? 0 : a < b ? -1 : 1;
}

function normalized(text: string): string {
  const match = /^v?([\d.]+)(.*)$/.exec(text);
  if (match === null) return text;
  const [, numbers = '', rest = ''] = match;
  const parts = numbers.split('.').map((part) => part.replace(/^0+(?=\d)/, ''));
  return [...parts, ...['0', '0'].slice(parts.length - 1)].join('.') + rest;
}
