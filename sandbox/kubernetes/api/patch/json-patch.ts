import { copyJson, equalJson, isObject, type Json, textAt } from '../json.ts';
import { badRequest, StatusError } from '../status-error.ts';

/** More operations than the API server takes in one patch. */
const MAX_OPERATIONS = 10_000;

function unescape(segment: string): string {
  return segment.replaceAll('~1', '/').replaceAll('~0', '~');
}

function segmentsOf(path: string): Array<string> {
  if (path !== '' && !path.startsWith('/'))
    throw badRequest(`json patch path ${JSON.stringify(path)} must start with /`);
  return path.split('/').slice(1).map(unescape);
}

/** A path that is missing, a test that fails: the API server does not say which. */
function missing(): StatusError {
  return new StatusError(422, 'Invalid', 'the server rejected our request due to an error in our request', {
    details: {},
  });
}

function child(parent: Json, key: string): Json | undefined {
  if (Array.isArray(parent)) return /^\d+$/.test(key) ? parent[Number(key)] : undefined;
  return isObject(parent) && Object.hasOwn(parent, key) ? parent[key] : undefined;
}

/** The value that holds the last segment, and that segment. */
function locate(document: Json, path: string): { readonly parent: Json; readonly key: string } {
  const segments = segmentsOf(path);
  const key = segments.pop() ?? '';
  let parent: Json = document;
  for (const segment of segments) {
    const next = child(parent, segment);
    if (next === undefined) throw missing();
    parent = next;
  }
  return { parent, key };
}

function valueAt(document: Json, path: string): Json {
  if (path === '') return document;
  const { parent, key } = locate(document, path);
  const value = child(parent, key);
  if (value === undefined) throw missing();
  return value;
}

function add(document: Json, path: string, value: Json): Json {
  if (path === '') return value;
  const { parent, key } = locate(document, path);
  if (Array.isArray(parent)) {
    const index = key === '-' ? parent.length : Number(key);
    if (!Number.isInteger(index) || index < 0 || index > parent.length) throw missing();
    parent.splice(index, 0, value);
  } else if (isObject(parent)) parent[key] = value;
  else throw missing();
  return document;
}

function remove(document: Json, path: string): Json {
  const { parent, key } = locate(document, path);
  if (child(parent, key) === undefined) throw missing();
  if (Array.isArray(parent)) parent.splice(Number(key), 1);
  else if (isObject(parent)) delete parent[key];
  return document;
}

function replace(document: Json, path: string, value: Json): Json {
  if (path === '') return value;
  const { parent, key } = locate(document, path);
  if (child(parent, key) === undefined) throw missing();
  if (Array.isArray(parent)) parent[Number(key)] = value;
  else if (isObject(parent)) parent[key] = value;
  return document;
}

function applyOperation(document: Json, operation: Json): Json {
  const path = textAt(operation, 'path');
  const from = textAt(operation, 'from');
  const value = isObject(operation) ? (operation['value'] ?? null) : null;
  switch (textAt(operation, 'op')) {
    case 'add':
      return add(document, path, copyJson(value));
    case 'replace':
      return replace(document, path, copyJson(value));
    case 'remove':
      return remove(document, path);
    case 'copy':
      return add(document, path, copyJson(valueAt(document, from)));
    case 'move': {
      const moved = valueAt(document, from);
      return add(remove(document, from), path, moved);
    }
    case 'test': {
      if (equalJson(valueAt(document, path), value)) return document;
      throw missing();
    }
    default:
      throw badRequest(`json patch has an unknown operation ${JSON.stringify(textAt(operation, 'op'))}`);
  }
}

/** Applies an RFC 6902 patch; the answer is new. Throws Invalid for paths that are missing and tests that fail. */
export function applyJsonPatch(document: Json, patch: Json): Json {
  if (!Array.isArray(patch)) throw badRequest('a json patch must be a list of operations');
  if (patch.length > MAX_OPERATIONS) {
    throw new StatusError(413, 'RequestEntityTooLarge', `a json patch may hold ${MAX_OPERATIONS} operations at most`);
  }
  let result = copyJson(document);
  for (const operation of patch) result = applyOperation(result, operation);
  return result;
}
