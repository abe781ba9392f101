import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { diskControllersOf, parseSizeName } from '../data/derive-size.ts';
import { isObject, listAt, objectAt, textAt, type JsonObject } from '../arm/json.ts';

/** One VM size in one region, with what allocation, quota and the SKU and price routes need. */
export interface Size {
  readonly name: string;
  readonly family: string;
  readonly vCpus: number;
  readonly zones: ReadonlyArray<string>;
  readonly lowPriorityCapable: boolean;
  readonly capabilities: { readonly [name: string]: string };
  /** Micro-USD per hour, Linux; null where the retail feed has none. */
  readonly onDemandMicroUsd: number | null;
  readonly spotMicroUsd: number | null;
}

/** How an operating system reaches its disks. */
export const DISK_CONTROLLERS = ['SCSI', 'NVMe'] as const;

export type DiskController = (typeof DISK_CONTROLLERS)[number];

/** The controllers of a size: the list says nothing of those that have SCSI alone (observed 2025-06). */
export function diskControllers({ capabilities }: Size): ReadonlyArray<string> {
  return (capabilities['DiskControllerTypes'] ?? 'SCSI').split(',').map((one) => one.trim());
}

const GIB = 2 ** 30;

/** What was read, by file: every double that starts in a process asks for the same. */
const known = new Map<string, ReadonlyMap<string, Size>>();

/** The sizes of a region from the data folder, by lower-case name; read once. */
export function readSizes(folder: string, region: string): ReadonlyMap<string, Size> {
  const file = join(folder, `${region}.json`);
  const sizes = known.get(file) ?? sizesIn(folder, region);
  known.set(file, sizes);
  return sizes;
}

function sizesIn(folder: string, region: string): ReadonlyMap<string, Size> {
  const observed = new Map(
    listAt(readJson(folder, 'observed-skus.json'), 'skus').map((sku) => [textAt(sku, 'name'), sku]),
  );
  const sizes = listAt(readJson(folder, `${region}.json`), 'sizes').map((row) => toSize(row, observed));
  return new Map(sizes.map((size) => [size.name.toLowerCase(), size]));
}

/** A file of the data folder. Throws, naming the file and the fix, when it is not there. */
export function readJson(folder: string, file: string): unknown {
  try {
    return JSON.parse(readFileSync(join(folder, file), 'utf8'));
  } catch (cause) {
    throw new Error(`The data folder has no readable ${file}: run data/generate.ts or pick another region.`, { cause });
  }
}

function toSize(row: unknown, observed: ReadonlyMap<string | null, unknown>): Size {
  if (!Array.isArray(row)) throw new Error('A size in the data folder is no array: run data/generate.ts again.');
  const texts = (index: number): string => String(row[index]);
  const seen = observed.get(texts(0));
  const capabilities = isObject(seen) ? textsOf(objectAt(seen, 'capabilities')) : capabilitiesOf(row);
  const price = (index: number): number | null => (typeof row[index] === 'number' ? row[index] : null);
  return {
    name: texts(0),
    family: texts(1),
    vCpus: Number(row[2]),
    zones: texts(7).split('').filter(Boolean),
    lowPriorityCapable: capabilities['LowPriorityCapable'] === 'True',
    capabilities,
    onDemandMicroUsd: price(15),
    spotMicroUsd: price(16),
  };
}

function textsOf(object: JsonObject): { readonly [name: string]: string } {
  return Object.fromEntries(Object.entries(object).map(([name, value]) => [name, String(value)]));
}

/** The columns are those of `SizeRow` in data/derive-size.ts. */
function capabilitiesOf(row: ReadonlyArray<unknown>): { readonly [name: string]: string } {
  const flag = (letter: string): string => (String(row[9]).includes(letter) ? 'True' : 'False');
  const gpus = Number(row[5]);
  return {
    OSVhdSizeMB: '1047552',
    vCPUs: String(row[2]),
    MemoryPreservingMaintenanceSupported: gpus > 0 ? 'False' : 'True',
    HyperVGenerations: String(row[8]),
    MemoryGB: String(row[4]),
    MaxDataDiskCount: String(row[13]),
    CpuArchitectureType: String(row[6]),
    LowPriorityCapable: flag('l'),
    PremiumIO: flag('p'),
    VMDeploymentTypes: 'IaaS',
    vCPUsAvailable: String(row[3]),
    ...(gpus > 0 ? { GPUs: String(gpus) } : {}),
    ...(row[6] === 'Arm64' ? { vCPUsPerCore: '1', TrustedLaunchDisabled: 'True' } : { vCPUsPerCore: '2' }),
    ...localStorage(Number(row[10]), Number(row[11]), Number(row[12])),
    ...controllersOf(String(row[0])),
    EncryptionAtHostSupported: flag('h'),
    CapacityReservationSupported: 'False',
    AcceleratedNetworkingEnabled: flag('a'),
    RdmaEnabled: 'False',
    MaxNetworkInterfaces: String(row[14]),
    UltraSSDAvailable: flag('u'),
  };
}

function controllersOf(name: string): { readonly [name: string]: string } {
  const parsed = parseSizeName(name);
  const types = parsed === null ? null : diskControllersOf(parsed);
  return types === null ? {} : { DiskControllerTypes: types };
}

function localStorage(cachedGib: number, tempGib: number, nvmeGib: number): { readonly [name: string]: string } {
  const placements = [
    ...(nvmeGib > 0 ? ['NvmeDisk'] : []),
    ...(tempGib > 0 ? ['ResourceDisk'] : []),
    ...(cachedGib > 0 ? ['CacheDisk'] : []),
  ];
  return {
    MaxResourceVolumeMB: String(tempGib * 1_024),
    EphemeralOSDiskSupported: placements.length > 0 ? 'True' : 'False',
    ...(placements.length > 0 ? { SupportedEphemeralOSDiskPlacements: placements.join(',') } : {}),
    ...(cachedGib > 0 ? { CachedDiskBytes: String(cachedGib * GIB) } : {}),
    ...(nvmeGib > 0 ? { NvmeDiskSizeInMiB: String(nvmeGib * 1_024) } : {}),
  };
}
