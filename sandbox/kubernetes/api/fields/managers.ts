import { equalJson, isObject, type Json, type JsonObject, listAt, objectAt, textAt } from '../json.ts';
import { asRoot, difference, type FieldSet } from './field-set.ts';

/** One entry of metadata.managedFields. */
export interface Manager {
  readonly name: string;
  readonly operation: 'Apply' | 'Update';
  readonly apiVersion: string;
  readonly subresource: string;
  readonly time: string;
  readonly fields: FieldSet;
}

/** Metadata that nobody owns. */
const unowned: FieldSet = {
  'f:apiVersion': {},
  'f:kind': {},
  'f:metadata': {
    '.': {},
    'f:name': {},
    'f:namespace': {},
    'f:creationTimestamp': {},
    'f:deletionTimestamp': {},
    'f:deletionGracePeriodSeconds': {},
    'f:selfLink': {},
    'f:uid': {},
    'f:generation': {},
    'f:resourceVersion': {},
  },
};

/** The set without what nobody owns, and without the half of the object that the request cannot write. */
export function ownable(set: FieldSet | null, subresource: string): FieldSet | null {
  if (set === null) return null;
  const left = difference(set, unowned);
  if (left === null) return null;
  const kept = Object.fromEntries(
    Object.entries(left).filter(([key]) => (key === 'f:status') === (subresource === 'status')),
  );
  const metadata = kept['f:metadata'];
  if (isObject(metadata)) {
    const { 'f:managedFields': _fields, ...rest } = metadata;
    if (Object.keys(rest).length === 0) delete kept['f:metadata'];
    else kept['f:metadata'] = rest;
  }
  return asRoot(kept);
}

/** Reads metadata.managedFields; entries without fields are dropped. */
export function readManagers(object: JsonObject | null): ReadonlyArray<Manager> {
  return listAt(object ?? {}, 'metadata', 'managedFields').flatMap((entry): ReadonlyArray<Manager> => {
    const fields = objectAt(entry, 'fieldsV1');
    if (Object.keys(fields).length === 0) return [];
    return [
      {
        name: textAt(entry, 'manager'),
        operation: textAt(entry, 'operation') === 'Apply' ? 'Apply' : 'Update',
        apiVersion: textAt(entry, 'apiVersion'),
        subresource: textAt(entry, 'subresource'),
        time: textAt(entry, 'time'),
        fields,
      },
    ];
  });
}

/** True for the entry of the same manager, doing the same to the same part. */
export function isSameManager(a: Manager, b: Manager): boolean {
  return (
    a.name === b.name && a.operation === b.operation && a.apiVersion === b.apiVersion && a.subresource === b.subresource
  );
}

function toEntry(manager: Manager): Json {
  return {
    manager: manager.name,
    operation: manager.operation,
    apiVersion: manager.apiVersion,
    time: manager.time,
    fieldsType: 'FieldsV1',
    fieldsV1: manager.fields,
    ...(manager.subresource === '' ? {} : { subresource: manager.subresource }),
  };
}

/** The object with its managedFields: appliers first, then by time and name. */
export function withManagers(object: JsonObject, managers: ReadonlyArray<Manager>): JsonObject {
  const sorted = managers.toSorted((a, b) => {
    if (a.operation !== b.operation) return a.operation === 'Apply' ? -1 : 1;
    if (a.time !== b.time) return a.time < b.time ? -1 : 1;
    return a.name < b.name ? -1 : 1;
  });
  const { managedFields: _old, ...metadata } = objectAt(object, 'metadata');
  const entries = sorted.map(toEntry);
  return { ...object, metadata: entries.length === 0 ? metadata : { ...metadata, managedFields: entries } };
}

/** Replaces the entry of `manager`, keeping the time of one that has not changed. */
export function putManager(managers: ReadonlyArray<Manager>, manager: Manager): ReadonlyArray<Manager> {
  const old = managers.find((other) => isSameManager(other, manager));
  const next = old !== undefined && equalJson(old.fields, manager.fields) ? old : manager;
  return [...managers.filter((other) => other !== old), next];
}

/** Takes paths away from every manager; who owns nothing any more is dropped. */
export function takeAway(managers: ReadonlyArray<Manager>, paths: FieldSet | null): ReadonlyArray<Manager> {
  if (paths === null) return managers;
  return managers.flatMap((manager) => {
    const fields = asRoot(difference(manager.fields, paths));
    return fields === null ? [] : [{ ...manager, fields }];
  });
}
