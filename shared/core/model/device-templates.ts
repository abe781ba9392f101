import type { ResourceSliceSpec } from '../../kubernetes/device-manifest.ts';

/** What new nodes publish once they run their drivers: by NodePool, then by instance type. Slices say no place. */
export type DeviceTemplates = ReadonlyMap<string, ReadonlyMap<string, ReadonlyArray<ResourceSliceSpec>>>;

/** The name of the pool of a node that has none yet. Most drivers name it after the node. */
export const NEW_POOL = '<node>';

/** Of no node anything is known. */
export const NO_TEMPLATES: DeviceTemplates = new Map();

/** What a new node of the instance type publishes in the pool; nothing when that is not known. */
export function templateSlices(
  templates: DeviceTemplates,
  nodePool: string,
  instanceType: string,
): ReadonlyArray<ResourceSliceSpec> {
  return templates.get(nodePool)?.get(instanceType) ?? [];
}

/** Slices that somebody states, in the form in which nodes publish: those of one driver are one pool. */
export function toTemplateSlices(
  stated: ReadonlyArray<Pick<ResourceSliceSpec, 'driver' | 'devices' | 'sharedCounters'>>,
): ReadonlyArray<ResourceSliceSpec> {
  const counts = new Map<string, number>();
  for (const { driver } of stated) counts.set(driver, (counts.get(driver) ?? 0) + 1);
  return stated.map((slice) => {
    const resourceSliceCount = counts.get(slice.driver) ?? 1;
    return { ...slice, pool: { name: NEW_POOL, generation: 1, resourceSliceCount } };
  });
}

/**
 * One out of several sources, the strongest last. It decides per driver: what it knows of one says nothing of another.
 */
export function mergeTemplates(...sources: ReadonlyArray<DeviceTemplates>): DeviceTemplates {
  const merged = new Map<string, Map<string, ReadonlyArray<ResourceSliceSpec>>>();
  for (const [pool, types] of sources.flatMap((source) => [...source])) {
    const known = merged.get(pool) ?? new Map<string, ReadonlyArray<ResourceSliceSpec>>();
    merged.set(pool, known);
    for (const [type, slices] of types) {
      const drivers = new Set(slices.map(({ driver }) => driver));
      known.set(type, [...(known.get(type) ?? []).filter(({ driver }) => !drivers.has(driver)), ...slices]);
    }
  }
  return merged;
}
