import type { CapacityError, Exhaustion } from '../azure/state/capacity.ts';
import { type AzureOptions, azureDefaults, type FaultRates, type Latency } from '../azure/state/options.ts';
import type { Restriction } from '../azure/state/restrictions.ts';
import { DISK_CONTROLLERS, type DiskController } from '../azure/catalog/sizes.ts';
import { type Assignment, repeatedNames, unknownName } from './assignment.ts';

/** How Azure behaves, but for its quota: what can be ordered of the double's options. */
export type Behaviour = Pick<
  AzureOptions,
  | 'latency'
  | 'faults'
  | 'throttle'
  | 'imageDiskControllers'
  | 'exhaustions'
  | 'restrictions'
  | 'spotMeanLifeMinutes'
  | 'evictionNoticeSeconds'
  | 'evictionRates'
  | 'healthEventDelayMs'
  | 'scheduledEventDelayMs'
  | 'graphLagMs'
  | 'nicReservedSeconds'
>;

/** One thing that can be ordered. */
interface Rule {
  readonly name: string;
  /** How a value is written, for help. */
  readonly form: string;
  readonly meaning: string;
  /** The behaviour with it. Throws an Error that says what the value must be. */
  readonly set: (behaviour: Behaviour, text: string, isSize: (name: string) => boolean) => Behaviour;
}

const SECOND = 1_000;
/** An hour: who waits longer for one step waits for something else. */
const SPAN_MAX_SECONDS = 3_600;
const MINUTES_MAX = 100_000;

function latency(name: string, field: Exclude<keyof Latency, 'retryAfterShare'>, meaning: string): Rule {
  const unitMs = name.endsWith('Ms') ? 1 : SECOND;
  const form = unitMs === 1 ? 'MS or MS..MS' : 'S or S..S';
  return {
    name,
    form,
    meaning,
    set: (behaviour, text) => {
      const parts = text.split('..').map((part) => parseNumber(part, (SPAN_MAX_SECONDS * SECOND) / unitMs));
      const [min, max = min] = parts;
      if (min === undefined || max === undefined || parts.length > 2 || min > max) {
        throw new Error(`must be a time, or the least and the most with .. between, not ${text}`);
      }
      const span = { minMs: min * unitMs, maxMs: max * unitMs };
      return { ...behaviour, latency: { ...behaviour.latency, [field]: span } };
    },
  };
}

function faultRate(field: keyof FaultRates & `${string}Percent`, meaning: string): Rule {
  return {
    name: field,
    form: 'PERCENT',
    meaning,
    set: (behaviour, text) => ({ ...behaviour, faults: { ...behaviour.faults, [field]: parseNumber(text, 100) } }),
  };
}

function number(
  name: string,
  { form, max, meaning }: { readonly form: string; readonly max: number; readonly meaning: string },
  put: (behaviour: Behaviour, value: number) => Behaviour,
): Rule {
  return { name, form, meaning, set: (behaviour, text) => put(behaviour, parseNumber(text, max)) };
}

