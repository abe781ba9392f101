import * as fc from 'fast-check';
import type { InstanceType, Offering } from '../../../../shared/core/model/catalog.ts';
import type { Node, NodePool, PodSpec, Taint } from '../../../../shared/kubernetes/manifest.ts';
import type { PodShape } from '../../../../shared/core/model/cluster.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { daemonSet, input, node, pods, pool, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';

/** Small random problems, drawn from small pools of values so that ties and conflicts happen. */

const types = [
  size('Standard_D2s_v5', 2, 8, 100_000),
  size('Standard_D4s_v5', 4, 16, 200_000),
  size('Standard_D8s_v5', 8, 32, 390_000),
  size('Standard_E4s_v5', 4, 32, 260_000),
  size('Standard_B2s_v2', 2, 4, 30_000),
];

const taint: Taint = { key: 'dedicated', value: 'x', effect: 'NoSchedule' };
const starting: Taint = { key: 'agent-not-ready', effect: 'NoExecute' };
const soft: Taint = { key: 'soft', effect: 'PreferNoSchedule' };
const labelsOfPods = [{ app: 'web' }, { app: 'db' }, { app: 'web', tier: 'back' }] as const;
const keys = [
  'topology.kubernetes.io/zone',
  'kubernetes.io/hostname',
  'karpenter.sh/capacity-type',
  'example.com/tier',
] as const;

const labels = fc.constantFrom(...labelsOfPods);
const labelSelector = labels.map((matchLabels) => ({ matchLabels }));
const term = fc.record({ topologyKey: fc.constantFrom(...keys), labelSelector });
const maybe = <T>(value: fc.Arbitrary<T>, fraction = 3): fc.Arbitrary<Array<T>> =>
  fc
    .integer({ min: 0, max: fraction })
    .chain((draw) => (draw === 0 ? value.map((one) => [one]) : fc.constant<Array<T>>([])));

const spread = fc.record({
  maxSkew: fc.constantFrom(1, 2),
  topologyKey: fc.constantFrom(...keys),
  whenUnsatisfiable: fc.constantFrom('DoNotSchedule', 'DoNotSchedule', 'ScheduleAnyway'),
  labelSelector,
  minDomains: fc.constantFrom(1, 1, 3),
  nodeTaintsPolicy: fc.constantFrom('Ignore', 'Honor'),
});

const expression = fc.constantFrom(
  requirement('topology.kubernetes.io/zone', 'In', zones[0], zones[1]),
  requirement('topology.kubernetes.io/zone', 'In', zones[0]),
  requirement('topology.kubernetes.io/zone', 'NotIn', zones[0]),
  requirement('karpenter.azure.com/sku-cpu', 'Gt', '2'),
  requirement('karpenter.azure.com/sku-cpu', 'Lt', '3'),
  requirement('example.com/team', 'DoesNotExist'),
  requirement('example.com/team', 'In', 'red'),
  requirement('karpenter.sh/capacity-type', 'In', 'spot'),
  requirement('example.com/tier', 'In', 'gold'),
  requirement('example.com/tier', 'Exists'),
  requirement('example.com/tier', 'NotIn', 'gold'),
  requirement('example.com/rank', 'Gt', '2'),
  requirement('example.com/rank', 'Lt', '5'),
);

const nodeTerm = fc
  .tuple(expression, maybe(expression, 4))
  .map(([one, others]) => ({ matchExpressions: [one, ...others] }));

/** Required terms, of which one must be met: mostly none, now and then several. */
const nodeTerms = fc.oneof(
  { weight: 4, arbitrary: fc.constant([]) },
  { weight: 2, arbitrary: nodeTerm.map((one) => [one]) },
  { weight: 1, arbitrary: fc.array(nodeTerm, { minLength: 2, maxLength: 3 }) },
);

