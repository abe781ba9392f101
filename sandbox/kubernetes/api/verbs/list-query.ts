import { type JsonObject, objectAt, textAt } from '../json.ts';
import type { ResourceRoute } from '../request/route.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector.ts';
import type { ApiState } from '../state.ts';
import { badRequest } from '../status-error.ts';
import type { Stored } from '../store/store.ts';

/** Which objects a list, watch or deletecollection is about. */
export type StoredMatcher = (stored: Stored) => boolean;

/** Reads namespace, name and selectors of a request; null where everything is selected. Throws BadRequest. */
export function toStoredMatcher(state: ApiState, route: ResourceRoute, query: URLSearchParams): StoredMatcher | null {
  const { resource, namespace, name } = route;
  const tests: Array<(object: JsonObject) => boolean> = [];
  const labels = query.get('labelSelector') ?? '';
  if (labels !== '') {
    const matches = parseLabelSelector(labels);
    tests.push((object) => matches(objectAt(object, 'metadata', 'labels')));
  }
  const fields = query.get('fieldSelector') ?? '';
  if (fields !== '') tests.push(parseFieldSelector(fields, resource, state.customKinds.selectableFields(resource)));
  if (name !== '') tests.push((object) => textAt(object, 'metadata', 'name') === name);
  const prefix = resource.namespaced && namespace !== '' ? `${namespace}/` : '';
  if (tests.length === 0 && prefix === '') return null;
  return ({ key, object }) => key.startsWith(prefix) && tests.every((test) => test(object));
}

/** A resourceVersion parameter: null when absent. Throws BadRequest for text that is no number. */
export function parseRevision(query: URLSearchParams): number | null {
  const text = query.get('resourceVersion') ?? '';
  if (text === '') return null;
  if (!/^\d{1,15}$/.test(text)) {
    const quoted = JSON.stringify(text);
    const why = `strconv.ParseUint: parsing ${quoted}: invalid syntax`;
    throw badRequest(`invalid resource version: resourceVersion: Invalid value: ${quoted}: ${why}`);
  }
  return Number(text);
}

/** A boolean parameter as the API reads it. */
export function isTrue(query: URLSearchParams, name: string): boolean {
  return ['true', '1'].includes(query.get(name) ?? '');
}