/** In the order of the help. */
const rules: ReadonlyArray<Rule> = [
  latency('requestMs', 'request', 'from a request to its answer (15..60)'),
  latency('nicSeconds', 'nic', 'to make a network interface; these five follow --boot-seconds'),
  latency('allocationSeconds', 'allocation', 'from the order of a VM to its hardware, or to no capacity'),
  latency('provisioningSeconds', 'provisioning', 'from the hardware to a VM that Azure calls Succeeded'),
  latency('deleteSeconds', 'vmDelete', 'to delete a VM'),
  latency('extensionSeconds', 'extension', 'to install an extension on a VM'),
  faultRate('throttlePercent', 'requests that are refused with 429, before anything is done'),
  faultRate('serverErrorPercent', 'with 500'),
  faultRate('unavailablePercent', 'with 503'),
  faultRate('slowPercent', 'requests whose answer comes slowMs later'),
  number('slowMs', { form: 'MS', max: 600_000, meaning: 'how much later (5000)' }, (behaviour, slowMs) => ({
    ...behaviour,
    faults: { ...behaviour.faults, slowMs },
  })),
  faultRate('lostResponsePercent', 'requests that are done, and whose answer never comes'),
  faultRate('garbagePercent', 'requests that are done, and whose answer is no JSON'),
  number('retryAfterSeconds', { form: 'S', max: 3_600, meaning: 'what a 429 says (60)' }, (behaviour, value) => ({
    ...behaviour,
    faults: { ...behaviour.faults, retryAfterSeconds: value },
  })),
  faultRate('duplicateEventPercent', 'events that Event Grid delivers twice'),
  faultRate('provisioningFailurePercent', 'VMs that are made and never report'),
  {
    name: 'requestLimits',
    form: 'true',
    meaning: 'keep ARM’s limits (200 writes, 10/s; 250 reads, 25/s) and Compute’s',
    set: (behaviour, text) => ({ ...behaviour, throttle: parseFlag(text) }),
  },
  {
    name: 'imageDiskControllers',
    form: 'SCSI[,NVMe]',
    meaning: 'what node images are tagged for (SCSI,NVMe)',
    set: (behaviour, text) => ({ ...behaviour, imageDiskControllers: listOf(text).map(parseDiskController) }),
  },
  {
    name: 'noCapacity',
    form: 'SIZE[/ZONE[/TYPE]][:N],…',
    meaning: 'sizes that are sold out, at once or after N VMs; * is any, as */1',
    set: (behaviour, text, isSize) => ({
      ...behaviour,
      exhaustions: listOf(text).map((part) => parseExhaustion(part, isSize)),
    }),
  },
  {
    name: 'withheldSizes',
    form: 'SIZE[/ZONE],…',
    meaning: 'sizes that the subscription may not use',
    set: (behaviour, text, isSize) => ({
      ...behaviour,
      restrictions: listOf(text).map((part) => parseRestriction(part, isSize)),
    }),
  },
  number(
    'spotMeanLifeMinutes',
    { form: 'MIN', max: MINUTES_MAX, meaning: 'how long spot VMs live on average (until npm start -- evict)' },
    (behaviour, spotMeanLifeMinutes) => ({ ...behaviour, spotMeanLifeMinutes: atLeast(spotMeanLifeMinutes, 0.01) }),
  ),
  number(
    'evictionNoticeSeconds',
    { form: 'S', max: 3_600, meaning: 'from the notice of an eviction to the eviction (30)' },
    (behaviour, evictionNoticeSeconds) => ({ ...behaviour, evictionNoticeSeconds }),
  ),
  {
    name: 'evictionRates',
    form: 'SIZE:BAND,…',
    meaning: 'spot VMs of a size evicted an hour: 0-5, 5-10, 10-15, 15-20, 20+ %',
    set: (behaviour, text, isSize) => ({
      ...behaviour,
      evictionRates: Object.fromEntries(listOf(text).map((part) => parseEvictionRate(part, isSize))),
    }),
  },
  number(
    'scheduledEventDelayMs',
    { form: 'MS', max: 600_000, meaning: 'from a notice to its event by Event Grid (3000)' },
    (behaviour, scheduledEventDelayMs) => ({ ...behaviour, scheduledEventDelayMs }),
  ),
  number(
    'healthEventDelayMs',
    { form: 'MS', max: 600_000, meaning: 'from an eviction to its event by Event Grid (5000)' },
    (behaviour, healthEventDelayMs) => ({ ...behaviour, healthEventDelayMs }),
  ),
  number(
    'graphLagMs',
    { form: 'MS', max: 600_000, meaning: 'how late Resource Graph shows a change (0)' },
    (behaviour, graphLagMs) => ({ ...behaviour, graphLagMs }),
  ),
  number(
    'nicReservedSeconds',
    { form: 'S', max: 3_600, meaning: 'how long the network interface of a VM that went is blocked (180)' },
    (behaviour, nicReservedSeconds) => ({ ...behaviour, nicReservedSeconds }),
  ),
];

/** What the double does by itself; latency follows the pace of the run. */
export const defaultBehaviour: Omit<Behaviour, 'latency'> = {
  faults: azureDefaults.faults,
  throttle: azureDefaults.throttle,
  imageDiskControllers: azureDefaults.imageDiskControllers,
  exhaustions: azureDefaults.exhaustions,
  restrictions: azureDefaults.restrictions,
  spotMeanLifeMinutes: azureDefaults.spotMeanLifeMinutes,
  evictionNoticeSeconds: azureDefaults.evictionNoticeSeconds,
  evictionRates: azureDefaults.evictionRates,
  healthEventDelayMs: azureDefaults.healthEventDelayMs,
  scheduledEventDelayMs: azureDefaults.scheduledEventDelayMs,
  graphLagMs: azureDefaults.graphLagMs,
  nicReservedSeconds: azureDefaults.nicReservedSeconds,
};

/** Chooses the prices and sizes; what all else is judged by. */
const REGION = 'region';
const REGIONS = ['westeurope', 'eastus'] as const;

/** A region that there are prices of. */
export type Region = (typeof REGIONS)[number];

/** What `--help` says of `--azure`, a line each, of at most 110 columns. */
export const behaviourHelp: ReadonlyArray<string> = [
  { name: REGION, form: 'NAME', meaning: `${REGIONS.join(' or ')}: whose sizes and prices` },
  ...rules,
].map(({ name, form, meaning }) => `    ${`${name}=${form}`.padEnd(36)} ${meaning}`);

/** Which region was ordered, and what is wrong with it. */
export function readRegion(given: ReadonlyArray<Assignment>): {
  readonly region: Region;
  readonly problems: ReadonlyArray<string>;
} {
  const found = given.find(isRegion);
  const region = REGIONS.find((known) => known === (found?.value.toLowerCase() ?? REGIONS[0]));
  if (region !== undefined) return { region, problems: [] };
  return { region: REGIONS[0], problems: [`${found?.field ?? ''} is ${REGIONS.join(' or ')}, not ${found?.value}`] };
}

