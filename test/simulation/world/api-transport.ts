import type { ApiRequest } from '../../../shared/adapters/kubernetes/transport.ts';
import type { ApiServer, Fields, Reply } from './api-server.ts';

const place =
  /^\/apis?(?:\/[a-z0-9.]+)?\/v\d\w*(?:\/namespaces\/(?<namespace>[^/?]+))?\/(?<resource>[a-z]+)(?:\/(?<name>[^/?]+))?(?:\/(?<sub>[a-z]+))?(?:\?(?<query>.*))?$/;

/** What API servers answer, and nodes are made of. */
export const KUBERNETES_VERSION = '1.36.3';

/** Answers requests as the API's URLs name them, so that the real adapters can be used on the simulated server. */
export function answer(
  server: ApiServer,
  { method, path, body = {} }: ApiRequest,
  version: string = KUBERNETES_VERSION,
): Reply {
  if (path === '/version') return { status: 200, body: { gitVersion: `v${version}` } };
  const groups = place.exec(path)?.groups;
  if (groups === undefined) throw new Error(`no such path: ${path}`);
  const { namespace, resource = '', name, query } = groups;
  // Through JSON, as on the wire: undefined members vanish, and nobody shares an object.
  const fields = JSON.parse(JSON.stringify(body)) as Fields;
  if (name === undefined) return method === 'POST' ? server.create(resource, fields) : list(server, resource, query);
  const key = namespace === undefined ? name : `${namespace}/${name}`;
  return answerAbout(server, { method, resource, key, sub: groups['sub'] ?? '' }, fields);
}

/** What a request does, as traces have it: a deletion that is only tried deletes nothing. */
export function actOf({ method, path, body = {} }: ApiRequest): string {
  return `${'dryRun' in body ? 'TRY' : method} ${path}`;
}

interface Target {
  readonly method: ApiRequest['method'];
  readonly resource: string;
  readonly key: string;
  /** The subresource; empty for the object itself. */
  readonly sub: string;
}

function answerAbout(server: ApiServer, { method, resource, key, sub }: Target, fields: Fields): Reply {
  if (method === 'POST' && sub === 'eviction') {
    return server.evict(key, fields['deleteOptions']?.preconditions?.uid);
  }
  if (method === 'PATCH') return server.patch(resource, key, fields, sub === 'status' ? 'status' : 'object');
  if (method === 'DELETE') {
    const { preconditions, gracePeriodSeconds, dryRun } = fields;
    const { uid, resourceVersion } = preconditions ?? {};
    const isTrial = dryRun !== undefined;
    return server.delete(resource, key, { uid, resourceVersion, graceSeconds: gracePeriodSeconds, isTrial });
  }
  const found = server.get(resource, key);
  return found === null ? { status: 404, body: { message: `${key} not found` } } : { status: 200, body: found };
}

function list(server: ApiServer, resource: string, query = ''): Reply {
  const asked = new URLSearchParams(query);
  const labels = (asked.get('labelSelector') ?? '').split(',').filter(Boolean);
  const fields = (asked.get('fieldSelector') ?? '').split(',').filter(Boolean);
  const items = server
    .list(resource)
    .filter((one) => labels.every((term) => holds(one.metadata.labels ?? {}, term)))
    .filter((one) => fields.every((term) => holds({ 'spec.nodeName': one.spec?.['nodeName'] }, term)));
  return { status: 200, body: { metadata: { resourceVersion: server.revision }, items } };
}

function holds(values: Fields, term: string): boolean {
  const [key = '', value] = term.split('=');
  return values[key] === value;
}
