import { Type, type Static } from 'typebox';
import { CheaperReason, Reason } from './reason-format.ts';

/** The public format of plans, `nodewright.dev/v1alpha1`. `docs/schema` holds it as JSON Schema, written from here. */

const pricePerHourOf = (description: string) =>
  Type.String({
    description: `${description} Per hour in the summary’s currency, exact decimal text.`,
    pattern: '^[0-9]+(\\.[0-9]{1,6})?$',
  });

const count = (description: string) => Type.Integer({ description, minimum: 0 });

const podNames = Type.Array(Type.String(), { description: 'Pods as namespace/name.' });

const offering = {
  instanceType: Type.String(),
  zone: Type.String({ description: 'Such as westeurope-1; 0 for a machine without a zone.' }),
  capacityType: Type.Union([Type.Literal('on-demand'), Type.Literal('spot'), Type.Literal('reserved')]),
  reservationId: Type.Optional(Type.String({ description: 'The reservation that a reserved node is taken from.' })),
  pricePerHour: pricePerHourOf('Of the offering.'),
  evictionsPerHour: Type.Optional(
    Type.String({
      description: 'The chance that Azure evicts it within an hour, as decimal text. Absent where that adds nothing.',
    }),
  ),
  weighedPricePerHour: Type.Optional(
    pricePerHourOf('What it counts as where choices are made: the price, and what evictions cost. Absent: the price.'),
  ),
};

const strict = { additionalProperties: false };

const gap = Type.Union([Type.Number({ minimum: 0 }), Type.Null()], {
  description: 'Cost over bound, less one: 0.0118 is 1.18 %. Null where nothing better than 0 is known of the bound.',
});

const RunnerUp = Type.Object(
  { ...offering, morePerHour: pricePerHourOf('What it counts as more than the choice, by weighed prices.') },
  strict,
);

const CheaperOfferings = Type.Object(
  {
    nodePool: Type.String(),
    offerings: count('How many offerings, each a size in one zone with one capacity type.'),
    instanceTypes: count('Of how many sizes.'),
    example: Type.Object(offering, {
      description: 'Of those too small the one that lacks least; else the cheapest.',
      ...strict,
    }),
    reason: CheaperReason,
    detail: Type.String({ description: 'The reason in words.' }),
  },
  strict,
);

const PlannedNodeClaim = Type.Object(
  {
    name: Type.String({ description: 'Names the claim within this plan.' }),
    nodePool: Type.String(),
    ...offering,
    pods: podNames,
    runnerUp: Type.Union([RunnerUp, Type.Null()], {
      description: 'The next best offering that holds the same pods; null where there is none.',
    }),
    cheaper: Type.Array(CheaperOfferings, {
      description: 'Why no cheaper offering was chosen: those refused for one reason together. Empty: none is cheaper.',
    }),
  },
  strict,
);

const Buffer = Type.Object(
  {
    buffer: Type.String({ description: 'The CapacityBuffer, as namespace/name.' }),
    pods: count('For how many pods it asks for room.'),
    nominations: Type.Array(Type.Object({ node: Type.String(), pods: count('Room for so many.') }, strict), {
      description: 'Room on nodes that exist, or are on their way.',
    }),
    nodeClaims: Type.Array(Type.Object({ name: Type.String(), pods: count('Room for so many.') }, strict), {
      description: 'Room on nodes to create.',
    }),
    left: count('Pods for which there is no room.'),
    reasons: Type.Array(
      Type.Object(
        {
          nodePool: Type.Union([Type.String(), Type.Null()], {
            description: 'Null for what no pool is the reason of.',
          }),
          kind: Type.String({ description: 'As of reasons of pods.' }),
          detail: Type.String({ description: 'The reason in words.' }),
          fix: Type.String({ description: 'What would fix it.' }),
        },
        strict,
      ),
      { description: 'Why there is none: the first reason of each pool.' },
    ),
  },
  strict,
);

/** What `-o json` and `-o yaml` print. */
export const PlanDocument = Type.Object(
  {
    apiVersion: Type.Literal('nodewright.dev/v1alpha1'),
    kind: Type.Literal('Plan'),
    summary: Type.Object(
      {
        currency: Type.String({ description: 'What all amounts are in (ISO 4217).' }),
        costPerHour: pricePerHourOf('Of all new nodes together.'),
        lowerBoundPerHour: pricePerHourOf('No plan that places the same pods costs less.'),
        gap,
        weighed: Type.Optional(
          Type.Object(
            {
              costPerHour: pricePerHourOf('What all new nodes count as together: what the plan was chosen by.'),
              lowerBoundPerHour: pricePerHourOf('No plan that places the same pods counts as less.'),
              gap,
            },
            { description: 'The same with what evictions cost. Absent where that is nothing.', ...strict },
          ),
        ),
        pods: Type.Object(
          {
            placed: count('Pods on new nodes.'),
            nominated: count('Pods on nodes that exist, or are on their way.'),
            left: count('Pods for which there is no place.'),
          },
          strict,
        ),
        solveMs: Type.Number({ description: 'Time to find the plan, in milliseconds.', minimum: 0 }),
      },
      strict,
    ),
    nodeClaims: Type.Array(PlannedNodeClaim, { description: 'Nodes to create.' }),
    nominations: Type.Array(
      Type.Object(
        { node: Type.String({ description: 'A node, or a NodeClaim whose node is not there yet.' }), pods: podNames },
        strict,
      ),
      { description: 'Pods that fit capacity which exists.' },
    ),
    left: Type.Array(Type.Object({ pod: Type.String(), reasons: Type.Array(Reason) }, strict), {
      description: 'Pods for which there is no place, with the first reason of each pool.',
    }),
    buffers: Type.Optional(
      Type.Array(Buffer, { description: 'Where the room of CapacityBuffers is. Absent where none asks for any.' }),
    ),
  },
  { description: 'Where pods go, which nodes to create for them, and why some have no place.', ...strict },
);
export type PlanDocument = Immutable<Static<typeof PlanDocument>>;

type Immutable<T> = T extends object ? { readonly [Key in keyof T]: Immutable<T[Key]> } : T;
