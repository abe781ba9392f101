import { Environment } from '@marcbachmann/cel-js';
import type { CompileSelector, SelectedDevice, Verdict } from '../../core/model/device-selector.ts';
import type { DeviceAttribute } from '../../kubernetes/device-manifest.ts';
import { withoutIndexedHas } from './presence.ts';
import { Quantity, toQuantity } from './quantity.ts';
import { compareVersions, Semver, toSemver } from './semver.ts';

/**
 * Reads selectors of devices as kube-scheduler does: `device` with its driver, attributes and capacities, and the
 * functions that Kubernetes has for quantities, versions, strings and lists. Source: dynamic-resource-allocation/cel
 * and the CEL libraries of the API server, 1.36. Bounds on cost and the IP, CIDR, URL and format libraries are left
 * out.
 */
export function createDeviceSelectors(): CompileSelector {
  const environment = deviceEnvironment();
  return (expression) => {
    try {
      const program = environment.parse(withoutIndexedHas(expression));
      const checked = program.check();
      if (!checked.valid) return { error: firstLine(checked.error) };
      if (checked.type !== 'bool' && checked.type !== 'dyn') return { error: `it gives ${checked.type}, not bool` };
      return (device) => judge(() => program({ device: toVariable(device) }));
    } catch (error) {
      return { error: firstLine(error) };
    }
  };
}

function judge(evaluate: () => unknown): Verdict {
  try {
    const result = evaluate();
    return typeof result === 'boolean' ? result : { error: `it gives ${typeof result}, not bool` };
  } catch (error) {
    return { error: firstLine(error) };
  }
}

function firstLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0] ?? '';
}

type Values = Map<string, unknown>;

/** By domain. A domain that a device does not have is empty when it is looked up, and not `in` the device. */
class Domains extends Map<string, Values> {
  override get(domain: string): Values {
    return super.get(domain) ?? new Map<string, unknown>();
  }
}

function toVariable({ driver, device }: SelectedDevice): Values {
  const attributes = Object.entries(device.attributes ?? {}).map(([name, one]) => [name, toValue(one)] as const);
  const capacities = Object.entries(device.capacity ?? {}).map(
    ([name, { value }]) => [name, toQuantity(String(value))] as const,
  );
  return new Map<string, unknown>([
    ['driver', driver],
    ['allowMultipleAllocations', device.allowMultipleAllocations === true],
    ['attributes', byDomain(driver, attributes)],
    ['capacity', byDomain(driver, capacities)],
  ]);
}

/** A name without a domain is in the driver's. */
function byDomain(driver: string, named: ReadonlyArray<readonly [string, unknown]>): Domains {
  const domains = new Domains();
  for (const [name, value] of named) {
    const slash = name.indexOf('/');
    const domain = slash < 0 ? driver : name.slice(0, slash);
    const values = domains.get(domain);
    domains.set(domain, values.set(name.slice(slash + 1), value));
  }
  return domains;
}

function toValue({ int, bool, string, version, ints, bools, strings, versions }: DeviceAttribute): unknown {
  if (ints !== undefined) return ints.map(BigInt);
  if (versions !== undefined) return versions.map((one) => toSemver(one));
  if (int !== undefined) return BigInt(int);
  if (version !== undefined) return toSemver(version);
  return bools ?? strings ?? bool ?? string;
}

function deviceEnvironment(): Environment {
  const environment = new Environment({ enableOptionalTypes: true, homogeneousAggregateLiterals: false })
    .registerVariable('device', 'dyn')
    .registerType('Domains', Domains)
    .registerOperator('string in Domains: bool', (domain: string, domains: Domains) => domains.has(domain));
  return withText(withVersions(withQuantities(environment)));
}

function succeeds(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch {
    return false;
  }
}

function signOf(number: bigint | number): bigint {
  return number < 0 ? -1n : BigInt(number > 0);
}

const UNIT = 1_000_000_000n;

function withQuantities(environment: Environment): Environment {
  return environment
    .registerType('Quantity', Quantity)
    .registerFunction('isQuantity(string): bool', (text: string) => succeeds(() => toQuantity(text)))
    .registerFunction('quantity(string): Quantity', toQuantity)
    .registerOperator('Quantity == Quantity', (a: Quantity, b: Quantity) => a.nanos === b.nanos)
    .registerFunction('Quantity.isGreaterThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos > b.nanos)
    .registerFunction('Quantity.isLessThan(Quantity): bool', (a: Quantity, b: Quantity) => a.nanos < b.nanos)
    .registerFunction('Quantity.compareTo(Quantity): int', (a: Quantity, b: Quantity) => signOf(a.nanos - b.nanos))
    .registerFunction('Quantity.add(Quantity): Quantity', (a: Quantity, b: Quantity) => new Quantity(a.nanos + b.nanos))
    .registerFunction('Quantity.sub(Quantity): Quantity', (a: Quantity, b: Quantity) => new Quantity(a.nanos - b.nanos))
    .registerFunction('Quantity.isInteger(): bool', ({ nanos }: Quantity) => nanos % UNIT === 0n)
    .registerFunction('Quantity.asInteger(): int', ({ nanos }: Quantity) => {
      if (nanos % UNIT !== 0n) throw new RangeError('the quantity is no integer');
      return nanos / UNIT;
    })
    .registerFunction('Quantity.asApproximateFloat(): double', ({ nanos }: Quantity) => Number(nanos) / Number(UNIT))
    .registerFunction('Quantity.sign(): int', ({ nanos }: Quantity) => signOf(nanos));
}

function withVersions(environment: Environment): Environment {
  const compare = (a: Semver, b: Semver): bigint => signOf(compareVersions(a, b));
  return environment
    .registerType('Semver', Semver)
    .registerFunction('isSemver(string): bool', (text: string) => succeeds(() => toSemver(text)))
    .registerFunction('isSemver(string, bool): bool', (text: string, lenient: boolean) =>
      succeeds(() => toSemver(text, lenient)),
    )
    .registerFunction('semver(string): Semver', (text: string) => toSemver(text))
    .registerFunction('semver(string, bool): Semver', toSemver)
    .registerOperator('Semver == Semver', (a: Semver, b: Semver) => compare(a, b) === 0n)
    .registerFunction('Semver.isGreaterThan(Semver): bool', (a: Semver, b: Semver) => compare(a, b) > 0n)
    .registerFunction('Semver.isLessThan(Semver): bool', (a: Semver, b: Semver) => compare(a, b) < 0n)
    .registerFunction('Semver.compareTo(Semver): int', compare)
    .registerFunction('Semver.major(): int', ({ numbers }: Semver) => numbers[0])
    .registerFunction('Semver.minor(): int', ({ numbers }: Semver) => numbers[1])
    .registerFunction('Semver.patch(): int', ({ numbers }: Semver) => numbers[2]);
}

function withText(environment: Environment): Environment {
  return environment
    .registerFunction(
      'string.find(string): string',
      (text: string, pattern: string) => new RegExp(pattern).exec(text)?.[0] ?? '',
    )
    .registerFunction('string.findAll(string): list<string>', (text: string, pattern: string) => [
      ...(text.match(new RegExp(pattern, 'g')) ?? []),
    ])
    .registerFunction('string.replace(string, string): string', (text: string, from: string, to: string) =>
      text.replaceAll(from, () => to),
    )
    .registerFunction('string.charAt(int): string', (text: string, index: bigint) => text.charAt(Number(index)))
    .registerFunction('list.includes(dyn): bool', (list: ReadonlyArray<unknown>, item: unknown) => list.includes(item));
}
