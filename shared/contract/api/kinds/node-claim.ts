import type { Static } from 'typebox';
import { ageColumn, readyColumn, type KindDefinition } from '../schema/kind.ts';
import type { ObjectMeta } from '../schema/object-meta.ts';
import { claimConditions, claimTemplateFields } from '../schema/parts.ts';
import { fields, optional, quantityMap, text, transition, type Frozen } from '../schema/schema.ts';

const specSchema = fields(
  'The node that is asked for.',
  {
    ...claimTemplateFields,
    resources: optional(
      fields('What the node must have room for.', {
        requests: optional(quantityMap('Least allocatable amount of each resource.')),
      }),
    ),
  },
  {
    'x-kubernetes-validations': [
      transition<unknown>('self == oldSelf', 'spec is immutable', 'make a new NodeClaim instead', isSame),
    ],
  },
);

/** Whether two values of JSON are the same, whatever the order of their fields. */
function isSame(left: unknown, right: unknown): boolean {
  return canonical(left) === canonical(right);
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, field: unknown) =>
    typeof field === 'object' && field !== null && !Array.isArray(field)
      ? Object.fromEntries(Object.entries(field).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : field,
  );
}

const statusSchema = fields('What has become of the node.', {
  nodeName: optional(text('Name of the Node, once it has registered.')),
  providerID: optional(text('Id of the virtual machine, as the Node states it too.')),
  imageID: optional(text('Id of the image that the machine runs.')),
  capacity: optional(quantityMap('Estimated total of each resource.')),
  allocatable: optional(quantityMap('Estimated amount of each resource that pods can have.')),
  lastPodEventTime: optional(text('When a pod last came to the node or left it.', { format: 'date-time' })),
  conditions: claimConditions,
});

/** Spec of a NodeClaim. Never changes. */
export interface NodeClaimSpec extends Frozen<Static<typeof specSchema>> {}
/** Status of a NodeClaim. */
export interface NodeClaimStatus extends Frozen<Static<typeof statusSchema>> {}

/** One node, from the wish for it to the end of its machine. */
export interface NodeClaim {
  readonly apiVersion: string;
  readonly kind: 'NodeClaim';
  readonly metadata: ObjectMeta;
  readonly spec: NodeClaimSpec;
  readonly status?: NodeClaimStatus;
}

/** NodeClaim, as its CRD has it. */
export const nodeClaimKind: KindDefinition = {
  group: 'karpenter.sh',
  kind: 'NodeClaim',
  plural: 'nodeclaims',
  shortNames: [],
  categories: ['karpenter'],
  scope: 'Cluster',
  versions: [{ name: 'v1', deprecationWarning: null }],
  columns: [
    { name: 'Type', type: 'string', jsonPath: '.metadata.labels.node\\.kubernetes\\.io/instance-type' },
    { name: 'Capacity', type: 'string', jsonPath: '.metadata.labels.karpenter\\.sh/capacity-type' },
    { name: 'Zone', type: 'string', jsonPath: '.metadata.labels.topology\\.kubernetes\\.io/zone' },
    { name: 'Node', type: 'string', jsonPath: '.status.nodeName' },
    readyColumn,
    ageColumn,
    { name: 'ImageID', type: 'string', jsonPath: '.status.imageID', priority: 1 },
    { name: 'ID', type: 'string', jsonPath: '.status.providerID', priority: 1 },
    { name: 'NodePool', type: 'string', jsonPath: '.metadata.labels.karpenter\\.sh/nodepool', priority: 1 },
    { name: 'NodeClass', type: 'string', jsonPath: '.spec.nodeClassRef.name', priority: 1 },
    { name: 'Drifted', type: 'string', jsonPath: '.status.conditions[?(@.type=="Drifted")].status', priority: 1 },
  ],
  scale: null,
  description: 'One node, from the wish for it to the end of its machine.',
  spec: specSchema,
  specRequired: true,
  moved: {},
  status: statusSchema,
};
