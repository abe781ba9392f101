import type { Registry, Resource } from '../registry/resources.ts';

/** A path that names a resource, an object or a subresource. */
export interface ResourceRoute {
  readonly resource: Resource;
  /** '' for cluster-scoped resources and for all namespaces. */
  readonly namespace: string;
  /** '' for the collection. */
  readonly name: string;
  readonly subresource: string;
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

/** Takes group and version off the front of a path; null where there are none. */
function takeGroupVersion(segments: Array<string>): { readonly group: string; readonly version: string } | null {
  const root = segments.shift();
  if (root !== 'api' && root !== 'apis') return null;
  const group = root === 'apis' ? segments.shift() : '';
  const version = segments.shift();
  return group === undefined || version === undefined ? null : { group, version };
}

/** Takes the namespace off the front; '' where the path is about the namespace itself or about none. */
function takeNamespace(segments: Array<string>): string {
  const [first, , third] = segments;
  if (first !== 'namespaces' || third === undefined || third === 'status' || third === 'finalize') return '';
  return segments.splice(0, 2)[1] ?? '';
}

/** Reads a resource path under /api/v1 or /apis/group/version; null where it leads nowhere. */
export function routeResource(registry: Registry, path: string): ResourceRoute | null {
  const segments = segmentsOf(path) ?? [];
  const served = takeGroupVersion(segments);
  const namespace = takeNamespace(segments);
  const [plural, name = '', subresource = '', ...rest] = segments;
  if (served === null || plural === undefined) return null;
  const resource = registry.find(served.group, served.version, plural);
  if (resource === undefined) return null;
  const fits = resource.namespaced ? namespace !== '' || name === '' : namespace === '';
  const hasPart = subresource === '' || resource.subresources.has(subresource);
  // Only a proxy hands on what follows its name.
  const ends = rest.length === 0 || subresource === 'proxy';
  return fits && hasPart && ends ? { resource, namespace, name, subresource } : null;
}
