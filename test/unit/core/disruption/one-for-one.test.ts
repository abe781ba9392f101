import { describe, expect, test } from 'vitest';
import { auditDisruption } from '../../../../shared/core/disruption/audit/audit-disruption.ts';
import type { DisruptionPlan } from '../../../../shared/core/disruption/plan/disruption-plan.ts';
import type { PodShape } from '../../../../shared/core/model/cluster.ts';
import type { Condition, PodDisruptionBudget } from '../../../../shared/kubernetes/manifest.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { shape, spec } from '../../../kit/core/build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  disruptionInput,
  machine,
  NOW,
  on,
  plan,
} from '../../../kit/core/build-disruption.ts';

/**
 * A node that must go, with pods that spread over hosts, is replaced one for one: it is a host without them for as long
 * as it is there, and counts no more once it has gone. So some of them come then.
 */

const drifted: Condition = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };
const zones = ['westeurope-1', 'westeurope-2', 'westeurope-3'];

/** Nothing is consolidated, so that what has come stays as it is. */
const nodePools = [disruptable('general', { consolidateAfter: 'Never' })];

interface Spread {
  readonly app?: string;
  readonly maxSkew?: number;
  readonly cpu?: string;
  readonly byZones?: boolean;
  readonly parts?: object;
}

function overHosts({ app = 'a', maxSkew = 1, cpu = '500m', byZones = false, parts = {} }: Spread = {}): PodShape {
  const spread = { maxSkew, whenUnsatisfiable: 'DoNotSchedule', labelSelector: { matchLabels: { app } }, ...parts };
  const keys = ['kubernetes.io/hostname', ...(byZones ? ['topology.kubernetes.io/zone'] : [])];
  const topologySpreadConstraints = keys.map((topologyKey) => ({ ...spread, topologyKey }));
  return shape(spec(cpu, '1Gi', { topologySpreadConstraints }), { app });
}

interface Situation {
  readonly nodes: number;
  /** So many of them have drifted. */
  readonly drifted: number;
  /** By shape, on each node. */
  readonly each: ReadonlyArray<number>;
  readonly shapes: ReadonlyArray<PodShape>;
  readonly podDisruptionBudgets?: ReadonlyArray<PodDisruptionBudget>;
}

function situation({ nodes, drifted: gone, each, shapes, podDisruptionBudgets = [] }: Situation) {
  const names = Array.from({ length: nodes }, (_, index) => `n${index}`);
  return {
    machines: names.map((name, index) =>
      machine(name, { zone: zones[index % 3] ?? '', conditions: index < gone ? [drifted] : [CONSOLIDATABLE] }),
    ),
    shapes,
    pods: names.flatMap((name) => each.flatMap((count, index) => on(name, index, count))),
    nodePools,
    podDisruptionBudgets,
  };
}

/** How many nodes go and come. */
function exchanged({ steps, replacements }: DisruptionPlan): string {
  return `${steps.flatMap(({ remove }) => remove).length} for ${replacements.length}`;
}

const OTHER = shape(spec('500m', '1Gi'));

