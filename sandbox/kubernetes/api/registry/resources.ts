import { readFileSync } from 'node:fs';
import type { Json } from '../json.ts';

/** A subresource as discovery tells it. */
export interface Subresource {
  readonly name: string;
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly verbs: ReadonlyArray<string>;
}

/** A resource that the server serves at one group and version. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  /** Plural, as in the path. */
  readonly name: string;
  readonly kind: string;
  readonly listKind: string;
  readonly singular: string;
  readonly namespaced: boolean;
  readonly shortNames: ReadonlyArray<string>;
  readonly categories: ReadonlyArray<string>;
  readonly verbs: ReadonlyArray<string>;
  readonly subresources: ReadonlyMap<string, Subresource>;
  /** Name of the CustomResourceDefinition that serves it, or null for a built-in. */
  readonly definedBy: string | null;
  /** Where its objects are stored: `plural.group`, the same for all versions. */
  readonly storage: string;
}

interface DiscoveredKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

interface DiscoveredResource {
  readonly resource: string;
  readonly responseKind: DiscoveredKind;
  readonly scope: 'Cluster' | 'Namespaced';
  readonly singularResource: string;
  readonly verbs: ReadonlyArray<string>;
  readonly shortNames?: ReadonlyArray<string>;
  readonly categories?: ReadonlyArray<string>;
  readonly subresources?: ReadonlyArray<{
    readonly subresource: string;
    readonly responseKind?: DiscoveredKind;
    readonly verbs: ReadonlyArray<string>;
  }>;
}

interface Discovery {
  readonly items: ReadonlyArray<{
    readonly metadata: { readonly name?: string };
    readonly versions: ReadonlyArray<{
      readonly version: string;
      readonly resources: ReadonlyArray<DiscoveredResource>;
    }>;
  }>;
}

/** Parses one of the schema folder's generated files. */
export function readGenerated(name: string): Json {
  return JSON.parse(readFileSync(new URL(`../schema/${name}.generated.json`, import.meta.url), 'utf8')) as Json;
}

function toSubresources(group: string, version: string, from: DiscoveredResource): ReadonlyMap<string, Subresource> {
  return new Map(
    (from.subresources ?? []).map(({ subresource: name, responseKind, verbs }) => {
      const kind = responseKind?.kind ?? from.responseKind.kind;
      const ownGroup = responseKind?.group ?? '';
      const ownVersion = responseKind?.version ?? '';
      return [name, { name, kind, verbs, group: ownVersion === '' ? group : ownGroup, version: ownVersion || version }];
    }),
  );
}

/** Groups that aggregate or shape the real server and that nobody asks this one for. */
const leftOut = new Set(['apiregistration.k8s.io', 'flowcontrol.apiserver.k8s.io']);

/** Resources whose other version shares the objects: autoscaling/v1 shows the same autoscalers as v2. */
const leftOutVersions = new Set(['autoscaling/v1']);

/** Events are one set of objects behind two groups. */
function storageOf(name: string, group: string): string {
  return name === 'events' ? 'events.' : `${name}.${group}`;
}

/** The built-in resources, in discovery's order. Source: discovery of a 1.36 API server, see schema/dump-schema.ts. */
function builtInResources(): ReadonlyArray<Resource> {
  const { items } = readGenerated('discovery') as unknown as Discovery;
  const resources: Array<Resource> = [];
  for (const { metadata, versions } of items) {
    const group = metadata.name ?? '';
    if (leftOut.has(group)) continue;
    for (const { version, resources: found } of versions) {
      if (leftOutVersions.has(`${group}/${version}`)) continue;
      for (const from of found) {
        resources.push({
          group,
          version,
          name: from.resource,
          kind: from.responseKind.kind,
          listKind: `${from.responseKind.kind}List`,
          singular: from.singularResource,
          namespaced: from.scope === 'Namespaced',
          shortNames: from.shortNames ?? [],
          categories: from.categories ?? [],
          verbs: from.verbs,
          subresources: toSubresources(group, version, from),
          definedBy: null,
          storage: storageOf(from.resource, group),
        });
      }
    }
  }
  return resources;
}

/** All that is served now: built-ins and the resources of established CustomResourceDefinitions. */
export interface Registry {
  all(): ReadonlyArray<Resource>;
  find(group: string, version: string, plural: string): Resource | undefined;
  findKind(group: string, version: string, kind: string): Resource | undefined;
  /** Replaces what the named definition serves; an empty list withdraws it. */
  setDefined(definition: string, resources: ReadonlyArray<Resource>): void;
  /** Grows whenever what is served changes; for caches of discovery and OpenAPI. */
  generation(): number;
}

/** A registry of the built-ins. */
export function createRegistry(): Registry {
  const builtIn = builtInResources();
  const defined = new Map<string, ReadonlyArray<Resource>>();
  let generation = 1;
  let byPath = new Map<string, Resource>();
  let all: ReadonlyArray<Resource> = [];
  const index = (): void => {
    all = [...builtIn, ...[...defined.values()].flat()];
    byPath = new Map(all.map((resource) => [`${resource.group}/${resource.version}/${resource.name}`, resource]));
  };
  index();
  return {
    all: () => all,
    find: (group, version, plural) => byPath.get(`${group}/${version}/${plural}`),
    findKind: (group, version, kind) =>
      all.find((resource) => resource.group === group && resource.version === version && resource.kind === kind),
    setDefined(definition, resources) {
      if (resources.length === 0) defined.delete(definition);
      else defined.set(definition, resources);
      generation += 1;
      index();
    },
    generation: () => generation,
  };
}
