import { describe, expect, test } from 'vitest';
import { poolsFor } from '../../../../shared/core/disruption/candidates/pools.ts';
import { renderKept } from '../../../../shared/core/disruption/plan/render-kept.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { offering, onDemand, requirement, shape, size, spec } from '../../../kit/core/build.ts';
import {
  CONSOLIDATABLE,
  disruptable,
  disruptionInput,
  keptFor,
  machine,
  NOW,
  on,
  plan,
  removed,
  type Machine,
} from '../../../kit/core/build-disruption.ts';

/** How many nodes of a NodePool may go at once. */

const pod = shape(spec('500m', '1Gi'));
const deletionTimestamp = '1970-01-02T11:59:00Z';
const names = Array.from({ length: 10 }, (_, index) => `n${index}`);

describe('what a budget counts', () => {
  function poolsOf(machines: ReadonlyArray<Machine>, nodes = '50%') {
    const nodePools = [disruptable('general', { budgets: [{ nodes }] })];
    const { cluster } = disruptionInput({ machines, shapes: [], pods: [], nodePools }).provisioning;
    return poolsFor(cluster, instant(NOW));
  }
  const allowed = (machines: ReadonlyArray<Machine>, nodes?: string): number => {
    const pools = poolsOf(machines, nodes);
    return pools.allowed('general', 'Empty', pools.nodes('general'));
  };
  const six = names.slice(0, 6).map((name) => machine(name));

  test.each<[string, Machine]>([
    ['a node of nobody’s', machine('x', { nodePool: 'other' })],
    ['a node without a claim', { node: machine('x').node, claim: machine('y').claim }],
    ['a node that is not initialized', machine('x', { initialized: false })],
    ['a node whose machine is being deleted', machine('x', { conditions: [terminating()] })],
  ])('%s is none of it [L02]', (_, other) => {
    expect([poolsOf([...six, other]).nodes('general'), allowed([...six, other])]).toEqual([6, 3]);
  });

  test.each([
    ['is being deleted', { nodeParts: { deletionTimestamp } }],
    ['is not ready', { nodeConditions: [{ type: 'Ready', status: 'False' }] }],
    ['says nothing of being ready any more', { nodeConditions: [{ type: 'Ready', status: 'Unknown' }] }],
  ])('a node that %s is of it, and in disruption [L02]', (_, parts) => {
    const all = [...six.slice(0, 5), machine('x', parts)];
    expect([poolsOf(all).nodes('general'), poolsOf(all).disrupting('general'), allowed(all)]).toEqual([6, 1, 2]);
  });

  test('what is left is none, not less, where more are in disruption than may be [L02]', () => {
    const leaving = names.slice(0, 4).map((name) => machine(name, { nodeParts: { deletionTimestamp } }));
    expect(allowed([...leaving, ...six.slice(4)], '1')).toBe(0);
  });

  test('a node that both drains and is not ready counts once [L02]', () => {
    const both = { nodeParts: { deletionTimestamp }, nodeConditions: [{ type: 'Ready', status: 'False' }] };
    expect(allowed([...six.slice(0, 5), machine('x', both)])).toBe(2);
  });
});

function terminating() {
  return { type: 'InstanceTerminating', status: 'True' };
}

