import { Type, type TProperties } from 'typebox';

/** The reasons of a left pod in the public format of plans: one shape for each kind, and all of them with words. */

const strict = { additionalProperties: false };

const words = {
  detail: Type.String({ description: 'What rules the pod out, in words.' }),
  fix: Type.String({ description: 'What would let the pod in.' }),
};

function ofThePod<Kind extends string, Fields extends TProperties>(kind: Kind, description: string, fields: Fields) {
  return Type.Object(
    { kind: Type.Literal(kind), nodePool: Type.Null(), ...fields, ...words },
    { description, ...strict },
  );
}

function ofAPool<Kind extends string, Fields extends TProperties>(kind: Kind, description: string, fields: Fields) {
  return Type.Object(
    { kind: Type.Literal(kind), nodePool: Type.String(), ...fields, ...words },
    { description, ...strict },
  );
}

const texts = Type.Array(Type.String());
const claim = {
  claim: Type.String({ description: 'As namespace/name; for an ephemeral volume its name in the pod.' }),
};
const keys = { keys: Type.Array(Type.String(), { description: 'The label keys that the rule is about.' }) };
const quantity = (description: string) =>
  Type.String({ description: `${description} An exact quantity: 250m of CPU, bytes of memory.` });

const PoolObstacle = Type.Union([
  Type.Object({ kind: Type.Literal('foreign-class'), classKind: Type.String(), group: Type.String() }, strict),
  Type.Object({ kind: Type.Literal('deleting') }, strict),
  Type.Object({ kind: Type.Literal('static') }, strict),
  Type.Object({ kind: Type.Literal('not-ready'), message: Type.String() }, strict),
  Type.Object({ kind: Type.Literal('without-instance-types') }, strict),
]);

const ClaimProblem = Type.Union([
  Type.Object({ kind: Type.Literal('missing') }, strict),
  Type.Object({ kind: Type.Literal('deleting') }, strict),
  Type.Object({ kind: Type.Literal('not-listed') }, strict),
  Type.Object({ kind: Type.Literal('class-missing'), request: Type.String(), deviceClass: Type.String() }, strict),
  Type.Object(
    { kind: Type.Literal('selector'), origin: Type.String(), expression: Type.String(), error: Type.String() },
    strict,
  ),
  Type.Object({ kind: Type.Literal('unknown'), part: Type.String(), known: Type.String() }, strict),
]);

const deviceClaim = {
  claim: Type.String({ description: 'As namespace/name; still to be made: namespace/pod/name in the pod.' }),
};

const Taint = Type.Object(
  { key: Type.String(), value: Type.Optional(Type.String()), effect: Type.String() },
  { description: 'The taint that is not tolerated.' },
);

/** A rule on a label, as in a node selector term. */
const LabelRequirement = Type.Object(
  { key: Type.String(), operator: Type.String(), values: Type.Optional(texts) },
  strict,
);

const Requirement = Type.Object(
  {
    key: Type.String(),
    operator: Type.String(),
    values: Type.Optional(texts),
    minValues: Type.Optional(Type.Integer()),
  },
  strict,
);

const Toleration = Type.Object(
  {
    key: Type.Optional(Type.String()),
    operator: Type.Optional(Type.String()),
    value: Type.Optional(Type.String()),
    effect: Type.Optional(Type.String()),
    tolerationSeconds: Type.Optional(Type.Integer()),
  },
  strict,
);

const Edit = Type.Object(
  {
    object: Type.Union([Type.Literal('NodePool'), Type.Literal('AKSNodeClass'), Type.Literal('Pod')], {
      description: 'The pool of the reason, its class, or the pod.',
    }),
    field: Type.String({
      description:
        'What is changed. Of a label (requirements, nodeSelector) all that is said of it, in node affinity too; of requests those of all containers together.',
    }),
    key: Type.Union([Type.String(), Type.Null()], { description: 'Of which label or resource; null for none.' }),
    value: Type.Union([Type.String(), Type.Number(), Type.Array(Requirement), Toleration, Type.Null()], {
      description: 'What it becomes; null or an empty list: it is removed.',
    }),
  },
  strict,
);

const remedies = {
  remedies: Type.Array(Type.Array(Edit, { description: 'Changes that belong together.' }), {
    description:
      'What would let the pod in as far as this reason goes, as data: each entry by itself. The fix has it in words.',
  }),
};

