/**
 * Writes definitions.generated.json, discovery.generated.json and columns.generated.json beside this file from a
 * running control plane, with all prose taken out. Run it once per Kubernetes release, against a fresh cluster behind
 * `kubectl proxy`:
 *
 *   node sandbox/kubernetes/api/schema/dump-schema.ts http://127.0.0.1:8001
 */
import { writeFileSync } from 'node:fs';
import { isObject, type Json, type JsonObject } from '../json.ts';

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const table = 'application/json;as=Table;v=v1;g=meta.k8s.io';

async function fetchJson(server: string, path: string, accept = 'application/json'): Promise<JsonObject> {
  const answer = await fetch(new URL(path, server), { headers: { accept } });
  if (!answer.ok) throw new Error(`GET ${path}: ${answer.status}`);
  return (await answer.json()) as JsonObject;
}

/** The same value without `description` strings; a property that is named description stays. */
function withoutProse(value: Json, isPropertyMap = false): Json {
  if (Array.isArray(value)) return value.map((item) => withoutProse(item));
  if (!isObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([key, child]) => isPropertyMap || key !== 'description' || typeof child !== 'string')
      .map(([key, child]) => [key, withoutProse(child, key === 'properties')]),
  );
}

async function dumpDefinitions(server: string): Promise<JsonObject> {
  const index = await fetchJson(server, '/openapi/v3');
  const definitions: JsonObject = {};
  for (const [path, entry] of Object.entries(index['paths'] as JsonObject)) {
    if (!/^apis?\/(.*\/)?v\d/.test(path)) continue;
    const document = await fetchJson(server, String((entry as JsonObject)['serverRelativeURL']));
    Object.assign(definitions, (document['components'] as JsonObject)['schemas']);
  }
  return withoutProse(definitions, true) as JsonObject;
}

interface Discovered {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly name?: string };
    readonly versions: ReadonlyArray<{
      readonly version: string;
      readonly resources: ReadonlyArray<{ readonly resource: string; readonly verbs: ReadonlyArray<string> }>;
    }>;
  }>;
}

async function dumpColumns(server: string, discovered: Discovered): Promise<JsonObject> {
  const columns: JsonObject = {};
  for (const { metadata, versions } of discovered.items) {
    for (const { version, resources } of versions) {
      const prefix = metadata.name === undefined ? `/api/${version}` : `/apis/${metadata.name}/${version}`;
      for (const { resource } of resources.filter(({ verbs }) => verbs.includes('list'))) {
        const answer = await fetchJson(server, `${prefix}/${resource}?limit=1`, table);
        columns[`${resource}.${metadata.name ?? ''}`] = withoutProse(answer['columnDefinitions'] ?? []);
      }
    }
  }
  return columns;
}

function write(name: string, value: Json): void {
  writeFileSync(new URL(name, import.meta.url), `${JSON.stringify(value)}\n`);
}

const server = process.argv[2];
if (server === undefined) throw new Error('usage: dump-schema.ts <address of kubectl proxy>');
const core = await fetchJson(server, '/api', aggregated);
const groups = await fetchJson(server, '/apis', aggregated);
const discovery = { items: [...(core['items'] as Array<Json>), ...(groups['items'] as Array<Json>)] };
write('definitions.generated.json', await dumpDefinitions(server));
write('discovery.generated.json', discovery);
write('columns.generated.json', await dumpColumns(server, discovery as unknown as Discovered));
