import { describe, expect, test } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan, PlannedClaim } from '../../../../shared/core/model/plan.ts';
import type { ProvisioningInput } from '../../../../shared/core/model/provisioning-input.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { instant, microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { soundPlan, type Planner } from '../../../../shared/core/recovery/sound-plan.ts';
import { renderPlan } from '../../../kit/core/render.ts';
import { input, node, onDemand, pods, pool, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';

const now = instant(0);
const zone = 'topology.kubernetes.io/zone';
const types = [size('Standard_D2s_v5', 2, 8, 100_000), size('Standard_D8s_v5', 8, 32, 390_000)];
const web = { matchLabels: { app: 'web' } };
const [small, large] = [shape(spec('1500m', '1Gi')), shape(spec('7', '4Gi'))];
const both = { types, nodePools: [pool('a')], shapes: [small, large], pods: [...pods(0, 2), ...pods(1, 1)] };

/** The planner with a fault in the claims that `isWrong` is true of: it states a price that nobody asks. */
const mispricing =
  (isWrong: (claim: PlannedClaim) => boolean): Planner =>
  (given, at) => {
    const plan = planProvisioning(given, at);
    const claims = plan.claims.map((claim) =>
      isWrong(claim) ? { ...claim, offering: { ...claim.offering, price: microUsdPerHour(1) } } : claim,
    );
    const cost = microUsdPerHour(claims.reduce((sum, { offering }) => sum + offering.price, 0));
    return { ...plan, claims, cost, lowerBound: microUsdPerHour(0), weighed: { cost, lowerBound: microUsdPerHour(0) } };
  };
const failing: Planner = () => {
  throw new Error('out of columns');
};

function sound(given: ProvisioningInput, planner: Planner) {
  const made = soundPlan(given, now, planner);
  expect(auditPlan(made.plan, made.input).filter(({ severity }) => severity === 'fatal')).toEqual([]);
  return { ...made, lines: renderPlan(made.plan) };
}

describe('a plan that its audit lets through', () => {
  test('is what the planner made, and nothing is said to be refused', () => {
    const { plan, refused } = sound(input(both), planProvisioning);
    expect(refused).toBeNull();
    expect(renderPlan(plan)).toEqual(renderPlan(planProvisioning(input(both), now)));
  });
});

describe('a plan with a fault about some of its claims', () => {
  const ofLarge = mispricing(({ pods: own }) => own.some(({ name }) => name.includes('s1-')));

  test('leaves the others as they were planned, and the pods that it names get places by first-fit', () => {
    const { lines, refused } = sound(input(both), ofLarge);
    expect(lines.toSorted()).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s0-0',
      'launch Standard_D2s_v5 on-demand of a: s0-1',
      'launch Standard_D8s_v5 on-demand of a: s1-0',
    ]);
    expect(refused).toMatchObject({ instead: 'rest', nodePools: ['a'], rescued: 1, leftOut: 0 });
    expect(refused?.findings.map(({ rule }) => rule)).toContain('offering');
  });

  test('says of a pod that first-fit has no place for what was found, and keeps no other pod waiting', () => {
    const claiming = shape(spec('1', '1Gi', { resourceClaims: [{ name: 'c', resourceClaimName: 'c' }] }));
    const given = input({ ...both, shapes: [small, claiming] });
    const lying: Planner = (view, at) => {
      const plan = planProvisioning(view, at);
      const isThere = plan.left.some(({ pod }) => pod.name.includes('s1-'));
      return isThere
        ? {
            ...plan,
            nominations: [{ target: { kind: 'node', name: 'none' }, pods: plan.left.map(({ pod }) => pod) }],
            left: [],
          }
        : plan;
    };
    const { plan, lines, refused } = sound(given, lying);
    expect(lines).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s0-0',
      'launch Standard_D2s_v5 on-demand of a: s0-1',
      'leave s1-0: plan-refused',
    ]);
    expect(plan.left[0]?.refusals).toEqual([
      {
        kind: 'plan-refused',
        nodePool: null,
        finding: expect.stringContaining('target: there is no node none that stays'),
      },
    ]);
    expect(refused).toMatchObject({ instead: 'rest', leftOut: 1 });
  });

  test('of a static pool leaves that pool out', () => {
    const fixed = pool('fixed');
    const given = input({
      ...both,
      nodePools: [pool('a'), { ...fixed, spec: { ...fixed.spec, replicas: 1 } }],
      policy: { gates: { nodeOverlay: false, staticCapacity: true, capacityBuffer: false, reservedCapacity: true } },
    });
    const { plan, refused } = sound(
      given,
      mispricing(({ nodePool }) => nodePool === 'fixed'),
    );
    expect(plan.claims.map(({ nodePool }) => nodePool)).toEqual(['a', 'a', 'a']);
    expect(refused).toMatchObject({ instead: 'rest', nodePools: ['fixed'], rescued: 0, leftOut: 0 });
  });
});

