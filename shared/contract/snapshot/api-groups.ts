import type { FedResource } from './builder.ts';

const core = '/api/v1';
const karpenter = '/apis/karpenter.sh';
const apps = '/apis/apps/v1';
const storage = '/apis/storage.k8s.io/v1';
const devices = '/apis/resource.k8s.io/v1';

/** Where each resource of a snapshot is in the API: the group and version, as in a URL. The plural follows. */
export const apiGroups: Readonly<Record<FedResource, string>> = {
  pods: core,
  nodes: core,
  namespaces: core,
  limitranges: core,
  persistentvolumes: core,
  persistentvolumeclaims: core,
  nodepools: `${karpenter}/v1`,
  nodeclaims: `${karpenter}/v1`,
  nodeoverlays: `${karpenter}/v1alpha1`,
  aksnodeclasses: '/apis/karpenter.azure.com/v1beta1',
  daemonsets: apps,
  replicasets: apps,
  statefulsets: apps,
  jobs: '/apis/batch/v1',
  poddisruptionbudgets: '/apis/policy/v1',
  storageclasses: storage,
  csinodes: storage,
  resourceslices: devices,
  deviceclasses: devices,
  resourceclaims: devices,
  resourceclaimtemplates: devices,
  capacitybuffers: '/apis/autoscaling.x-k8s.io/v1beta1',
  podtemplates: core,
  deployments: apps,
};
