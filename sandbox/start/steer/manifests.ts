import { join } from 'node:path';
import { EXAMPLE } from './actions.ts';
import { isOwnClassNamed } from '../../../shared/contract/own-class.ts';
import { readManifests, type Manifest, type ManifestObject } from '../../world/apply-manifests.ts';

/** What to apply, and how many pods that asks for. */
export interface Workload {
  readonly manifests: ReadonlyArray<Manifest>;
  /**
   * Pods that the manifests ask for: what `--once` waits for. Pods of DaemonSets come with nodes and are not counted.
   */
  readonly pods: number;
  /**
   * The Deployment that `npm start -- scale N` changes, as `scaleDeployment` picks it; null: none, or one has to be
   * named.
   */
  readonly deployment: string | null;
  /** True when a default AKSNodeClass was added. */
  readonly addedNodeClass: boolean;
}

/** Reads the examples, or the user's own files. Throws an Error that names the file and what is wrong with it. */
export function readWorkload(root: string, files: ReadonlyArray<string> | null): Workload {
  const examples = join(root, 'examples');
  if (files === null) {
    const manifests = readManifests([join(examples, 'general-purpose.yaml'), join(examples, 'inflate.yaml')]);
    return { manifests, pods: podsOf(manifests), deployment: deploymentOf(manifests), addedNodeClass: false };
  }
  const own = readManifests(files);
  if (files.length > 0 && own.length === 0)
    throw new Error(`${files.join(', ')}: there is no Kubernetes object in there`);
  const needsClass = own.some(wantsDefaultClass) && !own.some(isDefaultClass);
  // On AKS an AKSNodeClass named default is always there, and manifests written for it count on that.
  const added = needsClass ? readManifests([join(examples, 'general-purpose.yaml')]).filter(isDefaultClass) : [];
  const manifests = [...added, ...own];
  return { manifests, pods: podsOf(own), deployment: deploymentOf(own), addedNodeClass: added.length > 0 };
}

function deploymentOf(manifests: ReadonlyArray<Manifest>): string | null {
  const names = manifests.flatMap(({ object }) => (object.kind === 'Deployment' ? [object.metadata.name] : []));
  return names.find((name) => name === EXAMPLE) ?? (names.length === 1 ? (names[0] ?? null) : null);
}

interface PoolSpec {
  readonly template?: { readonly spec?: { readonly nodeClassRef?: Parameters<typeof isOwnClassNamed>[0] } };
}

function wantsDefaultClass({ object }: Manifest): boolean {
  const spec = object.spec as PoolSpec | undefined;
  const reference = spec?.template?.spec?.nodeClassRef;
  return object.kind === 'NodePool' && reference !== undefined && isOwnClassNamed(reference, 'default');
}

function isDefaultClass({ object }: Manifest): boolean {
  return object.kind === 'AKSNodeClass' && object.metadata?.name === 'default';
}

interface PodsSpec {
  readonly replicas?: number;
  readonly parallelism?: number;
  readonly completions?: number;
}

function podsOf(manifests: ReadonlyArray<Manifest>): number {
  return manifests.reduce((sum, { object }) => sum + podsOfObject(object), 0);
}

function podsOfObject(object: ManifestObject): number {
  const spec = object.spec as PodsSpec | undefined;
  switch (object.kind) {
    case 'Pod':
      return 1;
    case 'Deployment':
    case 'ReplicaSet':
    case 'StatefulSet':
    case 'ReplicationController':
      return spec?.replicas ?? 1;
    case 'Job':
      return Math.min(spec?.parallelism ?? 1, spec?.completions ?? Number.POSITIVE_INFINITY);
    default:
      return 0;
  }
}
