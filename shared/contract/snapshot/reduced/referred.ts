import type { ReducedObject, ReferredResource } from './reduced.ts';

/** By kind in a `scalableRef`: the resource that its objects are kept under. */
const workloads: Readonly<Record<string, ReferredResource>> = {
  Deployment: 'deployments',
  ReplicaSet: 'replicasettemplates',
  StatefulSet: 'statefulsettemplates',
};

/** What CapacityBuffers refer to: per resource the keys, `namespace/name`. */
export function referredKeys(
  buffers: Iterable<ReducedObject<'capacitybuffers'>>,
): ReadonlyMap<ReferredResource, ReadonlySet<string>> {
  const referred = new Map<ReferredResource, Set<string>>();
  for (const { metadata, spec } of buffers) {
    const { podTemplateRef, scalableRef } = spec;
    const refer = (resource: ReferredResource | undefined, name: string): void => {
      if (resource === undefined) return;
      const keys = referred.get(resource) ?? new Set();
      referred.set(resource, keys.add(`${metadata.namespace ?? 'default'}/${name}`));
    };
    if (podTemplateRef !== undefined) refer('podtemplates', podTemplateRef.name);
    if (scalableRef !== undefined) refer(workloads[scalableRef.kind], scalableRef.name);
  }
  return referred;
}
