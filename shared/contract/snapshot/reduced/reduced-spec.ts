import { flag, list, needed, number, object, only, record, text, textOrNull, textOrNumber, type Of } from './field.ts';

/**
 * The parts of a pod's spec, and of objects' metadata, that decisions read. Names and forms are Kubernetes' (API 1.36).
 */

const resourceList = record(textOrNumber);

const labels = record(text);

const resources = object({
  requests: resourceList,
  limits: resourceList,
  claims: list(object({ name: needed(text), request: text })),
});

const containers = list(
  object({
    name: text,
    resources,
    // Not of the API's spec: `reduced-pod.ts` puts it there.
    held: list(resourceList),
    // A port without a host port takes nothing from a node.
    ports: only(
      list(object({ hostPort: number, hostIP: text, protocol: text })),
      (port) => port.hostPort !== undefined && port.hostPort > 0,
    ),
    restartPolicy: text,
  }),
);

const selectorRequirements = list(object({ key: needed(text), operator: needed(text), values: list(text) }));

const condition = object({
  type: needed(text),
  status: needed(text),
  reason: text,
  message: text,
  lastTransitionTime: text,
  observedGeneration: number,
});

/** One of a status's conditions. */
export type ReducedCondition = Of<typeof condition>;

/** The conditions of a status. */
export const conditions = list(condition);

/** A term of node selection, as in required node affinity and in volumes. */
export const nodeSelectorTerms = list(
  object({ matchExpressions: selectorRequirements, matchFields: selectorRequirements }),
);

/** A selection of objects by their labels; `{}` selects all. */
export const labelSelector = object({ matchLabels: labels, matchExpressions: selectorRequirements });

const podAffinityTerm = object({
  topologyKey: needed(text),
  labelSelector,
  namespaces: list(text),
  namespaceSelector: labelSelector,
  matchLabelKeys: list(text),
  mismatchLabelKeys: list(text),
});

const podAffinityRules = object({
  requiredDuringSchedulingIgnoredDuringExecution: list(podAffinityTerm),
  preferredDuringSchedulingIgnoredDuringExecution: list(
    object({ weight: needed(number), podAffinityTerm: needed(podAffinityTerm) }),
  ),
});

const affinity = object({
  nodeAffinity: object({
    requiredDuringSchedulingIgnoredDuringExecution: object({ nodeSelectorTerms: needed(nodeSelectorTerms) }),
    preferredDuringSchedulingIgnoredDuringExecution: list(
      object({
        weight: needed(number),
        preference: needed(object({ matchExpressions: selectorRequirements, matchFields: selectorRequirements })),
      }),
    ),
  }),
  podAffinity: podAffinityRules,
  podAntiAffinity: podAffinityRules,
});

/** What a PersistentVolumeClaim asks for. */
export const volumeClaimSpec = object({ storageClassName: textOrNull, volumeName: text });

/**
 * The spec of a pod or of a pod template. Containers are needed, so that no pod is taken for one that asks for nothing.
 */
export const podSpec = object({
  containers: needed(containers),
  initContainers: containers,
  overhead: resourceList,
  resources,
  nodeSelector: labels,
  affinity,
  tolerations: list(object({ key: text, operator: text, value: text, effect: text, tolerationSeconds: number })),
  topologySpreadConstraints: list(
    object({
      maxSkew: needed(number),
      topologyKey: needed(text),
      whenUnsatisfiable: needed(text),
      labelSelector,
      minDomains: number,
      nodeAffinityPolicy: text,
      nodeTaintsPolicy: text,
      matchLabelKeys: list(text),
    }),
  ),
  priority: number,
  priorityClassName: text,
  preemptionPolicy: text,
  schedulerName: text,
  terminationGracePeriodSeconds: number,
  // Only volumes that tie a pod to a place, or count against a node's attach limit.
  volumes: only(
    list(
      object({
        name: needed(text),
        persistentVolumeClaim: object({ claimName: needed(text) }),
        ephemeral: object({ volumeClaimTemplate: object({ spec: volumeClaimSpec }) }),
      }),
    ),
    (volume) => volume.persistentVolumeClaim !== undefined || volume.ephemeral !== undefined,
  ),
  resourceClaims: list(object({ name: needed(text), resourceClaimName: text, resourceClaimTemplateName: text })),
});
export type ReducedPodSpec = Of<typeof podSpec>;

/** A reference to an owner. */
export const ownerReference = object({
  apiVersion: needed(text),
  kind: needed(text),
  name: needed(text),
  uid: needed(text),
  controller: flag,
});
export type ReducedOwner = Of<typeof ownerReference>;

const decisiveGroups = ['karpenter.sh', 'karpenter.azure.com', 'nodewright.dev'];

/**
 * Annotations outside of those groups that a decision reads: the cost of deleting a pod, that a volume claim is bound,
 * the default storage class, for which of a pod's resource claims a claim was made.
 */
const decisiveKeys = new Set([
  'controller.kubernetes.io/pod-deletion-cost',
  'pv.kubernetes.io/bind-completed',
  'storageclass.kubernetes.io/is-default-class',
  'resource.kubernetes.io/pod-claim-name',
]);

function isDecisive(key: string): boolean {
  if (decisiveKeys.has(key)) return true;
  const slash = key.indexOf('/');
  if (slash < 0) return false;
  const group = key.slice(0, slash);
  return decisiveGroups.some((known) => group === known || group.endsWith(`.${known}`));
}

/** Annotations that a decision reads. The others are left out: they are long and change for no reason of ours. */
export const decisiveAnnotations = record(text, isDecisive);

/**
 * Metadata. `resourceVersion` and managed fields are left out: they change with every heartbeat, and the writer
 * reads again first.
 */
export const metadata = object({
  name: needed(text),
  namespace: text,
  uid: text,
  labels,
  annotations: decisiveAnnotations,
  creationTimestamp: text,
  deletionTimestamp: text,
  ownerReferences: list(ownerReference),
  generation: number,
  finalizers: list(text),
});

/** Labels, annotations of a template, resource lists, conditions: parts that several kinds share. */
export const part = { resourceList, labels, selectorRequirements } as const;
