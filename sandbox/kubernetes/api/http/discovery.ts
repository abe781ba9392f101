import type { Json, JsonObject } from '../json.ts';
import type { Registry, Resource } from '../registry/resources.ts';
import { type ApiReply, jsonReply } from '../request/api-reply.ts';

interface GroupVersions {
  readonly group: string;
  readonly versions: Map<string, Array<Resource>>;
}

function byGroup(registry: Registry): ReadonlyArray<GroupVersions> {
  const groups = new Map<string, GroupVersions>();
  for (const resource of registry.all()) {
    const group = groups.get(resource.group) ?? { group: resource.group, versions: new Map() };
    groups.set(resource.group, group);
    const resources = group.versions.get(resource.version) ?? [];
    resources.push(resource);
    group.versions.set(resource.version, resources);
  }
  return [...groups.values()];
}

/** Order of versions: GA before beta before alpha, higher first, as Kubernetes prefers them. */
function compareVersions(a: string, b: string): number {
  const rank = (version: string): ReadonlyArray<number> => {
    const match = /^v(\d+)(?:(alpha|beta)(\d+))?$/.exec(version);
    if (match === null) return [0, 0, 0];
    const stage = match[2] === undefined ? 3 : match[2] === 'beta' ? 2 : 1;
    return [stage, Number(match[1]), Number(match[3] ?? 0)];
  };
  const [left, right] = [rank(a), rank(b)];
  for (let index = 0; index < 3; index++) {
    const difference = (right[index] ?? 0) - (left[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return a < b ? -1 : 1;
}

function sortedVersions(group: GroupVersions): Array<string> {
  return [...group.versions.keys()].toSorted(compareVersions);
}

function toGroup(group: GroupVersions): JsonObject {
  const versions = sortedVersions(group).map((version) => ({ groupVersion: `${group.group}/${version}`, version }));
  return { name: group.group, versions, preferredVersion: versions[0] ?? {} };
}

function toResourceList(resources: ReadonlyArray<Resource>, groupVersion: string): JsonObject {
  const list: Array<Json> = [];
  for (const resource of resources) {
    list.push({
      name: resource.name,
      singularName: resource.singular,
      namespaced: resource.namespaced,
      kind: resource.kind,
      verbs: [...resource.verbs].toSorted(),
      ...(resource.shortNames.length > 0 ? { shortNames: [...resource.shortNames] } : {}),
      ...(resource.categories.length > 0 ? { categories: [...resource.categories] } : {}),
    });
    for (const subresource of resource.subresources.values()) {
      const isForeign = subresource.group !== resource.group || subresource.version !== resource.version;
      list.push({
        name: `${resource.name}/${subresource.name}`,
        singularName: '',
        namespaced: resource.namespaced,
        ...(isForeign ? { group: subresource.group, version: subresource.version } : {}),
        kind: subresource.kind,
        verbs: [...subresource.verbs].toSorted(),
      });
    }
  }
  return { kind: 'APIResourceList', apiVersion: 'v1', groupVersion, resources: list };
}

function toAggregated(resource: Resource): JsonObject {
  const { group, version, kind } = resource;
  return {
    resource: resource.name,
    responseKind: { group, version, kind },
    scope: resource.namespaced ? 'Namespaced' : 'Cluster',
    singularResource: resource.singular,
    verbs: [...resource.verbs],
    ...(resource.shortNames.length > 0 ? { shortNames: [...resource.shortNames] } : {}),
    ...(resource.categories.length > 0 ? { categories: [...resource.categories] } : {}),
    ...(resource.subresources.size === 0
      ? {}
      : {
          subresources: [...resource.subresources.values()].map((subresource) => ({
            subresource: subresource.name,
            responseKind: { group: subresource.group, version: subresource.version, kind: subresource.kind },
            verbs: [...subresource.verbs],
          })),
        }),
  };
}

function aggregatedReply(groups: ReadonlyArray<GroupVersions>, version: string): ApiReply {
  const items = groups.map((group) => ({
    metadata: group.group === '' ? {} : { name: group.group },
    versions: sortedVersions(group).map((name) => ({
      version: name,
      resources: (group.versions.get(name) ?? []).map(toAggregated),
      freshness: 'Current',
    })),
  }));
  const body = { kind: 'APIGroupDiscoveryList', apiVersion: `apidiscovery.k8s.io/${version}`, metadata: {}, items };
  const contentType = `application/json;g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
  return { status: 200, contentType, text: JSON.stringify(body) };
}

function aggregatedVersion(accept: string): string | null {
  return /as=APIGroupDiscoveryList/.test(accept) && /[;\s]v=v2([;,\s]|$)/.test(accept) ? 'v2' : null;
}

function rootReply(groups: ReadonlyArray<GroupVersions>, root: string, accept: string): ApiReply {
  const aggregated = aggregatedVersion(accept);
  if (aggregated !== null) return aggregatedReply(groups, aggregated);
  if (root === 'api') return jsonReply(200, { kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
  return jsonReply(200, { kind: 'APIGroupList', apiVersion: 'v1', groups: groups.map(toGroup) });
}

/** Answers /api, /apis and the group and version documents, aggregated where the client asks for it; else null. */
export function discoveryReply(registry: Registry, path: string, accept: string): ApiReply | null {
  const [root, ...rest] = path.split('/').filter((segment) => segment !== '');
  const isApi = root === 'api';
  // Longer paths are about resources: no need to look at all groups for them.
  if ((!isApi && root !== 'apis') || rest.length > (isApi ? 1 : 2)) return null;
  const groups = byGroup(registry).filter(({ group }) => (group === '') === isApi);
  if (rest.length === 0) return rootReply(groups, root, accept);
  const [name, version] = isApi ? ['', rest[0]] : rest;
  const group = groups.find((found) => found.group === name);
  if (group === undefined) return null;
  if (version === undefined) return jsonReply(200, { kind: 'APIGroup', apiVersion: 'v1', ...toGroup(group) });
  const resources = group.versions.get(version);
  if (resources === undefined) return null;
  return jsonReply(200, toResourceList(resources, isApi ? 'v1' : `${group.group}/${version}`));
}
