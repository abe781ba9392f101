import { list, needed, number, object, text, type Field, type Of } from './field.ts';
import { conditions, decisiveAnnotations, metadata, ownerReference, part, podSpec } from './reduced-spec.ts';

/**
 * What a snapshot keeps of CapacityBuffers and of what they refer to. Sources: autoscaling.x-k8s.io/v1beta1; Kubernetes
 * API 1.36.
 */

const podTemplateRef = object({ name: needed(text) });

/** Room that is kept for pods that do not exist yet. */
export const capacityBuffer = object({
  metadata: needed(metadata),
  spec: needed(
    object({
      provisioningStrategy: text,
      podTemplateRef,
      scalableRef: object({ apiGroup: text, kind: needed(text), name: needed(text) }),
      replicas: number,
      percentage: number,
      limits: part.resourceList,
    }),
  ),
  status: object({
    podTemplateRef,
    replicas: number,
    podTemplateGeneration: number,
    provisioningStrategy: text,
    conditions,
  }),
});

const template = object({
  metadata: object({ labels: part.labels, annotations: decisiveAnnotations }),
  spec: needed(podSpec),
});

/** A template by itself. */
export const podTemplate = object({ metadata: needed(metadata), template: needed(template) });

const names = { name: needed(text), namespace: text };

/** A workload, as far as room for more of its pods is concerned. */
export const scalable = object({
  metadata: needed(object(names)),
  spec: needed(object({ replicas: number, template: needed(template) })),
});

const owned = object({
  metadata: object({ ownerReferences: list(ownerReference) }),
  spec: object({ replicas: number }),
});

/** The same of a ReplicaSet: those of a Deployment's past revisions are many, and left out. */
export const scalableReplicaSet: Field<Of<typeof scalable>> = {
  read(value) {
    const { metadata: of, spec } = owned.read(value) ?? {};
    const isPast = spec?.replicas === 0 && (of?.ownerReferences ?? []).length > 0;
    return isPast ? undefined : scalable.read(value);
  },
};
