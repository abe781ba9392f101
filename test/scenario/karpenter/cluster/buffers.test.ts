import { describe, expect, test } from 'vitest';
import type { CapacityBuffer, PodTemplate, ScalableWorkload } from '../../../../shared/kubernetes/buffer-manifest.ts';
import type { PodSpec } from '../../../../shared/kubernetes/manifest.ts';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { bufferDemand } from '../../../../shared/core/present/buffer-demand.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import type { InFlightClaim } from '../../../../shared/core/model/provisioning-input.ts';
import { pool, requirement, spec } from '../../../kit/core/build.ts';
import {
  apart,
  key,
  machines,
  ours,
  pod,
  poolWith,
  replicas,
  requires,
  schedule,
  spreadOver,
  term,
  toInput,
  web,
  z1,
  z2,
  z3,
  type Situation,
} from '../kit/kit.ts';

/** Capacity buffers: Karpenter's scenarios M05 (demand, virtual pods), N03 and L11 as far as plans go. */

const template = (podSpec: PodSpec = spec('1', '1Gi'), labels: Readonly<Record<string, string>> = {}): PodTemplate => ({
  metadata: { name: 'room', namespace: 'default', generation: 3 },
  template: { metadata: { labels }, spec: podSpec },
});

const buffer = (parts: Partial<CapacityBuffer['spec']>, name = 'spare'): CapacityBuffer => ({
  metadata: { name, namespace: 'default' },
  spec: parts.scalableRef === undefined ? { podTemplateRef: { name: 'room' }, ...parts } : parts,
});

const workload = (count: number | undefined, podSpec: PodSpec = spec('1', '1Gi')): ScalableWorkload => ({
  metadata: { name: 'web', namespace: 'default' },
  spec: { ...(count === undefined ? {} : { replicas: count }), template: { metadata: { labels: web }, spec: podSpec } },
});

/** A buffer for so many pods of `podSpec`, alone in the situation. */
const room = (count: number, podSpec?: PodSpec): Pick<Situation, 'capacityBuffers' | 'podTemplates'> => ({
  capacityBuffers: [buffer({ replicas: count })],
  podTemplates: [template(podSpec)],
});

/** A pool of the smallest nodes only. */
const ofTwoCpus: Pick<Situation, 'pools'> = {
  pools: [poolWith('default', requirement('karpenter.azure.com/sku-cpu', 'In', '2'))],
};

/** Where the room of the first buffer is: `node n` or `new 0` with the number of its pods, and how many have none. */
const roomIn = ({ buffers: [first] }: Plan): ReadonlyArray<string> => [
  ...(first?.nominations ?? []).map(({ target, pods }) => `${target.kind} ${target.name}: ${pods.length}`),
  ...(first?.claims ?? []).map(({ claim, pods }) => `new ${claim}: ${pods.length}`),
  ...((first?.left.length ?? 0) === 0 ? [] : [`left: ${first?.left.length ?? 0}`]),
];

const demandOf = (one: CapacityBuffer, parts: Partial<Situation> = {}) =>
  bufferDemand(toInput({ pods: [], podTemplates: [template()], ...parts }).cluster, one);

const REF = { apiGroup: 'apps', kind: 'Deployment', name: 'web' };

