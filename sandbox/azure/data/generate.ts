import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, listAt, objectAt, textAt, valueAt, type JsonObject } from '../arm/json.ts';
import { deriveSize, parseSizeName, type SizeRow } from './derive-size.ts';

/**
 * Writes this folder's JSON files from the folder of gathered facts named on the command line:
 * `node sandbox/azure/data/generate.ts FACTS_FOLDER`. The same facts give the same files, byte for byte.
 *
 * Inputs: the retail snapshot of 2026-08-22 (West Europe: on-demand and spot), the on-demand table of 2026-06-18 with
 * spot prices of 2024-08-09 (East US), sizes' vCPUs and memory, families, observed SKU documents, locations, images.
 * A price of zero or less is a hole in the source and is left out. A size of which no source and no documented rule
 * says vCPUs, memory and family is left out.
 */
const factsFolder = process.argv[2];
if (factsFolder === undefined) throw new Error('Name the folder of facts: node sandbox/azure/data/generate.ts FOLDER');

const facts = (name: string): unknown => JSON.parse(readFileSync(join(factsFolder, name), 'utf8'));
const specs = objectAt(facts('vm-size-specs.autoscaler.json'), 'sizes');
const families = new Map(
  listAt(facts('known-vm-skus.json'), 'skus').map((sku) => [textAt(sku, 'name'), textAt(sku, 'family')]),
);
const gpuSizes = new Set(Object.keys(objectAt(facts('gpu-skus.json'), 'skus')));
const observed = listAt(facts('fake-skus.southcentralus.json'), 'skus').filter((sku) => isObject(sku));

const retail = objectAt(facts('retail-snapshot-2026-08-22.eu-regions.json'), 'regions.westeurope');
const combined = objectAt(facts('spot-and-ondemand.eastus-westeurope-southeastasia.json'), 'regions.eastus');

writeRegion(
  'westeurope',
  'Azure Retail Prices of 2026-08-22, on-demand and spot',
  pricesOf(retail, ['onDemand'], ['spot']),
);
writeRegion(
  'eastus',
  'Azure Retail Prices of 2026-06-18 (on-demand) and of 2024-08-09 (spot)',
  pricesOf(combined, ['onDemandFixed', 'onDemand'], ['spotBest']),
);
writeLocations();
writeImages();
writeObserved();

interface Price {
  readonly name: string;
  readonly onDemandMicroUsd: number | null;
  readonly spotMicroUsd: number | null;
}

function pricesOf(
  table: JsonObject,
  onDemandKeys: ReadonlyArray<string>,
  spotKeys: ReadonlyArray<string>,
): ReadonlyArray<Price> {
  return Object.entries(table)
    .map(([name, row]) => ({
      name: name.trim(),
      onDemandMicroUsd: firstPrice(row, onDemandKeys),
      spotMicroUsd: firstPrice(row, spotKeys),
    }))
    .filter(({ onDemandMicroUsd, spotMicroUsd }) => onDemandMicroUsd !== null || spotMicroUsd !== null)
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function firstPrice(row: unknown, keys: ReadonlyArray<string>): number | null {
  const usd = keys.map((key) => valueAt(row, key)).find((value) => typeof value === 'number' && value > 0);
  return typeof usd === 'number' ? Math.round(usd * 1e6) : null;
}

function writeRegion(region: string, source: string, prices: ReadonlyArray<Price>): void {
  const rows = prices.flatMap((price) => {
    const size = sizeOf(price.name);
    return size === null ? [] : [[...size, price.onDemandMicroUsd, price.spotMicroUsd]];
  });
  const meta = { region, source, priced: prices.length, described: rows.length };
  writeLines(`${region}.json`, meta, 'sizes', rows);
}

/** A constrained-core size has its facts from the size that it is a part of, where it has none of its own. */
function sizeOf(name: string): SizeRow | null {
  const parsed = parseSizeName(name);
  if (parsed === null) return null;
  const parent = `Standard_${parsed.letters}${parsed.vCpus}${parsed.additive}${parsed.tail}`;
  const spec = specs[name] ?? specs[parent];
  const family = families.get(name) ?? textAt(spec, 'family') ?? families.get(parent) ?? null;
  return deriveSize(parsed, {
    family,
    vCpus: numberAt(spec, 'vCPUs'),
    memoryMib: numberAt(spec, 'memoryMiB'),
    gpus: numberAt(spec, 'gpus') ?? (gpuSizes.has(name.toLowerCase()) ? null : 0),
    arm: textAt(spec, 'arch') === 'arm64',
    zones: observedZones(family),
  });
}

/** Zones as seen for a sibling of the family in a real region with three zones; all three where none was seen. */
function observedZones(family: string | null): ReadonlyArray<string> {
  const sibling = observed.find((sku) => textAt(sku, 'family') === family);
  return sibling === undefined ? ['1', '2', '3'] : listAt(sibling, 'zones').map(String);
}

function numberAt(value: unknown, path: string): number | null {
  const found = valueAt(value, path);
  return typeof found === 'number' && found > 0 ? found : null;
}

function writeObserved(): void {
  const rows = observed.map((sku) => ({
    name: textAt(sku, 'name'),
    family: textAt(sku, 'family'),
    zones: listAt(sku, 'zones'),
    capabilities: objectAt(sku, 'capabilities'),
  }));
  writeLines('observed-skus.json', { source: 'South Central US, SKU documents of 2025-06-03' }, 'skus', rows);
}

function writeLocations(): void {
  const rows = listAt(facts('azure-locations.json'), 'locations');
  writeLines('locations.json', { source: 'subscription locations, 2026-08' }, 'locations', rows);
}

function writeImages(): void {
  const images = facts('image-definitions.json');
  const rows = listAt(images, 'definitions').map((row) => ({
    gallery: textAt(
      images,
      `galleries.${textAt(row, 'family')?.startsWith('Ubuntu') === true ? 'Ubuntu' : 'AzureLinux'}.communityGallery`,
    ),
    definition: textAt(row, 'definition'),
    arch: textAt(row, 'arch'),
    hyperVGeneration: textAt(row, 'hyperVGeneration'),
    community: valueAt(row, 'sigOnly') === false,
  }));
  writeLines('images.json', { source: 'AKS node image definitions, 2026-08' }, 'images', rows);
}

/** One row a line, so that a change of facts reads as a change of rows. */
function writeLines(file: string, meta: object, key: string, rows: ReadonlyArray<unknown>): void {
  const body = rows.map((row) => JSON.stringify(row)).join(',\n');
  writeFileSync(join(import.meta.dirname, file), `{"meta":${JSON.stringify(meta)},\n"${key}":[\n${body}\n]}\n`);
}
