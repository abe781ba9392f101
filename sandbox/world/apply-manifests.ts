import { readFileSync, readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { KubeConfig, KubernetesObjectApi, PatchStrategy, type KubernetesObject } from '@kubernetes/client-node';
import { parseAllDocuments } from 'yaml';

/** A manifest and where it came from, for messages. */
export interface Manifest {
  /** `pool.yaml` or `pool.yaml, document 2`. */
  readonly origin: string;
  readonly object: KubernetesObject;
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
  const documents = parseAllDocuments(readFileSync(path, 'utf8'));
  const list = Array.isArray(documents) ? documents : [];
  return list.flatMap((document, index) => {
    const origin = list.length > 1 ? `${path}, document ${index + 1}` : path;
    const [error] = document.errors;
    if (error !== undefined) throw new Error(`${origin}: ${error.message}`);
    const value: unknown = document.toJS();
    if (value === null || value === undefined) return [];
    return [{ origin, object: toObject(origin, value) }];
  });
}

function toObject(origin: string, value: unknown): KubernetesObject {
  const object = value as KubernetesObject;
  if (typeof value !== 'object' || typeof object.apiVersion !== 'string' || typeof object.kind !== 'string') {
    throw new Error(`${origin}: not a Kubernetes object: apiVersion and kind are needed`);
  }
  if (typeof object.metadata?.name !== 'string') {
    throw new Error(`${origin}: ${object.kind} has no metadata.name: give it one`);
  }
  return object;
}

/** Applies manifests server-side, in order. Throws an Error with the API server's own words about the first that is refused. */
export async function applyManifests(kubeconfig: string, manifests: ReadonlyArray<Manifest>): Promise<void> {
  const config = new KubeConfig();
  config.loadFromString(kubeconfig);
  const client = KubernetesObjectApi.makeApiClient(config);
  for (const { origin, object } of manifests) {
    try {
      await client.patch(object, undefined, undefined, 'nodewright', true, PatchStrategy.ServerSideApply);
    } catch (error) {
      throw new Error(`${origin}: ${object.kind} ${object.metadata?.name ?? ''}: ${messageOf(error)}`, {
        cause: error,
      });
    }
  }
}

function messageOf(error: unknown): string {
  const { body, message } = error as { readonly body?: unknown; readonly message?: string };
  const parsed = typeof body === 'string' ? tryParse(body) : (body as { readonly message?: string } | undefined);
  return parsed?.message ?? message ?? String(error);
}

function tryParse(text: string): { readonly message?: string } | undefined {
  try {
    return JSON.parse(text) as { readonly message?: string };
  } catch {
    return undefined;
  }
}
