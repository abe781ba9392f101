import type { Static, TSchema } from 'typebox';
import { annotation } from '../../names.ts';
import { isRecord } from '../schema/object-meta.ts';
import { bool, choice, fields, int64, list, mapOf, optional, quantity, text, type Frozen } from '../schema/schema.ts';
import { readBySchema } from '../schema/structural.ts';
import type { Problem } from '../schema/validation-error.ts';

/**
 * What a new node will publish of devices (DRA), as somebody who knows the machine states it: ResourceSlices without
 * what only a node that is there can say. Names, forms and bounds are Kubernetes' (resource.k8s.io/v1, API 1.36).
 */

const valueFix = 'give one of int, bool, string, version, ints, bools, strings, versions';

const attribute = fields('One value. Exactly one of the fields.', {
  int: optional(int64('A whole number.')),
  bool: optional(bool('True or false.')),
  string: optional(text('Text.', { maxLength: 64 })),
  version: optional(text('A semantic version, such as 1.2.3.', { maxLength: 64 })),
  ints: optional(list('Whole numbers.', int64('A whole number.'))),
  bools: optional(list('True or false, several.', bool('True or false.'))),
  strings: optional(list('Texts.', text('Text.', { maxLength: 64 }))),
  versions: optional(list('Semantic versions.', text('A semantic version.', { maxLength: 64 }))),
});

const capacity = fields('How much there is of a capacity.', {
  value: quantity('All of it.'),
  requestPolicy: optional(
    fields('How shares of it may be sized.', {
      default: optional(quantity('What a share takes that does not say.')),
      validValues: optional(list('The sizes that a share may have.', quantity('A size.'))),
      validRange: optional(
        fields('The sizes that a share may have.', {
          min: quantity('The smallest.'),
          max: optional(quantity('The largest.')),
          step: optional(quantity('From one to the next.')),
        }),
      ),
    }),
  ),
});

const counters = mapOf('By name.', fields('A counter.', { value: quantity('How much.') }));

const device = fields('A device.', {
  name: text('Unique among the driver’s devices of the node.', {
    maxLength: 63,
    pattern: '^[a-z0-9]([-a-z0-9]*[a-z0-9])?$',
    fix: 'use lower case letters, digits and "-"',
  }),
  attributes: optional(
    mapOf('What selectors and constraints read. A name without a domain is of the driver’s.', attribute),
  ),
  capacity: optional(mapOf('Capacities, by name.', capacity)),
  consumesCounters: optional(
    list(
      'What it takes of counters that devices share.',
      fields('Of one set.', { counterSet: text('The name of the set in sharedCounters.'), counters }),
    ),
  ),
  taints: optional(
    list(
      'What claims have to tolerate.',
      fields('A taint.', {
        key: text('Its key.', { minLength: 1 }),
        value: optional(text('Its value.')),
        effect: choice('What it keeps out.', ['None', 'NoSchedule', 'NoExecute']),
      }),
    ),
  ),
  allowMultipleAllocations: optional(bool('True: claims take shares of it.')),
});

/** The devices of one driver on a new node. */
export const statedSlice = fields(
  'Devices that a driver publishes on a new node. All slices of a driver are one pool.',
  {
    driver: text('The driver’s name, as in its ResourceSlices.', { minLength: 1, maxLength: 63 }),
    devices: list('Its devices, in the order in which it publishes them.', device),
    sharedCounters: optional(
      list(
        'Counters from which devices take, for devices that are parts of one card.',
        fields('A set of counters.', { name: text('The name of the set.', { minLength: 1 }), counters }),
      ),
    ),
  },
);
export interface StatedSlice extends Frozen<Static<typeof statedSlice>> {}

/** What somebody states, with what is wrong with it. */
export interface StatedSlices {
  /** Of use only when there are no problems. */
  readonly slices: ReadonlyArray<StatedSlice>;
  readonly problems: ReadonlyArray<Problem>;
}

const statedSlices: TSchema = list('What a new node publishes.', statedSlice);

/** Reads the slices that a new node is said to publish; `path` says where they stand. Never throws. */
export function readStatedSlices(value: unknown, path: string): StatedSlices {
  const reading = readBySchema(statedSlices, value, path);
  const problems = [...reading.problems, ...reading.unknown.map(unknownField)];
  if (problems.length > 0) return { slices: [], problems };
  const slices = reading.value as ReadonlyArray<StatedSlice>;
  return { slices, problems: inconsistencies(slices, path) };
}

