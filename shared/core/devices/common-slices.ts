import type {
  DeviceAttribute,
  DeviceCapacity,
  PublishedDevice,
  ResourceSliceSpec,
} from '../../kubernetes/device-manifest.ts';
import { toAmount } from './amount.ts';

/**
 * What all of the nodes publish, each as one slice per pool, the newest node first: never more than any of them has.
 * Devices are told by driver, pool and name. Of text that differs from node to node only is kept which devices share
 * it; `scope` tells such text of these drivers from that of others.
 */
export function commonSlices(
  nodes: ReadonlyArray<ReadonlyArray<ResourceSliceSpec>>,
  scope: string,
): ReadonlyArray<ResourceSliceSpec> {
  const [newest = [], ...others] = nodes;
  const standIns = standInsOf(nodes, scope);
  return newest.map((slice) => {
    const same = others.map((one) => one.find((other) => idOf(other) === idOf(slice)));
    const { devices = [], sharedCounters, ...rest } = slice;
    if (!same.every((one) => one !== undefined && isEqual(one.sharedCounters, sharedCounters))) {
      return { ...rest, devices: [] };
    }
    const common = devices.flatMap((device) => {
      const alike = same.flatMap((one) => one?.devices?.find(({ name }) => name === device.name) ?? []);
      return alike.length < others.length ? [] : commonDevice(device, alike, standIns(slice, device));
    });
    return { ...rest, devices: common, ...(sharedCounters === undefined ? {} : { sharedCounters }) };
  });
}

function idOf({ driver, pool }: ResourceSliceSpec): string {
  return `${driver}/${pool.name}`;
}

/** Equal content has equal text: snapshots are canonical. */
function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

type StandIn = (attribute: string) => string | null;

function commonDevice(
  device: PublishedDevice,
  others: ReadonlyArray<PublishedDevice>,
  standIn: StandIn,
): ReadonlyArray<PublishedDevice> {
  // What it takes of its card differs: nobody knows how many of them a new node has room for.
  if (!others.every(({ consumesCounters }) => isEqual(consumesCounters, device.consumesCounters))) return [];
  const { name, consumesCounters } = device;
  const all = [device, ...others];
  const taints = new Map(all.flatMap((one) => one.taints ?? []).map((taint) => [JSON.stringify(taint), taint]));
  return [
    {
      name,
      attributes: commonEntries(
        all.map(({ attributes }) => attributes ?? {}),
        (key, values) => commonAttribute(values, standIn(key)),
      ),
      capacity: commonEntries(
        all.map(({ capacity }) => capacity ?? {}),
        (_, values) => leastCapacity(values),
      ),
      ...(consumesCounters === undefined ? {} : { consumesCounters }),
      ...(taints.size === 0 ? {} : { taints: [...taints.values()] }),
      ...(all.every(({ allowMultipleAllocations }) => allowMultipleAllocations === true)
        ? { allowMultipleAllocations: true }
        : {}),
    },
  ];
}

type Entries<T> = Readonly<Record<string, T>>;

/** The entries that all have, as `join` makes one of each; without those of which it makes null. */
function commonEntries<T>(
  [first = {}, ...others]: ReadonlyArray<Entries<T>>,
  join: (key: string, values: ReadonlyArray<T>) => T | null,
): Entries<T> {
  return Object.fromEntries(
    Object.entries(first).flatMap(([key, value]) => {
      const rest = others.flatMap((one) => one[key] ?? []);
      const joined = rest.length < others.length ? null : join(key, [value, ...rest]);
      return joined === null ? [] : [[key, joined] as const];
    }),
  );
}

function commonAttribute(values: ReadonlyArray<DeviceAttribute>, standIn: string | null): DeviceAttribute | null {
  const [newest = {}] = values;
  if (values.every((one) => isEqual(one, newest))) return newest;
  // Drivers are updated, and the newest node has what the next will have.
  if (values.every(({ version }) => version !== undefined)) return newest;
  return standIn === null ? null : { string: standIn };
}

function leastCapacity(values: ReadonlyArray<DeviceCapacity>): DeviceCapacity | null {
  const [first] = values;
  if (first === undefined || !values.every(({ requestPolicy }) => isEqual(requestPolicy, first.requestPolicy)))
    return null;
  return values.reduce((least, one) => (toAmount(one.value, 'down') < toAmount(least.value, 'down') ? one : least));
}

/**
 * Text in place of text that differs from node to node, such as an id: equal for devices that share it on every node.
 * Null for an attribute that is no text everywhere, or that groups the devices of one node otherwise than those of
 * another.
 */
function standInsOf(
  nodes: ReadonlyArray<ReadonlyArray<ResourceSliceSpec>>,
  scope: string,
): (slice: ResourceSliceSpec, device: PublishedDevice) => StandIn {
  const texts = nodes.map(textsOf);
  const known = new Map<string, ReadonlyMap<string, string>>();
  const groupsOf = (attribute: string): ReadonlyMap<string, string> => {
    const groups =
      known.get(attribute) ??
      groupAlike(
        texts.map((one) => one.get(attribute) ?? new Map()),
        scope,
      );
    known.set(attribute, groups);
    return groups;
  };
  return (slice, device) => (attribute) =>
    groupsOf(fullName(slice, attribute)).get(`${idOf(slice)}/${device.name}`) ?? null;
}

/** By full name of attribute: the texts of the devices, by the device's id. */
function textsOf(slices: ReadonlyArray<ResourceSliceSpec>): ReadonlyMap<string, ReadonlyMap<string, string>> {
  const found = slices.flatMap((slice) =>
    (slice.devices ?? []).flatMap(({ name, attributes = {} }) =>
      Object.entries(attributes).flatMap(([attribute, { string: value }]) =>
        value === undefined ? [] : [{ attribute: fullName(slice, attribute), id: `${idOf(slice)}/${name}`, value }],
      ),
    ),
  );
  const byAttribute = [...Map.groupBy(found, ({ attribute }) => attribute)];
  return new Map(byAttribute.map(([key, all]) => [key, new Map(all.map(({ id, value }) => [id, value]))]));
}

/** A name without a domain is of the driver's. */
function fullName({ driver }: ResourceSliceSpec, attribute: string): string {
  return attribute.includes('/') ? attribute : `${driver}/${attribute}`;
}

function groupAlike(nodes: ReadonlyArray<ReadonlyMap<string, string>>, scope: string): ReadonlyMap<string, string> {
  const [first = new Map<string, string>()] = nodes;
  const shared = [...first.keys()].filter((device) => nodes.every((one) => one.has(device)));
  const groups = [...Map.groupBy(shared, (device) => JSON.stringify(nodes.map((one) => one.get(device)))).values()];
  const isSameEverywhere = nodes.every(
    (one) => new Set(shared.map((device) => one.get(device))).size === groups.length,
  );
  if (!isSameEverywhere) return new Map();
  return new Map(
    groups.flatMap((devices, index) =>
      devices.map((device) => [device, `of the node: ${scope} ${index + 1}`] as const),
    ),
  );
}
