import { flag, needed, number, object, text } from './field.ts';

/** A controller of pods, and how many pods it wants to have now. */
export interface PodOwner {
  readonly uid: string;
  readonly kind: 'ReplicaSet' | 'StatefulSet' | 'Job';
  readonly namespace: string;
  readonly name: string;
  /** Pods it wants to run at this time. A Job's: what its parallelism and what is left of its completions allow. */
  readonly desired: number;
  /** True for a StatefulSet that makes a pod only when the one before is ready. */
  readonly oneByOne: boolean;
}

/** Resources that are kept only for how many pods they want. */
export const ownerResources = ['replicasets', 'statefulsets', 'jobs'] as const;
export type OwnerResource = (typeof ownerResources)[number];

const rawOwner = object({
  metadata: needed(object({ name: needed(text), namespace: needed(text), uid: needed(text) })),
  spec: object({
    replicas: number,
    podManagementPolicy: text,
    parallelism: number,
    completions: number,
    suspend: flag,
  }),
  status: object({ succeeded: number }),
});

const kinds = { replicasets: 'ReplicaSet', statefulsets: 'StatefulSet', jobs: 'Job' } as const;

/** Reads a raw ReplicaSet, StatefulSet or Job; null when it is not one. */
export function readOwner(resource: OwnerResource, raw: unknown): PodOwner | null {
  const owner = rawOwner.read(raw);
  if (owner === undefined) return null;
  const { name, namespace, uid } = owner.metadata;
  const kind = kinds[resource];
  const spec = owner.spec ?? {};
  if (kind === 'Job') {
    const parallelism = spec.suspend === true ? 0 : (spec.parallelism ?? 1);
    const left = spec.completions === undefined ? parallelism : spec.completions - (owner.status?.succeeded ?? 0);
    const desired = Math.max(0, Math.min(parallelism, left));
    return { uid, kind, namespace, name, desired, oneByOne: false };
  }
  const oneByOne = kind === 'StatefulSet' && spec.podManagementPolicy !== 'Parallel';
  return { uid, kind, namespace, name, desired: spec.replicas ?? 1, oneByOne };
}
