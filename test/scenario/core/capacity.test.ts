import { describe, expect, test } from 'vitest';
import type { NodeClaim } from '../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { auditPlan } from '../../../shared/core/audit/audit-plan.ts';
import { planProvisioning } from '../../../shared/core/plan-provisioning.ts';
import { withoutNodes } from '../../../shared/core/present/without-nodes.ts';
import {
  daemonSet,
  input,
  node,
  offering,
  onDemand,
  pods,
  pool,
  requirement,
  shape,
  size,
  spec,
  zones,
} from '../../kit/core/build.ts';
import { planned, renderPlan } from '../../kit/core/render.ts';

const byText = (a = '', b = ''): number => (a < b ? -1 : Number(a > b));
const D2 = size('Standard_D2s_v5', 2, 8, 100_000);
const D4 = size('Standard_D4s_v5', 4, 16, 200_000);
const D8 = size('Standard_D8s_v5', 8, 32, 390_000);
const types = [D2, D4, D8];
const small = shape(spec('500m', '1Gi'));

describe('existing capacity', () => {
  test('a pod that fits an existing node opens no claim', () => {
    expect(
      planned(input({ types, nodePools: [pool('a')], nodes: [node('n', 4, 16)], shapes: [small], pods: pods(0, 2) })),
    ).toEqual(['nominate to node n: s0-0 s0-1']);
  });

  test('a node takes no more than what running pods and its daemons leave', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [node('n', 2, 8)],
      shapes: [small],
      pods: [...pods(0, 2), ...pods(0, 2, { nodeName: 'n' })],
      daemonSets: [daemonSet('agent', spec('200m', '128Mi'))],
    });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-1', 'nominate to node n: s0-0']);
  });

  test('a daemon that runs on the node already is not reserved twice', () => {
    const agent = spec('500m', '128Mi');
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'u' };
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [node('n', 2, 8)],
      shapes: [small, { ...shape(agent), namespace: 'kube-system', owner }],
      pods: [...pods(0, 3), ...pods(1, 1, { nodeName: 'n' })],
      daemonSets: [daemonSet('agent', agent)],
    });
    expect(planned(given)).toEqual(['nominate to node n: s0-0 s0-1 s0-2']);
  });

  test('a node that is kept for others takes what no open one has room for', () => {
    const taints = [{ key: 'nodewright.dev/reserved', value: 'a', effect: 'NoSchedule' }] as const;
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [{ ...node('kept', 4, 16), spec: { taints } }, node('open', 2, 8)],
      shapes: [small],
      pods: pods(0, 5),
    });
    expect(planned(given)).toEqual(['nominate to node open: s0-0 s0-1 s0-2 s0-3', 'nominate to node kept: s0-4']);
  });

  test('a cordoned node, and one that is being deleted, take no pods', () => {
    const cordoned = { ...node('cordoned', 4, 16), spec: { unschedulable: true } };
    const leaving = {
      ...node('leaving', 4, 16),
      metadata: { ...node('leaving', 4, 16).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    const given = input({
      types,
      nodePools: [pool('a')],
      nodes: [cordoned, leaving],
      shapes: [small],
      pods: pods(0, 1),
    });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0']);
  });

  test('a node that is starting takes pods although its startup taints and not-ready taint are still there', () => {
    const startup = { key: 'agent-not-ready', effect: 'NoExecute' };
    const starting = {
      ...node('n', 4, 16, { 'karpenter.sh/nodepool': 'a', 'karpenter.sh/registered': 'true' }),
      spec: { taints: [startup, { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] },
    };
    const given = input({
      types,
      nodePools: [pool('a', { startupTaints: [startup] })],
      nodes: [starting],
      shapes: [small],
      pods: pods(0, 1),
    });
    expect(planned(given)).toEqual(['nominate to node n: s0-0']);
  });
});

describe('claims on their way', () => {
  const claim: NodeClaim = {
    metadata: { name: 'a-1', labels: { 'karpenter.sh/nodepool': 'a' } },
    spec: {
      nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
      requirements: [onDemand],
    },
  };
  const inFlight = new Map([
    [
      'a-1',
      {
        pods: ['s0-0000', 's0-0001'],
        instanceType: 'Standard_D2s_v5',
        zone: zones[0],
        capacityType: 'on-demand' as const,
      },
    ],
  ]);

  test('pods planned onto a claim stay with it, and what it has left serves others', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      nodeClaims: [claim],
      shapes: [small],
      pods: pods(0, 5),
      inFlight,
    });
    expect(planned(given)).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s0-4',
      'nominate to claim a-1: s0-0 s0-1 s0-2 s0-3',
    ]);
  });

  test('a claim whose size nobody knows yet is no capacity', () => {
    const given = input({ types, nodePools: [pool('a')], nodeClaims: [claim], shapes: [small], pods: pods(0, 1) });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0']);
  });

  test('where a limit stops the nodes of a zone, those of the others shrink to the pods that the spread leaves them', () => {
    const web = spec('1', '1Gi', {
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: 'topology.kubernetes.io/zone',
          whenUnsatisfiable: 'DoNotSchedule',
          labelSelector: { matchLabels: { app: 'web' } },
        },
      ],
    });
    const given = input({
      types: [D2, size('Standard_D4s_v5', 4, 16, 150_000)],
      nodePools: [pool('a', { limits: { cpu: '8' } })],
      shapes: [shape(web, { app: 'web' })],
      pods: pods(0, 12),
    });
    const plan = planProvisioning(given, instant(0));
    expect(auditPlan(plan, given)).toEqual([]);
    expect(plan.claims.map((one) => `${one.offering.instanceType} ${one.pods.length}`).toSorted(byText)).toEqual([
      'Standard_D2s_v5 2',
      'Standard_D2s_v5 2',
      'Standard_D4s_v5 3',
    ]);
  });

  test('a claim counts against the limits of its pool', () => {
    const limited = pool('a', { limits: { cpu: '3' } });
    const given = input({
      types,
      nodePools: [limited],
      nodeClaims: [claim],
      shapes: [small],
      pods: pods(0, 5),
      inFlight,
    });
    expect(planned(given)).toEqual(['nominate to claim a-1: s0-0 s0-1 s0-2 s0-3', 'leave s0-4: limit']);
  });
});

