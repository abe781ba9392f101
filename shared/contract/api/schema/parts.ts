import type { Static } from 'typebox';
import { requirementKeyRules } from './label-rules.ts';
import {
  choice,
  fields,
  int64,
  integer,
  list,
  optional,
  rule,
  text,
  transition,
  type Frozen,
  type Keywords,
  type Rule,
} from './schema.ts';

/** Schemas that several kinds share. Source of every bound and pattern: Karpenter 1.14's CRDs. */

/** A label key: a name after an optional DNS prefix. */
const QUALIFIED_NAME =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$';
/** A label value, also an empty one. */
export const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';
const qualifiedName: Keywords = {
  pattern: QUALIFIED_NAME,
  fix: 'use letters, digits, "-", "_" and ".", after an optional dns.prefix/',
};

/** A length of time, as `30s`, `5m` or `1h30m`. */
export const duration: Keywords = { pattern: '^([0-9]+(s|m|h))+$', fix: 'write a duration such as 30s, 5m or 1h30m' };
/** A length of time, or `Never`. */
export const durationOrNever: Keywords = {
  pattern: '^(([0-9]+(s|m|h))+|Never)$',
  fix: 'write a duration such as 30s, 5m or 1h30m, or Never',
};

const taintSchema = fields('Keeps off the node all pods that do not tolerate it.', {
  key: text('Key of the taint.', { minLength: 1, ...qualifiedName }),
  value: optional(text('Value of the taint; tolerations may ask for it.', qualifiedName)),
  effect: choice('What happens to pods that do not tolerate the taint.', [
    'NoSchedule',
    'PreferNoSchedule',
    'NoExecute',
  ]),
  timeAdded: optional(text('When the taint was set.', { format: 'date-time' })),
});

/** A taint of a node. */
export interface Taint extends Frozen<Static<typeof taintSchema>> {}

const taints = (description: string) => list(description, taintSchema, { 'x-kubernetes-list-type': 'atomic' });

const nodeClassRefFields = {
  group: text('API group of the node class, such as karpenter.azure.com.', {
    pattern: '^[^/]*$',
    fix: 'write the group without its version, as karpenter.azure.com',
    'x-kubernetes-validations': [notEmpty('group', 'set it to karpenter.azure.com')],
  }),
  kind: text('Kind of the node class, such as AKSNodeClass.', {
    fix: 'set it to AKSNodeClass',
    'x-kubernetes-validations': [notEmpty('kind', 'set it to AKSNodeClass')],
  }),
  name: text('Name of the node class.', {
    fix: 'name an existing AKSNodeClass',
    'x-kubernetes-validations': [notEmpty('name', 'name an existing AKSNodeClass')],
  }),
};

function notEmpty(field: string, fix: string): Rule {
  return rule<string>("self != ''", `${field} may not be empty`, fix, (self) => self !== '');
}

const nodeClassRefSchema = fields('The node class that says how nodes are made.', nodeClassRefFields);

/** Points at a node class. */
export interface NodeClassReference extends Frozen<Static<typeof nodeClassRefSchema>> {}

const poolNodeClassRefSchema = fields('The node class that says how nodes of this pool are made.', nodeClassRefFields, {
  'x-kubernetes-validations': (['group', 'kind'] as const).map((field) =>
    transition<NodeClassReference>(
      `self.${field} == oldSelf.${field}`,
      `nodeClassRef.${field} is immutable`,
      'make a new pool instead',
      (self, old) => self[field] === old[field],
    ),
  ),
});

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'] as const;
/** Operators that compare with one whole number. */
export const comparisons: ReadonlySet<string> = new Set(['Gt', 'Lt', 'Gte', 'Lte']);

interface RequirementLike {
  readonly operator: string;
  readonly values?: ReadonlyArray<string>;
  readonly minValues?: number;
}

/** As CEL's `int()` reads: an optional sign and digits, within 64 bits. */
const CEL_INTEGER = /^[+-]?[0-9]+$/u;
const MAX_INT64 = 9_223_372_036_854_775_807n;

/** Whether this text is a whole number from zero to the largest of 64 bits. */
export function isNonNegativeInteger(value: string): boolean {
  if (!CEL_INTEGER.test(value)) return false;
  const number = BigInt(value.startsWith('+') ? value.slice(1) : value);
  return number >= 0n && number <= MAX_INT64;
}

/** An operator that needs values, when none may be missing. */
function needsValues(operator: 'In' | 'NotIn'): Rule {
  return rule<ReadonlyArray<RequirementLike>>(
    `self.all(x, x.operator == '${operator}' ? x.values.size() != 0 : true)`,
    `requirements with operator '${operator}' must have a value defined`,
    'list at least one value',
    (self) => self.every((each) => each.operator !== operator || (each.values ?? []).length > 0),
  );
}

const comparisonNeedsOneInteger = rule<ReadonlyArray<RequirementLike>>(
  "self.all(x, (x.operator == 'Gt' || x.operator == 'Lt' || x.operator == 'Gte' || x.operator == 'Lte') ? (x.values.size() == 1 && int(x.values[0]) >= 0) : true)",
  "requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value",
  'give exactly one value, a whole number in quotes',
  (self) =>
    self.every(
      ({ operator, values }) =>
        !comparisons.has(operator) || (values?.length === 1 && isNonNegativeInteger(values[0] ?? '')),
    ),
);

