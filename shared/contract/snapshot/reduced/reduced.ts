import {
  flag,
  json,
  list,
  needed,
  number,
  object,
  presence,
  record,
  text,
  textOrNumber,
  type Field,
  type Of,
} from './field.ts';
import { capacityBuffer, podTemplate, scalable, scalableReplicaSet } from './reduced-buffers.ts';
import { deviceClass, resourceClaim, resourceClaimTemplate, resourceSlice } from './reduced-devices.ts';
import {
  conditions,
  labelSelector,
  metadata,
  nodeSelectorTerms,
  part,
  podSpec,
  volumeClaimSpec,
  type ReducedCondition,
} from './reduced-spec.ts';

/** One table per kind: what a snapshot keeps of it. Names and forms are those of the API. */

/** Conditions whose message a decision reads: Azure's notices say what will happen, and when, nowhere else. */
const conditionsWithMessage = new Set(['PreemptionScheduled', 'VMEventScheduled']);

/** A node's conditions without the messages that nobody decides on, which kubelets rewrite at will. */
const nodeConditions: Field<ReadonlyArray<ReducedCondition>> = {
  read: (value) =>
    conditions.read(value)?.map((one) => {
      if (conditionsWithMessage.has(one.type)) return one;
      const { message: _, ...rest } = one;
      return rest;
    }),
};

const taints = list(object({ key: needed(text), value: text, effect: needed(text) }));

const node = object({
  metadata: needed(metadata),
  spec: object({
    providerID: text,
    taints,
    unschedulable: flag,
  }),
  status: object({
    capacity: part.resourceList,
    allocatable: part.resourceList,
    conditions: nodeConditions,
    nodeInfo: object({ kubeletVersion: text }),
  }),
});

const claimTemplateFields = {
  nodeClassRef: needed(object({ group: needed(text), kind: needed(text), name: needed(text) })),
  requirements: needed(
    list(object({ key: needed(text), operator: needed(text), values: list(text), minValues: number })),
  ),
  taints,
  startupTaints: taints,
  expireAfter: text,
  terminationGracePeriod: text,
};

const nodeClaim = object({
  metadata: needed(metadata),
  spec: needed(object({ ...claimTemplateFields, resources: object({ requests: part.resourceList }) })),
  status: object({
    providerID: text,
    nodeName: text,
    imageID: text,
    capacity: part.resourceList,
    allocatable: part.resourceList,
    conditions,
    lastPodEventTime: text,
  }),
});

const nodePool = object({
  metadata: needed(metadata),
  spec: needed(
    object({
      template: needed(
        object({
          metadata: object({ labels: part.labels, annotations: record(text) }),
          spec: needed(object(claimTemplateFields)),
        }),
      ),
      disruption: object({
        consolidateAfter: text,
        consolidationPolicy: text,
        budgets: list(object({ nodes: needed(text), reasons: list(text), schedule: text, duration: text })),
      }),
      limits: part.resourceList,
      weight: number,
      replicas: number,
    }),
  ),
  // The resources and nodes in a pool's status are ours, derived from nodes: reading them back would be a loop.
  status: object({ conditions }),
});

const nodeClass = object({
  metadata: needed(metadata),
  spec: needed(record(json)),
  status: object({ conditions, kubernetesVersion: text, images: json }),
});

const nodeOverlay = object({
  metadata: needed(metadata),
  spec: needed(
    object({
      requirements: needed(part.selectorRequirements),
      price: text,
      priceAdjustment: text,
      capacity: part.resourceList,
      weight: number,
    }),
  ),
  status: object({ conditions }),
});

const daemonSet = object({
  metadata: needed(metadata),
  spec: needed(
    object({ template: needed(object({ metadata: object({ labels: part.labels }), spec: needed(podSpec) })) }),
  ),
});

const podDisruptionBudget = object({
  metadata: needed(metadata),
  spec: object({
    selector: labelSelector,
    minAvailable: textOrNumber,
    maxUnavailable: textOrNumber,
    unhealthyPodEvictionPolicy: text,
  }),
  status: object({ disruptionsAllowed: number }),
});

const persistentVolumeClaim = object({
  metadata: needed(metadata),
  spec: volumeClaimSpec,
  status: object({ phase: text }),
});

