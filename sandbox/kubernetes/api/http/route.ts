import type { Registry, Resource } from '../registry/resources.ts';

/** A path that names a resource, an object or a subresource. */
export interface ResourceRoute {
  readonly resource: Resource;
  /** '' for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** '' for the collection. */
  readonly name: string;
  readonly subresource: string;
  /** What follows the subresource, for proxies. */
  readonly rest: string;
}

function segmentsOf(path: string): Array<string> | null {
  try {
    return path
      .split('/')
      .filter((segment) => segment !== '')
      .map(decodeURIComponent);
  } catch {
    return null;
  }
}

/** Reads a resource path under /api/v1 or /apis/group/version; null where it leads nowhere. */
export function routeResource(registry: Registry, path: string): ResourceRoute | null {
  const segments = segmentsOf(path);
  if (segments === null) return null;
  const root = segments.shift();
  const group = root === 'apis' ? segments.shift() : '';
  const version = segments.shift();
  if ((root !== 'api' && root !== 'apis') || group === undefined || version === undefined) return null;
  let namespace = '';
  // /namespaces/x/status and /namespaces/x/finalize are about the namespace itself.
  const isInside =
    segments[0] === 'namespaces' && segments.length > 2 && !['status', 'finalize'].includes(segments[2] ?? '');
  if (isInside) namespace = segments.splice(0, 2)[1] ?? '';
  const [plural, name = '', subresource = '', ...rest] = segments;
  if (plural === undefined) return null;
  const resource = registry.find(group, version, plural);
  if (resource === undefined || (isInside && !resource.namespaced)) return null;
  if (resource.namespaced && namespace === '' && name !== '') return null;
  if (subresource !== '' && !resource.subresources.has(subresource)) return null;
  return { resource, namespace, name, subresource, rest: rest.join('/') };
}