describe('new claims', () => {
  test('the cheapest way to hold the pods is taken, not the largest node', () => {
    const given = input({
      types: [D2, D4, size('Standard_D64s_v5', 64, 256, 9_000_000)],
      nodePools: [pool('a')],
      shapes: [small],
      pods: pods(0, 10),
    });
    expect(planned(given).filter((line) => line.includes('D64'))).toEqual([]);
    expect(planProvisioning(given, instant(0)).cost).toBe(300_000);
  });

  test('an offering that is not available is not planned', () => {
    const gone = size('Standard_D2s_v5', 2, 8, 100_000, {
      offerings: [offering(zones[0], 'on-demand', 100_000, false)],
    });
    expect(planned(input({ types: [gone, D4], nodePools: [pool('a')], shapes: [small], pods: pods(0, 1) }))).toEqual([
      'launch Standard_D4s_v5 on-demand of a: s0-0',
    ]);
  });

  test('a daemon’s requests are reserved on every new node', () => {
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(spec('1900m', '1Gi'))],
      pods: pods(0, 1),
      daemonSets: [daemonSet('agent', spec('200m', '1Gi'))],
    });
    expect(planned(given)).toEqual(['launch Standard_D4s_v5 on-demand of a: s0-0']);
  });

  test('a daemon without requests has those that the LimitRange of its namespace gives it', () => {
    const limitRanges = [
      {
        metadata: { name: 'defaults', namespace: 'kube-system' },
        spec: { limits: [{ type: 'Container', defaultRequest: { cpu: '300m' } }] },
      },
    ];
    const given = input({
      types,
      nodePools: [pool('a')],
      shapes: [shape(spec('1900m', '1Gi'))],
      pods: pods(0, 1),
      daemonSets: [daemonSet('agent', { containers: [{}] })],
      limitRanges,
    });
    expect(planned(given)).toEqual(['launch Standard_D4s_v5 on-demand of a: s0-0']);
  });

  test('a burstable size is bought only where the pool names its family or nothing else holds the pod', () => {
    const B2 = size('Standard_B2s_v2', 2, 8, 20_000);
    const unnamed = input({ types: [B2, D2], nodePools: [pool('a')], shapes: [small], pods: pods(0, 1) });
    const family = requirement('karpenter.azure.com/sku-family', 'In', 'B', 'D');
    const named = input({
      types: [B2, D2],
      nodePools: [pool('a', { requirements: [onDemand, family] })],
      shapes: [small],
      pods: pods(0, 1),
    });
    const only = input({ types: [B2], nodePools: [pool('a')], shapes: [small], pods: pods(0, 1) });
    expect(planned(unnamed)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0']);
    expect(planned(named)).toEqual(['launch Standard_B2s_v2 on-demand of a: s0-0']);
    expect(planned(only)).toEqual(['launch Standard_B2s_v2 on-demand of a: s0-0']);
  });

  test('retired generations are left alone, current series of the same family are not', () => {
    const old = size('Standard_D2_v2', 2, 8, 10_000);
    const fx = size('Standard_FX2ms_v2', 2, 8, 50_000);
    expect(planned(input({ types: [old, fx, D2], nodePools: [pool('a')], shapes: [small], pods: pods(0, 1) }))).toEqual(
      ['launch Standard_FX2ms_v2 on-demand of a: s0-0'],
    );
  });

  test('the heavier pool is used where it can be, even if it costs more', () => {
    const heavy = pool('heavy', { weight: 10, requirements: [onDemand] });
    const light = pool('light', { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'spot')] });
    expect(planned(input({ types, nodePools: [light, heavy], shapes: [small], pods: pods(0, 1) }))).toEqual([
      'launch Standard_D2s_v5 on-demand of heavy: s0-0',
    ]);
  });

  test('a pool at its limit passes pods on to the next', () => {
    const heavy = pool('heavy', { weight: 10, limits: { nodes: '1' } });
    const given = input({ types: [D2], nodePools: [pool('light'), heavy], shapes: [small], pods: pods(0, 5) });
    expect(
      planned(given)
        .map((line) => line.split(':')[0])
        .toSorted(byText),
    ).toEqual(['launch Standard_D2s_v5 on-demand of heavy', 'launch Standard_D2s_v5 on-demand of light']);
  });

  test('where a limit binds, pods of higher priority are placed first', () => {
    const given = input({
      types: [D2],
      nodePools: [pool('a', { limits: { nodes: '1' } })],
      shapes: [shape(spec('1900m', '1Gi')), shape(spec('1800m', '1Gi', { priority: 1000 }))],
      pods: [...pods(0, 1), ...pods(1, 1)],
    });
    expect(planned(given)).toEqual(['launch Standard_D2s_v5 on-demand of a: s1-0', 'leave s0-0: limit']);
  });

  test('minValues keeps enough sizes to choose from, and BestEffort waives it where there are too few', () => {
    const wide = pool('a', {
      requirements: [onDemand, { key: 'node.kubernetes.io/instance-type', operator: 'Exists', minValues: 3 }],
    });
    const parts = {
      types,
      nodePools: [wide],
      shapes: [small, shape(spec('3', '1Gi'))],
      pods: [...pods(0, 1), ...pods(1, 1)],
    };
    expect(planned(input(parts))).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0', 'leave s1-0: min-values']);
    const relaxed = planProvisioning(input({ ...parts, policy: { minValuesPolicy: 'BestEffort' } }), instant(0));
    expect(relaxed.left).toEqual([]);
    expect(relaxed.claims.map(({ annotations }) => annotations['karpenter.sh/nodeclaim-min-values-relaxed'])).toContain(
      'true',
    );
  });

  test('nodes of one price are spread over the zones', () => {
    const given = input({
      types: [D2],
      nodePools: [pool('a')],
      shapes: [shape(spec('1900m', '1Gi'))],
      pods: pods(0, 3),
    });
    expect(
      planProvisioning(given, instant(0))
        .claims.map(({ offering: { zone } }) => zone)
        .toSorted(byText),
    ).toEqual([...zones]);
  });

  test('an overlay’s price decides what is cheapest', () => {
    const nodeOverlays = [
      {
        metadata: { name: 'discount' },
        spec: {
          requirements: [requirement('node.kubernetes.io/instance-type', 'In', 'Standard_D4s_v5')],
          priceAdjustment: '-90%',
        },
      },
    ];
    expect(planned(input({ types, nodePools: [pool('a')], shapes: [small], pods: pods(0, 1), nodeOverlays }))).toEqual([
      'launch Standard_D4s_v5 on-demand of a: s0-0',
    ]);
  });

  test('an overlay’s capacity lets pods ask for what the size alone does not have', () => {
    const capacity = { 'example.com/fpga': 1 };
    const nodeOverlays = [
      {
        metadata: { name: 'fpga' },
        spec: { requirements: [requirement('node.kubernetes.io/instance-type', 'In', 'Standard_D8s_v5')], capacity },
      },
    ];
    const wants = shape(
      spec('1', '1Gi', { containers: [{ resources: { requests: { cpu: '1', 'example.com/fpga': '1' } } }] }),
    );
    expect(planned(input({ types, nodePools: [pool('a')], shapes: [wants], pods: pods(0, 1), nodeOverlays }))).toEqual([
      'launch Standard_D8s_v5 on-demand of a: s0-0',
    ]);
  });
});