describe('a planner of which nothing holds', () => {
  test.each<readonly [string, Planner]>([
    ['whose every claim is wrong', mispricing(() => true)],
    ['whose sums are wrong', (given, at) => ({ ...planProvisioning(given, at), cost: microUsdPerHour(1) })],
    ['that fails', failing],
  ])('%s is replaced by first-fit', (_, planner) => {
    const { lines, refused } = sound(input(both), planner);
    expect(lines.toSorted()).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s0-0',
      'launch Standard_D2s_v5 on-demand of a: s0-1',
      'launch Standard_D8s_v5 on-demand of a: s1-0',
    ]);
    expect(refused).toMatchObject({ instead: 'first-fit', rescued: 3, leftOut: 0 });
  });

  test('says why it failed', () => {
    const { refused } = sound(input(both), failing);
    expect(refused?.findings).toEqual([
      { severity: 'fatal', rule: 'planner', text: 'the planner failed: out of columns', about: [] },
    ]);
  });
});

describe('first-fit', () => {
  const fit = (parts: Parameters<typeof input>[0]): Plan => sound(input({ ...both, ...parts }), failing).plan;

  test('uses what is there before it opens a node', () => {
    const plan = fit({ nodes: [node('old', 4, 16)], shapes: [small], pods: pods(0, 3) });
    expect(renderPlan(plan)).toEqual([
      'launch Standard_D2s_v5 on-demand of a: s0-2',
      'nominate to node old: s0-0 s0-1',
    ]);
  });

  test('fills an open node before it opens another', () => {
    const tiny = shape(spec('250m', '256Mi'));
    const plan = fit({ shapes: [small, tiny], pods: [...pods(0, 1), ...pods(1, 2)] });
    expect(renderPlan(plan)).toEqual(['launch Standard_D2s_v5 on-demand of a: s0-0 s1-0 s1-1']);
    expect(plan.claims[0]?.requests).toMatchObject({ cpu: '2', pods: '3' });
  });

  test('gives a claim what else holds its pods, and lists no other size', () => {
    const [claim] = fit({ shapes: [large], pods: pods(0, 1) }).claims;
    expect(claim?.fallbacks.map(({ instanceType, zone: at }) => [instanceType, at])).toEqual([
      ['Standard_D8s_v5', zones[1]],
      ['Standard_D8s_v5', zones[2]],
    ]);
    const listed = claim?.requirements.find(({ key }) => key === 'node.kubernetes.io/instance-type');
    expect(listed?.values).toEqual(['Standard_D8s_v5']);
  });

  test('takes the heaviest pool that the pod tolerates, within its limits', () => {
    const heavy = pool('heavy', { weight: 10, limits: { cpu: '2' } });
    const tainted = pool('tainted', { weight: 20, taints: [{ key: 'own', effect: 'NoSchedule' }] });
    const plan = fit({ nodePools: [pool('a'), heavy, tainted], shapes: [small], pods: pods(0, 2) });
    expect(plan.claims.map(({ nodePool }) => nodePool).toSorted()).toEqual(['a', 'heavy']);
  });

  test('spreads pods that must be spread, node by node in zones in turn', () => {
    const spread = {
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'DoNotSchedule', labelSelector: web },
      ],
    };
    const plan = fit({ shapes: [shape(spec('500m', '1Gi', spread), { app: 'web' })], pods: pods(0, 4) });
    expect(plan.left).toEqual([]);
    expect(new Set(plan.claims.map(({ offering }) => offering.zone)).size).toBe(3);
  });

  test('keeps apart what must be apart', () => {
    const apart = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: web },
          ],
        },
      },
    };
    const plan = fit({ shapes: [shape(spec('500m', '1Gi', apart), { app: 'web' })], pods: pods(0, 3) });
    expect(plan.claims.map(({ pods: own }) => own.length)).toEqual([1, 1, 1]);
  });

  test('leaves what no pool may hold, with the finding as its reason, and places the others', () => {
    const huge = shape(spec('64', '1Gi'));
    const plan = fit({ shapes: [huge, small], pods: [...pods(0, 1), ...pods(1, 1)] });
    expect(renderPlan(plan)).toEqual(['launch Standard_D2s_v5 on-demand of a: s1-0', 'leave s0-0: plan-refused']);
  });

  test('gives a label that the pool leaves open the value that its pods select', () => {
    const team = requirement('example.com/team', 'In', 'red', 'blue');
    const plan = fit({
      nodePools: [pool('a', { requirements: [onDemand, team] })],
      shapes: [shape(spec('1', '1Gi', { nodeSelector: { 'example.com/team': 'red' } }))],
      pods: pods(0, 1),
    });
    expect(plan.claims[0]?.labels).toMatchObject({ 'example.com/team': 'red' });
  });

  test('states minValues, and leaves pods for which too few sizes are left', () => {
    const choosy = (least: number) =>
      pool('a', {
        requirements: [onDemand, { ...requirement('node.kubernetes.io/instance-type', 'Exists'), minValues: least }],
      });
    const ofSmall = { shapes: [small], pods: pods(0, 1) };
    expect(fit({ nodePools: [choosy(2)], ...ofSmall }).claims[0]?.requirements).toContainEqual({
      key: 'node.kubernetes.io/instance-type',
      operator: 'In',
      values: ['Standard_D2s_v5', 'Standard_D8s_v5'],
      minValues: 2,
    });
    expect(fit({ nodePools: [choosy(3)], ...ofSmall }).left).toHaveLength(1);
  });
});

