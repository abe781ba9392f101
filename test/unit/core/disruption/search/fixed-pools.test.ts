import { describe, expect, test } from 'vitest';
import { auditDisruption } from '../../../../../shared/core/disruption/audit/audit-disruption.ts';
import { planDisruption } from '../../../../../shared/core/disruption/plan-disruption.ts';
import type { PodShape } from '../../../../../shared/core/model/cluster.ts';
import { AKS_REPAIRS } from '../../../../../shared/core/model/disruption-input.ts';
import type { NodePool } from '../../../../../shared/kubernetes/manifest.ts';
import { fixedPools } from '../../../../../shared/core/disruption/search/fixed-pools.ts';
import { instant } from '../../../../../shared/core/quantity/units.ts';
import { onDemand, shape, spec } from '../../../../kit/core/build.ts';
import {
  disruptable,
  disruptionInput,
  keptFor,
  machine,
  NOW,
  on,
  plan,
  type Machine,
} from '../../../../kit/core/build-disruption.ts';

/** Pool `fixed` has two nodes, full of pods that run nowhere else. */
const TAINT = { key: 'team', value: 'db', effect: 'NoSchedule' };
const own = (cpu: string) =>
  shape(
    spec(cpu, '1Gi', {
      nodeSelector: { 'karpenter.sh/nodepool': 'fixed' },
      tolerations: [{ key: 'team', operator: 'Exists' }],
    }),
  );
/** The same, whose pods spread over hosts. */
function overHosts(cpu: string): PodShape {
  const alike = own(cpu);
  const spread = {
    maxSkew: 1,
    topologyKey: 'kubernetes.io/hostname',
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector: { matchLabels: { app: 'db' } },
  };
  return { ...alike, labels: { app: 'db' }, spec: { ...alike.spec, topologySpreadConstraints: [spread] } };
}

const DRIFTED = { type: 'Drifted', status: 'True', lastTransitionTime: '1970-01-02T00:00:00Z' };

function fixed(replicas = 2, limits?: NodePool['spec']['limits']): NodePool {
  const pool = disruptable('fixed', {}, { requirements: [onDemand] });
  const template = { ...pool.spec.template, spec: { ...pool.spec.template.spec, taints: [TAINT] } };
  return { ...pool, spec: { ...pool.spec, template, replicas, ...(limits === undefined ? {} : { limits }) } };
}

function of(name: string, parts: Parameters<typeof machine>[1] = {}): Machine {
  const one = machine(name, { nodePool: 'fixed', cpu: 2, ...parts });
  return {
    ...one,
    node: { ...one.node, spec: { ...one.node.spec, taints: [TAINT, ...(one.node.spec?.taints ?? [])] } },
  };
}

const cluster = (machines: ReadonlyArray<Machine>, cpu = '700m', parts: object = {}) => ({
  machines,
  shapes: [own(cpu)],
  pods: machines.flatMap(({ node }) => on(node.metadata.name, 0, 2)),
  nodePools: [disruptable(), fixed()],
  ...parts,
});