describe('fallbacks', () => {
  test('a claim names other offerings that hold its pods, cheapest first, and what the next best costs', () => {
    const [claim] = planProvisioning(
      input({ types, nodePools: [pool('a', { requirements: [] })], shapes: [small], pods: pods(0, 1) }),
      instant(0),
    ).claims;
    expect(claim?.offering).toMatchObject({ instanceType: 'Standard_D2s_v5', capacityType: 'spot', price: 25_000 });
    expect(claim?.runnerUp).toMatchObject({ instanceType: 'Standard_D2s_v5', capacityType: 'spot' });
    const prices = claim?.fallbacks.map(({ price }) => price) ?? [];
    expect(prices).toEqual(prices.toSorted((a, b) => a - b));
    expect(claim?.fallbacks.some(({ capacityType }) => capacityType === 'on-demand')).toBe(true);
  });

  test('among many sizes on spot, some fallbacks are on demand and no family fills the list', () => {
    const many = [2, 4, 8, 16, 32].flatMap((cpu) => [
      size(`Standard_D${cpu}s_v5`, cpu, cpu * 4, cpu * 50_000),
      size(`Standard_E${cpu}s_v5`, cpu, cpu * 8, cpu * 70_000),
    ]);
    const given = input({
      types: many,
      nodePools: [pool('a', { requirements: [] })],
      shapes: [small],
      pods: pods(0, 1),
    });
    const fallbacks = planProvisioning(given, instant(0)).claims[0]?.fallbacks ?? [];
    expect(fallbacks).toHaveLength(20);
    expect(fallbacks.filter(({ capacityType }) => capacityType === 'on-demand').length).toBeGreaterThanOrEqual(5);
    expect(fallbacks.filter(({ instanceType }) => instanceType.startsWith('Standard_E')).length).toBeGreaterThanOrEqual(
      5,
    );
  });

  test('no fallback takes more of a limited resource than the choice', () => {
    const given = input({ types, nodePools: [pool('a', { limits: { cpu: '2' } })], shapes: [small], pods: pods(0, 1) });
    const [claim] = planProvisioning(given, instant(0)).claims;
    expect(new Set(claim?.fallbacks.map(({ instanceType }) => instanceType))).toEqual(new Set(['Standard_D2s_v5']));
  });
});

