import type { PodSpec } from '../model/manifest.ts';

/** The first thing a pod asks for that the planner cannot honour, or null. Such a pod is left, never placed wrongly. */
export function unsupportedFeature(spec: PodSpec): string | null {
  const containers = [...spec.containers, ...(spec.initContainers ?? [])];
  if ((spec.resourceClaims ?? []).length > 0) return 'resource claims (DRA)';
  if (containers.some(({ resources }) => (resources?.claims ?? []).length > 0)) return 'resource claims (DRA)';
  if ((spec.topologySpreadConstraints ?? []).some(isHard)) return 'topology spread constraints';
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  if ((podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0) return 'pod affinity';
  if ((podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []).length > 0) return 'pod anti-affinity';
  const claims = (spec.volumes ?? []).some((volume) => volume.persistentVolumeClaim ?? volume.ephemeral);
  return claims ? 'volume claims' : null;
}

function isHard({ whenUnsatisfiable }: { readonly whenUnsatisfiable: string }): boolean {
  return whenUnsatisfiable === 'DoNotSchedule';
}
