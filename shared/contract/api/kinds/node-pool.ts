import type { Static } from 'typebox';
import { templateLabelRules } from '../schema/label-rules.ts';
import { ageColumn, readyColumn, type KindDefinition } from '../schema/kind.ts';
import type { ObjectMeta } from '../schema/object-meta.ts';
import { conditions, durationOrNever, LABEL_VALUE, poolTemplateFields } from '../schema/parts.ts';
import {
  choice,
  fields,
  int32,
  int64,
  list,
  optional,
  quantityMap,
  rule,
  stringMap,
  text,
  transition,
  type Frozen,
} from '../schema/schema.ts';

const budgetSchema = fields('How many nodes of the pool may be in disruption at once, and when.', {
  nodes: text('A number of nodes, or a percentage of the pool rounded up.', {
    default: '10%',
    pattern: '^((100|[0-9]{1,2})%|[0-9]+)$',
    fix: 'write a count such as "5" or a percentage such as "10%", in quotes',
  }),
  reasons: optional(
    list(
      'Reasons that the budget limits. Absent: all.',
      choice('A reason for disruption.', ['Underutilized', 'Empty', 'Drifted']),
      { maxItems: 50, 'x-kubernetes-list-type': 'set' },
    ),
  ),
  schedule: optional(
    text('When the budget begins to apply, as cron in UTC or as @daily and the like. Needs duration.', {
      pattern: '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$',
      fix: 'write five cron fields such as "0 9 * * 1-5", or @daily',
    }),
  ),
  duration: optional(
    text('How long the budget applies after each hit of schedule, in hours and minutes. Needs schedule.', {
      pattern: '^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$',
      fix: 'write hours and minutes, such as 8h or 1h30m',
    }),
  ),
});

const disruptionSchema = fields(
  'When nodes of the pool may be replaced or removed.',
  {
    consolidateAfter: text(
      'How long a node must see no pod come or go before it may be consolidated, or Never.',
      durationOrNever,
    ),
    consolidationPolicy: optional(
      choice('Which nodes may be consolidated.', ['WhenEmpty', 'WhenEmptyOrUnderutilized', 'Balanced'], {
        default: 'WhenEmptyOrUnderutilized',
      }),
    ),
    budgets: optional(
      list('Limits on voluntary disruption; the strictest active one counts.', budgetSchema, {
        default: [{ nodes: '10%' }],
        maxItems: 50,
        'x-kubernetes-list-type': 'atomic',
        'x-kubernetes-validations': [
          rule<ReadonlyArray<{ readonly schedule?: string; readonly duration?: string }>>(
            'self.all(x, has(x.schedule) == has(x.duration))',
            "'schedule' must be set with 'duration'",
            'set both, or neither',
            (self) => self.every((each) => (each.schedule === undefined) === (each.duration === undefined)),
          ),
        ],
      }),
    ),
  },
  { default: { consolidateAfter: '0s' } },
);

const templateMetadataSchema = fields('Labels and annotations of every node of the pool.', {
  labels: optional(
    stringMap(
      'Labels of every node of the pool. Pods may select them.',
      { maxProperties: 100, 'x-kubernetes-map-type': 'atomic', 'x-kubernetes-validations': templateLabelRules },
      { maxLength: 63, pattern: LABEL_VALUE, fix: 'use at most 63 letters, digits, "-", "_" and "."' },
    ),
  ),
  annotations: optional(stringMap('Annotations of every node of the pool.', { 'x-kubernetes-map-type': 'granular' })),
});

const templateSpecSchema = fields('What every node of the pool is like.', poolTemplateFields);
const templateSchema = fields('What NodeClaims of the pool are made from.', {
  metadata: optional(templateMetadataSchema),
  spec: templateSpecSchema,
});

interface StaticOrNot {
  readonly replicas?: number;
  readonly weight?: number;
  readonly limits?: Readonly<Record<string, unknown>>;
}

