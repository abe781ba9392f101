import { describe, expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { PlannedOffering } from '../../../../../shared/core/model/plan.ts';
import { microUsdPerHour } from '../../../../../shared/core/quantity/units.ts';
import type { LaunchOrder, LaunchOutcome, RefusalScope } from '../../../../../shared/ports/cloud.ts';
import { size, zones } from '../../../../kit/core/build.ts';
import { START, decisionOf, machine, smallCluster } from '../../../../kit/app/small-cluster.ts';

const [zone1, zone2, zone3] = zones;

const at = (instanceType: string, zone: string, capacityType: 'spot' | 'on-demand'): PlannedOffering => ({
  instanceType: `Standard_${instanceType}`,
  zone,
  capacityType,
  price: microUsdPerHour(0),
});
const placeOf = ({ offering: { instanceType, zone, capacityType } }: Pick<LaunchOrder, 'offering'>): string =>
  `${instanceType.replace('Standard_', '')} ${zone.at(-1)} ${capacityType}`;

/** A claim whose plan has these offerings in this order, and nothing else can be had. */
async function planned(offerings: ReadonlyArray<PlannedOffering>) {
  const cluster = smallCluster();
  const { ports, outside, azure } = cluster;
  cluster.addClass('True');
  const [offering, ...fallbacks] = offerings;
  if (offering === undefined) throw new Error('a plan has an offering');
  const decision = decisionOf(['c']);
  const claims = decision.plan.claims.map((claim) => ({ ...claim, offering, fallbacks }));
  await ports.decisions.put({ ...decision, plan: { ...decision.plan, claims } });
  cluster.addClaim('c', { annotations: { 'nodewright.dev/decision': decision.name } });
  const sizes = [...new Set(offerings.map(({ instanceType }) => instanceType))];
  outside.types = sizes.map((name) => {
    const type = size(name, 2, 8, 100_000);
    const wanted = type.offerings.filter((one) =>
      offerings.some(
        (other) => other.instanceType === name && other.zone === one.zone && other.capacityType === one.capacityType,
      ),
    );
    return { ...type, offerings: wanted };
  });
  return {
    ...cluster,
    look: () => follow(ports, { kind: 'NodeClaim', name: 'c' }),
    tried: () => azure.orders.map(placeOf),
  };
}

const refusal = (scope: RefusalScope): LaunchOutcome => ({
  kind: 'unavailable',
  scope,
  retryAfterMs: 60_000,
  reason: 'Refused',
  message: 'no',
});

const six = [
  at('D2_v5', zone1, 'spot'),
  at('D2_v5', zone1, 'on-demand'),
  at('D2_v5', zone2, 'spot'),
  at('E2_v5', zone1, 'spot'),
  at('E2_v5', zone1, 'on-demand'),
  at('E2_v5', zone3, 'on-demand'),
];

describe('after a refusal', () => {
  test('the next is asked for in the order of the plan, and nothing after the first that is accepted', async () => {
    const { look, tried, outside, azure, stateOf } = await planned(six);
    outside.launch = ({ claim, offering }) =>
      offering.instanceType === 'Standard_E2_v5' ? { kind: 'accepted', machine: machine(claim) } : refusal('offering');
    await look();
    expect(tried()).toEqual(['D2_v5 1 spot', 'D2_v5 1 on-demand', 'D2_v5 2 spot', 'E2_v5 1 spot']);
    expect([azure.refused.map(placeOf), stateOf('c')]).toEqual([tried().slice(0, 3), 'there']);
    expect(azure.refused).toMatchObject(
      Array.from({ length: 3 }, () => ({ untilMs: START + 60_000, reason: 'Refused' })),
    );
  });

  test.each<readonly [RefusalScope, ReadonlyArray<string>]>([
    ['offering', ['D2_v5 1 on-demand', 'D2_v5 2 spot', 'E2_v5 1 spot', 'E2_v5 1 on-demand', 'E2_v5 3 on-demand']],
    ['zone', ['D2_v5 2 spot', 'E2_v5 1 spot', 'E2_v5 1 on-demand', 'E2_v5 3 on-demand']],
    ['size', ['D2_v5 1 on-demand', 'E2_v5 1 spot', 'E2_v5 1 on-demand', 'E2_v5 3 on-demand']],
    ['family', ['D2_v5 1 on-demand', 'E2_v5 1 spot', 'E2_v5 1 on-demand', 'E2_v5 3 on-demand']],
    ['spot', ['D2_v5 1 on-demand', 'E2_v5 1 on-demand', 'E2_v5 3 on-demand']],
    ['region', ['D2_v5 1 on-demand', 'E2_v5 1 on-demand', 'E2_v5 3 on-demand']],
  ])('of a whole %s only what it leaves is asked for', async (scope, rest) => {
    const { look, tried, outside } = await planned(six);
    outside.launch = () => refusal(tried().length === 1 ? scope : 'offering');
    await look();
    expect(tried()).toEqual(['D2_v5 1 spot', ...rest]);
  });

  test('of all that is on demand spot may still be had', async () => {
    const { look, tried, outside } = await planned(six.toReversed());
    outside.launch = () => refusal(tried().length === 1 ? 'region' : 'offering');
    await look();
    expect(tried()).toEqual(['E2_v5 3 on-demand', 'E2_v5 1 spot', 'D2_v5 2 spot', 'D2_v5 1 spot']);
  });

  test('of twenty offerings the claim is given up, with what was tried [J01]', async () => {
    const sizes = Array.from({ length: 22 }, (_, index) => at(`D${index + 2}_v5`, zone1, 'on-demand'));
    const { look, tried, outside, stateOf, server } = await planned(sizes);
    outside.launch = () => refusal('offering');
    expect((await look()).kind).toBe('ended');
    expect([tried().length, stateOf('c')]).toEqual([20, 'leaving']);
    expect(server.list('events')).toMatchObject([
      {
        reason: 'InsufficientCapacityError',
        message: expect.stringMatching(/^no capacity: Standard_D2_v5 .* on-demand: Refused; /) as string,
      },
    ]);
  });

  test('for good nothing else is asked for, and what was refused before is remembered', async () => {
    const { look, tried, outside, azure, stateOf } = await planned(six);
    outside.launch = () =>
      tried().length === 1 ? refusal('offering') : { kind: 'rejected', reason: 'Policy', message: 'no' };
    expect((await look()).kind).toBe('wait');
    expect([tried().length, azure.refused.map(placeOf), stateOf('c')]).toEqual([2, ['D2_v5 1 spot'], 'there']);
  });
});

test('a claim for which nothing can be had asks for nothing and is given up [J01]', async () => {
  const { look, tried, server, stateOf, azure } = await planned([at('D2_v5', zone1, 'spot')]);
  server.patch(
    'nodeclaims',
    'c',
    { spec: { requirements: [{ key: 'topology.kubernetes.io/zone', operator: 'In', values: ['none'] }] } },
    'object',
  );
  await look();
  expect([tried(), azure.refused, stateOf('c')]).toEqual([[], [], 'leaving']);
  expect(server.list('events')).toMatchObject([
    { message: 'no capacity: no offering is available that meets the requirements' },
  ]);
});

describe('a machine that was found under its name', () => {
  test('is noted as what it is, whatever was ordered', async () => {
    const { look, outside, server } = await planned([at('D2_v5', zone1, 'spot'), at('E2_v5', zone2, 'on-demand')]);
    outside.launch = ({ claim }) => ({
      kind: 'exists',
      machine: { ...machine(claim), instanceType: 'Standard_E2_v5', zone: zone2 },
    });
    await look();
    expect(server.get('nodeclaims', 'c')).toMatchObject({
      metadata: {
        labels: {
          'node.kubernetes.io/instance-type': 'Standard_E2_v5',
          'topology.kubernetes.io/zone': zone2,
          'karpenter.sh/capacity-type': 'on-demand',
          'karpenter.azure.com/sku-family': 'E',
        },
      },
      status: { providerID: 'azure://c', imageID: 'image', capacity: { cpu: 2 }, allocatable: {} },
    });
  });

  test('of a size that nobody knows is noted without what it holds', async () => {
    const { look, outside, server, conditionOf } = await planned([at('D2_v5', zone1, 'spot')]);
    outside.launch = ({ claim }) => ({ kind: 'exists', machine: { ...machine(claim), instanceType: 'Standard_X1' } });
    await look();
    expect(conditionOf('c', 'Launched')).toMatchObject({ status: 'True' });
    expect(server.get('nodeclaims', 'c')?.status).not.toHaveProperty('capacity');
  });

  test('has the hash of the class that it was made from on its claim', async () => {
    const { look, server } = await planned([at('D2_v5', zone1, 'spot')]);
    const annotations = {
      'karpenter.azure.com/aksnodeclass-hash': '7',
      'karpenter.azure.com/aksnodeclass-hash-version': 'v3',
      other: 'x',
    };
    server.patch('aksnodeclasses', 'default', { metadata: { annotations } }, 'object');
    await look();
    const { annotations: has = {} } = server.get('nodeclaims', 'c')?.metadata ?? {};
    expect(has).toMatchObject({
      'karpenter.azure.com/aksnodeclass-hash': '7',
      'karpenter.azure.com/aksnodeclass-hash-version': 'v3',
    });
    expect(has).not.toHaveProperty('other');
    expect(has).toHaveProperty(['nodewright.dev/decision']);
  });
});

test('a machine is ordered with all that its claim says', async () => {
  const { look, server, azure } = await planned([at('D2_v5', zone1, 'spot')]);
  const taints = [{ key: 'team', effect: 'NoSchedule' }];
  const startupTaints = [{ key: 'driver', effect: 'NoSchedule' }];
  server.patch(
    'nodeclaims',
    'c',
    { metadata: { labels: { 'karpenter.sh/nodepool': 'general' } }, spec: { taints, startupTaints } },
    'object',
  );
  await look();
  expect(azure.orders).toMatchObject([
    {
      claim: 'c',
      nodePool: 'general',
      decision: '000000001-d',
      taints,
      startupTaints,
      labels: { 'karpenter.sh/nodepool': 'general', 'topology.kubernetes.io/zone': zone1 },
      instanceType: { name: 'Standard_D2_v5' },
      nodeClass: { metadata: { name: 'default' } },
    },
  ]);
});

test('the next size is ordered as that size, and who is refused is told', async () => {
  const { azure, outside, ports } = await planned([at('D2_v5', zone1, 'spot'), at('E2_v5', zone1, 'spot')]);
  outside.launch = ({ claim, offering }) =>
    offering.instanceType === 'Standard_E2_v5' ? { kind: 'accepted', machine: machine(claim) } : refusal('offering');
  const logged: Array<unknown> = [];
  await follow(
    { ...ports, log: (event, facts) => void logged.push({ event, ...facts }) },
    { kind: 'NodeClaim', name: 'c' },
  );
  expect(
    azure.orders.map(({ instanceType, labels }) => [instanceType.name, labels['karpenter.azure.com/sku-family']]),
  ).toEqual([
    ['Standard_D2_v5', 'D'],
    ['Standard_E2_v5', 'E'],
  ]);
  expect(logged).toMatchObject([
    {
      event: 'offering-refused',
      claim: 'c',
      instanceType: 'Standard_D2_v5',
      zone: zone1,
      decision: decisionOf(['c']).name,
      scope: 'offering',
      reason: 'Refused',
      message: 'no',
    },
    { event: 'nodeclaim-launched', claim: 'c', vm: 'aks-c', decision: decisionOf(['c']).name, sinceCreatedMs: 0 },
  ]);
});

test('what no other offering would help is told with its reason', async () => {
  const { outside, ports } = await planned([at('D2_v5', zone1, 'spot')]);
  outside.launch = () => ({ kind: 'rejected', reason: 'RequestDisallowedByPolicy', message: 'x'.repeat(400) });
  const logged: Array<unknown> = [];
  await follow({ ...ports, log: (...line) => void logged.push(line) }, { kind: 'NodeClaim', name: 'c' });
  const { name: decision } = decisionOf(['c']);
  const said = { claim: 'c', nodePool: null, decision, reason: 'RequestDisallowedByPolicy', message: 'x'.repeat(300) };
  expect(logged).toEqual([['launch-rejected', said]]);
});

test('each claim of a decision is launched as itself', async () => {
  const { ports, azure, addClaim } = await planned([at('D2_v5', zone1, 'spot'), at('E2_v5', zone2, 'on-demand')]);
  const decision = decisionOf(['b', 'd']);
  const [first, second] = decision.plan.claims;
  if (first === undefined || second === undefined) throw new Error('two');
  const claims = [
    { ...first, offering: at('D2_v5', zone1, 'spot') },
    { ...second, offering: at('E2_v5', zone2, 'on-demand') },
  ];
  await ports.decisions.put({ ...decision, name: '000000002-d', plan: { ...decision.plan, claims } });
  addClaim('d', { annotations: { 'nodewright.dev/decision': '000000002-d' } });
  await follow(ports, { kind: 'NodeClaim', name: 'd' });
  expect(azure.orders.map(placeOf)).toEqual(['E2_v5 2 on-demand']);
});

test('nothing is remembered of a launch that nobody refused', async () => {
  const { ports } = await planned([at('D2_v5', zone1, 'spot')]);
  const refuse = (): Promise<void> => Promise.reject(new Error('asked'));
  const step = await follow({ ...ports, catalogs: { ...ports.catalogs, refuse } }, { kind: 'NodeClaim', name: 'c' });
  expect(step.kind).toBe('wait');
});
