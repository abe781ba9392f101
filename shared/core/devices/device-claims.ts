import { compileClaim, type ClaimTerms, type CompiledClaim } from './claims.ts';
import type { CompileSelector } from '../model/device-selector.ts';
import type { ClaimProblem } from '../model/left-reason.ts';
import type { Cluster, Pod } from '../model/cluster.ts';
import {
  POD_CLAIM_NAME,
  type DeviceClass,
  type ResourceClaim,
  type ResourceClaimTemplate,
} from '../../kubernetes/device-manifest.ts';
import type { Container, PodSpec } from '../../kubernetes/manifest.ts';

/** Does the pod ask for devices by resource claims (DRA), for itself or for one of its containers? */
export function hasDeviceClaims(spec: PodSpec): boolean {
  if ((spec.resourceClaims ?? []).length > 0) return true;
  return spec.containers.some(claimsDevices) || (spec.initContainers ?? []).some(claimsDevices);
}

function claimsDevices({ resources }: Container): boolean {
  return resources?.claims !== undefined && resources.claims.length > 0;
}

/** One claim of a pod. Pods that name the same claim have the same `key`. */
export interface PodClaim {
  /** `namespace/name`; of a claim that is still to be made from a template, `namespace/pod/name in the pod`. */
  readonly key: string;
  readonly terms: ClaimTerms;
}

/** The claims of a pod, or why they cannot be told. */
export type PodClaims =
  | { readonly kind: 'claims'; readonly claims: ReadonlyArray<PodClaim> }
  | { readonly kind: 'problem'; readonly object: string; readonly why: ClaimProblem };

/** Finds and reads the claims of pods. Each claim and template is read once. */
export interface ClaimReader {
  readonly claimsOf: (pod: Pod) => PodClaims;
}

export function createClaimReader(cluster: Cluster, compile: CompileSelector): ClaimReader {
  const known = { classes: byName<DeviceClass>(cluster.deviceClasses, (name) => name), compile };
  const full = (name: string, namespace: string): string => `${namespace}/${name}`;
  const claims = byName<ResourceClaim>(cluster.resourceClaims, full);
  const templates = byName<ResourceClaimTemplate>(cluster.resourceClaimTemplates, full);
  const made = new Map(cluster.resourceClaims.flatMap((claim) => madeFor(claim).map((id) => [id, claim] as const)));
  const compiled = new Map<object, CompiledClaim>();
  const read = (manifest: ResourceClaim | ResourceClaimTemplate): CompiledClaim => {
    const answer = compiled.get(manifest) ?? compileClaim(specOf(manifest), known);
    compiled.set(manifest, answer);
    return answer;
  };
  const one = (pod: Pod, namespace: string, entry: Entry): PodClaims => {
    const { name, resourceClaimName, resourceClaimTemplateName } = entry;
    if (resourceClaimName !== undefined) {
      const key = full(resourceClaimName, namespace);
      return toPodClaim(`ResourceClaim ${key}`, key, claims.get(key), read);
    }
    const own = made.get(`${pod.uid}/${name}`);
    if (own !== undefined) {
      const key = full(own.metadata.name, namespace);
      return toPodClaim(`ResourceClaim ${key}`, key, own, read);
    }
    const template = full(resourceClaimTemplateName ?? '', namespace);
    const key = `${namespace}/${pod.name}/${name}`;
    return toPodClaim(`ResourceClaimTemplate ${template}`, key, templates.get(template), read);
  };
  return {
    claimsOf: (pod) => {
      const shape = cluster.shapes[pod.shape];
      const entries = shape?.spec.resourceClaims ?? [];
      if (shape === undefined || entries.length === 0) {
        return { kind: 'problem', object: '', why: { kind: 'not-listed' } };
      }
      const found = entries.map((entry) => one(pod, shape.namespace, entry));
      const problem = found.find(({ kind }) => kind === 'problem');
      return (
        problem ?? { kind: 'claims', claims: found.flatMap((each) => (each.kind === 'claims' ? each.claims : [])) }
      );
    },
  };
}

type Entry = NonNullable<PodSpec['resourceClaims']>[number];

function specOf(manifest: ResourceClaim | ResourceClaimTemplate): ResourceClaim['spec'] {
  return 'spec' in manifest.spec ? manifest.spec.spec : manifest.spec;
}

/** Of a claim made from a pod's template: the pod's uid and the claim's name in the pod. */
function madeFor({ metadata }: ResourceClaim): ReadonlyArray<string> {
  const name = metadata.annotations?.[POD_CLAIM_NAME];
  const owner = metadata.ownerReferences?.find(({ kind }) => kind === 'Pod');
  return name === undefined || owner === undefined ? [] : [`${owner.uid}/${name}`];
}

function byName<T extends { readonly metadata: ResourceClaim['metadata'] }>(
  objects: ReadonlyArray<T>,
  name: (name: string, namespace: string) => string,
): ReadonlyMap<string, T> {
  return new Map(objects.map((one) => [name(one.metadata.name, one.metadata.namespace ?? 'default'), one]));
}

function toPodClaim<T extends ResourceClaim | ResourceClaimTemplate>(
  object: string,
  key: string,
  manifest: T | undefined,
  read: (manifest: T) => CompiledClaim,
): PodClaims {
  if (manifest === undefined) return { kind: 'problem', object, why: { kind: 'missing' } };
  if (manifest.metadata.deletionTimestamp !== undefined) return { kind: 'problem', object, why: { kind: 'deleting' } };
  const compiled = read(manifest);
  if (compiled.kind === 'problem') return { ...compiled, object };
  return { kind: 'claims', claims: [{ key, terms: compiled.terms }] };
}