const specSchema = fields(
  'Which nodes the pool may have, how many, and when they may be disrupted.',
  {
    template: templateSchema,
    disruption: optional(disruptionSchema),
    limits: optional(
      quantityMap('Ceiling of the total of each resource over the pool; "nodes" limits the number of nodes.'),
    ),
    weight: optional(int32('Pools with more weight are tried first. Absent: 0.', { minimum: 1, maximum: 100 })),
    replicas: optional(
      int64(
        'Keeps exactly this many nodes, whatever pods there are. Alpha. Only limits.nodes may be combined with it.',
        {
          minimum: 0,
        },
      ),
    ),
  },
  {
    'x-kubernetes-validations': [
      transition<StaticOrNot>(
        'has(self.replicas) == has(oldSelf.replicas)',
        'Cannot transition NodePool between static (replicas set) and dynamic (replicas unset) provisioning modes',
        'make a new pool instead',
        (self, old) => (self.replicas === undefined) === (old.replicas === undefined),
      ),
      rule<StaticOrNot>(
        "!has(self.replicas) || (!has(self.limits) || size(self.limits) == 0 || (size(self.limits) == 1 && 'nodes' in self.limits))",
        "only 'limits.nodes' is supported on static NodePools",
        'remove every other limit, or replicas',
        ({ replicas, limits = {} }) =>
          replicas === undefined || Object.keys(limits).every((resource) => resource === 'nodes'),
      ),
      rule<StaticOrNot>(
        '!has(self.replicas) || !has(self.weight)',
        "'weight' is not supported on static NodePools",
        'remove weight or replicas',
        ({ replicas, weight }) => replicas === undefined || weight === undefined,
      ),
    ],
  },
);

const statusSchema = fields('What was last seen of the pool.', {
  resources: optional(quantityMap('Total of each resource over the nodes of the pool.')),
  nodes: optional(int64('How many nodes the pool has.', { default: 0 })),
  nodeClassObservedGeneration: optional(
    int64('metadata.generation of the node class that the registration health was judged by.'),
  ),
  conditions,
});

/** Spec of a NodePool. */
export interface NodePoolSpec extends Frozen<Static<typeof specSchema>> {}
/** Status of a NodePool. */
export interface NodePoolStatus extends Frozen<Static<typeof statusSchema>> {}

/** A set of nodes that are made and disrupted by the same rules. */
export interface NodePool {
  readonly apiVersion: string;
  readonly kind: 'NodePool';
  readonly metadata: ObjectMeta;
  readonly spec: NodePoolSpec;
  readonly status?: NodePoolStatus;
}

/** NodePool, as its CRD has it. */
export const nodePoolKind: KindDefinition = {
  group: 'karpenter.sh',
  kind: 'NodePool',
  plural: 'nodepools',
  shortNames: [],
  categories: ['karpenter'],
  scope: 'Cluster',
  versions: [{ name: 'v1', deprecationWarning: null }],
  columns: [
    { name: 'NodeClass', type: 'string', jsonPath: '.spec.template.spec.nodeClassRef.name' },
    { name: 'Nodes', type: 'string', jsonPath: '.status.nodes' },
    readyColumn,
    ageColumn,
    { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 },
    { name: 'CPU', type: 'string', jsonPath: '.status.resources.cpu', priority: 1 },
    { name: 'Memory', type: 'string', jsonPath: '.status.resources.memory', priority: 1 },
  ],
  scale: { spec: '.spec.replicas', status: '.status.nodes' },
  description: 'A set of nodes that are made and disrupted by the same rules.',
  spec: specSchema,
  specRequired: true,
  // Of v1beta1. Source: Karpenter's guide of the migration to v1.
  moved: {
    'spec.disruption.expireAfter': 'spec.template.spec.expireAfter',
    'spec.template.spec.kubelet': 'spec.kubelet of the AKSNodeClass',
    'spec.template.spec.nodeClassRef.apiVersion': 'spec.template.spec.nodeClassRef.group, without the version',
  },
  status: statusSchema,
};
