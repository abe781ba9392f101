import { isRecord } from '../../shared/contract/api/schema/object-meta.ts';
import type { CheckedObject } from './check/check-objects.ts';
import { listAt, mapAt, numberAt, textAt } from './json-fields.ts';
import type { JsonObject } from './objects.ts';

/** What the API server adds to pods when they are created, as far as it decides where they go. */
export interface Admission {
  /** The pod's spec as it would be stored. Specs are remembered: pods of one workload share one. */
  readonly admit: (namespace: string, spec: JsonObject) => JsonObject;
  /** Names of priority classes and runtime classes that pods asked for and nobody gave. */
  readonly missing: () => ReadonlyArray<string>;
}

/** Priority classes that every cluster has. Source: Kubernetes API 1.36. */
const SYSTEM_PRIORITIES: ReadonlyArray<readonly [string, number]> = [
  ['system-node-critical', 2_000_001_000],
  ['system-cluster-critical', 2_000_000_000],
];

/** Admission by the LimitRanges, PriorityClasses and RuntimeClasses among `objects`. */
export function createAdmission(objects: ReadonlyArray<CheckedObject>): Admission {
  const ofKind = (kind: string): ReadonlyArray<CheckedObject> => objects.filter((one) => one.kind === kind);
  const priorityClasses = ofKind('PriorityClass');
  const priorities = new Map([
    ...SYSTEM_PRIORITIES,
    ...priorityClasses.map(({ name, value }) => [name, numberAt(value, 0, 'value')] as const),
  ]);
  const globalDefault = priorityClasses.find(({ value }) => value['globalDefault'] === true);
  const runtimes = new Map(ofKind('RuntimeClass').map(({ name, value }) => [name, value]));
  const defaults = defaultsByNamespace(ofKind('LimitRange'));
  const missing = new Set<string>();
  const known = new Map<string, Map<JsonObject, JsonObject>>();

  const withPriority = (spec: JsonObject): JsonObject => {
    if (spec['priority'] !== undefined && spec['priority'] !== null) return spec;
    const name = textAt(spec, 'priorityClassName');
    if (name !== '' && !priorities.has(name)) missing.add(`PriorityClass ${name}`);
    const priority = name === '' ? numberAt(globalDefault?.value, 0, 'value') : (priorities.get(name) ?? 0);
    return { ...spec, priority };
  };
  const withRuntime = (spec: JsonObject): JsonObject => {
    const name = textAt(spec, 'runtimeClassName');
    const runtime = runtimes.get(name);
    if (name !== '' && runtime === undefined) missing.add(`RuntimeClass ${name}`);
    return runtime === undefined ? spec : addRuntime(spec, runtime);
  };
  const compute = (namespace: string, spec: JsonObject): JsonObject =>
    withRuntime(withPriority(withHostPorts(withDefaults(spec, defaults.get(namespace) ?? []))));
  return {
    admit: (namespace, spec) => {
      const here = known.get(namespace) ?? new Map<JsonObject, JsonObject>();
      known.set(namespace, here);
      const admitted = here.get(spec) ?? compute(namespace, spec);
      here.set(spec, admitted);
      return admitted;
    },
    missing: () => [...missing].toSorted(),
  };
}

interface ContainerDefaults {
  readonly limits: JsonObject;
  readonly requests: JsonObject;
}

/** Ranges of a namespace by name, the order in which they are listed to admission. */
function defaultsByNamespace(
  ranges: ReadonlyArray<CheckedObject>,
): ReadonlyMap<string, ReadonlyArray<ContainerDefaults>> {
  const defaults = new Map<string, Array<ContainerDefaults>>();
  for (const { namespace, value } of ranges.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const own = defaults.get(namespace ?? '') ?? [];
    defaults.set(namespace ?? '', own);
    for (const item of listAt(value, 'spec', 'limits')) {
      if (textAt(item, 'type') !== 'Container') continue;
      const limits = mapAt(item, 'default');
      // A range that names a default limit alone is stored with the same default request.
      own.push({ limits, requests: { ...limits, ...mapAt(item, 'defaultRequest') } });
    }
  }
  return defaults;
}

function withDefaults(spec: JsonObject, defaults: ReadonlyArray<ContainerDefaults>): JsonObject {
  const each = (list: unknown): unknown =>
    Array.isArray(list) ? list.map((one) => (isRecord(one) ? defaulted(one, defaults) : one)) : list;
  return {
    ...spec,
    containers: each(spec['containers']),
    ...(Array.isArray(spec['initContainers']) ? { initContainers: each(spec['initContainers']) } : {}),
  };
}

/**
 * A limit stands in for a request that is not there; then ranges fill what is still open, the first that has a word.
 */
function defaulted(container: JsonObject, defaults: ReadonlyArray<ContainerDefaults>): JsonObject {
  const given = mapAt(container, 'resources');
  const own = mapAt(given, 'limits');
  const lastFirst = defaults.toReversed();
  const limits = Object.assign({}, ...lastFirst.map((range) => range.limits), own) as JsonObject;
  const ranges = lastFirst.map((range) => range.requests);
  const requests = Object.assign({}, ...ranges, own, mapAt(given, 'requests')) as JsonObject;
  return { ...container, resources: { ...given, limits, requests } };
}

/** Where pods have the network of their host, their ports are the host's. */
export function withHostPorts(spec: JsonObject): JsonObject {
  if (spec['hostNetwork'] !== true) return spec;
  const onHost = (port: JsonObject): JsonObject =>
    numberAt(port, 0, 'hostPort') > 0 ? port : { ...port, hostPort: numberAt(port, 0, 'containerPort') };
  const each = (field: string): JsonObject =>
    Array.isArray(spec[field])
      ? {
          [field]: listAt(spec, field).map((one) =>
            isRecord(one) ? { ...one, ports: listAt(one, 'ports').filter(isRecord).map(onHost) } : one,
          ),
        }
      : {};
  return { ...spec, ...each('containers'), ...each('initContainers') };
}

function addRuntime(spec: JsonObject, runtime: JsonObject): JsonObject {
  const overhead = mapAt(runtime, 'overhead', 'podFixed');
  const nodeSelector = { ...mapAt(spec, 'nodeSelector'), ...mapAt(runtime, 'scheduling', 'nodeSelector') };
  const tolerations = [...listAt(spec, 'tolerations'), ...listAt(runtime, 'scheduling', 'tolerations')];
  return {
    ...spec,
    nodeSelector,
    tolerations,
    ...(Object.keys(overhead).length === 0 ? {} : { overhead }),
  };
}
