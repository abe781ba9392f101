import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { formerKind } from '../../shared/contract/api/former-kind.ts';
import { decodeText, NOT_TEXT } from '../../shared/contract/decode-text.ts';
import { type Connection, connect, isApiError } from '../kubernetes/client/connection.ts';

/** A Kubernetes object as a file has it. */
export interface ManifestObject {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string };
  readonly spec?: unknown;
}

/** A manifest and where it came from, for messages. */
export interface Manifest {
  /** `pool.yaml` or `pool.yaml, document 2`. */
  readonly origin: string;
  readonly object: ManifestObject;
}

/** Reads YAML or JSON files, and folders of them. Throws an Error that names the file and document that is wrong. */
export function readManifests(paths: ReadonlyArray<string>): ReadonlyArray<Manifest> {
  return paths.flatMap(expand).flatMap(readFile);
}

function expand(path: string): ReadonlyArray<string> {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) throw new Error(`${path}: there is no such file or folder`);
  if (!stat.isDirectory()) return [path];
  return readdirSync(path)
    .filter((name) => /\.(ya?ml|json)$/.test(name))
    .toSorted()
    .map((name) => join(path, name));
}

function readFile(path: string): ReadonlyArray<Manifest> {
  const text = decodeText(readFileSync(path));
  if (text === null) throw new Error(`${path}: ${NOT_TEXT.message} (${NOT_TEXT.fix})`);
  const documents = parseAllDocuments(text);
  const list = Array.isArray(documents) ? documents : [];
  return list.flatMap((document, index) => {
    const origin = list.length > 1 ? `${path}, document ${index + 1}` : path;
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${origin}: ${firstLine(error.message)}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    return itemsOf(value).map((item) => ({ origin, object: toObject(origin, item) }));
  });
}

/** The objects of a `List`, as kubectl writes them, or the object itself. */
function itemsOf(value: unknown): ReadonlyArray<unknown> {
  const { kind, items } = value as { readonly kind?: unknown; readonly items?: unknown };
  return kind === 'List' && Array.isArray(items) ? items : [value];
}

/** The parser shows the place in the lines after its first. */
function firstLine(message: string): string {
  return message.split('\n', 1)[0]?.replace(/:$/, '') ?? message;
}

function toObject(origin: string, value: unknown): ManifestObject {
  const object = value as Partial<ManifestObject>;
  if (typeof value !== 'object' || typeof object.apiVersion !== 'string' || typeof object.kind !== 'string') {
    throw new Error(`${origin}: not a Kubernetes object: apiVersion and kind are needed`);
  }
  if (typeof object.metadata?.name !== 'string') {
    throw new Error(`${origin}: ${object.kind} has no metadata.name: give it one`);
  }
  const former = formerKind(object.apiVersion, object.kind);
  if (former !== null)
    throw new Error(`${origin}: ${object.kind} ${object.metadata.name}: ${former.message} (${former.fix})`);
  return value as ManifestObject;
}

/** What is sent with every manifest: a field that the kind does not have is refused, as kubectl does, not dropped. */
const APPLY_QUERY = 'fieldManager=nodewright&force=true&fieldValidation=Strict';

/**
 * Applies manifests server-side, in order. Throws an Error with the API server's own words about the first that is
 * refused.
 */
export async function applyManifests(kubeconfig: string, manifests: ReadonlyArray<Manifest>): Promise<void> {
  const connection = connect(kubeconfig);
  const kinds = new Map<string, Promise<ReadonlyArray<ApiResource>>>();
  const resourcesOf = (apiVersion: string): Promise<ReadonlyArray<ApiResource>> => {
    const known = kinds.get(apiVersion) ?? listResources(connection, apiVersion);
    kinds.set(apiVersion, known);
    return known;
  };
  try {
    for (const manifest of manifests) await applyOne(connection, manifest, resourcesOf);
  } finally {
    connection.close();
  }
}

async function applyOne(
  connection: Connection,
  { origin, object }: Manifest,
  resourcesOf: (apiVersion: string) => Promise<ReadonlyArray<ApiResource>>,
): Promise<void> {
  const { apiVersion, kind, metadata } = object;
  const what = `${kind} ${metadata.name}`;
  const resource = (await resourcesOf(apiVersion)).find((one) => one.kind === kind && !one.name.includes('/'));
  if (resource === undefined) {
    throw new Error(`${origin}: ${what}: the cluster knows no ${kind} in ${apiVersion}: correct apiVersion or kind`);
  }
  const namespace = resource.namespaced ? `/namespaces/${metadata.namespace ?? 'default'}` : '';
  const path = `${pathOf(apiVersion)}${namespace}/${resource.name}/${metadata.name}`;
  try {
    await connection.patch(`${path}?${APPLY_QUERY}`, 'apply', object);
  } catch (error) {
    throw new Error(`${origin}: ${what}: ${messageOf(error)}`, { cause: error });
  }
}

interface ApiResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

/** The kinds of one group and version; none when the cluster does not have it. */
async function listResources(connection: Connection, apiVersion: string): Promise<ReadonlyArray<ApiResource>> {
  try {
    return (await connection.get<{ readonly resources: ReadonlyArray<ApiResource> }>(pathOf(apiVersion))).resources;
  } catch (error) {
    if (isApiError(error, 404)) return [];
    throw error;
  }
}

function pathOf(apiVersion: string): string {
  return apiVersion.includes('/') ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message.replace(/^\d{3} \w+: /, '') : String(error);
}
