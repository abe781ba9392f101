import { Environment } from '@marcbachmann/cel-js';
import { quantityNanos } from '../schema/quantity.ts';

function toRegExp(pattern: unknown): RegExp {
  return new RegExp(String(pattern), 'g');
}

function isSorted(list: ReadonlyArray<string | number | bigint>): boolean {
  return list.every((item, index) => {
    const before = list[index - 1];
    return before === undefined || before <= item;
  });
}

function extreme(list: ReadonlyArray<string | number | bigint>, isBetter: (a: never, b: never) => boolean): unknown {
  if (list.length === 0) throw new Error('called on an empty list');
  return list.reduce((best, item) => (isBetter(item as never, best as never) ? item : best));
}

function replace(text: string, from: string, to: string, limit: bigint): string {
  if (limit < 0n) return text.replaceAll(from, to);
  let result = text;
  let start = 0;
  for (let count = 0n; count < limit; count++) {
    const index = result.indexOf(from, start);
    if (index < 0) break;
    result = result.slice(0, index) + to + result.slice(index + from.length);
    start = index + to.length;
  }
  return result;
}

function isQuantity(text: string): boolean {
  try {
    quantityNanos(text, '');
    return true;
  } catch {
    return false;
  }
}

function isUrl(text: string): boolean {
  return URL.canParse(text);
}

class Quantity {
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

function sign(a: Quantity, b: Quantity): bigint {
  if (a.nanos === b.nanos) return 0n;
  return a.nanos < b.nanos ? -1n : 1n;
}

function registerQuantities(environment: Environment): Environment {
  return environment
    .registerType('Quantity', Quantity)
    .registerFunction('isQuantity(string): bool', isQuantity)
    .registerFunction('quantity(string): Quantity', (text: string) => new Quantity(quantityNanos(text, 'quantity')))
    .registerFunction('Quantity.isGreaterThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos > b.nanos)
    .registerFunction('Quantity.isLessThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos < b.nanos)
    .registerFunction('Quantity.compareTo(Quantity): int', sign)
    .registerFunction('Quantity.asInteger(): int', (a: Quantity) => a.nanos / 1_000_000_000n)
    .registerFunction('Quantity.sign(): int', (a: Quantity) => sign(a, new Quantity(0n)));
}

/**
 * The environment of x-kubernetes-validations: `self` and `oldSelf`, the standard functions and Kubernetes' own for
 * strings, regular expressions, lists, URLs and quantities. Source: the CEL libraries of the API server, 1.36; the IP,
 * CIDR, semver and format libraries are left out.
 */
export function celEnvironment(): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
    .registerVariable('self', 'dyn')
    .registerVariable('oldSelf', 'dyn')
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => toRegExp(pattern).exec(text)?.[0] ?? '',
    )
    .registerFunction(
      'string.findAll(string): list<string>',
      (text: string, pattern: string) => text.match(toRegExp(pattern)) ?? [],
    )
    .registerFunction('string.findAll(string, int): list<string>', (text: string, pattern: string, limit: bigint) =>
      (text.match(toRegExp(pattern)) ?? []).slice(0, limit < 0n ? undefined : Number(limit)),
    )
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      text.replaceAll(from, to),
    )
    .registerFunction(
      'string.replace(string, string, int): string',
      (text: string, from: string, rest: string, limit: bigint) => replace(text, from, rest, limit),
    )
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) => text.charAt(Number(index)))
    .registerFunction('isURL(string): bool', isUrl)
    .registerFunction('list.isSorted(): bool', isSorted)
    .registerFunction('list.sum(): dyn', (list: ReadonlyArray<bigint>) =>
      list.reduce((total, item) => total + item, 0n),
    )
    .registerFunction('list.min(): dyn', (list: ReadonlyArray<bigint>) => extreme(list, (a, b) => a < b))
    .registerFunction('list.max(): dyn', (list: ReadonlyArray<bigint>) => extreme(list, (a, b) => a > b))
    .registerFunction('list.indexOf(dyn): int', (list: ReadonlyArray<unknown>, item: unknown) =>
      BigInt(list.indexOf(item)),
    )
    .registerFunction('list.lastIndexOf(dyn): int', (list: ReadonlyArray<unknown>, item: unknown) =>
      BigInt(list.lastIndexOf(item)),
    );
  return registerQuantities(environment);
}