function unknownField(path: string): Problem {
  const isPlace = /\.(pool|nodeName|nodeSelector|allNodes|perDeviceNodeSelection)$/.test(path);
  return problem(
    path,
    isPlace ? 'says where a device is, which a node to come cannot' : 'is not a field here',
    'remove it',
  );
}

/**
 * What the schema of one field cannot see. A pool with such faults would be published, and nothing allocated from it.
 */
function inconsistencies(slices: ReadonlyArray<StatedSlice>, path: string): ReadonlyArray<Problem> {
  const sets = new Map<string, ReadonlySet<string>>();
  for (const { driver, sharedCounters = [] } of slices) {
    for (const { name, counters: own } of sharedCounters) sets.set(`${driver}/${name}`, new Set(Object.keys(own)));
  }
  const names = new Set<string>();
  return slices.flatMap(({ driver, devices }, index) =>
    devices.flatMap((one, place) => {
      const at = `${path}[${index}].devices[${place}]`;
      const isTwice = names.has(`${driver}/${one.name}`);
      names.add(`${driver}/${one.name}`);
      const message = `${one.name} is listed twice for ${driver}`;
      return [
        ...(isTwice ? [problem(`${at}.name`, message, 'rename one')] : []),
        ...attributeProblems(one, at),
        ...counterProblems(one, { driver, sets }, at),
      ];
    }),
  );
}

function problem(path: string, message: string, fix: string): Problem {
  return { path, message, fix, layer: 'runtime' };
}

type StatedDevice = StatedSlice['devices'][number];

function attributeProblems({ attributes = {} }: StatedDevice, at: string): ReadonlyArray<Problem> {
  return Object.entries(attributes)
    .map(([key, value]) => ({ key, count: Object.keys(value).length }))
    .filter(({ count }) => count !== 1)
    .map(({ key, count }) => problem(`${at}.attributes[${key}]`, `has ${count} values`, valueFix));
}

function counterProblems(
  { consumesCounters = [] }: StatedDevice,
  { driver, sets }: { readonly driver: string; readonly sets: ReadonlyMap<string, ReadonlySet<string>> },
  at: string,
): ReadonlyArray<Problem> {
  return consumesCounters.flatMap(({ counterSet, counters: own }, index) => {
    const known = sets.get(`${driver}/${counterSet}`);
    const missing = Object.keys(own).filter((counter) => known?.has(counter) !== true);
    const fix = `add it to sharedCounters of ${driver}`;
    return missing.map((counter) =>
      problem(`${at}.consumesCounters[${index}].counters[${counter}]`, `${counterSet} has no such counter`, fix),
    );
  });
}

/** What a NodePool states, by instance type. */
export interface StatedDevices {
  /** Of use only when there are no problems. */
  readonly byType: ReadonlyMap<string, ReadonlyArray<StatedSlice>>;
  readonly problems: ReadonlyArray<Problem>;
}

const NOTHING: StatedDevices = { byType: new Map(), problems: [] };

/**
 * Reads a NodePool's annotation about the devices of its nodes to come. Never throws; without one nothing is stated.
 */
export function readStatedDevices(metadata: {
  readonly annotations?: Readonly<Record<string, string>>;
}): StatedDevices {
  const given = metadata.annotations?.[annotation.resourceSlices];
  if (given === undefined) return NOTHING;
  const path = `metadata.annotations[${annotation.resourceSlices}]`;
  const value = parseJson(given);
  if (!isRecord(value)) {
    const fix = 'write {"Standard_NC24ads_A100_v4": [{"driver": "gpu.nvidia.com", "devices": [...]}]}';
    return { ...NOTHING, problems: [problem(path, 'is not a JSON object of slices by instance type', fix)] };
  }
  const read = Object.entries(value).map(
    ([type, slices]) => [type, readStatedSlices(slices, `${path}[${type}]`)] as const,
  );
  const problems = read.flatMap(([, one]) => one.problems.map((found) => ({ ...found, layer: 'runtime' as const })));
  return { byType: new Map(read.map(([type, { slices }]) => [type, slices])), problems };
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return null;
  }
}