function isRegion({ name }: Assignment): boolean {
  return name.toLowerCase() === REGION;
}

/** Behaviour as it was ordered, and what is wrong with what could not be taken. */
export interface ReadBehaviour {
  readonly behaviour: Behaviour;
  readonly problems: ReadonlyArray<string>;
}

/** Puts orders over `base`; names are the same in any case. `isSize` knows the region's sizes. Never throws. */
export function readBehaviour(
  given: ReadonlyArray<Assignment>,
  base: Behaviour,
  isSize: (name: string) => boolean,
): ReadBehaviour {
  const problems = [...repeatedNames(given, { ignoresCase: true })];
  let behaviour = base;
  for (const one of given.filter((assignment) => !isRegion(assignment))) {
    const rule = rules.find(({ name }) => name.toLowerCase() === one.name.toLowerCase());
    if (rule === undefined) {
      problems.push(unknownName(one, 'behaviour of Azure', [REGION, ...rules.map(({ name }) => name)]));
      continue;
    }
    try {
      behaviour = rule.set(behaviour, one.value, isSize);
    } catch (error) {
      problems.push(`${one.field} ${(error as Error).message}`);
    }
  }
  return { behaviour, problems };
}

function parseNumber(text: string, max: number): number {
  const value = Number(text);
  if (/^\d+(\.\d+)?$/.test(text.trim()) && value <= max) return value;
  throw new Error(`must be a number from 0 to ${max}, not ${text || 'nothing'}`);
}

function atLeast(value: number, min: number): number {
  if (value >= min) return value;
  throw new Error(`must be ${min} or more, not ${value}`);
}

function parseFlag(text: string): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw new Error(`is true or false, not ${text || 'nothing'}`);
}

function listOf(text: string): ReadonlyArray<string> {
  return text
    .split(',')
    .map((part) => part.trim())
    .filter((part) => part !== '');
}

const ANY = '*';
const ZONES: ReadonlySet<string> = new Set(['1', '2', '3']);

function parseSize(text: string, isSize: (name: string) => boolean): string {
  const size = /^standard_/i.test(text) ? text : `Standard_${text}`;
  if (isSize(size)) return size;
  throw new Error(`names the size ${text}, which the region does not have: write it as Standard_D4s_v5`);
}

/** `1`, or `westeurope-1` as Kubernetes has it. */
function parseZone(text: string): string {
  const zone = text.replace(/^.*-/, '');
  if (ZONES.has(zone)) return zone;
  throw new Error(`names the zone ${text}: write 1, 2 or 3`);
}

/** A size or any, a zone or any, a capacity type or any, and how many VMs still fit. */
function parseExhaustion(part: string, isSize: (name: string) => boolean): Exhaustion {
  const [place = '', after = '0', ...more] = part.split(':');
  const [size = ANY, zone = ANY, capacityType = ANY, ...parts] = place.split('/');
  if (more.length > 0 || parts.length > 0 || !/^\d+$/.test(after)) {
    throw new Error(`has ${part}: write SIZE, SIZE/ZONE or SIZE/ZONE/TYPE, and :N after it for N VMs that still fit`);
  }
  if (capacityType !== ANY && capacityType !== 'spot' && capacityType !== 'on-demand') {
    throw new Error(`names the capacity type ${capacityType}: write spot or on-demand`);
  }
  return {
    size: size === ANY ? null : parseSize(size, isSize),
    zone: zone === ANY ? null : parseZone(zone),
    capacityType: capacityType === ANY ? null : capacityType,
    code: SOLD_OUT,
    remaining: Number(after),
  };
}

/** What Azure says of VMs in a zone, which all of AKS's nodes in zones are. */
const SOLD_OUT: CapacityError = 'ZonalAllocationFailed';

function parseRestriction(part: string, isSize: (name: string) => boolean): Restriction {
  const [size = '', zone, ...more] = part.split('/');
  if (more.length > 0) throw new Error(`has ${part}: write SIZE or SIZE/ZONE`);
  return { size: parseSize(size, isSize), zones: zone === undefined ? [] : [parseZone(zone)] };
}

function parseDiskController(text: string): DiskController {
  const found = DISK_CONTROLLERS.find((known) => known.toLowerCase() === text.toLowerCase());
  if (found !== undefined) return found;
  throw new Error(`names the disk controller ${text}: write ${DISK_CONTROLLERS.join(' or ')}`);
}

const BANDS: ReadonlySet<string> = new Set(['0-5', '5-10', '10-15', '15-20', '20+']);

function parseEvictionRate(part: string, isSize: (name: string) => boolean): readonly [string, string] {
  const [size = '', band = '', ...more] = part.split(':');
  if (more.length > 0 || !BANDS.has(band))
    throw new Error(`has ${part}: write SIZE:BAND, with BAND one of ${[...BANDS].join(', ')}`);
  return [parseSize(size, isSize), band];
}
