import { describe, expect, test } from 'vitest';
import type { NodeClaim, NodePool, NodeOverlay } from '../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../shared/kubernetes/labels.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { node, offering, onDemand, pool, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';
import { changed, claimFor, D4, D8, judge, offered, onto, waiting, type Case, type Judged } from './judge.ts';

/**
 * Each plan here is right, and breaks one rule when one thing about it is changed: the audit says that and nothing
 * else.
 */

const [z1, z2] = zones;
const [a, b] = [waiting(), waiting(0, 1)];
const one = { shapes: [shape(spec('1', '1Gi'))], pods: [a] };
const two = { ...one, pods: [a, b] };
const dear = microUsdPerHour;

const launched: Judged = { cluster: one, claims: [claimFor([a])] };
const nominated: Judged = { cluster: { ...one, nodes: [node('n', 8, 32)] }, nominations: [onto('n', [a])] };

function fixedPool(replicas: number, limits?: Readonly<Record<string, string>>): NodePool {
  const { metadata, spec: rest } = pool('general', limits === undefined ? {} : { limits });
  return { metadata, spec: { ...rest, replicas } };
}

function onItsWay(
  name: string,
  more: Partial<NodeClaim['metadata']> = {},
  status: NodeClaim['status'] = {},
): NodeClaim {
  return {
    metadata: { name, labels: { [labelKey.nodePool]: 'general' }, ...more },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    status: {
      allocatable: { cpu: '4', memory: '16Gi', pods: '30' },
      capacity: { cpu: '4', memory: '16Gi' },
      ...status,
    },
  };
}

/** A claim of reservation `r` that no machine has been made for. */
function ordered(name: string, more: Partial<NodeClaim['metadata']> = {}, status: NodeClaim['status'] = {}): NodeClaim {
  const { spec: bare, ...rest } = onItsWay(name, more, status);
  const requirements = [requirement(labelKey.zone, 'In', 'r'), requirement(labelKey.reservation, 'In', 'r')];
  return { ...rest, spec: { ...bare, requirements } };
}

const going = { deletionTimestamp: '2026-12-01T00:00:00Z' };
const ofPool = (name: string) => node(name, 8, 32, { [labelKey.nodePool]: 'general', [labelKey.initialized]: 'true' });

const ACCOUNTING: ReadonlyArray<Case> = [
  [
    'a pod is placed that the cluster does not have',
    { cluster: two, claims: [claimFor([a, b])] },
    { cluster: { pods: [a] } },
    'accounting pod s0-0001 is not known',
  ],
  [
    'a pod is left that the cluster does not have',
    { cluster: two, claims: [claimFor([a])], left: [b] },
    { cluster: { pods: [a] } },
    'accounting pod s0-0001 is not known',
  ],
  [
    'a pod is on two claims',
    { cluster: two, claims: [claimFor([a]), claimFor([b])] },
    { claims: [claimFor([a]), claimFor([a, b])] },
    'accounting pod s0-0000 is in the plan twice',
  ],
  [
    'a pod is on a claim and on a node',
    { cluster: { ...two, nodes: [node('n', 8, 32)] }, claims: [claimFor([a])], nominations: [onto('n', [b])] },
    { nominations: [onto('n', [b, a])] },
    'accounting pod s0-0000 is in the plan twice',
  ],
  [
    'a pod is placed and left',
    { cluster: two, claims: [claimFor([a])], left: [b] },
    { left: [a, b] },
    'accounting pod s0-0000 is in the plan twice',
  ],
  ['a node is meant that is not there', nominated, { cluster: { nodes: [] } }, 'target there is no node n that stays'],
  [
    'a claim is meant that is not there',
    { cluster: { ...one, nodeClaims: [onItsWay('k')] }, nominations: [onto('k', [a], 'claim')] },
    { cluster: { nodeClaims: [] } },
    'target there is no claim k that stays',
  ],
  [
    'a node is meant that is being deleted',
    nominated,
    { cluster: { nodes: [{ ...node('n', 8, 32), metadata: { ...node('n', 8, 32).metadata, ...going } }] } },
    'target there is no node n that stays',
  ],
  [
    'a claim is meant that is being deleted',
    { cluster: { ...one, nodeClaims: [onItsWay('k')] }, nominations: [onto('k', [a], 'claim')] },
    { cluster: { nodeClaims: [onItsWay('k', going)] } },
    'target there is no claim k that stays',
  ],
  [
    'a claim is meant whose machine is being taken back',
    {
      cluster: {
        ...one,
        nodeClaims: [onItsWay('k', {}, { conditions: [{ type: 'InstanceTerminating', status: 'False' }] })],
      },
      nominations: [onto('k', [a], 'claim')],
    },
    {
      cluster: { nodeClaims: [onItsWay('k', {}, { conditions: [{ type: 'InstanceTerminating', status: 'True' }] })] },
    },
    'target there is no claim k that stays',
  ],
];