describe('how much room a buffer asks for [M05]', () => {
  test.each<[string, Partial<CapacityBuffer['spec']>, number | undefined, number]>([
    ['its replicas', { replicas: 3 }, undefined, 3],
    ['no replicas', { replicas: 0 }, undefined, 0],
    ['as much as its limits hold, when they stand alone', { limits: { cpu: '3500m' } }, undefined, 3],
    ['what the tightest limit holds', { limits: { cpu: '10', memory: '2Gi' } }, undefined, 2],
    ['its replicas as far as the limits hold them', { replicas: 5, limits: { cpu: '2' } }, undefined, 2],
    ['its replicas, where limits name nothing that pods request', { replicas: 5, limits: { gpu: '1' } }, undefined, 5],
    ['nothing, where limits that name nothing of it stand alone', { limits: { gpu: '1' } }, undefined, 0],
    ['a percentage of its workload, rounded up', { scalableRef: REF, percentage: 25 }, 5, 2],
    ['a percentage above a hundred', { scalableRef: REF, percentage: 250 }, 2, 5],
    ['at least one for any percentage of a workload that runs', { scalableRef: REF, percentage: 1 }, 1, 1],
    ['nothing for a percentage of a workload without pods', { scalableRef: REF, percentage: 50 }, 0, 0],
    ['one replica of a workload that names no number', { scalableRef: REF, percentage: 100 }, undefined, 1],
    ['the larger of replicas and percentage', { scalableRef: REF, percentage: 50, replicas: 2 }, 10, 5],
    ['the larger of the two the other way round', { scalableRef: REF, percentage: 50, replicas: 9 }, 10, 9],
    [
      'the larger of the two as far as limits hold it',
      { scalableRef: REF, percentage: 50, replicas: 9, limits: { cpu: 4 } },
      10,
      4,
    ],
  ])('is %s', (_, parts, count, expected) => {
    expect(demandOf(buffer(parts), { deployments: [workload(count)] })).toMatchObject({
      kind: 'resolved',
      replicas: expected,
    });
  });

  test.each(['Deployment', 'ReplicaSet', 'StatefulSet'])('may be of a %s, with or without its group', (kind) => {
    const parts = { deployments: [workload(4)], replicaSets: [workload(4)], statefulSets: [workload(4)] };
    for (const ref of [
      { kind, name: 'web' },
      { apiGroup: 'apps', kind, name: 'web' },
    ]) {
      expect(demandOf(buffer({ scalableRef: ref, percentage: 50 }), parts)).toMatchObject({ replicas: 2 });
    }
  });

  test.each<[string, CapacityBuffer, string, string]>([
    [
      'its template is missing',
      buffer({ podTemplateRef: { name: 'gone' }, replicas: 1 }),
      'PodTemplateNotFound',
      'default/gone',
    ],
    [
      'its workload is missing',
      buffer({ scalableRef: REF, replicas: 1 }),
      'ScalableRefNotFound',
      'Deployment default/web',
    ],
    [
      'its workload is of another kind',
      buffer({ scalableRef: { ...REF, kind: 'Job' } }),
      'ResolutionFailed',
      'use Deployment',
    ],
    [
      'its workload is of another group',
      buffer({ scalableRef: { ...REF, apiGroup: 'x.io' } }),
      'ResolutionFailed',
      'x.io',
    ],
    ['it names neither', { metadata: { name: 'spare' }, spec: {} }, 'ResolutionFailed', 'set one of them'],
    [
      'its strategy is not known',
      buffer({ provisioningStrategy: 'x', replicas: 1 }),
      'ResolutionFailed',
      'active-capacity',
    ],
    ['its number is a mistake', buffer({ replicas: 2_000_000_000 }), 'ResolutionFailed', 'at most 10000'],
  ])('cannot be told when %s', (_, one, reason, words) => {
    const demand = demandOf(one);
    expect(demand).toMatchObject({ kind: 'unresolved', reason });
    expect(demand.kind === 'unresolved' && demand.message).toContain(words);
  });

  test('is read in its own namespace', () => {
    const elsewhere = { ...template(), metadata: { name: 'room', namespace: 'other' } };
    expect(demandOf(buffer({ replicas: 1 }), { podTemplates: [elsewhere] })).toMatchObject({
      reason: 'PodTemplateNotFound',
    });
  });
});