const podSpecs: fc.Arbitrary<PodSpec> = fc
  .record({
    cpu: fc.constantFrom('100m', '500m', '1', '1900m', '3', '7', '20'),
    memory: fc.constantFrom('128Mi', '1Gi', '7Gi', '20Gi'),
    spreads: maybe(spread),
    required: nodeTerms,
    tier: maybe(fc.constantFrom('gold', 'bronze'), 6),
    preferred: maybe(nodeTerm, 4),
    affinity: maybe(term, 6),
    antiAffinity: maybe(term, 4),
    preferredAnti: maybe(term, 6),
    tolerates: fc.boolean(),
    hostPort: maybe(fc.constant(8080), 8),
  })
  .map((draw) =>
    spec(draw.cpu, draw.memory, {
      containers: [
        {
          resources: { requests: { cpu: draw.cpu, memory: draw.memory } },
          ports: draw.hostPort.map((hostPort) => ({ hostPort })),
        },
      ],
      nodeSelector: Object.fromEntries(draw.tier.map((value) => ['example.com/tier', value])),
      topologySpreadConstraints: draw.spreads,
      tolerations: draw.tolerates ? [{ key: 'dedicated', operator: 'Exists' }] : [],
      affinity: {
        nodeAffinity: {
          ...(draw.required.length === 0
            ? {}
            : { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: draw.required } }),
          preferredDuringSchedulingIgnoredDuringExecution: draw.preferred.map((preference) => ({
            weight: 1,
            preference,
          })),
        },
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: draw.affinity },
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: draw.antiAffinity,
          preferredDuringSchedulingIgnoredDuringExecution: draw.preferredAnti.map((podAffinityTerm) => ({
            weight: 1,
            podAffinityTerm,
          })),
        },
      },
    }),
  );

const pools: fc.Arbitrary<NodePool> = fc
  .record({
    taints: fc.constantFrom([], [], [taint], [soft]),
    capacityTypes: fc.constantFrom(['on-demand'], ['spot'], ['on-demand', 'spot']),
    zones: fc.constantFrom([...zones], [zones[0]], [zones[1], zones[2]]),
    labels: fc.constantFrom({}, { 'example.com/team': 'red' }),
    limits: fc.constantFrom(undefined, undefined, { cpu: '8' }, { nodes: '2' }, { memory: '40Gi' }),
    weight: fc.constantFrom(undefined, 10),
    tier: maybe(
      fc.constantFrom(
        requirement('example.com/tier', 'In', 'gold', 'silver'),
        requirement('example.com/tier', 'Exists'),
        requirement('example.com/tier', 'NotIn', 'gold'),
      ),
      1,
    ),
    rank: maybe(
      fc.constantFrom(
        requirement('example.com/rank', 'Exists'),
        requirement('example.com/rank', 'Gt', '3'),
        requirement('example.com/rank', 'Lt', '4'),
      ),
    ),
    choice: maybe(
      fc.constantFrom(
        { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 2 },
        { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 4 },
        { key: 'karpenter.azure.com/sku-family', operator: 'Exists', minValues: 2 },
      ),
      4,
    ),
  })
  .map((draw) =>
    pool('drawn', {
      taints: draw.taints,
      labels: draw.labels,
      requirements: [
        requirement('karpenter.sh/capacity-type', 'In', ...draw.capacityTypes),
        requirement('topology.kubernetes.io/zone', 'In', ...draw.zones),
        ...draw.tier,
        ...draw.rank,
        ...draw.choice,
      ],
      startupTaints: [starting],
      ...(draw.limits === undefined ? {} : { limits: draw.limits }),
      ...(draw.weight === undefined ? {} : { weight: draw.weight }),
    }),
  );

const nodes: fc.Arbitrary<Node> = fc
  .record({
    cpu: fc.constantFrom(2, 4),
    zone: fc.constantFrom(...zones),
    taints: fc.constantFrom([], [], [taint], [starting]),
    tier: fc.constantFrom({}, { 'example.com/tier': 'gold' }, { 'example.com/tier': 'bronze' }),
    rank: fc.constantFrom({}, {}, { 'example.com/rank': '4' }),
    pool: fc.constantFrom({}, { 'karpenter.sh/nodepool': 'pool-0', 'karpenter.sh/registered': 'true' }),
  })
  .map(({ cpu, zone, taints, tier, rank, pool: own }) => {
    const made = node('drawn', cpu, cpu * 4, {
      'topology.kubernetes.io/zone': zone,
      'karpenter.sh/capacity-type': 'on-demand',
      ...tier,
      ...rank,
      ...own,
    });
    return { ...made, spec: { taints } };
  });

