import { isObject, type Json, type JsonObject, objectAt, textAt } from '../json.ts';
import { createObject } from '../objects/create-object.ts';
import { decodeBody } from '../wire/decode-body.ts';
import { presentObject } from '../wire/object-text.ts';
import { prepareReplacement, storeTracked } from '../objects/update-object.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { type ApiState, storeKey, type Target, type WriteOptions } from '../state.ts';
import { badRequest, StatusError } from '../status-error.ts';
import { compareFields } from '../fields/compare-fields.ts';
import { asRoot, difference, type FieldSet, fieldsOf, intersection, pathTexts } from '../fields/field-set.ts';
import {
  isSameManager,
  type Manager,
  ownable,
  putManager,
  readManagers,
  takeAway,
  withManagers,
} from '../fields/managers.ts';
import { mergeApplied, removePaths } from './merge-applied.ts';
import { managerOf } from '../fields/track-write.ts';

/** An apply: the configuration, and whether it wins over other managers. */
export interface Application {
  readonly body: Json;
  readonly force: boolean;
}

/** An applied object; `isNew` where the apply created it. */
export interface Applied {
  readonly object: JsonObject;
  readonly isNew: boolean;
}

interface Conflict {
  readonly manager: string;
  readonly path: string;
}

function managerText(manager: Manager): string {
  const part = manager.subresource === '' ? '' : ` with subresource ${JSON.stringify(manager.subresource)}`;
  const name = `${JSON.stringify(manager.name)}${part}`;
  return manager.operation === 'Apply' ? name : `${name} using ${manager.apiVersion}`;
}

function conflictError(conflicts: ReadonlyArray<Conflict>): StatusError {
  const causes = conflicts.map(({ manager, path }): Json => ({
    reason: 'FieldManagerConflict',
    message: `conflict with ${manager}`,
    field: path,
  }));
  const byManager = Map.groupBy(conflicts, ({ manager }) => manager);
  const lists = [...byManager].map(
    ([manager, list]) => `conflicts with ${manager}:\n${list.map(({ path }) => `- ${path}`).join('\n')}`,
  );
  const [only] = conflicts;
  const what =
    conflicts.length === 1 && only !== undefined
      ? `1 conflict: conflict with ${only.manager}: ${only.path}`
      : `${conflicts.length} conflicts: ${lists.join('\n')}`;
  return new StatusError(409, 'Conflict', `Apply failed with ${what}`, { details: { causes } });
}

function conflictsOf(others: ReadonlyArray<Manager>, written: FieldSet | null): ReadonlyArray<Conflict> {
  if (written === null) return [];
  return others.flatMap((manager) => {
    const both = asRoot(intersection(manager.fields, written));
    return both === null ? [] : pathTexts(both).map((path) => ({ manager: managerText(manager), path }));
  });
}

/** What this manager applied before, applies no longer, and nobody else owns. */
function abandoned(previous: FieldSet | null, applied: FieldSet, others: ReadonlyArray<Manager>): FieldSet | null {
  let left = previous === null ? null : asRoot(difference(previous, applied));
  for (const other of others) left = left === null ? null : asRoot(difference(left, other.fields));
  return left;
}

function checkApplication(options: WriteOptions, body: Json): void {
  if (options.fieldManager === '') {
    const message = 'Required value: is required for apply patch';
    throw new StatusError(422, 'Invalid', `PatchOptions.meta.k8s.io "" is invalid: fieldManager: ${message}`, {
      details: {
        group: 'meta.k8s.io',
        kind: 'PatchOptions',
        causes: [{ reason: 'FieldValueRequired', message, field: 'fieldManager' }],
      },
    });
  }
  if (objectAt(body, 'metadata')['managedFields'] !== undefined) throw badRequest('metadata.managedFields must be nil');
}

function applyNew(state: ApiState, target: Target, application: Application, options: WriteOptions): Applied {
  const { body } = application;
  const given = textAt(body, 'metadata', 'name') || target.name;
  if (given !== target.name) {
    throw badRequest(`the name of the object (${given}) does not match the name on the URL (${target.name})`);
  }
  return { object: createObject(state, target, body, { ...options, applies: true }), isNew: true };
}

function merged(live: JsonObject, applied: JsonObject, gone: FieldSet | null, node: SchemaNode): JsonObject {
  const written = mergeApplied(live, applied, node);
  const left = gone === null ? written : removePaths(written, gone, node);
  return isObject(left) ? left : {};
}

/** Applies a configuration for its manager (server-side apply). Throws Conflict with FieldManagerConflict causes. */
export function applyObject(
  state: ApiState,
  target: Target & { readonly subresource: string },
  application: Application,
  options: WriteOptions,
): Applied {
  checkApplication(options, application.body);
  const { resource, namespace, name } = target;
  const node = state.schemas.ofResource(resource);
  const stored = state.store.get(resource.storage, storeKey(resource.namespaced ? namespace : '', name));
  if (node === null) throw badRequest(`${resource.kind} has no schema to apply by`);
  if (stored === undefined) return applyNew(state, target, application, options);
  const current = presentObject(stored.object, resource);
  const applied = decodeBody(state, target, application.body, options);
  const fields = ownable(fieldsOf(applied, node), target.subresource) ?? {};
  const managers = readManagers(current);
  const mine = managerOf(state, target, options, { operation: 'Apply', fields });
  const others = managers.filter((manager) => !isSameManager(manager, mine));
  const previous = managers.find((manager) => isSameManager(manager, mine))?.fields ?? null;
  const next = merged(current, applied, abandoned(previous, fields, others), node);
  const written = ownable(compareFields(current, next, node).written, target.subresource);
  const conflicts = conflictsOf(others, written);
  if (conflicts.length > 0 && !application.force) throw conflictError(conflicts);
  const prepared = prepareReplacement(state, target, { current, next });
  const left = application.force ? takeAway(others, written) : others;
  const old = managers.filter((manager) => isSameManager(manager, mine));
  const tracked = withManagers(prepared, putManager([...left, ...old], mine));
  return { object: storeTracked(state, target, { current, next: tracked }, options), isNew: false };
}