describe('a plan that is wrong in a way that no other is', () => {
  const all = (given: ProvisioningInput) =>
    given.cluster.pods.map(({ name, uid }) => ({ name: `default/${name}`, uid }));

  test('is audited where it opens no node, too: pods that are sent to a node that is not there get another', () => {
    const lost: Planner = (given, at) => ({
      ...planProvisioning(given, at),
      claims: [],
      nominations: [{ target: { kind: 'node', name: 'gone' }, pods: all(given) }],
      cost: microUsdPerHour(0),
      lowerBound: microUsdPerHour(0),
      weighed: { cost: microUsdPerHour(0), lowerBound: microUsdPerHour(0) },
    });
    const { plan, refused } = sound(input(both), lost);
    expect([plan.claims.length, plan.nominations, plan.left]).toEqual([3, [], []]);
    expect(refused).toMatchObject({ instead: 'first-fit', rescued: 3 });
  });

  test('keeps first-fit from nothing: pods that must be apart are not all put on what is there', () => {
    const apart = {
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: web },
          ],
        },
      },
    };
    const shapes = [shape(spec('200m', '256Mi', apart), { app: 'web' })];
    const { plan } = sound(input({ ...both, nodes: [node('old', 4, 16)], shapes, pods: pods(0, 3) }), failing);
    expect(plan.left).toEqual([]);
    expect([...plan.claims, ...plan.nominations].every((place) => place.pods.length === 1)).toBe(true);
  });

  test('takes no pool from its pods: a claim without any of a pool that is not static leads to first-fit', () => {
    const losing: Planner = (given, at) => {
      const plan = planProvisioning(given, at);
      return { ...plan, claims: plan.claims.map((claim, index) => (index === 0 ? { ...claim, pods: [] } : claim)) };
    };
    const { plan } = sound(input(both), losing);
    expect([plan.left, plan.claims.length]).toEqual([[], 3]);
  });

  test.each<readonly [string, unknown]>([
    ['offering', undefined],
    ['offering', null],
    ['requirements', undefined],
    ['labels', undefined],
    ['fallbacks', [null]],
    ['pods', null],
  ])('so that even its audit fails (%s %j) is replaced by first-fit', (field, value) => {
    const unreadable: Planner = (given, at) => {
      const plan = planProvisioning(given, at);
      return { ...plan, claims: plan.claims.map((claim) => ({ ...claim, [field]: value })) };
    };
    const { plan, refused } = sound(input(both), unreadable);
    expect([plan.left, plan.claims.length]).toEqual([[], 3]);
    expect(refused?.instead).toBe('first-fit');
  });

  test('leaves a node selector term to first-fit that is not the pod’s first', () => {
    const term = (team: string) => ({
      matchExpressions: [{ key: 'example.com/team', operator: 'In', values: [team] }],
    });
    const either = {
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term('a'), term('b')] },
        },
      },
    };
    const ofB = pool('a', { requirements: [onDemand, requirement('example.com/team', 'In', 'b')] });
    const { plan } = sound(
      input({ ...both, nodePools: [ofB], shapes: [shape(spec('1', '1Gi', either))], pods: pods(0, 1) }),
      failing,
    );
    expect([plan.left, plan.claims[0]?.labels['example.com/team']]).toEqual([[], 'b']);
  });

  test('leaves pods of one shape beside another that is pinned to a zone: each spread is evened by its own pods', () => {
    const pinned = shape(spec('1500m', '1Gi', { nodeSelector: { [zone]: zones[0] } }), { app: 'pinned' });
    const spread = {
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: zone, whenUnsatisfiable: 'DoNotSchedule', labelSelector: web },
      ],
    };
    const shapes = [pinned, shape(spec('1', '1Gi', spread), { app: 'web' })];
    const { plan } = sound(input({ ...both, shapes, pods: [...pods(0, 6), ...pods(1, 5)] }), failing);
    expect(plan.left).toEqual([]);
  });
});

