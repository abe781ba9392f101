import { Type, type Static } from 'typebox';

/**
 * The public format of disruption plans, `nodewright.dev/v1alpha1`. `docs/schema` holds it as JSON Schema, written from
 * here.
 */

const pricePerHourOf = (description: string) =>
  Type.String({
    description: `${description} Per hour in the summary’s currency, exact decimal text.`,
    pattern: '^-?[0-9]+(\\.[0-9]{1,6})?$',
  });

const count = (description: string) => Type.Integer({ description, minimum: 0 });

const strict = { additionalProperties: false };

const reason = Type.Union(
  [
    Type.Literal('Empty'),
    Type.Literal('Underutilized'),
    Type.Literal('Drifted'),
    Type.Literal('Expired'),
    Type.Literal('Unhealthy'),
    Type.Literal('StaticSurplus'),
  ],
  { description: 'Why the nodes of the step go.' },
);

const Move = Type.Object(
  {
    pod: Type.String({ description: 'As namespace/name.' }),
    from: Type.String({ description: 'The node that it leaves.' }),
    to: Type.Object(
      {
        kind: Type.Union([Type.Literal('Node'), Type.Literal('NodeClaim')], {
          description: 'NodeClaim: a node that this step or one before creates.',
        }),
        name: Type.String(),
      },
      strict,
    ),
  },
  strict,
);

const Step = Type.Object(
  {
    reason,
    remove: Type.Array(Type.String(), { description: 'Nodes that go at the end of the step.' }),
    create: Type.Array(Type.String(), { description: 'Nodes that come first, by their names in nodeClaims.' }),
    moves: Type.Array(Move, { description: 'Every pod of the removed nodes but those of DaemonSets and static ones.' }),
    savedPerHour: pricePerHourOf('What the nodes that go cost less those that come.'),
  },
  strict,
);

const NodeClaim = Type.Object(
  {
    name: Type.String({ description: 'Names the node within this plan.' }),
    nodePool: Type.String(),
    instanceType: Type.String(),
    zone: Type.String(),
    capacityType: Type.Union([Type.Literal('on-demand'), Type.Literal('spot'), Type.Literal('reserved')]),
    reservationId: Type.Optional(Type.String()),
    pricePerHour: pricePerHourOf('Of the offering.'),
  },
  strict,
);

const Kept = Type.Object(
  {
    node: Type.String(),
    nodePool: Type.Union([Type.String(), Type.Null()], { description: 'Null for a node of no NodePool.' }),
    reason: Type.String({ description: 'Why it stays, as a word.' }),
    detail: Type.String({ description: 'The same as a sentence.' }),
    data: Type.Record(Type.String(), Type.Unknown(), { description: 'What the reason is made of.' }),
  },
  strict,
);

const State = {
  nodes: count('Nodes of NodePools.'),
  costPerHour: pricePerHourOf('All of them together.'),
};

/** What `-o json` and `-o yaml` print. */
export const DisruptionDocument = Type.Object(
  {
    apiVersion: Type.Literal('nodewright.dev/v1alpha1'),
    kind: Type.Literal('DisruptionPlan'),
    steps: Type.Array(Step, { description: 'One after the other: each begins when the one before has ended.' }),
    nodeClaims: Type.Array(NodeClaim, { description: 'Nodes to create.' }),
    kept: Type.Array(Kept, { description: 'Every node that stays.' }),
    before: Type.Object(State, strict),
    after: Type.Object(
      { ...State, lowerBoundPerHour: pricePerHourOf('No end that keeps the rules costs less; 0 if nothing is known.') },
      strict,
    ),
    summary: Type.Object(
      {
        currency: Type.String({ description: 'What all amounts are in (ISO 4217).' }),
        savedPerHour: pricePerHourOf('Before less after.'),
        nodesRemoved: count('Nodes that go.'),
        nodesCreated: count('Nodes that come.'),
        podsMoved: count('Pods that move, each once.'),
        solveMs: Type.Number({ description: 'Time to find the plan, in milliseconds.', minimum: 0 }),
      },
      strict,
    ),
  },
  { description: 'Which nodes go, in which steps, where their pods move, and why all others stay.', ...strict },
);
export type DisruptionDocument = Static<typeof DisruptionDocument>;
