import type { NodeSelectorTerm } from '../../../../shared/kubernetes/manifest.ts';
import type { KubernetesObject, Pod } from '../../client/objects.ts';
import { matchesTerm } from '../../matching.ts';
import type { NodeInfo } from '../cluster-state.ts';

/** The parts of a claim that say where its pods may go. */
export interface VolumeClaim extends KubernetesObject {
  readonly spec?: { readonly volumeName?: string; readonly storageClassName?: string };
}

/** The parts of a volume that say where its pods may go. */
export interface PersistentVolume extends KubernetesObject {
  readonly spec?: {
    readonly nodeAffinity?: { readonly required?: { readonly nodeSelectorTerms: ReadonlyArray<NodeSelectorTerm> } };
  };
}

/** The parts of a storage class that say when and where its volumes come to be. */
export interface StorageClass extends KubernetesObject {
  readonly volumeBindingMode?: string;
  readonly allowedTopologies?: ReadonlyArray<{
    readonly matchLabelExpressions?: ReadonlyArray<{ readonly key: string; readonly values: ReadonlyArray<string> }>;
  }>;
}

/** Storage objects by key: claims by `namespace/name`, the others by name. */
export interface StorageObjects {
  readonly claims: ReadonlyMap<string, VolumeClaim>;
  readonly volumes: ReadonlyMap<string, PersistentVolume>;
  readonly classes: ReadonlyMap<string, StorageClass>;
}

/** What a pod's volumes ask. */
export interface VolumeNeeds {
  /** Why no node can do, or null. */
  readonly podReason: string | null;
  /** Why this node cannot do, or null. */
  nodeReason(info: NodeInfo): string | null;
}

const none: VolumeNeeds = { podReason: null, nodeReason: () => null };

type ClaimTerms =
  | { readonly kind: 'impossible'; readonly reason: string }
  /** Of the volume's own, or of what its class may make: any of the terms must match; none is no restriction. */
  | { readonly kind: 'bound' | 'waiting'; readonly terms: ReadonlyArray<NodeSelectorTerm> };

function claimTerms(key: string, storage: StorageObjects): ClaimTerms {
  const claim = storage.claims.get(key);
  if (claim === undefined) {
    return { kind: 'impossible', reason: `persistentvolumeclaim "${key.slice(key.indexOf('/') + 1)}" not found` };
  }
  const volume = storage.volumes.get(claim.spec?.volumeName ?? '');
  if (volume !== undefined) {
    return { kind: 'bound', terms: volume.spec?.nodeAffinity?.required?.nodeSelectorTerms ?? [] };
  }
  const storageClass = storage.classes.get(claim.spec?.storageClassName ?? '');
  return storageClass?.volumeBindingMode === 'WaitForFirstConsumer'
    ? { kind: 'waiting', terms: topologyTerms(storageClass) }
    : { kind: 'impossible', reason: 'pod has unbound immediate PersistentVolumeClaims' };
}

function matches(any: ReadonlyArray<NodeSelectorTerm>, { node }: NodeInfo): boolean {
  return any.length === 0 || (node !== null && any.some((term) => matchesTerm(term, node)));
}

/** Looks up what the pod's claims ask; without claims that is nothing. */
export function volumeNeeds(pod: Pod, storage: StorageObjects): VolumeNeeds {
  const names = claimNames(pod);
  if (names.length === 0) return none;
  const asked = names.map((name) => claimTerms(`${pod.metadata.namespace ?? 'default'}/${name}`, storage));
  const refusal = asked.find((one) => one.kind === 'impossible');
  if (refusal !== undefined) return impossible(refusal.reason);
  const terms = asked.flatMap((one) => (one.kind === 'bound' ? [one.terms] : []));
  const allowed = asked.flatMap((one) => (one.kind === 'waiting' ? [one.terms] : []));
  return {
    podReason: null,
    nodeReason: (info) => {
      if (!terms.every((any) => matches(any, info))) return "node(s) didn't match PersistentVolume's node affinity";
      if (!allowed.every((any) => matches(any, info)))
        return "node(s) didn't find available persistent volumes to bind";
      return null;
    },
  };
}

function claimNames({ metadata, spec }: Pod): ReadonlyArray<string> {
  return (spec.volumes ?? []).flatMap((volume) =>
    volume.ephemeral === undefined
      ? (volume.persistentVolumeClaim?.claimName ?? [])
      : `${metadata.name}-${volume.name}`,
  );
}

function impossible(podReason: string): VolumeNeeds {
  return { podReason, nodeReason: () => podReason };
}

function topologyTerms({ allowedTopologies = [] }: StorageClass): ReadonlyArray<NodeSelectorTerm> {
  return allowedTopologies.map(({ matchLabelExpressions = [] }) => ({
    matchExpressions: matchLabelExpressions.map(({ key, values }) => ({ key, operator: 'In', values })),
  }));
}
