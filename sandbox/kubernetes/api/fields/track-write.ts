import { isObject, type Json, type JsonObject } from '../json.ts';
import { decodeObjectBySchema } from '../schema/decode.ts';
import { type ApiState, apiVersionOf, type Target, timestamp, type WriteOptions } from '../state.ts';
import { compareFields } from './compare-fields.ts';
import { asRoot, type FieldSet, fieldsOf, union } from './field-set.ts';
import { isSameManager, type Manager, ownable, putManager, readManagers, takeAway, withManagers } from './managers.ts';

/** An object before and after a write. */
export interface Written {
  readonly next: JsonObject;
  readonly current: JsonObject | null;
}

/** A target whose subresource counts for ownership; without one it is the main resource. */
export type TrackedTarget = Target & { readonly subresource?: string };

/** The entry of who writes, with the given fields. */
export function managerOf(
  state: ApiState,
  target: TrackedTarget,
  options: WriteOptions,
  made: { readonly operation: Manager['operation']; readonly fields: FieldSet },
): Manager {
  return {
    name: options.fieldManager,
    apiVersion: apiVersionOf(target.resource),
    subresource: target.subresource ?? '',
    time: timestamp(state.clock.now()),
    ...made,
  };
}

/**
 * Answers `next` with its managedFields brought up to date for a write that is not an apply: the writer owns what it
 * changed, and nobody owns any longer what is gone.
 */
export function trackWrite(
  state: ApiState,
  target: TrackedTarget,
  { next, current }: Written,
  options: WriteOptions,
): JsonObject {
  const node = target.resource.group === 'events.k8s.io' ? null : state.schemas.ofResource(target.resource);
  if (node === null) return next;
  const changes = compareFields(current ?? {}, next, node);
  const written = ownable(changes.written, target.subresource ?? '');
  const removed = asRoot(changes.removed);
  const mine = managerOf(state, target, options, { operation: 'Update', fields: written ?? {} });
  const before = readManagers(next);
  const self = before.find((manager) => isSameManager(manager, mine));
  const others = takeAway(
    takeAway(
      before.filter((manager) => manager !== self),
      written,
    ),
    removed,
  );
  const kept = self === undefined ? [] : takeAway([self], removed);
  if (written === null) return withManagers(next, [...others, ...kept]);
  const fields = kept[0] === undefined ? written : union(kept[0].fields, written);
  return withManagers(
    next,
    putManager([...others, ...(self === undefined ? [] : [self])], { ...mine, fields: withoutRootMark(fields) }),
  );
}

/**
 * Answers a new object as made by a server-side apply of `body`: its manager owns what it applied, nobody the defaults.
 */
export function trackApplied(
  state: ApiState,
  target: TrackedTarget,
  { next }: Written,
  { body, options }: { readonly body: Json; readonly options: WriteOptions },
): JsonObject {
  const node = state.schemas.ofResource(target.resource);
  if (node === null || !isObject(body)) return next;
  const applied = decodeObjectBySchema(body, node, target.resource.definedBy === null).object;
  const fields = ownable(fieldsOf(applied, node), target.subresource ?? '');
  if (fields === null) return next;
  return withManagers(next, [managerOf(state, target, options, { operation: 'Apply', fields })]);
}

/** A union of roots is no path of its own. */
function withoutRootMark(set: FieldSet): FieldSet {
  const { '.': _self, ...rest } = set;
  return rest;
}