/** Why a pod was left. `nodePool` is null where the reason is the pod itself. */
export const Reason = Type.Union([
  ofThePod('claims-ignored', 'The pod has resource claims (DRA), and they are ignored.', {}),
  ofThePod('resource-claim', 'A resource claim, or what it names, cannot be used.', {
    object: Type.String({ description: 'ResourceClaim or ResourceClaimTemplate, and namespace/name.' }),
    why: ClaimProblem,
  }),
  ofThePod('claim-elsewhere', 'A claim holds devices that the pod can reach from no node.', deviceClaim),
  ofThePod('devices-elsewhere', 'Devices for its claims are on nodes that do not take the pod.', {
    nodes: Type.Array(Type.String()),
  }),
  ofThePod('devices-short', 'There are not enough devices for one request of a claim.', {
    ...deviceClaim,
    request: Type.String(),
    classes: texts,
    wanted: Type.Integer(),
    matching: Type.Integer({ description: 'Devices in the cluster that the request selects.' }),
    free: Type.Integer({ description: 'Those of them that nobody holds whole.' }),
  }),
  ofThePod('devices-together', 'Each request can be met by itself, all of them together cannot.', {}),
  ofThePod('device-selector', 'A selector cannot be evaluated for a device.', { error: Type.String() }),
  ofThePod('devices-search', 'The search for devices was given up at its bound.', {}),
  ofThePod('volume-claim-missing', 'A volume claim does not exist.', claim),
  ofThePod('volume-claim-lost', 'A volume claim is being deleted, or lost.', claim),
  ofThePod('volume-missing', 'The volume of a claim does not exist.', { ...claim, volume: Type.String() }),
  ofThePod('volume-binding', 'A claim names a volume that it is not bound to yet.', {
    ...claim,
    volume: Type.String(),
  }),
  ofThePod('storage-class-missing', 'A claim has no storage class that exists.', {
    ...claim,
    storageClass: Type.Union([Type.String(), Type.Null()], {
      description: 'The class that the claim names; null where it asks for the default, and there is none.',
    }),
  }),
  ofThePod('volume-not-bound', 'A claim is not bound, and its class does not wait for the pod.', claim),
  ofThePod('contradiction', 'What the pod requires of one label cannot be had together.', {
    wanted: Type.Array(LabelRequirement),
  }),
  ofThePod('no-node-pool', 'There is no NodePool.', {}),
  ofThePod('plan-refused', 'A plan for the pod was made and broke a rule of the audit.', {
    finding: Type.String({ description: 'What the audit found first.' }),
  }),
  ofAPool('pool-not-usable', 'The pool is not looked at.', { why: PoolObstacle }),
  ofAPool('taint', 'The pod does not tolerate a taint of the pool.', { taint: Taint, ...remedies }),
  ofAPool('pool-contradiction', 'What the pool requires of one label cannot be had together.', {
    wanted: Type.Array(LabelRequirement),
    ...remedies,
  }),
  ofAPool('no-instance-type', 'No available offering meets the requirements of the pool.', {
    conflicts: Type.Array(Type.Array(LabelRequirement), {
      description: 'Requirements that leave nothing: each list together, and no part of it.',
    }),
    available: Type.Union([Type.Literal('some'), Type.Literal('others'), Type.Literal('none')], {
      description: 'others: what meets all is not available now; none: nothing is available at all.',
    }),
    ...remedies,
  }),
  ofAPool('requirement', 'No node of the pool has the label that the pod asks for.', {
    wanted: Type.Array(LabelRequirement),
    pool: Type.Array(LabelRequirement, {
      description: 'What the pool says of the same label, where the two contradict each other.',
    }),
    meant: Type.Union([Type.String(), Type.Null()], { description: 'The label that is probably meant.' }),
    ...remedies,
  }),
  ofAPool('requirements-together', 'No node of the pool has all labels that the pod asks for.', {
    wanted: Type.Array(LabelRequirement),
    pool: Type.Array(LabelRequirement, { description: 'What the pool says that takes part in it.' }),
    ...remedies,
  }),
  ofAPool('resource', 'No node of the pool has as much of a resource.', {
    resource: Type.String(),
    wanted: quantity('What the pod requests.'),
    most: quantity('What the largest node of the pool has for pods beside the daemonsets.'),
    largest: quantity('What the largest of all sizes has for pods and daemonsets.'),
    ...remedies,
  }),
  ofAPool('resources-together', 'No node of the pool has room for all that the pod requests.', remedies),
  ofAPool('limit', 'A node for the pod would break a limit of the pool.', {
    resource: Type.String(),
    wanted: quantity('What a node for the pod would count.'),
    left: quantity('What the limit still allows; negative when it is over.'),
    ...remedies,
  }),
  ofAPool('min-values', 'Too few instance types are left for the minValues of the pool.', {
    ...keys,
    ...remedies,
  }),
  ofAPool('topology-spread', 'The pod’s topology spread allows no node of the pool.', keys),
  ofAPool('pod-affinity', 'The pod’s affinity to other pods allows no node of the pool.', keys),
  ofAPool('pod-anti-affinity', 'The pod’s anti-affinity allows no node of the pool.', keys),
  ofAPool('anti-affinity-of-others', 'The anti-affinity of other pods allows no node of the pool.', keys),
  ofAPool('topology-together', 'Each topology rule alone allows a node of the pool, all together none.', keys),
]);