describe.each([
  ['empty', [CONSOLIDATABLE], 0, 'Empty'],
  ['drifted', [driftedAt(0)], 3, 'Drifted'],
] as const)('nodes that are %s', (_, conditions, count, reason) => {
  const made = (budgets: ReadonlyArray<{ readonly nodes: string; readonly reasons?: ReadonlyArray<string> }>) =>
    plan({
      machines: names.map((name) => machine(name, { cpu: 2, conditions })),
      shapes: [pod],
      pods: names.flatMap((name) => on(name, 0, count)),
      nodePools: [disruptable('general', { budgets })],
    });
  const first = (budgets: Parameters<typeof made>[0]): number => made(budgets).steps[0]?.remove.length ?? 0;

  test.each([
    ['3', 3],
    ['0', 0],
    ['100%', 10],
    ['25%', 3],
  ])('go at once as far as a budget of %s lets them [L03]', (nodes, most) => {
    expect(first([{ nodes }])).toBe(most);
  });

  test('go as far as the least of several budgets for their reason lets them [L03]', () => {
    expect(first([{ nodes: '6' }, { nodes: '2', reasons: [reason] }, { nodes: '1', reasons: ['Other'] }])).toBe(2);
  });

  test('of several NodePools go as far as each lets its own [L03]', () => {
    const pools = ['x', 'y', 'z'];
    const budgets: Readonly<Record<string, string>> = { x: '2', y: '0', z: '100%' };
    const machines = pools.flatMap((nodePool) =>
      [0, 1, 2].map((index) => machine(`${nodePool}${index}`, { cpu: 2, nodePool, conditions })),
    );
    const { steps } = plan({
      machines,
      shapes: [pod],
      pods: machines.flatMap(({ node }) => on(node.metadata.name, 0, count)),
      nodePools: pools.map((name) => disruptable(name, { budgets: [{ nodes: budgets[name] ?? '' }] })),
    });
    const perPool = pools.map((name) => steps[0]?.remove.filter((node) => node.startsWith(name)).length);
    expect(perPool).toEqual([2, 0, 3]);
  });
});

function driftedAt(hour: number) {
  return { type: 'Drifted', status: 'True', lastTransitionTime: `1970-01-02T0${hour}:00:00Z` };
}