const persistentVolume = object({
  metadata: needed(metadata),
  spec: object({
    csi: object({ driver: text }),
    azureDisk: presence,
    azureFile: presence,
    local: presence,
    hostPath: presence,
    nodeAffinity: object({ required: object({ nodeSelectorTerms: needed(nodeSelectorTerms) }) }),
  }),
});

const storageClass = object({
  metadata: needed(metadata),
  provisioner: text,
  volumeBindingMode: text,
  allowedTopologies: list(
    object({ matchLabelExpressions: list(object({ key: needed(text), values: needed(list(text)) })) }),
  ),
});

const csiNode = object({
  metadata: needed(metadata),
  spec: object({ drivers: list(object({ name: needed(text), allocatable: object({ count: number }) })) }),
});

const namespace = object({ metadata: needed(metadata) });

const limitRange = object({
  metadata: needed(metadata),
  spec: object({
    limits: list(object({ type: needed(text), default: part.resourceList, defaultRequest: part.resourceList })),
  }),
});

/**
 * Resources kept one by one, with their tables. Each key is the resource's plural in the API, but for those of
 * `templatesOf`, and through `listName` a list of the snapshot.
 */
export const objectTables = {
  nodes: node,
  nodeclaims: nodeClaim,
  nodepools: nodePool,
  aksnodeclasses: nodeClass,
  nodeoverlays: nodeOverlay,
  daemonsets: daemonSet,
  poddisruptionbudgets: podDisruptionBudget,
  persistentvolumeclaims: persistentVolumeClaim,
  persistentvolumes: persistentVolume,
  storageclasses: storageClass,
  csinodes: csiNode,
  namespaces: namespace,
  limitranges: limitRange,
  resourceslices: resourceSlice,
  deviceclasses: deviceClass,
  resourceclaims: resourceClaim,
  resourceclaimtemplates: resourceClaimTemplate,
  capacitybuffers: capacityBuffer,
  podtemplates: podTemplate,
  deployments: scalable,
  replicasettemplates: scalableReplicaSet,
  statefulsettemplates: scalable,
} as const;

/**
 * Owners of pods of which more than their number is kept while CapacityBuffers may refer to them: under which resource.
 */
export const templatesOf = { replicasets: 'replicasettemplates', statefulsets: 'statefulsettemplates' } as const;

/** Resources that are read only where CapacityBuffers are filled. */
export const bufferResources = ['capacitybuffers', 'podtemplates', 'deployments'] as const;

/** What CapacityBuffers refer to: of these a snapshot has only those that one names. */
export const referredResources = ['podtemplates', 'deployments', ...Object.values(templatesOf)] as const;
export type ReferredResource = (typeof referredResources)[number];

/** A resource whose objects a snapshot keeps one by one. */
export type ObjectResource = keyof typeof objectTables;

/** An object of such a resource, reduced. */
export type ReducedObject<R extends ObjectResource> = Of<(typeof objectTables)[R]>;

/** Under which name a snapshot lists the objects of a resource. */
export const listName = {
  nodes: 'nodes',
  nodeclaims: 'nodeClaims',
  nodepools: 'nodePools',
  aksnodeclasses: 'nodeClasses',
  nodeoverlays: 'nodeOverlays',
  daemonsets: 'daemonSets',
  poddisruptionbudgets: 'podDisruptionBudgets',
  persistentvolumeclaims: 'persistentVolumeClaims',
  persistentvolumes: 'persistentVolumes',
  storageclasses: 'storageClasses',
  csinodes: 'csiNodes',
  namespaces: 'namespaces',
  limitranges: 'limitRanges',
  resourceslices: 'resourceSlices',
  deviceclasses: 'deviceClasses',
  resourceclaims: 'resourceClaims',
  resourceclaimtemplates: 'resourceClaimTemplates',
  capacitybuffers: 'capacityBuffers',
  podtemplates: 'podTemplates',
  deployments: 'deployments',
  replicasettemplates: 'replicaSets',
  statefulsettemplates: 'statefulSets',
} as const satisfies Record<ObjectResource, string>;

/** The resources kept one by one, in the order of the tables. */
export const objectResources = Object.keys(objectTables) as ReadonlyArray<ObjectResource>;
