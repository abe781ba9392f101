import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject, objectAt, textAt, type JsonObject } from '../arm/json.ts';

/**
 * Writes the property trees that the double checks bodies against, from a folder of trees as the facts have them (files
 * named by type and version, format in their README): `node sandbox/azure/data/arm-types.ts FOLDER`. The same trees
 * give the same files, byte for byte, one member a line.
 */
const folder = process.argv[2];
if (folder === undefined) throw new Error('Name the folder of trees: node sandbox/azure/data/arm-types.ts FOLDER');

const SOURCE = 'Azure/bicep-types-az, commit 1f896de2d (2026-08-20)';

/**
 * What the double serves and the source describes. Subnets, security groups and pools are shapes of network interfaces.
 */
const FILES = [
  'Compute.virtualMachines@2026-04-01',
  'Compute.virtualMachines.extensions@2026-04-01',
  'Network.networkInterfaces@2025-09-01',
  'ContainerService.managedClusters@2026-05-01',
  'ContainerService.managedClusters.maintenanceConfigurations@2026-05-01',
  'Resources.resourceGroups@2025-04-01',
  'Authorization.roleAssignments@2022-04-01',
] as const;

for (const file of FILES) writeTree(folder, file);

function writeTree(from: string, file: string): void {
  const given: unknown = JSON.parse(readFileSync(join(from, `${file}.json`), 'utf8'));
  const head = { source: SOURCE, resource: textAt(given, 'resource'), apiVersion: textAt(given, 'apiVersion') };
  const shapes = Object.entries(objectAt(given, 'shapes')).map(([name, node]) => member(name, nodeOf(node)));
  const body = nodeOf(objectAt(given, 'body'));
  const lines = [`{"meta":${JSON.stringify(head)}`, member('body', body), `"shapes":{\n${shapes.join(',\n')}}}`];
  writeFileSync(join(import.meta.dirname, `arm.${file}.json`), `${lines.join(',\n')}\n`);
}

function member(name: string, node: string): string {
  return `${JSON.stringify(name)}:${node}`;
}

/** A node without what no check reads: a scalar that has nothing to say beside its type is the type's name alone. */
function nodeOf(given: unknown): string {
  if (!isObject(given)) throw new Error(`A node of a tree is no object: ${JSON.stringify(given)}`);
  const { open: _open, sensitive: _sensitive, ...kept } = withoutSizes(given);
  if (kept['writeOnly'] === true)
    throw new Error('The checker knows nothing of what is write-only yet: teach it first.');
  const keys = Object.keys(kept);
  if (keys.length === 1 && typeof kept['type'] === 'string') return JSON.stringify(kept['type']);
  return `{${keys.map((key) => member(key, partOf(key, kept[key]))).join(',')}}`;
}

function partOf(key: string, value: unknown): string {
  if (key === 'items' || key === 'additional') return nodeOf(value);
  if (key === 'anyOf' || key === 'variants') throw new Error(`The checker knows no ${key} yet: teach it first.`);
  if (key === 'properties' && isObject(value))
    return `{\n${Object.entries(value)
      .map(([name, node]) => member(name, nodeOf(node)))
      .join(',\n')}}`;
  return JSON.stringify(value);
}

/** The list of VM sizes in the tree ended years ago: which there are, the size list says. */
function withoutSizes(node: JsonObject): JsonObject {
  const { enum: values, ...rest } = node;
  return Array.isArray(values) && values.includes('Standard_A1') ? rest : node;
}