const POOLS: ReadonlyArray<Case> = [
  [
    'a claim is of a pool that is not there',
    { cluster: { nodePools: [fixedPool(1), pool('other')] }, claims: [claimFor([])] },
    { cluster: { nodePools: [pool('other')] } },
    'pool planned-0: NodePool general does not exist',
  ],
  [
    'a claim is of a pool that is being deleted',
    launched,
    { cluster: { nodePools: [{ ...pool('general'), metadata: { name: 'general', ...going } }] } },
    'pool planned-0: NodePool general takes no new nodes',
  ],
  [
    'a claim is of a static pool and the gate is closed',
    { cluster: { nodePools: [fixedPool(1)] }, claims: [claimFor([])] },
    {
      cluster: {
        policy: {
          gates: { nodeOverlay: true, staticCapacity: false, capacityBuffer: true, reservedCapacity: true },
        },
      },
    },
    'pool planned-0: NodePool general takes no new nodes',
  ],
  ['a claim is for nobody', launched, { claims: [claimFor([])] }, 'empty-claim planned-0 has no pods'],
  [
    'pods are put on a node of a static pool',
    { cluster: { ...one, nodePools: [fixedPool(1)] }, claims: [claimFor([])] },
    { claims: [claimFor([a])] },
    'static planned-0 is for pods, its pool is static',
  ],
  [
    'a static pool gets more nodes than it asks for',
    { cluster: { nodePools: [fixedPool(2)] }, claims: [claimFor([]), claimFor([])] },
    { cluster: { nodePools: [fixedPool(1)] } },
    'static NodePool general: 2 nodes of 1',
  ],
  [
    'a static pool gets a node beside those that it has',
    {
      cluster: { nodePools: [fixedPool(2)], nodes: [ofPool('n'), node('m', 8, 32)] },
      claims: [claimFor([])],
    },
    { cluster: { nodes: [ofPool('n'), ofPool('m')] } },
    'static NodePool general: 3 nodes of 2',
  ],
  [
    'a size is launched that there is not',
    { cluster: { nodePools: [fixedPool(1)] }, claims: [claimFor([])] },
    { cluster: { types: [D8] } },
    'offering planned-0: Standard_D4_v5 westeurope-1 on-demand is not available at that price',
  ],
  [
    'an offering is launched that is refused now',
    launched,
    { cluster: { types: [{ ...D4, offerings: [offering(z1, 'on-demand', 200_000, false)] }] } },
    'offering planned-0: Standard_D4_v5 westeurope-1 on-demand is not available at that price',
  ],
  [
    'an offering is launched at another price',
    launched,
    { cluster: { types: [size('Standard_D4_v5', 4, 16, 200_001)] } },
    'offering planned-0: Standard_D4_v5 westeurope-1 on-demand is not available at that price',
  ],
  [
    'an offering is launched in a zone that has none',
    launched,
    { cluster: { types: [{ ...D4, offerings: [offering(z2, 'on-demand', 200_000)] }] } },
    'offering planned-0: Standard_D4_v5 westeurope-1 on-demand is not available at that price',
  ],
  [
    'a fallback is launched that is refused now',
    { cluster: one, claims: [claimFor([a], { fallbacks: [offered(D8.name)] })] },
    { cluster: { types: [D4, { ...D8, offerings: [offering(z1, 'on-demand', 400_000, false)] }] } },
    'offering planned-0: Standard_D8_v5 westeurope-1 on-demand is not available at that price',
  ],
  [
    'the pool does not allow the capacity type',
    { cluster: one, claims: [claimFor([a], { offering: offered(D4.name, { capacityType: 'on-demand' }) })] },
    { cluster: { nodePools: [pool('general', { requirements: [requirement(labelKey.capacityType, 'In', 'spot')] })] } },
    'pool-requirements planned-0: Standard_D4_v5 westeurope-1 on-demand: karpenter.sh/capacity-type In',
  ],
  [
    'the pool does not allow the size of a fallback',
    { cluster: one, claims: [claimFor([a], { fallbacks: [offered(D8.name)] })] },
    {
      cluster: {
        nodePools: [pool('general', { requirements: [onDemand, requirement(labelKey.instanceType, 'In', D4.name)] })],
      },
    },
    'pool-requirements planned-0: Standard_D8_v5 westeurope-1 on-demand: node.kubernetes.io/instance-type In',
  ],
  [
    'the pool labels its nodes with another zone',
    { cluster: { ...one, nodePools: [pool('general', { labels: { [labelKey.zone]: z1 } })] }, claims: [claimFor([a])] },
    { cluster: { nodePools: [pool('general', { labels: { [labelKey.zone]: z2 } })] } },
    'pool-requirements planned-0: Standard_D4_v5 westeurope-1 on-demand: template labels',
  ],
  [
    'the claim asks for what its offering is not',
    { cluster: one, claims: [claimFor([a], { requirements: [requirement(labelKey.zone, 'In', z1)] })] },
    { claims: [claimFor([a], { requirements: [onDemand, requirement(labelKey.zone, 'In', z2)] })] },
    'claim-requirements planned-0: Standard_D4_v5 westeurope-1 on-demand: topology.kubernetes.io/zone In',
  ],
];