describe('the room of a buffer [M05]', () => {
  test('is a node, where there is none [N03]', () => {
    const { plan, claims } = schedule({ ...room(2), pods: [] });
    expect(claims.map(({ offering, pods }) => [offering.instanceType, pods.length])).toEqual([['Standard_D2s_v5', 0]]);
    expect(roomIn(plan)).toEqual(['new 0: 2']);
    expect(plan.buffers[0]?.claims[0]?.pods.map(({ name }) => name)).toEqual([
      'default/capacity-buffer-spare-1',
      'default/capacity-buffer-spare-2',
    ]);
    expect(claims[0]?.requests).toMatchObject({ cpu: '2', pods: '2' });
  });

  test('is free room on a node, where there is some [N03]', () => {
    const { plan } = schedule({ ...room(3), ...machines(ours('n')), pods: [] });
    expect(plan.claims).toEqual([]);
    expect(roomIn(plan)).toEqual(['node n: 3']);
    expect(plan.nominations).toEqual([]);
  });

  test('is bought as far as the free room does not hold it', () => {
    const { plan } = schedule({ ...room(5), ...machines(ours('n')), pods: [] });
    expect(roomIn(plan)).toEqual(['node n: 4', 'new 0: 1']);
  });

  test('on the way is not bought twice', () => {
    const { plan } = schedule({ ...room(2), pods: [] });
    const [claim] = plan.claims;
    if (claim === undefined) throw new Error('there is a claim');
    const { instanceType, zone, capacityType } = claim.offering;
    const inFlight = new Map<string, InFlightClaim>([['c', { pods: [], instanceType, zone, capacityType }]]);
    const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
    const nodeClaim = {
      metadata: { name: 'c', labels: { ...claim.labels, [key.pool]: 'default' } },
      spec: { nodeClassRef, requirements: claim.requirements },
    };
    expect(roomIn(schedule({ ...room(2), pods: [], nodeClaims: [nodeClaim], inFlight }).plan)).toEqual(['claim c: 2']);
  });

  test('is refilled when a pod has taken it [N03]', () => {
    const taken = pod('real', { cpu: '2', on: 'n' });
    expect(roomIn(schedule({ ...room(3), ...machines(ours('n')), pods: [taken] }).plan)).toEqual([
      'node n: 2',
      'new 0: 1',
    ]);
  });

  test('is held by no pod: nothing is nominated, and no claim names its pods', () => {
    const { plan } = schedule({ ...room(3), ...machines(ours('n')), pods: replicas(2, 'real', { cpu: '3' }) });
    expect(plan.nominations.flatMap(({ pods }) => pods.map(({ name }) => name))).toEqual(['default/real-0']);
    expect(plan.claims.flatMap(({ pods }) => pods.map(({ name }) => name))).toEqual(['default/real-1']);
  });

  test('meets the rules of its template about nodes', () => {
    const picky = spec('1', '1Gi', requires(requirement(key.zone, 'In', z2)));
    const { plan } = schedule({ ...room(1, picky), ...machines(ours('n')), pods: [] });
    expect(plan.claims.map(({ offering }) => offering.zone)).toEqual([z2]);
  });

  test('is spread as the pods of its template are, those that run counted', () => {
    const spreading = spec('1', '1Gi', { topologySpreadConstraints: [spreadOver(key.zone)] });
    const { plan } = schedule({
      ...machines(ours('n', { cpu: 1 })),
      capacityBuffers: [buffer({ scalableRef: REF, replicas: 2 })],
      deployments: [workload(1, spreading)],
      pods: [pod('web-0', { cpu: '1', labels: web, on: 'n', topologySpreadConstraints: [spreadOver(key.zone)] })],
    });
    expect(plan.claims.map(({ offering }) => offering.zone).toSorted()).toEqual([z2, z3]);
  });

  test('is on as many nodes as the anti-affinity of its template asks for', () => {
    const alone = spec('1', '1Gi', apart(term(key.host, web)));
    const { plan } = schedule({
      capacityBuffers: [buffer({ replicas: 3 })],
      podTemplates: [template(alone, web)],
      pods: [],
    });
    expect(roomIn(plan)).toEqual(['new 0: 1', 'new 1: 1', 'new 2: 1']);
  });

  test('waits for no volume: those of its template are left out [M05]', () => {
    const mounting = spec('1', '1Gi', {
      volumes: [
        { name: 'data', persistentVolumeClaim: { claimName: 'missing' } },
        { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'missing' } } } },
      ],
    });
    expect(roomIn(schedule({ ...room(1, mounting), pods: [] }).plan)).toEqual(['new 0: 1']);
  });

  test('counts what daemons take', () => {
    const daemonSets = [
      { metadata: { name: 'agent', namespace: 'kube-system' }, spec: { template: { spec: spec('1', '1Gi') } } },
    ];
    // On larger nodes the room costs as much, and any of them would do.
    const { plan } = schedule({ ...room(2), ...ofTwoCpus, daemonSets, pods: [] });
    expect(roomIn(plan)).toEqual(['new 0: 1', 'new 1: 1']);
    expect(roomIn(schedule({ ...room(2), ...ofTwoCpus, pods: [] }).plan)).toEqual(['new 0: 2']);
  });

  test('is told with a reason where there can be none', () => {
    const { plan } = schedule({ ...room(2, spec('500', '1Gi')), pods: [] });
    expect(roomIn(plan)).toEqual(['left: 2']);
    expect(plan.buffers[0]?.left[0]?.refusals.map(({ kind }) => kind)).toEqual(['resource']);
    expect(plan.left).toEqual([]);
  });

  test('of several buffers is held for each of them', () => {
    const { plan } = schedule({
      capacityBuffers: [buffer({ replicas: 1 }, 'b'), buffer({ replicas: 2 }, 'a')],
      podTemplates: [template()],
      pods: [],
    });
    expect(plan.buffers.map((one) => [one.buffer, one.claims.flatMap(({ pods }) => pods).length])).toEqual([
      ['default/a', 2],
      ['default/b', 1],
    ]);
  });

  test.each<[string, Partial<Situation>]>([
    [
      'the gate is closed, as it is by default',
      {
        policy: {
          gates: { nodeOverlay: false, staticCapacity: false, capacityBuffer: false, reservedCapacity: false },
        },
      },
    ],
    [
      'the buffer is being deleted',
      {
        capacityBuffers: [
          { ...buffer({ replicas: 2 }), metadata: { name: 'spare', deletionTimestamp: '2026-01-01T00:00:00Z' } },
        ],
      },
    ],
    ['its template is missing', { podTemplates: [] }],
  ])('is not held while %s', (_, parts) => {
    const { plan } = schedule({ ...room(2), pods: [], ...parts });
    expect([plan.claims, plan.buffers]).toEqual([[], []]);
  });
});