const everywhere = [{ operator: 'Exists' }];
const daemons = [
  daemonSet('agent', spec('100m', '256Mi')),
  daemonSet(
    'zonal',
    spec('200m', '128Mi', { nodeSelector: { 'topology.kubernetes.io/zone': zones[0] }, tolerations: everywhere }),
  ),
  daemonSet('gold', spec('300m', '128Mi', { nodeSelector: { 'example.com/tier': 'gold' } })),
  daemonSet(
    'ports',
    spec('50m', '64Mi', {
      containers: [{ ports: [{ hostPort: 8080 }] }],
      nodeSelector: { 'karpenter.sh/capacity-type': 'spot' },
    }),
  ),
];

const shapes: fc.Arbitrary<PodShape> = fc.tuple(podSpecs, labels).map(([podSpec, own]) => shape(podSpec, own));

/**
 * Everything at once: pools with taints, limits and weights, nodes with pods, daemons, and pods with all kinds of
 * rules.
 */
export const inputs: fc.Arbitrary<ProvisioningInput> = fc
  .record({
    nodePools: fc.array(pools, { minLength: 1, maxLength: 3 }),
    nodes: fc.array(nodes, { maxLength: 3 }),
    shapes: fc.array(fc.tuple(shapes, fc.integer({ min: 1, max: 5 })), { minLength: 1, maxLength: 4 }),
    running: fc.array(fc.tuple(shapes, fc.nat(2)), { maxLength: 2 }),
    daemons: fc.subarray(daemons),
    minValuesPolicy: fc.constantFrom('Strict' as const, 'BestEffort' as const),
  })
  .map((draw) => {
    const named = draw.nodes.map((one, index) => renamed(one, `node-${index}`));
    const waiting = draw.shapes.flatMap(([, count], index) => pods(index, count));
    const running = draw.running.flatMap(([, at], index) => {
      const there = named[at];
      return there === undefined ? [] : pods(draw.shapes.length + index, 1, { nodeName: there.metadata.name });
    });
    const given = input({
      types,
      nodePools: draw.nodePools.map((one, index) => ({ ...one, metadata: { name: `pool-${index}` } })),
      nodes: named,
      shapes: [...draw.shapes, ...draw.running].map(([one]) => one),
      pods: [...waiting, ...running],
      daemonSets: draw.daemons,
      operations: 300_000,
    });
    return { ...given, policy: { ...given.policy, minValuesPolicy: draw.minValuesPolicy } };
  });

/** How many copies of one of the shapes that are drawn a buffer asks for; a limit now and then. */
const demands = fc.record({
  shape: fc.nat(3),
  replicas: fc.integer({ min: 0, max: 4 }),
  limits: fc.constantFrom(undefined, undefined, { cpu: '4' }, { memory: '2Gi' }),
});

/** The same with buffers, whose templates are the shapes of pods, so that rules of one look at the others. */
export const inputsWithBuffers: fc.Arbitrary<ProvisioningInput> = fc
  .tuple(inputs, fc.array(demands, { minLength: 1, maxLength: 3 }))
  .map(([given, drawn]) => {
    const templates = given.cluster.shapes.slice(0, 4);
    const podTemplates = templates.map(({ labels: own, spec: podSpec }, index) => ({
      metadata: { name: `template-${index}`, namespace: 'default' },
      template: { metadata: { labels: own }, spec: podSpec },
    }));
    const capacityBuffers = drawn.map(({ shape: at, replicas, limits }, index) => ({
      metadata: { name: `buffer-${index}`, namespace: 'default' },
      spec: {
        podTemplateRef: { name: `template-${at % templates.length}` },
        replicas,
        ...(limits === undefined ? {} : { limits }),
      },
    }));
    return { ...given, cluster: { ...given.cluster, podTemplates, capacityBuffers } };
  });

