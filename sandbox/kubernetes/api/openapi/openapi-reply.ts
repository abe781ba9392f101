import { createHash } from 'node:crypto';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';
import type { ApiRequest } from '../request/api-request.ts';
import type { Resource } from '../registry/resources.ts';
import { type ApiState, apiVersionOf } from '../state.ts';
import { documentV2, documentV3 } from './openapi-documents.ts';
import { encodeOpenApiV2 } from './openapi-proto.ts';

const protoType = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
const protoAccept =
  /application\/(com\.github\.proto-openapi\.spec\.v2(@|\.)v1\.0\+protobuf|com\.github\.googleapis\.gnostic)/i;

interface Documents {
  readonly generation: number;
  readonly texts: Map<string, string | Buffer>;
}

/** Documents are large and change only with the registry. */
const cached = new WeakMap<ApiState, Documents>();

function remembered(state: ApiState, name: string, make: () => string | Buffer): string | Buffer {
  const generation = state.registry.generation();
  let documents = cached.get(state);
  if (documents?.generation !== generation) documents = { generation, texts: new Map() };
  cached.set(state, documents);
  const text = documents.texts.get(name) ?? make();
  documents.texts.set(name, text);
  return text;
}

function groupPath(resource: Resource): string {
  return resource.group === '' ? `api/${resource.version}` : `apis/${apiVersionOf(resource)}`;
}

function resourcesByPath(state: ApiState): ReadonlyMap<string, ReadonlyArray<Resource>> {
  const groups = new Map<string, Array<Resource>>();
  for (const resource of state.registry.all()) {
    const path = groupPath(resource);
    groups.set(path, [...(groups.get(path) ?? []), resource]);
  }
  return groups;
}

function indexV3(state: ApiState): string {
  const paths = Object.fromEntries(
    [...resourcesByPath(state).keys()].map((path) => {
      const text = documentText(state, path) ?? '';
      // The hash names the document, so that clients may keep it.
      const hash = createHash('sha256').update(text).digest('hex').toUpperCase();
      return [path, { serverRelativeURL: `/openapi/v3/${path}?hash=${hash}` }];
    }),
  );
  return JSON.stringify({ paths });
}

function documentText(state: ApiState, path: string): string | Buffer | null {
  const resources = resourcesByPath(state).get(path);
  if (resources === undefined) return null;
  return remembered(state, path, () => JSON.stringify(documentV3(state, resources)));
}

/** Answers /openapi/v2 and /openapi/v3; null for other paths. */
export function openApiReply(state: ApiState, { path, accept }: ApiRequest): ApiReply | null {
  if (path === '/openapi/v2') {
    if (protoAccept.test(accept)) {
      const text = remembered(state, 'v2 proto', () => encodeOpenApiV2(documentV2(state)));
      return { status: 200, contentType: protoType, text };
    }
    return jsonReply(200, String(remembered(state, 'v2', () => JSON.stringify(documentV2(state)))));
  }
  if (path === '/openapi/v3') return jsonReply(200, String(remembered(state, 'v3', () => indexV3(state))));
  if (!path.startsWith('/openapi/v3/')) return null;
  const text = documentText(state, path.slice('/openapi/v3/'.length));
  return text === null ? null : jsonReply(200, String(text));
}
