import type { JsonObject } from '../json.ts';

/** An object reduced to its metadata. */
export function partialMetadata(object: JsonObject, version: string): JsonObject {
  return { kind: 'PartialObjectMetadata', apiVersion: `meta.k8s.io/${version}`, metadata: object['metadata'] ?? {} };
}