test('what is held counts against limits: by the planner, by first-fit, and by the audit', () => {
  const nodePools = [pool('a', { limits: { cpu: '4' } })];
  const cluster = { types, nodePools, shapes: [small], pods: pods(0, 2) };
  const held = [{ nodePool: 'a', capacity: new Map([['cpu', 2_000]]) }];
  for (const planner of [planProvisioning, failing]) {
    expect(sound(input(cluster), planner).plan.claims).toHaveLength(2);
    expect(sound(input({ ...cluster, held }), planner).plan.claims).toHaveLength(1);
  }
  const findings = auditPlan(planProvisioning(input(cluster), now), input({ ...cluster, held }));
  expect(findings.map(({ rule }) => rule)).toEqual(['limits']);
});

describe('a node that is marked to go', () => {
  const DISRUPTED = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };
  const old = node('old', 2, 8, { 'karpenter.sh/nodepool': 'a' });
  const marked = { ...old, spec: { ...old.spec, providerID: 'azure:///old', taints: [DISRUPTED] } };
  const claim = {
    metadata: { name: 'old', labels: { 'karpenter.sh/nodepool': 'a' } },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    status: {
      providerID: 'azure:///old',
      nodeName: 'old',
      conditions: [{ type: 'InstanceTerminating', status: 'False' }],
    },
  };
  const full = (changes: object = {}, status: object = {}) =>
    input({
      types,
      nodePools: [pool('a', { limits: { cpu: '2' } })],
      shapes: [small],
      pods: pods(0, 1),
      nodes: [marked],
      nodeClaims: [{ ...claim, metadata: { ...claim.metadata, ...changes }, status: { ...claim.status, ...status } }],
    });

  test.each([
    ['counts against the limit of its pool', {}, {}, 0],
    ['counts no more once its claim is being deleted', { deletionTimestamp: '2026-11-20T08:00:00Z' }, {}, 1],
    ['counts no more once Azure takes it back', { annotations: { 'nodewright.dev/interruption': 'preempt' } }, {}, 1],
    [
      'counts no more once its machine is being removed',
      {},
      { conditions: [{ type: 'InstanceTerminating', status: 'True' }] },
      1,
    ],
  ])('%s, for planner, first-fit and audit', (_, changes, status, claims) => {
    const given = full(changes, status);
    expect(sound(given, planProvisioning).plan.claims).toHaveLength(claims);
    expect(sound(given, failing).plan.claims).toHaveLength(claims);
    const unlimited = { ...given, cluster: { ...given.cluster, nodePools: [pool('a')] } };
    const rules = auditPlan(planProvisioning(unlimited, now), given).map(({ rule }) => rule);
    expect(rules.includes('limits')).toBe(claims === 0);
  });
});