function cheaper<Kind extends string, Fields extends TProperties>(kind: Kind, description: string, fields: Fields) {
  return Type.Object({ kind: Type.Literal(kind), ...fields }, { description, ...strict });
}

const pod = { pod: Type.String({ description: 'One of the claim’s pods whose rule it is, as namespace/name.' }) };

/** Why offerings that cost less than a claim's were refused. */
export const CheaperReason = Type.Union([
  cheaper('taint', 'A pod does not tolerate a taint of the pool.', { ...pod, taint: Taint }),
  cheaper('pod-requirement', 'A pod asks for a label that it does not have.', {
    ...pod,
    wanted: Type.Array(LabelRequirement),
  }),
  cheaper('pod-preference', 'A pod prefers others, and got one of them.', pod),
  cheaper('volume', 'A volume of a pod is, or may only be, elsewhere.', pod),
  cheaper('host-port', 'A daemonset takes a host port of a pod there.', pod),
  cheaper('devices', 'The devices that a pod claims (DRA) were not found there.', pod),
  cheaper('too-small', 'It has too little of a resource.', {
    resource: Type.String(),
    wanted: quantity('What the claim’s pods request together.'),
    has: quantity('What the example has for them beside the daemonsets.'),
  }),
  cheaper('unavailable', 'Azure has refused it lately, or quota does not allow it.', {}),
  cheaper('shunned', 'A burstable or retired size that the pool does not name.', {
    why: Type.Union([Type.Literal('burstable'), Type.Literal('retired')]),
  }),
  cheaper('eviction-risk', 'It is evicted so often that it counts as no less than the choice.', {
    evictionsPerHour: Type.String({ description: 'The chance of an eviction within an hour, as decimal text.' }),
    weighedPricePerHour: Type.String({
      description: 'What the example counts as per hour, in the summary’s currency.',
    }),
    chosenWeighedPricePerHour: Type.String({
      description: 'What the choice counts as per hour, in the summary’s currency.',
    }),
  }),
  cheaper(
    'spot-storm',
    'Azure evicted many spot VMs like it, or refused many sizes, so it counts as no less than the choice.',
    {
      evicted: Type.Integer({ description: 'VMs that were evicted within ten minutes.', minimum: 0 }),
      of: Type.Integer({ description: 'Machines that there were.', minimum: 0 }),
      refusedSizes: Type.Integer({
        description: 'Sizes of which Azure had no spot in the zone within ten minutes; 0 where VMs were evicted.',
        minimum: 0,
      }),
      until: Type.String({ description: 'How long it counts so, as RFC 3339.' }),
      weighedPricePerHour: Type.String({
        description: 'What the example counts as per hour, in the summary’s currency.',
      }),
      chosenWeighedPricePerHour: Type.String({
        description: 'What the choice counts as per hour, in the summary’s currency.',
      }),
    },
  ),
  cheaper('weight', 'The claim’s pool is heavier.', {}),
  cheaper('topology', 'Rules about other pods allow no other domain of the key.', { key: Type.String() }),
  cheaper('limit', 'It would break a limit of the pool.', {
    resource: Type.String(),
    wanted: quantity('What it would count more.'),
    left: quantity('What the limit still allows.'),
  }),
  cheaper('min-values', 'Too few instance types would be left for the minValues of the pool.', keys),
  cheaper('overlooked', 'It would hold the same pods: the search did not come to it.', {}),
]);