const limited = (limits: Readonly<Record<string, string>>) => ({ nodePools: [pool('general', { limits })] });

const LIMITS: ReadonlyArray<Case> = [
  [
    'the pool’s limit on CPU is exceeded by one claim',
    { cluster: { ...one, ...limited({ cpu: '4' }) }, claims: [claimFor([a])] },
    { cluster: limited({ cpu: '3999m' }) },
    'limits NodePool general: cpu 4000 of 3999',
  ],
  [
    'the pool’s limit is exceeded by two claims together',
    { cluster: { ...two, ...limited({ cpu: '8' }) }, claims: [claimFor([a]), claimFor([b])] },
    { cluster: limited({ cpu: '7' }) },
    'limits NodePool general: cpu 8000 of 7000',
  ],
  [
    'the pool’s limit is exceeded by the claim and the nodes that are there',
    { cluster: { ...one, ...limited({ cpu: '12' }), nodes: [ofPool('n')] }, claims: [claimFor([a])] },
    { cluster: { nodes: [ofPool('n'), ofPool('m')] } },
    'limits NodePool general: cpu 20000 of 12000',
  ],
  [
    'the pool’s limit on nodes is exceeded',
    { cluster: { ...two, ...limited({ nodes: '2' }) }, claims: [claimFor([a]), claimFor([b])] },
    { cluster: limited({ nodes: '1' }) },
    'limits NodePool general: nodes 2 of 1',
  ],
];

const least = (minValues: number, key: string = labelKey.instanceType) => ({
  nodePools: [pool('general', { requirements: [onDemand, { key, operator: 'Exists', minValues }] })],
});
const listing = (...values: ReadonlyArray<string>) => ({
  requirements: [requirement(labelKey.instanceType, 'In', ...values)],
});
const waived = { 'karpenter.sh/nodeclaim-min-values-relaxed': 'true' };
const stating = (minValues: number) => ({
  annotations: waived,
  requirements: [{ ...requirement(labelKey.instanceType, 'In', D4.name, D8.name), minValues }],
});

const MIN_VALUES: ReadonlyArray<Case> = [
  [
    'a claim lists fewer sizes than its pool asks for',
    {
      cluster: { ...one, ...least(2) },
      claims: [claimFor([a], { requirements: [onDemand, ...listing(D4.name, D8.name).requirements] })],
    },
    { claims: [claimFor([a], listing(D4.name))] },
    'min-values planned-0: node.kubernetes.io/instance-type has 1 of 2',
  ],
  [
    'a claim lists a size that there is not',
    { cluster: { ...one, ...least(2) }, claims: [claimFor([a], listing(D4.name, D8.name))] },
    { claims: [claimFor([a], listing(D4.name, 'Standard_D16_v5'))] },
    'min-values planned-0: node.kubernetes.io/instance-type has 1 of 2',
  ],
  [
    'the sizes that are listed are in too few zones now',
    { cluster: { ...one, ...least(3, labelKey.zone) }, claims: [claimFor([a], listing(D4.name))] },
    {
      cluster: {
        types: [
          {
            ...D4,
            offerings: [offering(z1, 'on-demand', 200_000), offering(z2, 'on-demand', 200_000, false)],
          },
        ],
      },
    },
    'min-values planned-0: topology.kubernetes.io/zone has 1 of 3',
  ],
  [
    'minValues are waived under Strict',
    {
      cluster: { ...one, ...least(3), policy: { minValuesPolicy: 'BestEffort' } },
      claims: [claimFor([a], stating(2))],
    },
    { cluster: { policy: { minValuesPolicy: 'Strict' } } },
    'min-values planned-0: waived under Strict',
  ],
  [
    'a claim that waives them lists fewer than it says itself',
    {
      cluster: { ...one, ...least(9), policy: { minValuesPolicy: 'BestEffort' } },
      claims: [claimFor([a], stating(2))],
    },
    { claims: [claimFor([a], { ...stating(3), requirements: [onDemand, ...stating(3).requirements] })] },
    'min-values planned-0: node.kubernetes.io/instance-type has 2 of 9',
  ],
];

