import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { applyEnds } from '../../../shared/core/disruption/apply-ends.ts';
import { auditDisruption } from '../../../shared/core/disruption/audit/audit-disruption.ts';
import type { DisruptionInput } from '../../../shared/core/model/disruption-input.ts';
import { planDisruption } from '../../../shared/core/disruption/plan-disruption.ts';
import type { DisruptionPlan } from '../../../shared/core/disruption/plan/disruption-plan.ts';
import { instant } from '../../../shared/core/quantity/units.ts';
import { onDemand, requirement, shape, spec, zones } from '../../kit/core/build.ts';
import { disruptable, disruptionInput, machine, NOW, on } from '../../kit/core/build-disruption.ts';
import { drawsOf } from '../../setup/draws.ts';

/** Small clusters whose nodes are half empty, drawn from few values so that ties and conflicts happen. */

const app = { matchLabels: { app: 'web' } };
const apart = {
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: app }],
    },
  },
};
const even = {
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule', labelSelector: app },
  ],
};
const shapes = [
  shape(spec('250m', '512Mi')),
  shape(spec('900m', '1Gi')),
  shape(spec('500m', '3Gi', apart), { app: 'web' }),
  shape(spec('300m', '1Gi', even), { app: 'web' }),
  { ...shape(spec('100m', '128Mi')), annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
  shape(spec('400m', '512Mi'), { app: 'db' }),
];

const drawnMachine = fc.record({
  cpu: fc.constantFrom(2 as const, 4 as const, 8 as const),
  zone: fc.constantFrom(...zones),
  capacityType: fc.constantFrom('on-demand', 'on-demand', 'spot'),
  counts: fc.tuple(
    fc.integer({ min: 0, max: 2 }),
    fc.integer({ min: 0, max: 1 }),
    fc.integer({ min: 0, max: 1 }),
    fc.integer({ min: 0, max: 1 }),
    fc.constantFrom(0, 0, 0, 0, 1),
    fc.integer({ min: 0, max: 1 }),
  ),
  isDrifted: fc.constantFrom(false, false, false, true),
});

const drawnInput = fc
  .record({
    machines: fc.array(drawnMachine, { minLength: 1, maxLength: 8 }),
    policy: fc.constantFrom('WhenEmpty', 'WhenEmptyOrUnderutilized', 'WhenEmptyOrUnderutilized', 'Balanced'),
    budget: fc.constantFrom('100%', '1', '30%', '0'),
    // What drifted may have to be followed by smaller nodes.
    requirements: fc.constantFrom([onDemand], [], [onDemand, requirement('karpenter.azure.com/sku-cpu', 'In', '2')]),
    disruptionsAllowed: fc.constantFrom(0, 1, 3),
  })
  .map(({ machines, policy, budget, requirements, disruptionsAllowed }): DisruptionInput => {
    const names = machines.map((_, index) => `n${index}`);
    return disruptionInput({
      machines: machines.map(({ isDrifted, cpu, zone, capacityType }, index) => {
        const types = isDrifted ? ['Consolidatable', 'Drifted'] : ['Consolidatable'];
        const conditions = types.map((type) => ({ type, status: 'True' }));
        return machine(names[index] ?? '', { cpu, zone, capacityType, conditions });
      }),
      shapes,
      pods: machines.flatMap(({ counts }, index) => counts.flatMap((count, at) => on(names[index] ?? '', at, count))),
      nodePools: [
        disruptable('general', { consolidationPolicy: policy, budgets: [{ nodes: budget }] }, { requirements }),
      ],
      podDisruptionBudgets: [
        {
          metadata: { name: 'db', namespace: 'default' },
          spec: { selector: { matchLabels: { app: 'db' } } },
          status: { disruptionsAllowed },
        },
      ],
      disruption: { searchSteps: 200_000 },
    });
  });

/** Nodes that leave, that nobody may come to, or that are not well; pods that go, and pods that wait. */
const drawnTrouble = fc.record({
  given: drawnInput,
  nodes: fc.array(fc.constantFrom('well', 'well', 'leaving', 'closed', 'sick', 'busy'), { minLength: 8, maxLength: 8 }),
  deleting: fc.array(fc.nat(40), { maxLength: 4 }),
  waiting: fc.array(fc.nat(shapes.length - 1), { maxLength: 3 }),
});

function troubled({
  given,
  nodes: states,
  deleting,
  waiting,
}: typeof drawnTrouble extends fc.Arbitrary<infer T> ? T : never): DisruptionInput {
  const { cluster } = given.provisioning;
  const deletionTimestamp = '1970-01-02T11:59:00Z';
  const nodes = cluster.nodes.map((node, index) => {
    const state = states[index];
    if (state === 'closed') return { ...node, spec: { ...node.spec, unschedulable: true } };
    if (state === 'sick')
      return { ...node, status: { ...node.status, conditions: [{ type: 'Ready', status: 'False' }] } };
    if (state !== 'leaving') return node;
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    return { ...node, metadata: { ...node.metadata, deletionTimestamp }, spec: { ...node.spec, taints } };
  });
  const nodeClaims = cluster.nodeClaims.map((claim, index) => {
    if (states[index] === 'leaving') return { ...claim, metadata: { ...claim.metadata, deletionTimestamp } };
    return states[index] === 'busy' ? { ...claim, status: { ...claim.status, conditions: [] } } : claim;
  });
  const gone = new Set(deleting);
  const pods = [
    ...cluster.pods.map((pod, index) => (gone.has(index) ? { ...pod, deleting: true } : pod)),
    ...waiting.flatMap((index, at) => poolPods(index, at)),
  ];
  return { ...given, provisioning: { ...given.provisioning, cluster: { ...cluster, nodes, nodeClaims, pods } } };
}

/** One that waits. */
function poolPods(index: number, at: number): ReturnType<typeof on> {
  return on('', index, 1, { nodeName: null, uid: `waiting-${at}`, name: `waiting-${at}` });
}

const runs = { numRuns: drawsOf(60) };
const planned = (given: DisruptionInput): DisruptionPlan => planDisruption(given, instant(NOW));

/** The cluster once the plan has been carried out. */
function applied(given: DisruptionInput, { steps, replacements }: DisruptionPlan): DisruptionInput {
  const ends = {
    gone: new Set(steps.flatMap(({ remove }) => remove)),
    created: new Map(replacements.map((one) => [one.name, one])),
    homes: new Map(steps.flatMap(({ moves }) => moves.map(({ uid, to }) => [uid, to.name] as const))),
  };
  return { ...given, provisioning: applyEnds(given.provisioning, ends) };
}

test('every plan of disruption passes the audit that shares no code with it', () => {
  fc.assert(
    fc.property(drawnInput, (given) => {
      expect(auditDisruption(planned(given), given, instant(NOW))).toEqual([]);
    }),
    runs,
  );
}, 120_000);

test('so does one that is made while nodes leave or are not well, and pods come and go', () => {
  fc.assert(
    fc.property(drawnTrouble, (drawn) => {
      const given = troubled(drawn);
      expect(auditDisruption(planned(given), given, instant(NOW))).toEqual([]);
    }),
    runs,
  );
});

test('no pod moves twice, and none from where it must stay', () => {
  fc.assert(
    fc.property(drawnInput, (given) => {
      const { pods } = given.provisioning.cluster;
      const moved = planned(given).steps.flatMap(({ moves }) => moves.map(({ uid }) => uid));
      expect(new Set(moved).size).toBe(moved.length);
      const kept = new Set(pods.filter((pod) => pod.shape === 4).map(({ uid }) => uid));
      expect(moved.filter((uid) => kept.has(uid))).toEqual([]);
    }),
    runs,
  );
}, 120_000);

test('what is not forced never costs more, step by step, and never less than the bound', () => {
  fc.assert(
    fc.property(drawnInput, (given) => {
      const { steps, after, lowerBound } = planned(given);
      for (const { reason, saved } of steps) if (reason !== 'Drifted') expect(saved).toBeGreaterThanOrEqual(0);
      expect(lowerBound).toBeLessThanOrEqual(after.cost);
    }),
    runs,
  );
}, 120_000);

test('a plan that has been carried out is followed by an empty one, unless no order of steps led to all that was found or would have', () => {
  fc.assert(
    fc.property(drawnInput, (given) => {
      const first = planned(given);
      fc.pre(first.kept.every(({ reason }) => reason.kind !== 'no-order'));
      const again = planned(applied(given, first));
      // What replaces nodes that must go comes first: a later step may leave it without need, and no pod moves twice in
      // one plan. So may one be left for which a pod had to move that spreads: before that has, others it counts cannot
      // move as they can then.
      const spread = first.steps.some(({ moves }) => moves.some(({ uid }) => uid.startsWith('s3-')));
      const madeFirst = new Set(
        first.steps.filter(({ reason }) => spread || reason === 'Drifted').flatMap(({ create }) => create),
      );
      const further = again.steps.filter(({ remove }) => !remove.every((name) => madeFirst.has(name)));
      expect(further.map(({ reason, remove }) => [reason, remove])).toEqual([]);
    }),
    runs,
  );
}, 120_000);