describe('a pod comes before any buffer', () => {
  test('on existing room, though the pod is smaller', () => {
    const outcome = schedule({
      ...room(1, spec('4', '4Gi')),
      ...machines(ours('n')),
      pods: [pod('small', { cpu: '1' })],
    });
    expect(outcome.placeOf('small')).toBe('node n');
    expect(roomIn(outcome.plan)).toEqual(['new 0: 1']);
  });

  test('on a node that an earlier plan made for the buffer', () => {
    const there = ours('n', { initialized: false });
    const buffered = { ...room(2, spec('2', '2Gi')), ...ofTwoCpus, ...machines(there) };
    const outcome = schedule({ ...buffered, pods: [pod('real', { cpu: '4' })] });
    expect(outcome.placeOf('real')).toBe('node n');
    expect(roomIn(outcome.plan)).toEqual(['new 0: 1', 'new 1: 1']);
  });

  test('within the limits of a pool', () => {
    const outcome = schedule({
      ...room(1, spec('4', '4Gi')),
      pools: [pool('default', { limits: { cpu: '4' } })],
      pods: [pod('small', { cpu: '1' })],
    });
    expect(outcome.placeOf('small')).toBe('new 0');
    expect(roomIn(outcome.plan)).toEqual(['left: 1']);
  });

  test('within the limit of nodes of a pool, and the reason of a pod that is left is not the buffer', () => {
    const outcome = schedule({
      ...room(4),
      pools: [pool('default', { limits: { nodes: '1' } })],
      pods: [pod('large', { cpu: '500' })],
    });
    expect(outcome.left).toEqual(['large']);
    expect(outcome.rulesFor('large')).toEqual(['resource']);
    expect(roomIn(outcome.plan)).toEqual(['new 0: 4']);
  });

  test('of whatever priority the pod is', () => {
    const outcome = schedule({
      ...room(1, spec('4', '4Gi', { priority: 1_000_000 })),
      ...machines(ours('n')),
      pods: [pod('low', { cpu: '4', priority: -(2 ** 31) })],
    });
    expect(outcome.placeOf('low')).toBe('node n');
  });

  test('and pods pay nothing for the room beside them', () => {
    const alone = schedule({ pods: [pod('real', { cpu: '1' })] });
    const both = schedule({ ...room(1, spec('1', '1Gi')), pods: [pod('real', { cpu: '1' })] });
    expect(alone.plan.cost).toBe(both.plan.cost);
    expect(roomIn(both.plan)).toEqual(['new 0: 1']);
  });
});