const COSTS: ReadonlyArray<Case> = [
  [
    'the cost is not that of the claims',
    { ...launched, weighed: { cost: dear(200_000) } },
    { cost: 199_999, weighed: { cost: dear(200_000) } },
    'cost the claims cost 200000, the plan says 199999',
  ],
];

/** Evicted every other hour, at the cost of an hour: counts half as much again. */
const evicted = { types: [{ ...D4, offerings: [{ ...offering(z1, 'on-demand', 200_000), evictionsPerHour: 0.5 }] }] };
const anHour = { evictionCostMs: new Map([['general', 3_600_000]]) };
const risky = (weighedPrice: number) =>
  offered(D4.name, { risk: { evictionsPerHour: 0.5, weighedPrice: dear(weighedPrice) } });
const atRisk: Judged = {
  cluster: { ...one, ...evicted, ...anHour },
  claims: [claimFor([a], { offering: risky(300_000) })],
  lowerBound: 200_000,
  weighed: { cost: dear(300_000), lowerBound: dear(300_000) },
};

const RISKS: ReadonlyArray<Case> = [
  ['the bound is above the cost', atRisk, { lowerBound: 200_001 }, 'bound bound 200001 above cost 200000'],
  [
    'the bound is above that with risk',
    { ...atRisk, weighed: { cost: dear(300_000), lowerBound: dear(200_000) } },
    { weighed: { cost: dear(300_000), lowerBound: dear(199_999) } },
    'bound bound 200000 above weighed bound 199999',
  ],
  [
    'the bound with risk is above what the claims count as',
    atRisk,
    { weighed: { cost: dear(300_000), lowerBound: dear(300_001) } },
    'bound weighed bound 300001 above weighed cost 300000',
  ],
  [
    'the claims count as something else',
    atRisk,
    { weighed: { cost: dear(300_001), lowerBound: dear(300_000) } },
    'risk the claims count as 300000, the plan says 300001',
  ],
  [
    'an offering counts as less than its evictions make it',
    atRisk,
    { claims: [claimFor([a], { offering: risky(299_999) })] },
    'risk planned-0: Standard_D4_v5 westeurope-1 on-demand counts as 300000, the plan says 299999',
  ],
  [
    'the risk of a fallback is not told',
    { ...atRisk, claims: [claimFor([a], { offering: risky(300_000), fallbacks: [risky(300_000)] })] },
    { claims: [claimFor([a], { offering: risky(300_000), fallbacks: [offered()] })] },
    'risk planned-0: Standard_D4_v5 westeurope-1 on-demand counts as 300000, the plan says 200000',
  ],
  [
    'the risk of the runner-up is not told',
    { ...atRisk, claims: [claimFor([a], { offering: risky(300_000), runnerUp: risky(300_000) })] },
    { claims: [claimFor([a], { offering: risky(300_000), runnerUp: offered() })] },
    'risk planned-0: Standard_D4_v5 westeurope-1 on-demand counts as 300000, the plan says 200000',
  ],
  [
    'an eviction costs other than its pool says',
    atRisk,
    {
      cluster: { evictionCostMs: new Map([['general', 3_600_001]]) },
      weighed: { cost: dear(300_001), lowerBound: dear(300_000) },
    },
    'risk planned-0: Standard_D4_v5 westeurope-1 on-demand counts as 300001, the plan says 300000',
  ],
];

