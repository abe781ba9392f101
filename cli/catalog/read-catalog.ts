import type { InstanceType } from '../../shared/core/model/catalog.ts';
import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import { readStatedSlices } from '../../shared/contract/api/annotations/stated-devices.ts';
import { label } from '../../shared/contract/names.ts';
import { toTemplateSlices } from '../../shared/core/model/device-templates.ts';
import type { ResourceSliceSpec } from '../../shared/kubernetes/device-manifest.ts';
import { microUsdPerHour } from '../../shared/core/quantity/units.ts';
import { MARKETS_MAX } from '../../shared/core/offerings/compile-types.ts';
import {
  allOf,
  choice,
  fieldsOf,
  flag,
  listOf,
  mapOf,
  needed,
  quantity,
  text,
  wholeNumber,
  type Judge,
} from '../input/check/judge.ts';
import { readDocuments } from '../input/read/read-documents.ts';
import { readSource } from '../input/read/read-sources.ts';
import { fileProblem, WrongInputError, type InputProblem } from '../wrong-input.ts';
import type { Catalog } from './catalog-format.ts';
import { parseUsd } from './micro-usd.ts';

/** Instance types from a file. */
export interface GivenCatalog {
  readonly region: string;
  /** What prices are in (ISO 4217). */
  readonly currency: string;
  readonly instanceTypes: ReadonlyArray<InstanceType>;
  /** What nodes publish of devices, by instance type. */
  readonly resourceSlices: ReadonlyMap<string, ReadonlyArray<ResourceSliceSpec>>;
}

/** Reads the Catalog in `path`. Throws WrongInputError with everything that is wrong with it. */
export async function readCatalog(path: string): Promise<GivenCatalog> {
  const source = readSource(path);
  const { documents, problems } = await readDocuments(source);
  const [document] = documents;
  if (problems.length > 0) throw new WrongInputError(problems);
  if (document === undefined || documents.length > 1) {
    throw new WrongInputError([fileProblem(path, `holds ${documents.length} documents`, 'give one Catalog')]);
  }
  const { kind = null } = isRecord(document.value) ? document.value : {};
  if (kind !== 'Catalog') {
    const message = kind === null ? 'is not a Catalog' : `is of kind ${JSON.stringify(kind)}, not a Catalog`;
    throw new WrongInputError([fileProblem(path, message, 'see docs/schema/catalog.schema.json; manifests go to -f')]);
  }
  const found: Array<InputProblem> = [];
  catalog(document.value, '', (at, message, fix) =>
    found.push({ origin: path, object: 'Catalog', path: at, message, fix }),
  );
  if (found.length > 0) throw new WrongInputError(found);
  // The judge has just checked that it is one.
  const { region, currency, instanceTypes } = document.value as Catalog;
  const stated = instanceTypes.map(
    ({ name, resourceSlices = [] }) => [name, toTemplateSlices(resourceSlices)] as const,
  );
  return {
    region,
    currency: currency ?? 'USD',
    instanceTypes: instanceTypes.map((type) => toInstanceType(type, region)),
    resourceSlices: new Map(stated),
  };
}

const price: Judge = (value, path, report) => {
  if (typeof value !== 'string' || parseUsd(value) === null) {
    report(path, `${JSON.stringify(value)} is not a price`, 'write an amount per hour in quotes, such as "0.23"');
  }
};

const CHANCE = /^(0(\.\d{1,18})?|1(\.0{1,18})?)$/;

const chance: Judge = (value, path, report) => {
  const fix = 'write a chance from 0 to 1 in quotes, such as "0.075"';
  if (typeof value === 'string' && CHANCE.test(value)) return;
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : NaN;
  if (number < 0) report(path, `${JSON.stringify(value)} is below 0`, fix);
  else if (number > 1) report(path, `${JSON.stringify(value)} is above 1`, fix);
  else report(path, `${JSON.stringify(value)} is not a chance`, fix);
};

const plainOffering = fieldsOf({
  zone: needed(text),
  capacityType: needed(choice('on-demand', 'spot', 'reserved')),
  pricePerHour: needed(price),
  available: flag,
  evictionsPerHour: chance,
  reservationId: text,
  reservationCapacity: wholeNumber(0),
});

const RESERVED_FIELDS = ['reservationId', 'reservationCapacity'];

/** A reserved offering says of which reservation it is, and how many nodes that holds; no other does. */
const reservedInFull: Judge = (value, path, report) => {
  if (!isRecord(value)) return;
  const isReserved = value['capacityType'] === 'reserved';
  for (const field of RESERVED_FIELDS) {
    const isThere = value[field] !== undefined && value[field] !== null && value[field] !== '';
    if (isReserved && !isThere) report(`${path}.${field}`, 'is missing', 'set it, or use another capacityType');
    if (!isReserved && isThere)
      report(`${path}.${field}`, 'is for reserved offerings', 'remove it, or use capacityType reserved');
  }
};