describe('the audit refuses a plan', () => {
  const situation: Situation = { ...room(2), ...machines(ours('n', { cpu: 1 })), pods: [] };
  const given = toInput(situation);
  const plan = planProvisioning(given, instant(0));
  const [held] = plan.buffers;
  const rulesOf = (changed: Plan, parts: Partial<Situation> = {}): ReadonlyArray<string> => [
    ...new Set(auditPlan(changed, toInput({ ...situation, ...parts })).map(({ rule }) => rule)),
  ];
  if (held === undefined) throw new Error('the buffer is in the plan');

  test('that does not tell of a buffer, or tells of one that nobody wants', () => {
    expect(rulesOf({ ...plan, buffers: [] })).toContain('buffers');
    expect(rulesOf(plan, { capacityBuffers: [] })).toContain('buffers');
  });

  test('that holds less room than is asked for, or more', () => {
    expect(rulesOf({ ...plan, buffers: [{ ...held, nominations: [] }] })).toContain('buffers');
    expect(rulesOf(plan, { capacityBuffers: [buffer({ replicas: 1 })] })).toContain('buffers');
  });

  test('that tells of its pods as of real ones', () => {
    const [claim] = plan.claims;
    const pods = held.claims.flatMap((one) => one.pods);
    if (claim === undefined) throw new Error('there is a claim');
    const changed = { ...plan, claims: [{ ...claim, pods }], buffers: [{ ...held, claims: [] }] };
    expect(rulesOf(changed)).toContain('buffers');
  });

  test('that holds room where there is none, or where its template may not be', () => {
    expect(rulesOf(plan, machines(ours('n', { cpu: 0 })))).toContain('resources');
    const moved = { podTemplates: [template(spec('1', '1Gi', { nodeSelector: { [key.zone]: z1, x: 'y' } }))] };
    expect(rulesOf(plan, moved)).toContain('node-affinity');
  });

  test('in which a buffer has room that a pod is left without', () => {
    const waiting = { pods: [pod('real', { cpu: '1' })] };
    const left = { ...plan, left: [{ pod: { name: 'default/real', uid: 'real' }, refusals: [] }] };
    expect(rulesOf(left, waiting)).toContain('buffer-precedence');
    expect(rulesOf(left, { pods: [pod('real', { cpu: '40' })] })).not.toContain('buffer-precedence');
  });

  test('in which a buffer takes a pool past its limits', () => {
    expect(rulesOf(plan, { pools: [pool('default', { limits: { cpu: '1' } })] })).toContain('limits');
  });

  test('made for no pod, real or not', () => {
    expect(rulesOf({ ...plan, buffers: [] })).toContain('empty-claim');
  });
});