const reserved = (id: string, remaining: number, zone: string = z1) => ({
  ...offering(zone, 'reserved', 1_000),
  reservation: { id, remaining },
});
const ofReservation = (id: string) =>
  ({ ...offered(), capacityType: 'reserved', reservationId: id, price: dear(1_000) }) as const;
const saying = (...ids: ReadonlyArray<string>) => ({ requirements: [requirement(labelKey.reservation, 'In', ...ids)] });
const onDemandOrReserved = requirement(labelKey.capacityType, 'In', 'on-demand', 'reserved');
const anyType = [pool('general', { requirements: [] })];
const holding = (...offerings: ReadonlyArray<ReturnType<typeof reserved>>) => ({ types: [{ ...D4, offerings }] });
const fromR: Judged = {
  cluster: { ...one, nodePools: anyType, ...holding(reserved('r', 1)) },
  claims: [claimFor([a], { offering: ofReservation('r'), ...saying('r') })],
};
const other = (id: string) =>
  claimFor([a], { offering: ofReservation('r'), fallbacks: [ofReservation(id)], ...saying('r') });

const RESERVATIONS: ReadonlyArray<Case> = [
  [
    'a reservation gives more nodes than it has',
    {
      cluster: { ...two, nodePools: anyType, ...holding(reserved('r', 2)) },
      claims: [a, b].map((each) => claimFor([each], { offering: ofReservation('r'), ...saying('r') })),
    },
    { cluster: holding(reserved('r', 1)) },
    'reservation r gives 2 of 1',
  ],
  [
    'a claim on its way has one of the nodes of a reservation',
    {
      cluster: {
        ...two,
        nodePools: anyType,
        ...holding(reserved('r', 2)),
        // One that goes, and one that the reservation counts already: neither takes from what remains.
        nodeClaims: [ordered('k', going), ordered('l', {}, { providerID: 'azure://l' })],
      },
      claims: [a, b].map((each) => claimFor([each], { offering: ofReservation('r'), ...saying('r') })),
    },
    { cluster: { nodeClaims: [ordered('m')] } },
    'reservation r gives 2 of 1',
  ],
  [
    'a claim does not say of which reservation it is',
    fromR,
    { claims: [claimFor([a], { offering: ofReservation('r') })] },
    'reservation planned-0 does not say that it is of reservation r',
  ],
  [
    'a claim says that it may be of either reservation',
    fromR,
    { claims: [claimFor([a], { offering: ofReservation('r'), ...saying('r', 's') })] },
    'reservation planned-0 does not say that it is of reservation r',
  ],
  [
    'a claim may be launched from another reservation than is held',
    { ...fromR, cluster: { ...fromR.cluster, ...holding(reserved('r', 1), reserved('s', 1)) }, claims: [other('r')] },
    {
      claims: [claimFor([a], { offering: offered(), fallbacks: [ofReservation('s')] })],
      cluster: { types: [{ ...D4, offerings: [...D4.offerings, reserved('s', 1)] }] },
    },
    'reservation planned-0 may be launched from another reservation than is held',
  ],
];

const overlay = (price: string, parts: Partial<NodeOverlay['spec']> = {}): NodeOverlay => ({
  metadata: { name: 'o' },
  spec: { requirements: [requirement(labelKey.instanceType, 'In', D4.name)], price, ...parts },
});

const OVERLAYS: ReadonlyArray<Case> = [
  [
    'an overlay gives the size another price',
    { cluster: { ...one, nodeOverlays: [overlay('0.2')] }, claims: [claimFor([a])] },
    { cluster: { nodeOverlays: [overlay('0.21')] } },
    'offering planned-0: Standard_D4_v5 westeurope-1 on-demand is not available at that price',
  ],
];

test.each([...ACCOUNTING, ...POOLS, ...LIMITS, ...MIN_VALUES, ...COSTS, ...RISKS, ...RESERVATIONS, ...OVERLAYS])(
  'the audit refuses a plan when %s',
  (_, sound, change, finding) => {
    expect(judge(sound)).toEqual([]);
    expect(judge(changed(sound, change))).toEqual([finding]);
  },
);

