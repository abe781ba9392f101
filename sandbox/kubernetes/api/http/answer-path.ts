import type { ApiState } from '../state.ts';
import { pathNotFound } from '../status-error.ts';
import type { OpenWatches } from '../request/open-watches.ts';
import { answerResource } from './answer-request.ts';
import { type ApiReply, jsonReply, textReply } from '../request/api-reply.ts';
import type { ApiRequest } from '../request/api-request.ts';
import { discoveryReply } from './discovery.ts';
import { openApiReply } from '../openapi/openapi-reply.ts';
import { routeResource } from '../request/route.ts';

/** The release whose schema and behaviour this server has. */
const version = {
  major: '1',
  minor: '36',
  emulationMajor: '1',
  emulationMinor: '36',
  minCompatibilityMajor: '1',
  minCompatibilityMinor: '35',
  gitVersion: 'v1.36.3',
  gitCommit: '0000000000000000000000000000000000000000',
  gitTreeState: 'clean',
  buildDate: '2026-01-01T00:00:00Z',
  goVersion: 'go1.26.0',
  compiler: 'gc',
  platform: 'linux/amd64',
};

const healthPaths = new Set(['/healthz', '/livez', '/readyz']);

function administer(state: ApiState, request: ApiRequest, watches: OpenWatches): ApiReply | null {
  if (request.method !== 'POST') return null;
  const { path, query } = request;
  if (path === '/sandbox/drop-watches') {
    return jsonReply(200, { dropped: watches.drop(query.get('resource') ?? '', query.get('expire') === 'true') });
  }
  if (path !== '/sandbox/compact') return null;
  state.store.compact();
  return jsonReply(200, { revision: state.store.revision() });
}

/** Answers any request. Throws StatusError for everything that is refused. */
export function answerPath(state: ApiState, request: ApiRequest, watches: OpenWatches): ApiReply {
  const { path } = request;
  if (path === '/version' || path === '/version/') return jsonReply(200, version);
  if (healthPaths.has(path) || healthPaths.has(path.split('/').slice(0, 2).join('/'))) return textReply(200, 'ok');
  const found =
    openApiReply(state, request) ??
    discoveryReply(state.registry, path, request.accept) ??
    administer(state, request, watches);
  if (found !== null) return found;
  const route = routeResource(state.registry, path);
  if (route === null) {
    // Paths outside of the API get plain text.
    if (!/^\/apis?(\/|$)/.test(path)) return textReply(404, '404 page not found\n');
    throw pathNotFound();
  }
  return answerResource({ state, route, request, watches });
}