/** A reservation of one of the sizes: where, how many nodes it holds, and what one adds to the bill. */
const reservations = fc.record({
  type: fc.nat(types.length - 1),
  zone: fc.constantFrom(...zones),
  remaining: fc.integer({ min: 0, max: 3 }),
  price: fc.constantFrom(0, 0, 50_000, 250_000),
});

/** The same types with offerings of reservations, `r0` and so on. */
function withReservations(
  given: ProvisioningInput,
  drawn: ReadonlyArray<{
    readonly type: number;
    readonly zone: string;
    readonly remaining: number;
    readonly price: number;
  }>,
): ProvisioningInput {
  const reserved = types.map((type, at): InstanceType => {
    const own = drawn.flatMap((one, index): ReadonlyArray<Offering> => {
      if (one.type !== at) return [];
      const reservation = { id: `r${index}`, remaining: one.remaining };
      const place = { zone: one.zone, capacityType: 'reserved', available: true, labels: {} } as const;
      return [{ ...place, price: microUsdPerHour(one.price), reservation }];
    });
    return { ...type, offerings: [...type.offerings, ...own] };
  });
  return { ...given, catalog: new Map([...given.catalog.keys()].map((name) => [name, reserved])) };
}

const CAPACITY_TYPE = 'karpenter.sh/capacity-type';

/** Everything at once with reservations, which the pools allow. */
export const inputsWithReservations: fc.Arbitrary<ProvisioningInput> = fc
  .tuple(inputsWithBuffers, fc.array(reservations, { minLength: 1, maxLength: 3 }))
  .map(([given, drawn]) => {
    const nodePools = given.cluster.nodePools.map((one) => {
      const { template } = one.spec;
      const requirements = template.spec.requirements.map((requirement_) =>
        requirement_.key === CAPACITY_TYPE
          ? { ...requirement_, values: [...(requirement_.values ?? []), 'reserved'] }
          : requirement_,
      );
      return { ...one, spec: { ...one.spec, template: { ...template, spec: { ...template.spec, requirements } } } };
    });
    return withReservations({ ...given, cluster: { ...given.cluster, nodePools } }, drawn);
  });

/** At most five pods that only resources bind, one pool, no node, and reservations: few enough to try every plan. */
export const tinyInputsWithReservations: fc.Arbitrary<ProvisioningInput> = fc
  .tuple(
    fc.array(fc.tuple(fc.constantFrom('500m', '1', '1900m', '3', '7'), fc.constantFrom('1Gi', '7Gi')), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.array(reservations, { minLength: 1, maxLength: 2 }),
  )
  .map(([drawn, reserved]) => {
    const nodePools = [pool('pool-0', { requirements: [requirement(CAPACITY_TYPE, 'In', 'on-demand', 'reserved')] })];
    const ownShapes = drawn.map(([cpu, memory]) => shape(spec(cpu, memory)));
    const ownPods = drawn.flatMap((_, index) => pods(index, 1));
    return withReservations(
      input({ types, nodePools, shapes: ownShapes, pods: ownPods, operations: 500_000 }),
      reserved,
    );
  });

function renamed(one: Node, name: string): Node {
  return { ...one, metadata: { name, labels: { ...one.metadata.labels, 'kubernetes.io/hostname': name } } };
}

/** Problems that only resources bind: one pool, no rules. */
export const plainInputs: fc.Arbitrary<ProvisioningInput> = fc
  .record({
    shapes: fc.array(
      fc.tuple(
        fc.constantFrom('100m', '500m', '1', '1900m', '3', '7', '20'),
        fc.constantFrom('128Mi', '1Gi', '7Gi', '20Gi'),
        fc.integer({ min: 1, max: 6 }),
      ),
      { minLength: 1, maxLength: 4 },
    ),
    nodes: fc.array(nodes, { maxLength: 2 }),
  })
  .map((draw) =>
    input({
      types,
      nodePools: [pool('pool-0')],
      nodes: draw.nodes.map((one, index) => renamed({ ...one, spec: { taints: [] } }, `node-${index}`)),
      shapes: draw.shapes.map(([cpu, memory]) => shape(spec(cpu, memory))),
      pods: draw.shapes.flatMap(([, , count], index) => pods(index, count)),
      operations: 500_000,
    }),
  );
