import type { Resource } from '../registry/resources.ts';
import {
  budgetRules,
  configMapRules,
  namespaceRules,
  nodeRules,
  priorityClassRules,
  secretRules,
  serviceRules,
  storageClassRules,
  volumeClaimRules,
  volumeRules,
} from './cluster-kinds.ts';
import { definitionRules } from './definitions.ts';
import type { KindRules } from './kind-rules.ts';
import { podRules } from './pods.ts';
import {
  cronJobRules,
  daemonSetRules,
  deploymentRules,
  jobRules,
  replicaSetRules,
  statefulSetRules,
} from './workloads.ts';

const customRules: KindRules = { hasGeneration: true };
const plainRules: KindRules = {};
const roleRules: KindRules = { nameForm: 'segment' };
const countedRules: KindRules = { hasGeneration: true };

const rules: Readonly<Record<string, KindRules>> = {
  'pods.': podRules,
  'nodes.': nodeRules,
  'namespaces.': namespaceRules,
  'configmaps.': configMapRules,
  'secrets.': secretRules,
  'services.': serviceRules,
  'persistentvolumeclaims.': volumeClaimRules,
  'persistentvolumes.': volumeRules,
  'deployments.apps': deploymentRules,
  'replicasets.apps': replicaSetRules,
  'statefulsets.apps': statefulSetRules,
  'daemonsets.apps': daemonSetRules,
  'jobs.batch': jobRules,
  'cronjobs.batch': cronJobRules,
  'poddisruptionbudgets.policy': budgetRules,
  'storageclasses.storage.k8s.io': storageClassRules,
  'priorityclasses.scheduling.k8s.io': priorityClassRules,
  'roles.rbac.authorization.k8s.io': roleRules,
  'clusterroles.rbac.authorization.k8s.io': roleRules,
  'rolebindings.rbac.authorization.k8s.io': roleRules,
  'clusterrolebindings.rbac.authorization.k8s.io': roleRules,
  'customresourcedefinitions.apiextensions.k8s.io': definitionRules,
  'ingresses.networking.k8s.io': countedRules,
  'networkpolicies.networking.k8s.io': countedRules,
  'endpointslices.discovery.k8s.io': countedRules,
  'resourceslices.resource.k8s.io': countedRules,
};

/** The rules of a resource's kind. */
export function rulesOf(resource: Resource): KindRules {
  if (resource.definedBy !== null) return customRules;
  return rules[resource.storage] ?? plainRules;
}