const enoughValues = rule<ReadonlyArray<RequirementLike>>(
  "self.all(x, (x.operator == 'In' && has(x.minValues)) ? x.values.size() >= x.minValues : true)",
  "requirements with 'minValues' must have at least that many values specified in the 'values' field",
  'list more values or lower minValues',
  (self) =>
    self.every(
      ({ operator, values, minValues }) =>
        operator !== 'In' || minValues === undefined || (values ?? []).length >= minValues,
    ),
);

function requirementFields(isPool: boolean) {
  return {
    key: text('Label key that the requirement is about.', {
      maxLength: 316,
      ...qualifiedName,
      'x-kubernetes-validations': requirementKeyRules(isPool),
    }),
    operator: choice('How the label relates to the values.', operators),
    values: optional(
      list(
        'Values for the operator: at least one for In and NotIn, none for Exists and DoesNotExist, one whole number for the rest.',
        text('A label value.'),
        // Karpenter's CRDs have the last two on the list, where no API server asks them; it judges values when it reads
        // a pool.
        { 'x-kubernetes-list-type': 'atomic', maxLength: 63, pattern: LABEL_VALUE },
      ),
    ),
  };
}

const minValues = optional(
  integer('How many different values must stay possible when a node is chosen. Alpha.', { minimum: 1, maximum: 50 }),
);

const overlayRequirementSchema = fields('One condition on the labels of an instance type.', requirementFields(false));
const claimRequirementSchema = fields('One condition on the labels of a node.', {
  ...requirementFields(false),
  minValues,
});
const poolRequirementSchema = fields('One condition on the labels of a node.', {
  ...requirementFields(true),
  minValues,
});

/** A condition on a node's labels. */
export interface Requirement extends Frozen<Static<typeof claimRequirementSchema>> {}

const atomicUpTo100: Keywords = { maxItems: 100, 'x-kubernetes-list-type': 'atomic' };
const claimRules = [needsValues('In'), comparisonNeedsOneInteger, enoughValues];

/** Requirements of a NodeOverlay: no `minValues`, and `NotIn` needs values too. */
export const overlayRequirements = list(
  'Which instance types the overlay applies to; all of them must hold.',
  overlayRequirementSchema,
  {
    ...atomicUpTo100,
    'x-kubernetes-validations': [needsValues('NotIn'), needsValues('In'), comparisonNeedsOneInteger],
  },
);

const sharedTemplateFields = {
  taints: optional(taints('Taints of the node for all its life.')),
  startupTaints: optional(
    taints(
      'Taints that the node starts with and that something else removes, such as a network agent. Pods need not tolerate them.',
    ),
  ),
  terminationGracePeriod: optional(
    text(
      'How long a draining node may take before its pods are deleted in spite of budgets. Absent: as long as it takes.',
      duration,
    ),
  ),
  expireAfter: optional(text('Age at which the node is replaced, or Never.', { default: '720h', ...durationOrNever })),
};

/** Spec fields of a NodeClaim that a pool gives too. */
export const claimTemplateFields = {
  ...sharedTemplateFields,
  requirements: list('Conditions that the node must satisfy; all of them must hold.', claimRequirementSchema, {
    ...atomicUpTo100,
    'x-kubernetes-validations': claimRules,
  }),
  nodeClassRef: nodeClassRefSchema,
};

/** The same fields in a pool's template. */
export const poolTemplateFields = {
  ...sharedTemplateFields,
  requirements: list('Conditions that nodes of this pool satisfy; all of them must hold.', poolRequirementSchema, {
    ...atomicUpTo100,
    'x-kubernetes-validations': claimRules,
  }),
  nodeClassRef: poolNodeClassRefSchema,
};

const CONDITION_TYPE =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$';

const conditionFields = {
  type: text('What the condition is about.', { maxLength: 316, pattern: CONDITION_TYPE }),
  status: choice('Whether it holds.', ['True', 'False', 'Unknown']),
  lastTransitionTime: text('When status last changed.', { format: 'date-time' }),
  observedGeneration: optional(int64('metadata.generation that was judged.', { minimum: 0 })),
};
const message = text('Explanation for people.', { maxLength: 32_768 });

const conditionSchema = fields('One aspect of the state of the object.', {
  ...conditionFields,
  reason: text('Why it holds or not, as one CamelCase word.', {
    minLength: 1,
    maxLength: 1024,
    pattern: '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$',
  }),
  message,
});

const claimConditionSchema = fields('One aspect of the state of the claim.', {
  ...conditionFields,
  reason: optional(
    text('Why it holds or not, as one CamelCase word.', {
      maxLength: 1024,
      pattern: '^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?|)$',
    }),
  ),
  message: optional(message),
});

/** A status condition. A NodeClaim's may lack reason and message. */
export interface Condition extends Frozen<Static<typeof claimConditionSchema>> {}

const byType: Keywords = { 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['type'] };

/** `status.conditions`, one per type. */
export const conditions = optional(list('State of the object, one condition per type.', conditionSchema, byType));
/** `status.conditions` of an AKSNodeClass, which Azure's CRD leaves a plain list. */
export const plainConditions = optional(list('State of the object, one condition per type.', conditionSchema));
/** `status.conditions` of a NodeClaim. */
export const claimConditions = optional(
  list('State of the claim, one condition per type.', claimConditionSchema, byType),
);
