import { Type, type Static } from 'typebox';
import { statedSlice } from '../../shared/contract/api/annotations/stated-devices.ts';

/**
 * The public format of catalogs, `nodewright.dev/v1alpha1`. `docs/schema` holds it as JSON Schema, written from here.
 */

const quantities = Type.Record(Type.String(), Type.Union([Type.String(), Type.Number()]), {
  description: 'Resource name to quantity, such as 4, 140m or 16Gi.',
});

const place = {
  zone: Type.String({ description: 'Becomes the label topology.kubernetes.io/zone.', minLength: 1 }),
  available: Type.Optional(Type.Boolean({ description: 'False: never launched. Absent: true.', default: true })),
};

const price = (description: string) =>
  Type.String({
    description: `${description}, per hour in the catalog’s currency, as decimal text. Beyond a millionth of it it is rounded up.`,
    pattern: '^[0-9]{1,9}(\\.[0-9]{1,18})?$',
  });

const MarketOffering = Type.Object(
  {
    ...place,
    capacityType: Type.Union([Type.Literal('on-demand'), Type.Literal('spot')], {
      description: 'Becomes the label karpenter.sh/capacity-type.',
    }),
    pricePerHour: price('What a node costs'),
    evictionsPerHour: Type.Optional(
      Type.String({
        description:
          'Of spot only: the chance that Azure evicts a node within an hour, 0 to 1 as decimal text. Absent: not known, and counted as 0.',
        pattern: '^(0(\\.[0-9]{1,18})?|1(\\.0{1,18})?)$',
      }),
    ),
  },
  { description: 'An instance type in one zone with one capacity type.' },
);

const ReservedOffering = Type.Object(
  {
    ...place,
    capacityType: Type.Literal('reserved', { description: 'Becomes the label karpenter.sh/capacity-type.' }),
    pricePerHour: price('What a node adds to what the reservation costs anyway, mostly 0'),
    reservationId: Type.String({
      description: 'Becomes the label karpenter.azure.com/capacity-reservation-id.',
      minLength: 1,
    }),
    reservationCapacity: Type.Integer({ description: 'How many more nodes the reservation holds.', minimum: 0 }),
  },
  { description: 'An instance type in one zone, of a capacity reservation.' },
);

const CatalogInstanceType = Type.Object(
  {
    name: Type.String({ description: 'Becomes the label node.kubernetes.io/instance-type.', minLength: 1 }),
    labels: Type.Optional(
      Type.Record(Type.String(), Type.String(), { description: 'Labels of every node of this type.' }),
    ),
    capacity: quantities,
    overhead: Type.Optional(quantities),
    resourceSlices: Type.Optional(
      Type.Array(statedSlice, {
        description: 'Devices (DRA) that every node of this type publishes, once it has started.',
      }),
    ),
    offerings: Type.Array(Type.Union([MarketOffering, ReservedOffering])),
  },
  { description: 'A machine size. What pods and daemons may use is capacity less overhead, per resource.' },
);

/** What `--catalog` takes. */
export const Catalog = Type.Object(
  {
    apiVersion: Type.Literal('nodewright.dev/v1alpha1'),
    kind: Type.Literal('Catalog'),
    region: Type.String({ description: 'Becomes the label topology.kubernetes.io/region.', minLength: 1 }),
    currency: Type.Optional(
      Type.String({ description: 'What prices are in (ISO 4217).', pattern: '^[A-Z]{3}$', default: 'USD' }),
    ),
    instanceTypes: Type.Array(CatalogInstanceType),
  },
  { description: 'The instance types that nodes can have, with zones, capacity types and prices.' },
);
export type Catalog = Static<typeof Catalog>;