describe('nodes that have drifted', () => {
  const full = (
    machines: ReadonlyArray<Machine>,
    nodePools = [disruptable('general', { budgets: [{ nodes: '1' }] })],
  ) =>
    plan({
      machines,
      shapes: [pod],
      pods: machines.flatMap(({ node }) => on(node.metadata.name, 0, 3)),
      nodePools,
    });

  test('go one after the other where one may at a time, who drifted first before who drifted later [L03]', () => {
    const machines = [3, 1, 2].map((hour) => machine(`h${hour}`, { cpu: 2, conditions: [driftedAt(hour)] }));
    expect(full(machines).steps.map(({ remove }) => remove)).toEqual([['h1'], ['h2'], ['h3']]);
  });

  test('go before all others where they have no pods, whenever they drifted [L03]', () => {
    const machines = [1, 2, 3].map((hour) => machine(`h${hour}`, { cpu: 2, conditions: [driftedAt(hour)] }));
    const nodePools = [disruptable('general', { budgets: [{ nodes: '1' }] })];
    const made = plan({ machines, shapes: [pod], pods: [...on('h1', 0, 4), ...on('h2', 0, 4)], nodePools });
    expect(made.steps.map(({ remove }) => remove)).toEqual([['h3'], ['h1'], ['h2']]);
  });

  test('need not be Consolidatable, nor of a pool that consolidates [L03]', () => {
    const nodePools = [disruptable('general', { consolidationPolicy: 'WhenEmpty', consolidateAfter: 'Never' })];
    const made = full([machine('a', { cpu: 2, conditions: [driftedAt(1)] })], nodePools);
    expect(made.steps).toMatchObject([{ reason: 'Drifted', remove: ['a'] }]);
  });

  test('are those whose condition is True, and no others [L03]', () => {
    const conditions = [{ ...driftedAt(1), status: 'False' }];
    expect(keptFor(full([machine('a', { cpu: 2, conditions })]), 'a')).toBe('not-consolidatable');
  });

  describe('and whose pool allows only smaller nodes by now', () => {
    const requirements = [onDemand, requirement('karpenter.azure.com/sku-cpu', 'In', '2')];
    const large = machine('a', { cpu: 8, zone: 'westeurope-2', conditions: [driftedAt(1)] });
    const given = {
      machines: [large],
      shapes: [pod],
      pods: on('a', 0, 9),
      nodePools: [disruptable('general', {}, { requirements })],
    };
    const zonesOf = ({ replacements }: ReturnType<typeof plan>) => new Set(replacements.map(({ zone }) => zone));

    test('are followed by as many as their pods need, in their zone [L03]', () => {
      const made = plan(given);
      expect(made.steps).toMatchObject([{ remove: ['a'], create: ['general-1', 'general-2', 'general-3'] }]);
      expect([made.steps[0]?.moves.length, zonesOf(made)]).toEqual([9, new Set(['westeurope-2'])]);
    });

    test('are followed by nodes of another zone where theirs has none [L03]', () => {
      const elsewhere = [
        size('Standard_D2s_v5', 2, 8, 100_000, { offerings: [offering('westeurope-3', 'on-demand', 100_000)] }),
      ];
      const made = plan({ ...given, types: elsewhere });
      expect([removed(made), zonesOf(made)]).toEqual([['a'], new Set(['westeurope-3'])]);
    });

    test('stay where the limit of their pool has room for some of these only [L03]', () => {
      const nodePools = [disruptable('general', {}, { requirements, limits: { nodes: '3' } })];
      const held = plan({ ...given, nodePools });
      expect([held.steps, held.replacements, keptFor(held, 'a')]).toEqual([[], [], 'not-replaced']);
    });

    test('stay where a rule about other pods would keep theirs from any new node [L03]', () => {
      const alone = shape(
        spec('500m', '1Gi', {
          affinity: {
            podAntiAffinity: {
              requiredDuringSchedulingIgnoredDuringExecution: [
                { topologyKey: 'topology.kubernetes.io/zone', labelSelector: { matchLabels: { app: 'db' } } },
              ],
            },
          },
        }),
      );
      const db = shape(spec('100m', '128Mi'), { app: 'db' });
      const others = [1, 2, 3].map((zone) =>
        machine(`z${zone}`, { cpu: 2, zone: `westeurope-${zone}`, conditions: [] }),
      );
      const pods = [...given.pods, ...on('a', 1, 1), ...others.flatMap(({ node }) => on(node.metadata.name, 2, 1))];
      const held = plan({ ...given, machines: [large, ...others], shapes: [pod, alone, db], pods });
      expect([held.steps, keptFor(held, 'a')]).toEqual([[], 'not-replaced']);
    });
  });

  test('and whose pods find no place leave the others to go [L03]', () => {
    const stuck = shape(spec('500m', '1Gi', { nodeSelector: { 'kubernetes.io/hostname': 'a' } }));
    const made = plan({
      machines: ['a', 'b'].map((name) => machine(name, { cpu: 2, conditions: [driftedAt(1)] })),
      shapes: [pod, stuck],
      pods: [...on('a', 1, 1), ...on('b', 0, 3)],
    });
    expect([made.steps.flatMap(({ remove }) => remove), keptFor(made, 'a')]).toEqual([['b'], 'not-replaced']);
  });

  test('go though they are too young to be consolidated, and wait for no pod that came lately [L03]', () => {
    const nodePools = [disruptable('general', { consolidateAfter: '24h' })];
    const lately = { cpu: 2, conditions: [driftedAt(1)], lastPodEventTime: '1970-01-02T11:59:59Z' } as const;
    expect(full([machine('a', lately)], nodePools).steps).toMatchObject([{ remove: ['a'] }]);
  });
});

test.each([
  ['0', 1, 'the budgets of NodePool general allow 0 disrupted nodes at a time, and 1 is being disrupted'],
  ['1', 2, 'the budgets of NodePool general allow 1 disrupted node at a time, and 2 are being disrupted'],
  ['20%', 2, 'the budgets of NodePool general allow 2 disrupted nodes at a time, and 2 are being disrupted'],
])(
  'a node that stays for a budget of %s says what the budget allows, and how many nodes are on their way: %i',
  (nodes, count, text) => {
    const machines = names.map((name, index) =>
      machine(name, { cpu: 2, ...(index < count ? { nodeParts: { deletionTimestamp } } : {}) }),
    );
    const made = plan({
      machines,
      shapes: [],
      pods: [],
      nodePools: [disruptable('general', { budgets: [{ nodes }] })],
    });
    const { reason } = made.kept.find(({ node }) => node === 'n9') ?? {};
    expect(reason === undefined ? '' : renderKept(reason, 'USD')).toBe(text);
  },
);
