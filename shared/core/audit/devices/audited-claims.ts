import type { Cluster, Pod, PodShape } from '../../model/cluster.ts';
import {
  POD_CLAIM_NAME,
  type ResourceClaim,
  type ResourceClaimSpec,
  type ResourceClaimTemplate,
} from '../../../kubernetes/device-manifest.ts';
import type { ObjectMeta } from '../../../kubernetes/manifest.ts';

/** A resource claim of a pod, or what it will be made from. */
export interface AuditedClaim {
  /** `namespace/name`, or `namespace/pod/name in the pod` of one that is still to be made. */
  readonly key: string;
  readonly spec: ResourceClaimSpec;
  /** Null while it is to be made. */
  readonly manifest: ResourceClaim | null;
}

/** Finds the claim that a pod of the shape lists under the name; null when there is neither claim nor template. */
export type ClaimFinder = (pod: Pod, shape: PodShape, name: string) => AuditedClaim | null;

/** Reads the claims and templates as they are. Of several that would do the first counts. */
export function claimFinder({ resourceClaims, resourceClaimTemplates }: Cluster): ClaimFinder {
  const byName = byFullName(resourceClaims);
  const templates = byFullName(resourceClaimTemplates);
  const byOwner = byOwnerUid(resourceClaims);
  return (pod, shape, name) => {
    const { namespace } = shape;
    const entry = (shape.spec.resourceClaims ?? []).find((one) => one.name === name);
    const own =
      entry?.resourceClaimName === undefined
        ? byOwner
            .get(pod.uid)
            ?.find((one) => one.metadata.annotations?.[POD_CLAIM_NAME] === name && namespaceOf(one) === namespace)
        : byName.get(namespace)?.get(entry.resourceClaimName);
    if (own !== undefined) return { key: `${namespace}/${own.metadata.name}`, spec: own.spec, manifest: own };
    const template: ResourceClaimTemplate | undefined = templates
      .get(namespace)
      ?.get(entry?.resourceClaimTemplateName ?? '');
    if (template === undefined) return null;
    return { key: `${namespace}/${pod.name}/${name}`, spec: template.spec.spec, manifest: null };
  };
}

interface Named {
  readonly metadata: ObjectMeta;
}

function namespaceOf({ metadata }: Named): string {
  return metadata.namespace ?? 'default';
}

function byFullName<T extends Named>(objects: ReadonlyArray<T>): ReadonlyMap<string, ReadonlyMap<string, T>> {
  const groups = Map.groupBy(objects.toReversed(), namespaceOf);
  return new Map(
    [...groups].map(([namespace, own]) => [namespace, new Map(own.map((one) => [one.metadata.name, one]))]),
  );
}

function byOwnerUid(claims: ReadonlyArray<ResourceClaim>): ReadonlyMap<string, ReadonlyArray<ResourceClaim>> {
  const owned = new Map<string, Array<ResourceClaim>>();
  for (const claim of claims) {
    for (const uid of new Set((claim.metadata.ownerReferences ?? []).map((owner) => owner.uid))) {
      const known = owned.get(uid);
      if (known === undefined) owned.set(uid, [claim]);
      else known.push(claim);
    }
  }
  return owned;
}
