import type { Cluster } from '../model/cluster.ts';
import type { Container, DaemonSet, LimitRange, PodSpec, ResourceList, Toleration } from '../../kubernetes/manifest.ts';
import type { Amounts } from '../../kubernetes/text/quantity.ts';
import { byCodeUnit, type LabelRules } from './label-rule.ts';
import { requiredAlternatives } from './pod-rules.ts';
import { podRequests } from './pod-requests.ts';

/** What one DaemonSet takes on each node that it runs on. */
export interface Daemon {
  /** `namespace/name`. */
  readonly name: string;
  readonly spec: PodSpec;
  readonly requests: Amounts;
  readonly tolerations: ReadonlyArray<Toleration>;
  readonly alternatives: ReadonlyArray<LabelRules>;
}

/**
 * Every DaemonSet, by name. Requests are those of its newest pod, which the API server has defaulted; without one, the
 * template's with the namespace's LimitRange defaults, which Karpenter misses until a pod exists.
 */
export function daemonsOf(cluster: Cluster): ReadonlyArray<Daemon> {
  const newest = newestDaemonPods(cluster);
  return cluster.daemonSets
    .map((daemonSet) => toDaemon(daemonSet, newest, cluster.limitRanges))
    .toSorted((a, b) => byCodeUnit(a.name, b.name));
}

/** The DaemonSet that owns a pod of this shape, as `namespace/name`; null for any other pod. */
export function daemonOwner(shape: Cluster['shapes'][number]): string | null {
  return shape.owner?.kind === 'DaemonSet' ? `${shape.namespace}/${shape.owner.name}` : null;
}

function toDaemon(set: DaemonSet, newest: ReadonlyMap<string, PodSpec>, ranges: ReadonlyArray<LimitRange>): Daemon {
  const namespace = set.metadata.namespace ?? 'default';
  const name = `${namespace}/${set.metadata.name}`;
  const { spec } = set.spec.template;
  const requests = podRequests(newest.get(name) ?? withDefaults(spec, namespace, ranges));
  return { name, spec, requests, tolerations: spec.tolerations ?? [], alternatives: requiredAlternatives(spec) };
}

function newestDaemonPods({ pods, shapes }: Cluster): ReadonlyMap<string, PodSpec> {
  const owners = shapes.map(daemonOwner);
  const newest = new Map<string, PodSpec>();
  const seen = new Map<string, readonly [number, string]>();
  if (owners.every((owner) => owner === null)) return newest;
  for (const pod of pods) {
    const owner = owners[pod.shape] ?? null;
    const shape = owner === null ? undefined : shapes[pod.shape];
    if (shape === undefined || owner === null) continue;
    const [createdAtMs, uid] = seen.get(owner) ?? [-Infinity, ''];
    if (pod.createdAtMs < createdAtMs || (pod.createdAtMs === createdAtMs && pod.uid < uid)) continue;
    seen.set(owner, [pod.createdAtMs, pod.uid]);
    newest.set(owner, shape.spec);
  }
  return newest;
}

function withDefaults(spec: PodSpec, namespace: string, ranges: ReadonlyArray<LimitRange>): PodSpec {
  const defaults = containerDefaults(namespace, ranges);
  const defaulted = (container: Container): Container => ({
    ...container,
    resources: {
      ...container.resources,
      requests: { ...defaults, ...container.resources?.limits, ...container.resources?.requests },
    },
  });
  return {
    ...spec,
    containers: spec.containers.map(defaulted),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(defaulted) }),
  };
}

/** A limit stands in for a request that has no default of its own. Ranges are applied by name; the last one wins. */
function containerDefaults(namespace: string, ranges: ReadonlyArray<LimitRange>): ResourceList {
  const here = ranges.filter((range) => range.metadata.namespace === namespace);
  const defaults: Record<string, string | number> = {};
  for (const { spec } of here.toSorted((a, b) => byCodeUnit(a.metadata.name, b.metadata.name))) {
    for (const limit of spec?.limits ?? []) {
      if (limit.type === 'Container') Object.assign(defaults, limit.default, limit.defaultRequest);
    }
  }
  return defaults;
}