describe('nodes that have drifted', () => {
  test.each<[string, Situation, string]>([
    ['one with three pods', { nodes: 1, drifted: 1, each: [3], shapes: [overHosts()] }, '1 for 1'],
    ['two with two each', { nodes: 2, drifted: 2, each: [2], shapes: [overHosts()] }, '2 for 2'],
    [
      'one with three pods of each of two Deployments',
      { nodes: 1, drifted: 1, each: [3, 3], shapes: [overHosts(), overHosts({ app: 'b' })] },
      '1 for 1',
    ],
    ['with maxSkew 2', { nodes: 2, drifted: 2, each: [4], shapes: [overHosts({ maxSkew: 2 })] }, '2 for 2'],
    ['one of three', { nodes: 3, drifted: 1, each: [3], shapes: [overHosts({ cpu: '1' })] }, '1 for 1'],
    ['all three', { nodes: 3, drifted: 3, each: [3], shapes: [overHosts({ cpu: '1' })] }, '3 for 3'],
    [
      'all three, spread over zones too',
      { nodes: 3, drifted: 3, each: [3], shapes: [overHosts({ cpu: '1', byZones: true })] },
      '3 for 3',
    ],
    ['beside other pods', { nodes: 2, drifted: 2, each: [3, 2], shapes: [overHosts(), OTHER] }, '2 for 2'],
  ])('%s are replaced one for one', (_, given, expected) => {
    expect(exchanged(plan(situation(given)))).toBe(expected);
  });

  test('pods that avoid their like on a host have a host of their own, as before', () => {
    const averse = shape(
      spec('500m', '1Gi', {
        affinity: {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { app: 'c' } } },
            ],
          },
        },
      }),
      { app: 'c' },
    );
    const made = plan(situation({ nodes: 2, drifted: 2, each: [1], shapes: [averse] }));
    expect(exchanged(made)).toBe('2 for 2');
    expect(new Set(made.steps.flatMap(({ moves }) => moves.map(({ to }) => to.name))).size).toBe(2);
  });

  test('where a host stays that has none of the pods, each of them needs a host of its own: it always counts', () => {
    const given = situation({ nodes: 1, drifted: 1, each: [3], shapes: [overHosts()] });
    const full = shape(spec('4', '1Gi'));
    const made = plan({
      ...given,
      machines: [...given.machines, machine('other', { conditions: [] })],
      shapes: [...given.shapes, full],
      pods: [...given.pods, ...on('other', 1, 1)],
    });
    expect(exchanged(made)).toBe('1 for 3');
  });

  test('where minDomains says that a host without pods counts until there are so many, it does', () => {
    const given = situation({ nodes: 1, drifted: 1, each: [2], shapes: [overHosts({ parts: { minDomains: 2 } })] });
    expect(exchanged(plan(given))).toBe('1 for 2');
  });
});

describe('pods that wait until their node has gone', () => {
  const budget = (disruptionsAllowed: number): PodDisruptionBudget => ({
    metadata: { name: 'a', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'a' } } },
    status: { disruptionsAllowed },
  });

  test.each([
    // The last could not be evicted while others wait: the node would never go.
    [1, '1 for 3'],
    [2, '1 for 1'],
  ])('are so many as their budget lets wait together: %d may, and it is %s', (allowed, expected) => {
    const given = { nodes: 1, drifted: 1, each: [3], shapes: [overHosts()], podDisruptionBudgets: [budget(allowed)] };
    expect(exchanged(plan(situation(given)))).toBe(expected);
  });

  test('where the budget is enough for the pods of one node, nodes go one after another', () => {
    const shapes = [overHosts({ cpu: '1' })];
    const made = plan(situation({ nodes: 3, drifted: 3, each: [3], shapes, podDisruptionBudgets: [budget(2)] }));
    expect(made.steps.map(({ remove, create }) => [remove.length, create.length])).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
  });
});

describe('its audit', () => {
  const given = situation({ nodes: 1, drifted: 1, each: [3], shapes: [overHosts()] });
  const made = plan(given);
  const rulesOf = (changed: DisruptionPlan, parts: Parameters<typeof disruptionInput>[0] = given): unknown =>
    auditDisruption(changed, disruptionInput(parts), instant(NOW)).map(({ rule }) => rule);

  test('lets the same moves through for no reason about money', () => {
    const steps = made.steps.map((step) => ({ ...step, reason: 'Underutilized' as const }));
    expect(rulesOf({ ...made, steps })).toContain('spread');
  });

  test('refuses a host with more pods than any that goes had', () => {
    const more = situation({ nodes: 2, drifted: 2, each: [2], shapes: [overHosts()] });
    const two = plan(more);
    const [step] = two.steps;
    const moves = step?.moves.map((move) => ({ ...move, to: step.moves[0]?.to ?? move.to })) ?? [];
    const steps = two.steps.map((one) => ({ ...one, moves }));
    expect(rulesOf({ ...two, steps }, more)).toContain('spread');
  });

  test('refuses more pods that wait together than their budget allows', () => {
    const podDisruptionBudgets = [
      {
        metadata: { name: 'a', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'a' } } },
        status: { disruptionsAllowed: 1 },
      },
    ];
    expect(rulesOf(made, { ...given, podDisruptionBudgets })).toEqual(['waiting']);
  });
});
