import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { objectAt, type JsonObject } from '../../../../../sandbox/azure/arm/json.ts';
import {
  findMisfits,
  findMisfitsOfShape,
  keepWritable,
  type Misfit,
} from '../../../../../sandbox/azure/types/find-misfits.ts';
import { onlyMembers, readTypeTree } from '../../../../../sandbox/azure/types/type-tree.ts';

const root = join(import.meta.dirname, '../../../../..');
const read = (file: string): ReturnType<typeof readTypeTree> => readTypeTree(join(root, 'sandbox/azure/data'), file);
const trees = {
  vm: read('Compute.virtualMachines@2026-04-01'),
  nic: read('Network.networkInterfaces@2025-09-01'),
  extension: read('Compute.virtualMachines.extensions@2026-04-01'),
} as const;

/** Bodies of the real provider; data/golden-bodies.json says where they come from. */
const golden = JSON.parse(readFileSync(join(import.meta.dirname, '../data/golden-bodies.json'), 'utf8')) as Readonly<
  Record<keyof typeof trees, ReadonlyArray<JsonObject>>
>;

const lines = (misfits: ReadonlyArray<Misfit>): ReadonlyArray<string> =>
  misfits.map(({ path, words }) => `${path} ${words}`);

/** The body with another value at a dotted path. */
function put(body: JsonObject, path: string, value: unknown): JsonObject {
  const [key = '', ...rest] = path.split('.');
  return { ...body, [key]: rest.length === 0 ? value : put(objectAt(body, key), rest.join('.'), value) };
}

const [vm = {}] = golden.vm;
const [nic = {}] = golden.nic;

test.for(['vm', 'nic', 'extension'] as const)('every %s body of the real provider fits its tree', (kind) => {
  expect(golden[kind].length).toBeGreaterThan(0);
  for (const body of golden[kind]) expect(lines(findMisfits(trees[kind], body, 'put'))).toEqual([]);
});

test('a foreign member, a number for a text and a text for a truth are three lines, and no more', () => {
  const foreign = put(vm, 'properties.osProfile.adminName', 'azureuser');
  const numbered = put(foreign, 'properties.priority', 3);
  const wrong = put(numbered, 'properties.osProfile.linuxConfiguration.disablePasswordAuthentication', 'yes');
  expect(lines(findMisfits(trees.vm, wrong, 'put')).toSorted()).toEqual([
    'properties.osProfile.adminName is unknown',
    'properties.osProfile.linuxConfiguration.disablePasswordAuthentication is no boolean but "yes"',
    'properties.priority is no string but 3',
  ]);
});

test('what is wrong in a list is named with its place in the list', () => {
  const [first] = (nic['properties'] as { readonly ipConfigurations: ReadonlyArray<JsonObject> }).ipConfigurations;
  const wrong = put(nic, 'properties.ipConfigurations', [first, { name: 7, subnet: {} }]);
  expect(lines(findMisfits(trees.nic, wrong, 'put'))).toEqual([
    'properties.ipConfigurations[1].name is no string but 7',
    'properties.ipConfigurations[1].subnet is unknown',
  ]);
});

test('a value of an enumeration counts without its case, and another is refused with those there are', () => {
  expect(findMisfits(trees.vm, put(vm, 'properties.priority', 'spot'), 'put')).toEqual([]);
  expect(lines(findMisfits(trees.vm, put(vm, 'properties.priority', 'Cheap'), 'put'))).toEqual([
    'properties.priority is "Cheap", and can be regular, low, spot, spotplus',
  ]);
});

test('a VM may have a size that the tree does not list', () => {
  expect(findMisfits(trees.vm, put(vm, 'properties.hardwareProfile.vmSize', 'Standard_D4s_v7'), 'put')).toEqual([]);
});

test('the name of a member counts with its case', () => {
  expect(lines(findMisfits(trees.vm, put(vm, 'properties.OsProfile', {}), 'put'))).toEqual([
    'properties.OsProfile is unknown',
  ]);
});

test('what is required is missed in what creates, and not in what changes', () => {
  const bare = put(put(vm, 'properties.storageProfile.osDisk', { name: 'disk' }), 'location', null);
  expect(lines(findMisfits(trees.vm, bare, 'put'))).toEqual([
    'properties.storageProfile.osDisk.createOption is missing',
    'location is missing',
  ]);
  expect(findMisfits(trees.vm, bare, 'patch')).toEqual([]);
});

test('a change of tags may have nothing but tags', () => {
  const tags = onlyMembers(trees.nic, ['tags']);
  expect(findMisfits(tags, { tags: { a: 'b' } }, 'patch')).toEqual([]);
  expect(lines(findMisfits(tags, nic, 'patch'))).toEqual(['location is unknown', 'properties is unknown']);
});

describe('what is read-only', () => {
  const body = put(put(vm, 'properties.provisioningState', 7), 'etag', 'x');

  test('is ignored in what is sent, whatever it is', () => {
    expect(findMisfits(trees.vm, body, 'put')).toEqual([]);
  });

  test('is not kept of it, and neither is null', () => {
    const kept = keepWritable(trees.vm, put(body, 'plan', null));
    expect(Object.keys(kept)).not.toContain('etag');
    expect(Object.keys(kept)).not.toContain('plan');
    expect(kept['properties']).toEqual(vm['properties']);
  });

  test('has to be right in what comes back', () => {
    expect(lines(findMisfits(trees.vm, body, 'answer'))).toEqual(['properties.provisioningState is no string but 7']);
  });
});

test('an answer has its name, and no nulls', () => {
  const { name: _name, ...nameless } = put(vm, 'plan', null);
  expect(lines(findMisfits(trees.vm, nameless, 'answer'))).toEqual(['plan is no object but null', 'name is missing']);
});

test('settings of an extension may be anything', () => {
  const [extension = {}] = golden.extension;
  const body = put(extension, 'properties.settings', [1, { any: null }]);
  expect(findMisfits(trees.extension, body, 'put')).toEqual([]);
});

test('a number out of its bounds is refused with the bounds', () => {
  const lengthOf = (prefix: number): JsonObject =>
    put(nic, 'properties.ipConfigurations', [{ name: 'a', properties: { privateIPAddressPrefixLength: prefix } }]);
  expect(findMisfits(trees.nic, lengthOf(128), 'put')).toEqual([]);
  expect(lines(findMisfits(trees.nic, lengthOf(129), 'put'))).toEqual([
    'properties.ipConfigurations[0].properties.privateIPAddressPrefixLength is 129, and can be 1 to 128',
  ]);
});

test('a shape of a tree is a tree of its own', () => {
  expect(lines(findMisfitsOfShape(trees.nic, 'Subnet', { name: 'a', location: 'westeurope' }))).toEqual([
    'location is unknown',
  ]);
});