describe('replacement', () => {
  const running = input({
    types,
    nodePools: [pool('a', { requirements: [requirement('karpenter.sh/capacity-type', 'In', 'spot', 'on-demand')] })],
    nodes: [node('spot-1', 4, 16), node('stays', 2, 8)],
    shapes: [shape(spec('1500m', '1Gi')), { ...small, annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }],
    pods: [...pods(0, 2, { nodeName: 'spot-1' }), ...pods(1, 1, { nodeName: 'spot-1' })],
  });

  test('the pods of a node that is going get a place before it goes, protected ones too', () => {
    const plan = planProvisioning(withoutNodes(running, ['spot-1']), instant(0));
    expect(auditPlan(plan, withoutNodes(running, ['spot-1']))).toEqual([]);
    const placed = [...plan.claims, ...plan.nominations].flatMap(({ pods: own }) => own);
    expect(placed).toHaveLength(3);
    expect(renderPlan(plan).some((line) => line.includes('spot-1'))).toBe(true);
    expect(plan.nominations.every(({ target }) => target.name === 'stays')).toBe(true);
  });

  test('a name that nothing has changes nothing', () => {
    expect(renderPlan(planProvisioning(withoutNodes(running, ['unknown']), instant(0)))).toEqual([]);
  });
});

test('odd pods of spreads go to the zones where nodes that are paid for anyway have room for them', () => {
  const spread = (app: string, cpu: number, gib: number) =>
    shape(
      spec(`${cpu}00m`, `${gib}00Mi`, {
        topologySpreadConstraints: [
          {
            maxSkew: 1,
            topologyKey: 'topology.kubernetes.io/zone',
            whenUnsatisfiable: 'DoNotSchedule',
            labelSelector: { matchLabels: { app } },
          },
        ],
      }),
      { app },
    );
  // By CPU the last of them belongs in a zone whose memory is taken.
  const shapes = [spread('base', 1, 1), spread('busy', 3, 1), spread('a', 2, 6), spread('b', 2, 6), spread('c', 1, 6)];
  const given = input({
    types: [size('Standard_D1s_v5', 0.8, 800 / 1_024, 100_000)],
    nodePools: [pool('a')],
    shapes,
    pods: shapes.flatMap((_, index) => pods(index, index === 0 ? 3 : 1)),
    operations: 60_000_000,
  });
  const plan = planProvisioning(given, instant(0));
  expect(auditPlan(plan, given)).toEqual([]);
  expect([plan.left, plan.cost, plan.lowerBound]).toEqual([[], 300_000, 300_000]);
});
