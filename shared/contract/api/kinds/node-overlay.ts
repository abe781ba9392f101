import type { Static } from 'typebox';
import { ageColumn, readyColumn, type KindDefinition } from '../schema/kind.ts';
import type { ObjectMeta } from '../schema/object-meta.ts';
import { conditions, overlayRequirements } from '../schema/parts.ts';
import { fields, int32, optional, quantityMap, rule, text, type Frozen } from '../schema/schema.ts';

/** Resources that an instance type states itself, so that no overlay may change them. */
export const intrinsicResources: ReadonlyArray<string> = ['cpu', 'memory', 'ephemeral-storage', 'pods'];

const specSchema = fields(
  'What the overlay changes, and of which instance types.',
  {
    requirements: overlayRequirements,
    price: optional(
      text(
        'Price per hour, in place of the real one, in the currency of prices: US dollars, unless PRICE_CURRENCY says otherwise.',
        {
          pattern: '^\\d+(\\.\\d+)?$',
          fix: 'write a decimal number such as "0.42", in quotes',
        },
      ),
    ),
    priceAdjustment: optional(
      text('What to add to the price, in the same currency per hour or in percent, with its sign.', {
        pattern: '^(([+-]{1}(\\d*\\.?\\d+))|(\\+{1}\\d*\\.?\\d+%)|(^(-\\d{1,2}(\\.\\d+)?%)$)|(-100%))$',
        fix: 'write a signed number or percentage such as "+0.10" or "-15%"; at least -100%',
      }),
    ),
    capacity: optional(
      quantityMap('Resources that the instance types have besides their own, such as smarter-devices/fuse.', {
        'x-kubernetes-validations': [
          rule<Readonly<Record<string, unknown>>>(
            "self.all(x, !(x in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
            'invalid resource restricted',
            'remove cpu, memory, ephemeral-storage and pods',
            (self) => !intrinsicResources.some((resource) => Object.hasOwn(self, resource)),
          ),
        ],
      }),
    ),
    weight: optional(
      int32('Which overlay wins where two change the same: the one with more weight. Absent: 0.', {
        minimum: 1,
        maximum: 10_000,
      }),
    ),
  },
  {
    'x-kubernetes-validations': [
      rule<{ readonly price?: string; readonly priceAdjustment?: string }>(
        '!has(self.price) || !has(self.priceAdjustment)',
        "cannot set both 'price' and 'priceAdjustment'",
        'remove one of them',
        ({ price, priceAdjustment }) => price === undefined || priceAdjustment === undefined,
      ),
    ],
  },
);

const statusSchema = fields('What was last seen of the overlay.', { conditions });

/** Spec of a NodeOverlay. */
export interface NodeOverlaySpec extends Frozen<Static<typeof specSchema>> {}
/** Status of a NodeOverlay. */
export interface NodeOverlayStatus extends Frozen<Static<typeof statusSchema>> {}

/** A change to what is known of instance types: their price, or resources they have besides. */
export interface NodeOverlay {
  readonly apiVersion: string;
  readonly kind: 'NodeOverlay';
  readonly metadata: ObjectMeta;
  readonly spec: NodeOverlaySpec;
  readonly status?: NodeOverlayStatus;
}

/** NodeOverlay, as its CRD has it. */
export const nodeOverlayKind: KindDefinition = {
  group: 'karpenter.sh',
  kind: 'NodeOverlay',
  plural: 'nodeoverlays',
  shortNames: ['overlays'],
  categories: ['karpenter'],
  scope: 'Cluster',
  versions: [{ name: 'v1alpha1', deprecationWarning: null }],
  columns: [readyColumn, ageColumn, { name: 'Weight', type: 'integer', jsonPath: '.spec.weight', priority: 1 }],
  scale: null,
  description: 'A change to what is known of instance types: their price, or resources they have besides.',
  spec: specSchema,
  specRequired: true,
  moved: {},
  status: statusSchema,
};
