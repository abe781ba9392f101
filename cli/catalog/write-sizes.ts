import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { toSku } from '../../shared/adapters/azure/catalog/sku.ts';
import { listAt, mapAt, textAt } from '../input/json-fields.ts';
import { toRow, type SizeFile, type SizeRow } from './size-rows.ts';

/**
 * Writes `data/REGION.json`, the sizes and prices that the command ships with, from the folder of facts named on the
 * command line: `node cli/catalog/write-sizes.ts sandbox/azure/data`. It reads that folder's documented columns and
 * sends them through the code that reads Azure's own SKU list. The same facts give the same files, byte for byte.
 */
export function renderSizes(folder: string, region: string): string {
  const facts = JSON.parse(readFileSync(join(folder, `${region}.json`), 'utf8')) as unknown;
  const seen = JSON.parse(readFileSync(join(folder, 'observed-skus.json'), 'utf8')) as unknown;
  const observed = new Map(listAt(seen, 'skus').map((sku) => [textAt(sku, 'name'), sku]));
  const rows = listAt(facts, 'sizes').flatMap((row) => toRows(row as FactRow, region, observed));
  const meta: SizeFile['meta'] = { region, prices: textAt(facts, 'meta', 'source') };
  const lines = rows.map((row) => JSON.stringify(row)).join(',\n');
  return `{"meta":${JSON.stringify(meta)},\n"sizes":[\n${lines}\n]}\n`;
}

/** The regions that the command ships with. */
export const shippedRegions = ['westeurope', 'eastus'] as const;

/** The columns of a row of facts, as `sandbox/azure/data/derive-size.ts` documents them. */
type FactRow = readonly [
  name: string,
  family: string,
  vCpus: number,
  vCpusAvailable: number,
  memoryGib: number,
  gpus: number,
  architecture: string,
  zones: string,
  generations: string,
  flags: string,
  cachedGib: number,
  tempGib: number,
  nvmeGib: number,
  dataDisks: number,
  networkInterfaces: number,
  onDemandMicroUsd: number | null,
  spotMicroUsd: number | null,
];

function toRows(row: FactRow, region: string, observed: ReadonlyMap<string, unknown>): ReadonlyArray<SizeRow> {
  const [name, family] = row;
  const capabilities = observed.has(name) ? mapAt(observed.get(name), 'capabilities') : capabilitiesOf(row);
  const sku = toSku(
    {
      name,
      family,
      resourceType: 'virtualMachines',
      locationInfo: [{ location: region, zones: row[7].split('') }],
      capabilities: Object.entries(capabilities).map(([key, value]) => ({ name: key, value: String(value) })),
    },
    region,
  );
  return sku === null ? [] : [toRow({ ...sku, onDemandMicroUsd: row[15], spotMicroUsd: row[16] })];
}

const GIB = 2 ** 30;

function capabilitiesOf(row: FactRow): Readonly<Record<string, string>> {
  const [, , vCpus, , memoryGib, gpus, architecture, , generations, flags, cachedGib, tempGib, nvmeGib] = row;
  const has = (letter: string): string => (flags.includes(letter) ? 'True' : 'False');
  return {
    vCPUs: String(vCpus),
    MemoryGB: String(memoryGib),
    GPUs: String(gpus),
    CpuArchitectureType: architecture,
    HyperVGenerations: generations,
    LowPriorityCapable: has('l'),
    AcceleratedNetworkingEnabled: has('a'),
    PremiumIO: has('p'),
    EncryptionAtHostSupported: has('h'),
    TrustedLaunchDisabled: architecture === 'Arm64' ? 'True' : 'False',
    EphemeralOSDiskSupported: cachedGib + tempGib + nvmeGib > 0 ? 'True' : 'False',
    SupportedEphemeralOSDiskPlacements: nvmeGib > 0 ? 'NvmeDisk' : '',
    NvmeDiskSizeInMiB: String(nvmeGib * 1_024),
    CachedDiskBytes: String(cachedGib * GIB),
    MaxResourceVolumeMB: String(tempGib * 1_024),
  };
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (folder === undefined) throw new Error('Name the folder of facts: node cli/catalog/write-sizes.ts FOLDER');
  for (const region of shippedRegions) {
    writeFileSync(join(import.meta.dirname, 'data', `${region}.json`), renderSizes(folder, region));
  }
}
