import type { Sku } from '../../shared/adapters/azure/catalog/sku.ts';

/**
 * One size as `data/REGION.json` keeps it, in this order: name, vCPUs, memory GiB, GPUs, `amd64`|`arm64`, zones joined,
 * flags (s spot, a accelerated networking, p premium storage, h encryption at host, t trusted launch), largest
 * ephemeral OS disk in GB (0: none), its placement, on-demand price, spot price (micro-USD per hour, null where there
 * is none).
 */
export type SizeRow = readonly [
  name: string,
  vCpus: number,
  memoryGib: number,
  gpus: number,
  arch: Sku['arch'],
  zones: string,
  flags: string,
  ephemeralGb: number,
  placement: string,
  onDemandMicroUsd: number | null,
  spotMicroUsd: number | null,
];

/** A data file: where its prices are from, and its sizes by name. */
export interface SizeFile {
  readonly meta: { readonly region: string; readonly prices: string };
  readonly sizes: ReadonlyArray<SizeRow>;
}

/** What of a size decides plans, as a row. */
export function toRow(sku: Sku): SizeRow {
  const flags: ReadonlyArray<readonly [string, boolean]> = [
    ['s', sku.spot],
    ['a', sku.acceleratedNetworking],
    ['p', sku.premiumStorage],
    ['h', sku.encryptionAtHost],
    ['t', sku.trustedLaunch],
  ];
  return [
    sku.name,
    sku.vCpus,
    sku.memoryGib,
    sku.gpus,
    sku.arch,
    sku.zones.join(''),
    flags.flatMap(([flag, set]) => (set ? [flag] : [])).join(''),
    sku.ephemeralOsDisk?.maxGb ?? 0,
    sku.ephemeralOsDisk?.placement ?? '',
    sku.onDemandMicroUsd,
    sku.spotMicroUsd,
  ];
}

/**
 * The size of a row. What decides launches only (quota family, image generations, disk controllers, ultra disks) is
 * empty.
 */
export function fromRow(row: SizeRow): Sku {
  const [name, vCpus, memoryGib, gpus, arch, zones, flags, maxGb, placement, onDemandMicroUsd, spotMicroUsd] = row;
  return {
    name,
    quotaFamily: '',
    vCpus,
    memoryGib,
    arch,
    gpus,
    zones: zones.split(''),
    spot: flags.includes('s'),
    acceleratedNetworking: flags.includes('a'),
    premiumStorage: flags.includes('p'),
    encryptionAtHost: flags.includes('h'),
    trustedLaunch: flags.includes('t'),
    hyperVGenerations: [],
    diskControllers: [],
    ultraSsdZones: [],
    ephemeralOsDisk: maxGb === 0 ? null : { maxGb, placement },
    onDemandMicroUsd,
    spotMicroUsd,
  };
}
