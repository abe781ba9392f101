import type { FedResource } from '../../shared/contract/snapshot/builder.ts';

/** Where a resource is in the API. */
export interface WatchedResource {
  readonly resource: FedResource;
  /** The API group and version, as in a URL: `/api/v1`, `/apis/apps/v1`. */
  readonly group: string;
  /**
   * True for custom resources and for groups of recent Kubernetes, which may be missing. All others are in every
   * cluster.
   */
  readonly isCustom: boolean;
}

const core = '/api/v1';

function builtIn(resource: FedResource, group: string): WatchedResource {
  return { resource, group, isCustom: false };
}

function custom(resource: FedResource, group: string): WatchedResource {
  return { resource, group, isCustom: true };
}

/**
 * Everything the relay watches. Its ClusterRoles grant list and watch on exactly these. `buffers`: CapacityBuffers too.
 */
export function watchedResources({ buffers }: { readonly buffers: boolean }): ReadonlyArray<WatchedResource> {
  return buffers ? [...always, ...forBuffers] : always;
}

const forBuffers: ReadonlyArray<WatchedResource> = [
  custom('capacitybuffers', '/apis/autoscaling.x-k8s.io/v1beta1'),
  builtIn('podtemplates', core),
  builtIn('deployments', '/apis/apps/v1'),
];

const always: ReadonlyArray<WatchedResource> = [
  builtIn('namespaces', core),
  builtIn('nodes', core),
  custom('nodepools', '/apis/karpenter.sh/v1'),
  custom('nodeclaims', '/apis/karpenter.sh/v1'),
  custom('nodeoverlays', '/apis/karpenter.sh/v1alpha1'),
  custom('aksnodeclasses', '/apis/karpenter.azure.com/v1beta1'),
  builtIn('daemonsets', '/apis/apps/v1'),
  builtIn('replicasets', '/apis/apps/v1'),
  builtIn('statefulsets', '/apis/apps/v1'),
  builtIn('jobs', '/apis/batch/v1'),
  builtIn('poddisruptionbudgets', '/apis/policy/v1'),
  builtIn('persistentvolumeclaims', core),
  builtIn('persistentvolumes', core),
  builtIn('storageclasses', '/apis/storage.k8s.io/v1'),
  builtIn('csinodes', '/apis/storage.k8s.io/v1'),
  builtIn('limitranges', core),
  custom('resourceslices', '/apis/resource.k8s.io/v1'),
  custom('deviceclasses', '/apis/resource.k8s.io/v1'),
  custom('resourceclaims', '/apis/resource.k8s.io/v1'),
  custom('resourceclaimtemplates', '/apis/resource.k8s.io/v1'),
  builtIn('pods', core),
];
