import { describe, expect, test } from 'vitest';
import { createPool, quiet } from './course/quiet.ts';
import type { Simulation } from './course/simulation.ts';

/**
 * Nodes that have drifted are replaced one for one, whatever spread over hosts their pods have. In virtual time, with a
 * scheduler that counts a node as a host for as long as it is there.
 */

const POOL = 'even';
const MINUTE = 60_000;
const TIMEOUT_MS = 120_000;

interface Workload {
  /** One node each: as many are made for them. */
  readonly nodes: number;
  /** So many more come to each of these. */
  readonly perNode: number;
  readonly maxSkew?: number;
  /** So many may be away at once; absent: any number. */
  readonly maxUnavailable?: number;
}

function deploy({ server }: Simulation, name: string, { nodes, maxSkew = 1, maxUnavailable }: Workload): void {
  const labels = { app: name };
  server.create('replicasets', {
    metadata: { name, namespace: 'shop' },
    spec: {
      replicas: nodes * maxSkew,
      template: {
        metadata: { labels },
        spec: {
          containers: [{ name: 'main', resources: { requests: { cpu: '200m', memory: '64Mi' } } }],
          terminationGracePeriodSeconds: 5,
          nodeSelector: { 'karpenter.sh/nodepool': POOL },
          topologySpreadConstraints: [
            {
              maxSkew,
              topologyKey: 'kubernetes.io/hostname',
              whenUnsatisfiable: 'DoNotSchedule',
              labelSelector: { matchLabels: labels },
            },
          ],
        },
      },
    },
  });
  if (maxUnavailable === undefined) return;
  server.create('poddisruptionbudgets', {
    metadata: { name, namespace: 'shop' },
    spec: { maxUnavailable, selector: { matchLabels: labels } },
  });
}

/** What becomes of nodes with these workloads once their pool has changed. */
async function drift(seed: string, workloads: ReadonlyArray<Workload>, budget = '100%') {
  const simulation = quiet(seed);
  createPool(simulation, POOL, { budgets: [{ nodes: budget }] });
  const { server, azure } = simulation;
  for (const [index, one] of workloads.entries()) deploy(simulation, `app-${index}`, one);
  await simulation.pass(5 * MINUTE);
  for (const [index, { nodes, perNode }] of workloads.entries()) {
    server.patch('replicasets', `shop/app-${index}`, { spec: { replicas: nodes * perNode } }, 'object');
  }
  await simulation.pass(2 * MINUTE);
  const before = new Set([...azure.vms.values()].map(({ machine }) => machine.claim));
  server.patch('nodepools', POOL, { spec: { template: { metadata: { labels: { team: 'a' } } } } }, 'object');
  const made = new Set<string>();
  for (let minute = 0; minute < 20; minute++) {
    await simulation.pass(MINUTE);
    for (const { machine } of azure.vms.values()) if (!before.has(machine.claim)) made.add(machine.claim);
  }
  const pods = server.list('pods');
  const waiting = pods.filter(({ spec }) => spec?.['nodeName'] === undefined).length;
  const left = [...azure.vms.values()].filter(({ machine }) => before.has(machine.claim)).length;
  const told = server
    .list('events')
    .flatMap((one) =>
      'reason' in one && one.reason === 'WaitingForNodeRemoval' && 'message' in one ? String(one.message) : [],
    );
  return { before: before.size, made: made.size, pods: pods.length, waiting, left, told };
}

const SEEDS = ['a', 'b', 'd'].map((one) => `one-for-one-${one}`);

// Of `f` a bad release was drawn once, and of `x3` a node with half of its CPU: what came in the place of nodes was
// rightly replaced again.
test.each(['c', 'f', 'x3'].map((one) => `one-for-one-${one}`))(
  'two Deployments are replaced one for one in whatever order their pods come: SEED=%s',
  { timeout: TIMEOUT_MS },
  async (seed) => {
    const found = await drift(seed, [
      { nodes: 2, perNode: 3 },
      { nodes: 2, perNode: 2 },
    ]);
    expect(found).toMatchObject({ waiting: 0, left: 0 });
    expect(found.made).toBeLessThanOrEqual(found.before);
  },
);

describe.each(SEEDS)('nodes that have drifted are replaced one for one, and all their pods run: SEED=%s', (seed) => {
  test.each<[string, ReadonlyArray<Workload>, number]>([
    ['one with three pods', [{ nodes: 1, perNode: 3 }], 1],
    ['two with two each', [{ nodes: 2, perNode: 2 }], 2],
    ['three with three each', [{ nodes: 3, perNode: 3 }], 3],
    ['maxSkew 2', [{ nodes: 2, perNode: 4, maxSkew: 2 }], 2],
    [
      'two Deployments',
      [
        { nodes: 2, perNode: 3 },
        { nodes: 2, perNode: 2 },
      ],
      2,
    ],
    ['a budget that lets all but one wait', [{ nodes: 1, perNode: 3, maxUnavailable: 2 }], 1],
  ])('%s', { timeout: TIMEOUT_MS }, async (_, workloads, nodes) => {
    const found = await drift(seed, workloads);
    const pods = workloads.reduce((sum, one) => sum + one.nodes * one.perNode, 0);
    expect(found).toMatchObject({ pods, waiting: 0, left: 0 });
    expect(found.before).toBeGreaterThanOrEqual(nodes);
    expect(found.made).toBeLessThanOrEqual(found.before);
    expect(found.told[0]).toMatch(/^This pod will run on node \S+ once nodes? /);
  });

  test('one at a time', { timeout: TIMEOUT_MS }, async () => {
    const found = await drift(seed, [{ nodes: 3, perNode: 3 }], '10%');
    expect(found).toMatchObject({ before: 3, made: 3, pods: 9, waiting: 0, left: 0 });
  });

  test('but where their budget would let the last not go: each has a node', { timeout: TIMEOUT_MS }, async () => {
    const found = await drift(seed, [{ nodes: 1, perNode: 3, maxUnavailable: 1 }]);
    expect(found).toMatchObject({ before: 1, made: 3, pods: 3, waiting: 0, left: 0, told: [] });
  });
});
