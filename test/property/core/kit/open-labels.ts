import * as fc from 'fast-check';
import type { Node, NodePool, NodeSelectorTerm, PodSpec, Requirement } from '../../../../shared/kubernetes/manifest.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { input, node, pods, pool, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';

/** Labels that pools may leave to pods, and the values that pods and nodes name. */
export const TIER = 'example.com/tier';
export const RANK = 'example.com/rank';

const ZONE = 'topology.kubernetes.io/zone';
const CAPACITY_TYPE = 'karpenter.sh/capacity-type';

const types = [
  size('Standard_D2s_v5', 2, 8, 100_000),
  size('Standard_D4s_v5', 4, 16, 200_000),
  size('Standard_E4s_v5', 4, 32, 260_000),
];

/** None of it more often than not. */
const seldom = <T>(value: fc.Arbitrary<T>, weight = 2): fc.Arbitrary<ReadonlyArray<T>> =>
  fc.oneof({ weight, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: value.map((one) => [one]) });

const openTo: fc.Arbitrary<ReadonlyArray<Requirement>> = fc
  .tuple(
    seldom(
      fc.constantFrom(
        requirement(TIER, 'Exists'),
        requirement(TIER, 'In', 'gold', 'silver'),
        requirement(TIER, 'NotIn', 'gold'),
      ),
      1,
    ),
    seldom(fc.constantFrom(requirement(RANK, 'Exists'), requirement(RANK, 'Gt', '3'), requirement(RANK, 'Lt', '4'))),
  )
  .map((drawn) => drawn.flat());

const choices = fc.constantFrom(
  { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 2 },
  { key: 'karpenter.azure.com/sku-family', operator: 'Exists', minValues: 2 },
);

const pools: fc.Arbitrary<NodePool> = fc
  .record({
    capacityTypes: fc.constantFrom(['on-demand'], ['spot'], ['on-demand', 'spot']),
    zones: fc.constantFrom([...zones], [zones[0]], [zones[0], zones[1]]),
    open: openTo,
    choice: seldom(choices, 3),
  })
  .map((draw) =>
    pool('drawn', {
      requirements: [
        requirement(CAPACITY_TYPE, 'In', ...draw.capacityTypes),
        requirement(ZONE, 'In', ...draw.zones),
        ...draw.open,
        ...draw.choice,
      ],
    }),
  );

const nodes: fc.Arbitrary<Node> = fc
  .record({
    zone: fc.constantFrom(...zones),
    capacityType: fc.constantFrom('on-demand', 'spot'),
    tier: fc.constantFrom({}, { [TIER]: 'gold' }, { [TIER]: 'bronze' }),
    rank: fc.constantFrom({}, { [RANK]: '4' }),
  })
  .map(({ zone, capacityType, tier, rank }) =>
    node('drawn', 2, 8, { [ZONE]: zone, [CAPACITY_TYPE]: capacityType, ...tier, ...rank }),
  );

/** Labels that pods settle on a new node for good: what a spread looks at is never in doubt. */
const openExpressions = fc.constantFrom(
  requirement(TIER, 'In', 'gold'),
  requirement(TIER, 'In', 'bronze', 'silver'),
  requirement(TIER, 'Exists'),
  requirement(TIER, 'NotIn', 'gold'),
  requirement(RANK, 'Gt', '2'),
  requirement(RANK, 'Lt', '5'),
);
const zoneExpressions = fc.constantFrom(
  requirement(ZONE, 'In', zones[0]),
  requirement(ZONE, 'In', zones[0], zones[1]),
  requirement(ZONE, 'NotIn', zones[2]),
);

const terms: fc.Arbitrary<ReadonlyArray<NodeSelectorTerm>> = fc.oneof(
  { weight: 2, arbitrary: fc.constant([]) },
  {
    weight: 1,
    arbitrary: fc.array(
      fc.tuple(fc.oneof(openExpressions, zoneExpressions), seldom(openExpressions, 3)).map(([one, others]) => ({
        matchExpressions: [one, ...others],
      })),
      { minLength: 1, maxLength: 3 },
    ),
  },
);

const labels = fc.constantFrom({ app: 'web' }, { app: 'web' }, { app: 'web' }, { app: 'db' });
const podSpecs: fc.Arbitrary<PodSpec> = fc
  .record({
    cpu: fc.constantFrom('500m', '1500m', '3'),
    selects: seldom(fc.constantFrom('gold', 'bronze'), 1),
    terms,
    spread: seldom(
      fc.record({
        maxSkew: fc.constantFrom(1, 2),
        topologyKey: fc.constantFrom(ZONE, ZONE, CAPACITY_TYPE, CAPACITY_TYPE, TIER, 'kubernetes.io/hostname'),
        whenUnsatisfiable: fc.constant('DoNotSchedule'),
        labelSelector: labels.map((matchLabels) => ({ matchLabels })),
        nodeAffinityPolicy: fc.constantFrom('Honor', 'Honor', 'Ignore'),
      }),
      1,
    ),
  })
  .map((draw) =>
    spec(draw.cpu, '1Gi', {
      nodeSelector: Object.fromEntries(draw.selects.map((value) => [TIER, value])),
      topologySpreadConstraints: draw.spread,
      affinity: {
        nodeAffinity:
          draw.terms.length === 0
            ? {}
            : { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: draw.terms } },
      },
    }),
  );

/**
 * Pools that leave labels open, minValues, nodes with and without those labels, and pods that ask for them, in several
 * terms too, and spread over zones, capacity types and the labels themselves. Nothing else binds, so that one node more
 * can be judged.
 */
export const openLabelInputs: fc.Arbitrary<ProvisioningInput> = fc
  .record({
    nodePools: fc.array(pools, { minLength: 1, maxLength: 3 }),
    nodes: fc.array(nodes, { maxLength: 2 }),
    shapes: fc.array(fc.tuple(podSpecs, labels, fc.integer({ min: 1, max: 3 })), { minLength: 2, maxLength: 3 }),
    running: fc.array(fc.tuple(labels, fc.nat(1)), { maxLength: 2 }),
    minValuesPolicy: fc.constantFrom('Strict' as const, 'BestEffort' as const),
  })
  .map((draw) => {
    const named = draw.nodes.map((one, index) => ({
      ...one,
      metadata: {
        name: `node-${index}`,
        labels: { ...one.metadata.labels, 'kubernetes.io/hostname': `node-${index}` },
      },
    }));
    const running = draw.running.flatMap(([, at], index) =>
      named[at] === undefined ? [] : pods(draw.shapes.length + index, 1, { nodeName: named[at].metadata.name }),
    );
    const given = input({
      types,
      nodePools: draw.nodePools.map((one, index) => ({ ...one, metadata: { name: `pool-${index}` } })),
      nodes: named,
      shapes: [
        ...draw.shapes.map(([podSpec, own]) => shape(podSpec, own)),
        ...draw.running.map(([own]) => shape(spec('100m', '1Gi'), own)),
      ],
      pods: [...draw.shapes.flatMap(([, , count], index) => pods(index, count)), ...running],
      operations: 300_000,
    });
    return { ...given, policy: { ...given.policy, minValuesPolicy: draw.minValuesPolicy } };
  });