describe('a node of a pool with a fixed number that must go, with pods on it', () => {
  test.each([
    ['has drifted', { conditions: [DRIFTED] }, 'Drifted', {}],
    ['has expired', { claimSpec: { expireAfter: '1h' } }, 'Expired', {}],
    [
      'is sick',
      { nodeConditions: [{ type: 'Ready', status: 'False', lastTransitionTime: '1970-01-02T00:00:00Z' }] },
      'Unhealthy',
      { disruption: { repairs: AKS_REPAIRS } },
    ],
  ])('is followed by another of the pool that takes its pods, where it %s', (_, change, reason, parts) => {
    const a = of('a', change);
    const old = {
      ...a,
      claim: { ...a.claim, metadata: { ...a.claim.metadata, creationTimestamp: '1970-01-01T00:00:00Z' } },
    };
    const made = plan(cluster([old, of('b')], '700m', parts));
    expect(made.steps).toMatchObject([
      { reason, remove: ['a'], create: ['fixed-1'], moves: [{ to: { kind: 'claim' } }, { to: { name: 'fixed-1' } }] },
    ]);
    expect(made.replacements).toMatchObject([{ nodePool: 'fixed', instanceType: 'Standard_D2s_v5' }]);
  });

  test('has the same though the pool has as many nodes as its limit', () => {
    const nodePools = [disruptable(), fixed(2, { nodes: '2' })];
    const made = plan(cluster([of('a', { conditions: [DRIFTED] }), of('b')], '700m', { nodePools }));
    expect(made.steps.map(({ remove, create }) => [remove, create])).toEqual([[['a'], ['fixed-1']]]);
  });

  test('goes alone: of two the other comes next', () => {
    const made = plan(cluster([of('a', { conditions: [DRIFTED] }), of('b', { conditions: [DRIFTED] })]));
    expect(made.steps.map(({ remove, create }) => [remove.length, create.length])).toEqual([
      [1, 1],
      [1, 1],
    ]);
  });

  test('waits while another is marked to go, and not while one drains', () => {
    const marked = of('b');
    const taints = [TAINT, { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    const b = { ...marked, node: { ...marked.node, spec: { ...marked.node.spec, taints } } };
    const a = of('a', { conditions: [DRIFTED] });
    expect(keptFor(plan(cluster([a, b, of('c')])), 'a')).toBe('one-by-one');
    const metadata = { ...b.claim.metadata, deletionTimestamp: '1970-01-02T11:00:00Z' };
    const draining = { ...b, claim: { ...b.claim, metadata } };
    expect(plan(cluster([a, draining, of('c')])).steps).toMatchObject([{ remove: ['a'], create: ['fixed-1'] }]);
  });

  test.each([
    ['3', []],
    ['4', ['a']],
  ])('waits while one drains where there would be more nodes than the limit of %s', (nodes, removed) => {
    const b = of('b');
    const draining = {
      ...b,
      claim: { ...b.claim, metadata: { ...b.claim.metadata, deletionTimestamp: '1970-01-02T11:00:00Z' } },
    };
    const nodePools = [disruptable(), fixed(2, { nodes })];
    const made = plan(cluster([of('a', { conditions: [DRIFTED] }), draining, of('c')], '700m', { nodePools }));
    expect(made.steps.flatMap(({ remove }) => remove)).toEqual(removed);
    if (removed.length === 0) expect(keptFor(made, 'a')).toBe('one-by-one');
  });

  test('is followed by one of its own pool, also where another pool lacks nodes', () => {
    const { metadata, spec: of2, ...rest } = fixed(1);
    const nodePools = [disruptable(), { ...rest, metadata: { ...metadata, name: 'a-fixed' }, spec: of2 }, fixed()];
    const made = plan(cluster([of('a', { conditions: [DRIFTED] }), of('b')], '700m', { nodePools }));
    expect(made.replacements.map(({ nodePool }) => nodePool)).toEqual(['fixed']);
  });

  test('stays where the next node of the pool would not hold its pods', () => {
    const made = plan(cluster([of('a', { cpu: 4, conditions: [DRIFTED] }), of('b', { cpu: 4 })], '1500m'));
    expect([made.steps, keptFor(made, 'a')]).toEqual([[], 'not-replaced']);
  });

  test('has its pods go where there is room where the next node of the pool would hold none of them', () => {
    const made = plan(
      cluster([of('a', { cpu: 4, conditions: [DRIFTED] }), of('b', { cpu: 8 })], '3', {
        pods: [...on('a', 0, 1), ...on('b', 0, 1)],
      }),
    );
    expect([made.steps, made.replacements]).toMatchObject([
      [{ remove: ['a'], create: [], moves: [{ to: { name: 'b' } }] }],
      [],
    ]);
  });

  test('is followed by one that takes all its pods, where they spread over hosts and some come once it has gone', () => {
    const shapes = [overHosts('700m')];
    const made = plan(
      cluster([of('a', { conditions: [DRIFTED] })], '700m', { shapes, nodePools: [disruptable(), fixed(1)] }),
    );
    expect(made.steps).toMatchObject([
      { remove: ['a'], create: ['fixed-1'], moves: [{ to: { name: 'fixed-1' } }, { to: { name: 'fixed-1' } }] },
    ]);
  });

  test('that is one too many is not waited for by pods that spread over hosts: it stays, and they find no place', () => {
    const made = plan(
      cluster([of('a'), of('b')], '300m', {
        shapes: [overHosts('300m'), own('300m')],
        pods: [...on('a', 0, 2), ...on('b', 1, 3)],
        nodePools: [disruptable(), fixed(1)],
      }),
    );
    expect([made.steps, keptFor(made, 'a')]).toEqual([[], 'not-replaced']);
  });

  test('no other pool’s node is replaced by one of the pool', () => {
    const shared = { ...cluster([of('a'), of('b')]), shapes: [own('700m'), shape(spec('500m', '1Gi'))] };
    const machines = [...shared.machines, machine('c', { cpu: 8 })];
    const made = plan({ ...shared, machines, pods: [...shared.pods, ...on('c', 1, 2)] });
    expect(made.replacements.map(({ nodePool }) => nodePool)).toEqual(['general']);
  });
});

test('the audit lets nodes of a pool with a fixed number go one by one', () => {
  const given = disruptionInput(cluster([of('a', { conditions: [DRIFTED] }), of('b', { conditions: [DRIFTED] })]));
  const made = planDisruption(given, instant(NOW));
  const [first, second] = made.steps;
  if (first === undefined || second === undefined) throw new Error('there are two steps');
  const together = {
    ...first,
    remove: [...first.remove, ...second.remove],
    create: [...first.create, ...second.create],
    moves: [...first.moves, ...second.moves],
    saved: first.saved + second.saved,
  };
  const findings = auditDisruption({ ...made, steps: [together] }, given, instant(NOW));
  expect(findings.map(({ rule, about }) => [rule, about])).toEqual([['static', [{ kind: 'node', name: 'b' }]]]);
});

test('a pool with a number of nodes is like any other where that is switched off', () => {
  const { provisioning } = disruptionInput(cluster([of('a')]));
  const { gates } = provisioning.policy;
  const policy = { ...provisioning.policy, gates: { ...gates, staticCapacity: false } };
  expect([...fixedPools(provisioning)]).toEqual(['fixed']);
  expect([...fixedPools({ ...provisioning, policy })]).toEqual([]);
});