describe('what there is already', () => {
  const full = { ...ofPool('n'), metadata: { ...ofPool('n').metadata, ...going } };
  const gpu = { ...ofPool('n'), status: { capacity: { cpu: 1, 'nvidia.com/gpu': 2 } } };

  test.each<readonly [string, Judged]>([
    ['of another pool takes nothing of a limit', { cluster: { ...limited({ cpu: '4' }), nodes: [node('m', 8, 32)] } }],
    ['and goes takes nothing of a limit', { cluster: { ...limited({ cpu: '4' }), nodes: [full] } }],
    [
      'beyond a limit on what the plan does not add is not its fault',
      { cluster: { ...limited({ 'nvidia.com/gpu': '1' }), nodes: [gpu] } },
    ],
  ])('%s', (_, { cluster }) => {
    expect(judge({ cluster: { ...one, ...cluster }, claims: [claimFor([a])] })).toEqual([]);
  });

  test('beyond what its pool asks for or may have is not the fault of a plan that opens nothing', () => {
    const nodes = [ofPool('n'), ofPool('m')];
    expect(judge({ cluster: { nodePools: [fixedPool(1, { cpu: '8' })], nodes } })).toEqual([]);
  });
});

test('a claim says among other things which reservation it is of, and no other', () => {
  const requirements = [requirement(labelKey.zone, 'In', z1), ...saying('r').requirements];
  const claims = [claimFor([a], { offering: ofReservation('r'), requirements })];
  expect(judge({ ...fromR, claims })).toEqual([]);
  expect(judge({ ...fromR, claims: [claimFor([a], { offering: ofReservation('r'), ...saying('s') })] })).toEqual([
    'claim-requirements planned-0: Standard_D4_v5 westeurope-1 reserved: karpenter.azure.com/capacity-reservation-id In',
    'reservation planned-0 does not say that it is of reservation r',
  ]);
});

test('an offering of a reservation that is full cannot be had', () => {
  const full = changed(fromR, { cluster: { types: [{ ...D4, offerings: [...D4.offerings, reserved('r', 0)] }, D8] } });
  expect(judge(full)).toEqual([
    'offering planned-0: Standard_D4_v5 westeurope-1 reserved is not available at that price',
    'reservation r gives 1 of 0',
  ]);
});

test('what a reservation has left is the least that any of its offerings says', () => {
  const twice = [reserved('r', 1), reserved('r', 2, z2), reserved('r', 3)];
  for (const offerings of [twice, twice.toReversed()]) {
    const given = changed(fromR, {
      cluster: { ...two, ...holding(...offerings) },
      claims: [a, b].map((each) => claimFor([each], { offering: ofReservation('r'), ...saying('r') })),
    });
    expect(judge(given)).toEqual(['reservation r gives 2 of 1']);
  }
});

test('a claim on its way takes from the reservation that it is of, wherever it is', () => {
  const { spec: bare, ...rest } = onItsWay('k');
  const of = (id: string): NodeClaim => {
    const requirements = [requirement(labelKey.zone, 'In', z1), requirement(labelKey.reservation, 'In', id)];
    return { ...rest, spec: { ...bare, requirements } };
  };
  const given = (id: string) => judge(changed(fromR, { cluster: { nodeClaims: [of(id)] } }));
  expect(given('s')).toEqual([]);
  expect(given('r')).toContain('reservation r gives 1 of 0');
});

test('a pool with requirements and no minValues takes from a reservation', () => {
  const nodePools = [pool('general', { requirements: [onDemandOrReserved] })];
  expect(judge(changed(fromR, { cluster: { nodePools } }))).toEqual([]);
});

test('an offering counts as its own evictions make it, however often others of the size are evicted', () => {
  const offerings = [
    { ...offering(z1, 'on-demand', 200_000), evictionsPerHour: 0.5 },
    { ...offering(z2, 'on-demand', 200_000), evictionsPerHour: 0.9 },
  ];
  expect(judge(changed(atRisk, { cluster: { types: [{ ...D4, offerings }] } }))).toEqual([]);
});

test('a pool with minValues takes nothing from a reservation, the others do', () => {
  const choosy = pool('general', {
    requirements: [onDemandOrReserved, { key: labelKey.instanceType, operator: 'Exists', minValues: 1 }],
  });
  const given = changed(fromR, {
    cluster: { nodePools: [choosy] },
    claims: [
      claimFor([a], {
        offering: ofReservation('r'),
        requirements: [requirement(labelKey.reservation, 'In', 'r'), requirement(labelKey.instanceType, 'In', D4.name)],
      }),
    ],
  });
  expect(judge(given)).toEqual([
    'offering planned-0: Standard_D4_v5 westeurope-1 reserved is not available at that price',
    'min-values planned-0: node.kubernetes.io/instance-type has 0 of 1',
  ]);
});
