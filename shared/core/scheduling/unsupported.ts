import type { PodSpec } from '../model/manifest.ts';

/** The first thing a pod asks for that the planner cannot honour, or null. Such a pod is left, never placed wrongly. */
export function unsupportedFeature(spec: PodSpec): string | null {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  if ((spec.resourceClaims ?? []).length > 0) return 'resource claims (DRA)';
  if (containers.some(({ resources }) => (resources?.claims ?? []).length > 0)) return 'resource claims (DRA)';
  return null;
}
