import type { CheckedObject } from './check/check-objects.ts';
import { listAt, mapAt, textAt } from './json-fields.ts';
import type { JsonObject } from './objects.ts';

const DISK = 'disk.csi.azure.com';
const FILE = 'file.csi.azure.com';
const BLOB = 'blob.csi.azure.com';

/**
 * The storage classes that AKS creates, those of blobs where their driver is on. Source: AKS's documentation, 2026-08.
 */
const AKS_CLASSES: ReadonlyArray<readonly [string, string]> = [
  ['default', DISK],
  ['managed', DISK],
  ['managed-premium', DISK],
  ['managed-csi', DISK],
  ['managed-csi-premium', DISK],
  ['azurefile', FILE],
  ['azurefile-premium', FILE],
  ['azurefile-csi', FILE],
  ['azurefile-csi-premium', FILE],
  ['azureblob-fuse-premium', BLOB],
  ['azureblob-nfs-premium', BLOB],
];

/** What can be reached from every zone: shares, and disks that are kept in several zones. */
const WITHOUT_ZONE: ReadonlySet<string> = new Set([FILE, BLOB, 'kubernetes.io/azure-file']);

const DEFAULT_CLASS = 'storageclass.kubernetes.io/is-default-class';
const WAITING = 'WaitForFirstConsumer';

/** Objects with the storage classes that a plan without a cluster can work with, and what is assumed of them. */
export interface StorageClassesOffline {
  readonly objects: ReadonlyArray<CheckedObject>;
  readonly notes: ReadonlyArray<string>;
}

/**
 * Adds AKS's own classes to those that are given, of which one of the same name counts. A class that binds at once
 * would have its volumes made before their pods, in some zone; as nothing makes them here, they are taken to be where
 * the pods go. A class that was read from a cluster stays as it is: there, volumes are made.
 */
export function storageClassesOffline(objects: ReadonlyArray<CheckedObject>): StorageClassesOffline {
  const wanted = objects.flatMap(classesOfNewVolumes);
  if (wanted.length === 0) return { objects, notes: [] };
  const given = objects.filter(({ kind }) => kind === 'StorageClass');
  const hasDefault = given.some(({ value }) => isDefault(value));
  const names = new Set(given.map(({ name }) => name));
  const assumed = AKS_CLASSES.filter(([name]) => !names.has(name)).map(([name, provisioner]) =>
    ofAks(name, provisioner, name === 'default' && !hasDefault),
  );
  const byDefault = [...given, ...assumed].filter(({ value }) => isDefault(value)).map(({ name }) => name);
  const used = new Set(wanted.flatMap((name) => (name === null ? byDefault : [name])));
  const atOnce = given.filter((one) => bindsAtOnce(one) && used.has(one.name));
  return {
    objects: [...objects.map((one) => (bindsAtOnce(one) ? waiting(one) : one)), ...assumed],
    notes: [
      ...(assumed.some(({ name }) => used.has(name)) ? [noteOnAssumed(given.length)] : []),
      ...atOnce.filter(({ value }) => isInOneZone(value)).map(noteOnZone),
    ],
  };
}

function noteOnAssumed(given: number): string {
  return given === 0
    ? 'no StorageClass is given: those of AKS are assumed'
    : 'beside the StorageClasses that are given, those of AKS are assumed';
}

function noteOnZone({ name, origin }: CheckedObject): string {
  return `${origin}: StorageClass ${name} binds at once: its volumes are taken to be where their pods are planned. A cluster makes them before, in a zone that the pods then have to go to (volumeBindingMode: ${WAITING} makes them where the pods go)`;
}

function ofAks(name: string, provisioner: string, byDefault: boolean): CheckedObject {
  return {
    origin: 'assumed',
    kind: 'StorageClass',
    use: { use: 'cluster', resource: 'storageclasses' },
    namespace: null,
    name,
    isLive: false,
    value: {
      metadata: { name, ...(byDefault ? { annotations: { [DEFAULT_CLASS]: 'true' } } : {}) },
      provisioner,
      volumeBindingMode: WAITING,
    },
  };
}

function isDefault(value: JsonObject): boolean {
  return textAt(value, 'metadata', 'annotations', DEFAULT_CLASS) === 'true';
}

function bindsAtOnce({ kind, isLive, value }: CheckedObject): boolean {
  return kind === 'StorageClass' && !isLive && textAt(value, 'volumeBindingMode') !== WAITING;
}

function waiting(object: CheckedObject): CheckedObject {
  return { ...object, value: { ...object.value, volumeBindingMode: WAITING } };
}

function isInOneZone(value: JsonObject): boolean {
  const parameters = Object.values(mapAt(value, 'parameters'));
  const isZoneRedundant = parameters.some((one) => typeof one === 'string' && /_ZRS$/i.test(one));
  return !WITHOUT_ZONE.has(textAt(value, 'provisioner')) && !isZoneRedundant;
}

/** The classes of volumes that an object claims and that do not exist yet; null for the default class. */
function classesOfNewVolumes({ kind, value }: CheckedObject): ReadonlyArray<string | null> {
  const classOf = (spec: JsonObject): string | null =>
    typeof spec['storageClassName'] === 'string' ? spec['storageClassName'] : null;
  if (kind === 'PersistentVolumeClaim') {
    const spec = mapAt(value, 'spec');
    return textAt(spec, 'volumeName') === '' ? [classOf(spec)] : [];
  }
  if (kind !== 'Pod') return [];
  return listAt(value, 'spec', 'volumes')
    .map((volume) => mapAt(volume, 'ephemeral'))
    .filter((ephemeral) => Object.keys(ephemeral).length > 0)
    .map((ephemeral) => classOf(mapAt(ephemeral, 'volumeClaimTemplate', 'spec')));
}
