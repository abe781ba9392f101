import type { DeviceAttribute } from '../../kubernetes/device-manifest.ts';
import type { Constraint } from './claims.ts';
import type { Device } from './devices.ts';
import type { HeldDevice } from './use.ts';

/** May the device join those that the claim holds already? Once the answer is no, more devices do not make it yes. */
export function admitsDevice(
  constraints: ReadonlyArray<Constraint>,
  held: ReadonlyArray<HeldDevice>,
  device: Device,
  request: string,
): boolean {
  return constraints.every((constraint) => {
    if (!concerns(constraint, request)) return true;
    const own = attributeOf(device, constraint.attribute);
    if (own === null) return false;
    const others = held
      .filter((one) => concerns(constraint, one.request))
      .map((one) => attributeOf(one.device, constraint.attribute) ?? EMPTY);
    return constraint.kind === 'match' ? haveCommon([own, ...others]) : others.every((one) => !haveCommon([own, one]));
  });
}

/** The values of an attribute by its full name, each with its type; null when the device does not have it. */
export function attributeOf({ driver, published }: Device, name: string): ReadonlySet<string> | null {
  const attributes = published.attributes ?? {};
  const slash = name.indexOf('/');
  const short = name.slice(0, slash) === driver ? attributes[name.slice(slash + 1)] : undefined;
  const attribute = attributes[name] ?? short;
  return attribute === undefined ? null : valuesOf(attribute);
}

const EMPTY: ReadonlySet<string> = new Set();

/** A constraint names requests, or alternatives of one as `request/alternative`. */
function concerns({ requests }: Constraint, request: string): boolean {
  const [whole = request] = request.split('/');
  return requests.size === 0 || requests.has(request) || requests.has(whole);
}

function valuesOf({
  int,
  bool,
  string,
  version,
  ints,
  bools,
  strings,
  versions,
}: DeviceAttribute): ReadonlySet<string> {
  const typed = (type: string, values: ReadonlyArray<string | number | boolean>): ReadonlyArray<string> =>
    values.map((value) => `${type} ${value}`);
  const one = <T>(value: T | undefined): ReadonlyArray<T> => (value === undefined ? [] : [value]);
  return new Set([
    ...typed('int', ints ?? one(int)),
    ...typed('bool', bools ?? one(bool)),
    ...typed('string', strings ?? one(string)),
    ...typed('version', versions ?? one(version)),
  ]);
}

function haveCommon([first = EMPTY, ...others]: ReadonlyArray<ReadonlySet<string>>): boolean {
  return [...first].some((value) => others.every((one) => one.has(value)));
}
