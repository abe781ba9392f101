import type { Static } from 'typebox';
import { ageColumn, type KindDefinition } from '../schema/kind.ts';
import type { ObjectMeta } from '../schema/object-meta.ts';
import { conditions } from '../schema/parts.ts';
import { fields, int32, int64, optional, quantityMap, rule, text, type Frozen } from '../schema/schema.ts';

const podTemplateRefSchema = fields('A PodTemplate in the same namespace.', {
  name: text('Name of the PodTemplate.', { minLength: 1 }),
});

interface Sources {
  readonly podTemplateRef?: object;
  readonly scalableRef?: object;
  readonly replicas?: number;
  readonly limits?: object;
}

const specSchema = fields(
  'How much spare room is kept, and for what shape of pod.',
  {
    provisioningStrategy: optional(text('How the room is kept.', { default: 'buffer.x-k8s.io/active-capacity' })),
    podTemplateRef: optional(podTemplateRefSchema),
    scalableRef: optional(
      fields('A workload in the same namespace whose pods the room is for.', {
        apiGroup: optional(text('API group of the workload; empty for the core group.')),
        kind: text('Kind of the workload.', { minLength: 1 }),
        name: text('Name of the workload.', { minLength: 1 }),
      }),
    ),
    replicas: optional(int32('Room for this many pods.', { minimum: 0 })),
    percentage: optional(int32('Room for this percentage of the replicas of scalableRef, rounded up.', { minimum: 0 })),
    limits: optional(quantityMap('Ceiling of the total of each resource that is kept free.')),
  },
  {
    'x-kubernetes-validations': [
      rule<Sources>(
        '!has(self.podTemplateRef) || has(self.replicas) || has(self.limits)',
        'If podTemplateRef is set, replicas or limits must also be set',
        'set replicas or limits',
        (self) => self.podTemplateRef === undefined || self.replicas !== undefined || self.limits !== undefined,
      ),
      rule<Sources>(
        '!(has(self.podTemplateRef) && has(self.scalableRef))',
        'You must define either PodTemplateRef or ScalableRef, but not both',
        'remove one of them',
        (self) => self.podTemplateRef === undefined || self.scalableRef === undefined,
      ),
    ],
  },
);

const statusSchema = fields('What was last seen of the buffer.', {
  podTemplateRef: optional(podTemplateRefSchema),
  replicas: optional(int32('Room for how many pods is kept.')),
  podTemplateGeneration: optional(int64('metadata.generation of the PodTemplate that was used.')),
  provisioningStrategy: optional(text('How the room is kept.')),
  conditions,
});

/** Spec of a CapacityBuffer. */
export interface CapacityBufferSpec extends Frozen<Static<typeof specSchema>> {}
/** Status of a CapacityBuffer. */
export interface CapacityBufferStatus extends Frozen<Static<typeof statusSchema>> {}

/** Spare room that is kept for pods that do not exist yet. An API of the cluster autoscaler project. */
export interface CapacityBuffer {
  readonly apiVersion: string;
  readonly kind: 'CapacityBuffer';
  readonly metadata: ObjectMeta;
  readonly spec: CapacityBufferSpec;
  readonly status?: CapacityBufferStatus;
}

/** CapacityBuffer, as its CRD has it. */
export const capacityBufferKind: KindDefinition = {
  group: 'autoscaling.x-k8s.io',
  kind: 'CapacityBuffer',
  plural: 'capacitybuffers',
  shortNames: ['cb'],
  categories: ['autoscaling'],
  scope: 'Namespaced',
  versions: [{ name: 'v1beta1', deprecationWarning: null }],
  columns: [
    { name: 'Strategy', type: 'string', jsonPath: '.spec.provisioningStrategy', description: 'How the room is kept.' },
    { name: 'PodTemplate', type: 'string', jsonPath: '.status.podTemplateRef.name', description: 'The shape of pod.' },
    { name: 'Replicas', type: 'integer', jsonPath: '.status.replicas', description: 'Room for how many pods.' },
    { name: 'ConditionsType', type: 'string', jsonPath: '.status.conditions[*].type' },
    { name: 'ConditionsStatus', type: 'string', jsonPath: '.status.conditions[*].status' },
    { name: 'ConditionsReason', type: 'string', jsonPath: '.status.conditions[*].reason' },
    ageColumn,
  ],
  scale: null,
  description: 'Spare room that is kept for pods that do not exist yet.',
  spec: specSchema,
  specRequired: true,
  moved: {},
  status: statusSchema,
};