/** Nobody evicts what is not spot. */
const evictedIfSpot: Judge = (value, path, report) => {
  if (!isRecord(value) || value['capacityType'] === 'spot') return;
  const { evictionsPerHour = null } = value;
  if (evictionsPerHour !== null)
    report(`${path}.evictionsPerHour`, 'is for spot offerings', 'remove it, or use capacityType spot');
};

const offering = allOf(plainOffering, reservedInFull, evictedIfSpot);

const noneTwice: Judge = (value, path, report) => {
  const seen = new Set<unknown>();
  for (const [index, type] of (Array.isArray(value) ? value : []).entries()) {
    const { name } = (type ?? {}) as { readonly name?: unknown };
    if (typeof name === 'string' && seen.has(name)) {
      report(`${path}[${index}].name`, `${name} is listed twice`, 'keep one, with all its offerings');
    }
    seen.add(name);
  }
};

/** An offering as it was given, and where. */
interface ListedOffering {
  readonly path: string;
  readonly fields: Readonly<Record<string, unknown>>;
}

/** Every offering that is an object, with its path; the list is at `at`. */
function offeringsIn(types: unknown, at: string): ReadonlyArray<ListedOffering> {
  return (Array.isArray(types) ? types : []).flatMap((type, index) => {
    const listed: unknown = isRecord(type) ? type['offerings'] : [];
    return (Array.isArray(listed) ? listed : []).flatMap((one: unknown, place) =>
      isRecord(one) ? [{ path: `${at}[${index}].offerings[${place}]`, fields: one }] : [],
    );
  });
}

/** A reservation holds one number of nodes, whatever the sizes and zones it is offered for. */
const oneCapacityEach: Judge = (value, path, report) => {
  const known = new Map<unknown, unknown>();
  for (const { path: at, fields } of offeringsIn(value, path)) {
    const { reservationId: id, reservationCapacity: capacity } = fields;
    if (id === undefined) continue;
    if (known.has(id) && known.get(id) !== capacity) {
      const message = `is ${JSON.stringify(capacity)}, and ${JSON.stringify(known.get(id))} elsewhere for ${JSON.stringify(id)}`;
      report(`${at}.reservationCapacity`, message, 'give one number per reservation');
    }
    if (!known.has(id)) known.set(id, capacity);
  }
};

/** More would be left out of plans without a word. */
const fewEnough: Judge = (value, path, report) => {
  const found = new Set(
    offeringsIn(value, path).map(({ fields: { zone, capacityType, reservationId } }) =>
      JSON.stringify([zone, capacityType, reservationId]),
    ),
  );
  if (found.size <= MARKETS_MAX) return;
  const message = `${found.size} combinations of zone, capacity type and reservation, and at most ${MARKETS_MAX} are planned with`;
  report(path, message, 'leave out zones or reservations that no pool here may use');
};

const slices: Judge = (value, path, report) => {
  for (const { path: at, message, fix } of readStatedSlices(value, path).problems) report(at, message, fix);
};

const instanceType = fieldsOf({
  name: needed(text),
  labels: mapOf(text),
  capacity: needed(mapOf(quantity)),
  overhead: mapOf(quantity),
  resourceSlices: slices,
  offerings: needed(listOf(offering)),
});

const currencyCode: Judge = (value, path, report) => {
  if (typeof value !== 'string' || !/^[A-Z]{3}$/.test(value))
    report(path, `${JSON.stringify(value)} is not a currency`, 'write three capital letters, such as EUR');
};

const catalog = fieldsOf({
  apiVersion: needed(choice('nodewright.dev/v1alpha1')),
  kind: needed(choice('Catalog')),
  region: needed(text),
  currency: currencyCode,
  instanceTypes: needed(allOf(listOf(instanceType), noneTwice, oneCapacityEach, fewEnough)),
});

function evictionsOf({ evictionsPerHour = null }: { readonly evictionsPerHour?: string | null }) {
  return evictionsPerHour === null ? {} : { evictionsPerHour: Number(evictionsPerHour) };
}

function toInstanceType(type: Catalog['instanceTypes'][number], region: string): InstanceType {
  const labels = { [label.region]: region, ...type.labels, [label.instanceType]: type.name };
  return {
    name: type.name,
    labels: Object.fromEntries(Object.entries(labels).map(([key, value]) => [key, [value]])),
    capacity: type.capacity,
    overhead: type.overhead ?? {},
    offerings: type.offerings.map(({ zone, capacityType, pricePerHour, available, ...rest }) => ({
      zone,
      capacityType,
      ...('reservationId' in rest
        ? { reservation: { id: rest.reservationId, remaining: rest.reservationCapacity } }
        : evictionsOf(rest)),
      price: parseUsd(pricePerHour) ?? microUsdPerHour(0),
      available: available ?? true,
      labels: {},
    })),
  };
}
