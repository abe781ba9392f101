import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { microUsdPerHour } from '../../../../shared/core/quantity/units.ts';
import { parseDisruptionFigures } from '../../../../shared/contract/figures/disruption-figures.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { begunReplacement, consolidated } from '../../../kit/app/consolidated.ts';
import { since, START } from '../../../kit/app/small-cluster.ts';

/** What becomes of a decision between the look that makes it and the one that carries it out. */

const UNMARKED = { tainted: false, decision: false, reason: undefined };

type Cluster = ReturnType<typeof consolidated>;

const BUDGET_CLOSES = 'a pod comes that its budget lets not go';

/** What may come or change while a decision waits. */
const CHANGES: ReadonlyArray<readonly [string, (cluster: Cluster, node: string) => void]> = [
  [
    'a pod comes that must not be disrupted',
    ({ addRunning }, node) => {
      addRunning('late', node, { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } });
    },
  ],
  [
    BUDGET_CLOSES,
    ({ addRunning, server }, node) => {
      addRunning('late', node, { metadata: { labels: { app: 'db' } } });
      server.create('poddisruptionbudgets', {
        metadata: { name: 'db', namespace: 'default' },
        spec: { selector: { matchLabels: { app: 'db' } } },
      });
      server.patch('poddisruptionbudgets', 'default/db', { status: { disruptionsAllowed: 0 } }, 'status');
    },
  ],
  [
    'a pod comes that has no other place',
    ({ addRunning }, node) => {
      addRunning('late', node, { spec: { nodeSelector: { 'kubernetes.io/hostname': `aks-${node}` } } });
    },
  ],
  [
    'somebody says do-not-disrupt of the node',
    ({ server }, node) => {
      const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
      server.patch('nodes', `aks-${node}`, { metadata: { annotations } }, 'object');
    },
  ],
  [
    'its NodePool consolidates no more',
    ({ server }) => {
      server.patch('nodepools', 'general', { spec: { disruption: { consolidateAfter: 'Never' } } }, 'object');
    },
  ],
  ['its NodePool goes', ({ server }) => void server.remove('nodepools', 'general')],
];

describe.each(CHANGES)('where %s meanwhile', (title, change) => {
  test('an empty node stays, and takes pods again [L06]', async () => {
    const cluster = consolidated();
    await disrupt(cluster.ports);
    change(cluster, 'spare');
    cluster.clock.advance(6_000);
    expect(await disrupt(cluster.ports)).toEqual({ kind: 'finished', removed: 0, takenBack: 1 });
    expect([cluster.marks('spare'), cluster.stateOf('spare')]).toEqual([UNMARKED, 'there']);
  });

  test('a node stays whose replacement is there already [L06]', async () => {
    const cluster = await begunReplacement();
    cluster.initialize();
    change(cluster, 'large');
    cluster.clock.advance(6_000);
    if (title === BUDGET_CLOSES) {
      // What has come for it is paid for: a budget that is used up for a moment is waited for.
      expect(await disrupt(cluster.ports)).toMatchObject({ kind: 'waiting' });
      cluster.clock.advance(5 * 60_000);
    }
    expect(await disrupt(cluster.ports)).toEqual({ kind: 'finished', removed: 0, takenBack: 1 });
    expect([cluster.marks('large'), cluster.stateOf('large')]).toEqual([UNMARKED, 'there']);
  });
});

test('a replacement of another size than was meant does as well, where it holds the pods [L06]', async () => {
  const { ports, server, replacement, addReady, clock, stateOf } = await begunReplacement();
  server.remove('nodeclaims', replacement);
  addReady(replacement, 8);
  clock.advance(6_000);
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
  expect(stateOf('large')).toBe('leaving');
});

/** Two nodes without pods and one with, all drifted where `names` says so. */
function drift(cluster: Cluster, names: ReadonlyArray<string>): void {
  for (const name of names) {
    const conditions = (cluster.server.get('nodeclaims', name)?.status?.['conditions'] ?? []) as ReadonlyArray<Fields>;
    cluster.server.patch(
      'nodeclaims',
      name,
      { status: { conditions: [...conditions, since(START, 'Drifted')] } },
      'status',
    );
  }
}

describe('a decision with several replacements', () => {
  /** A large node with three pods, of a pool that allows only small ones by now. */
  async function begunSeveral() {
    const cluster = consolidated();
    const { server, ports, addReady, addRunning, outside } = cluster;
    for (const name of ['spare', 'used']) {
      server.remove('nodes', `aks-${name}`);
      server.remove('nodeclaims', name);
    }
    server.remove('pods', 'default/web');
    addReady('large', 8);
    for (const name of ['p', 'q', 'r']) {
      addRunning(name, 'large', { spec: { containers: [{ resources: { requests: { cpu: '1500m' } } }] } });
    }
    drift(cluster, ['large']);
    const outcome = await disrupt(ports);
    const replacements = server.list('nodeclaims').flatMap(({ metadata: { name } }) => (name === 'large' ? [] : name));
    const initialize = (name: string): void => {
      server.remove('nodeclaims', name);
      addReady(name, 2);
    };
    return { ...cluster, outside, outcome, replacements, initialize };
  }

  test('waits for all of them, and its node keeps its taint until then [L03] [L12]', async () => {
    const { ports, outcome, replacements, initialize, clock, marks, stateOf } = await begunSeveral();
    expect([outcome, replacements.length]).toMatchObject([{ kind: 'begun', nodes: 1, replacements: 3 }, 3]);
    for (const name of replacements.slice(0, 2)) initialize(name);
    clock.advance(90_000);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    expect([marks('large').tainted, stateOf('large')]).toEqual([true, 'there']);
    for (const name of replacements.slice(2)) initialize(name);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf('large')).toBe('leaving');
  });

  test('is taken back after ten minutes, taint and all, and what has come of it stays to be used [L12]', async () => {
    const { ports, replacements, initialize, clock, marks, stateOf } = await begunSeveral();
    const [first = ''] = replacements;
    initialize(first);
    clock.advance(599_999);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
    clock.advance(1);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0, takenBack: 1 });
    expect([marks('large'), stateOf(first)]).toEqual([UNMARKED, 'there']);
  });
});

test('a decision is made beside another that waits long, and each is carried out by its own replacements [L12]', async () => {
  const { ports, clock, addReady, addRunning, marks, replacement, server, stateOf, initialize } =
    await begunReplacement();
  addReady('second', 8);
  addRunning('other', 'second', {
    spec: { containers: [{ resources: { requests: { cpu: '1500m', memory: '1Gi' } } }] },
  });
  clock.advance(120_000);
  expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
  expect([marks('large').reason, marks('second').reason]).toEqual(['Underutilized', 'Underutilized']);
  const names = new Set(['large', 'second', replacement]);
  const later = server.list('nodeclaims').find(({ metadata }) => !names.has(metadata.name))?.metadata.name ?? '';
  server.remove('nodeclaims', later);
  addReady(later, 2);
  clock.advance(6_000);
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
  expect([stateOf('large'), stateOf('second')]).toEqual(['there', 'leaving']);
  initialize();
  expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
  expect(stateOf('large')).toBe('leaving');
});

describe('a drifted node of a pool of a fixed size', () => {
  async function fixed(limits: Fields = {}) {
    const cluster = consolidated();
    const { ports, server } = cluster;
    server.patch('nodepools', 'general', { spec: { replicas: 2, ...limits } }, 'object');
    drift(cluster, ['spare']);
    const policy = { ...ports.policy, gates: { ...ports.policy.gates, staticCapacity: true } };
    const outcome = await disrupt({ ...ports, policy });
    return { ...cluster, outcome };
  }

  test('is followed by one other, which comes first, pods or none [L03]', async () => {
    const { outcome, marks, server } = await fixed();
    expect(outcome).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
    expect([marks('spare').reason, server.list('nodeclaims').length]).toEqual(['Drifted', 3]);
  });

  test('is brought up to date though the pool has as many nodes as its limit [L03]', async () => {
    expect((await fixed({ limits: { nodes: '2' } })).outcome).toMatchObject({ kind: 'begun', replacements: 1 });
  });

  /** Both nodes are full of pods that run nowhere but in the pool. */
  async function full(limits: Fields = {}, faulty: (ports: Ports) => Ports = (ports) => ports) {
    const cluster = consolidated();
    const { server } = cluster;
    server.patch('nodepools', 'general', { spec: { replicas: 2, ...limits } }, 'object');
    const resources = { requests: { cpu: '1500m', memory: '1Gi' } };
    const spec = { nodeSelector: { 'karpenter.sh/nodepool': 'general' }, containers: [{ resources }] };
    server.remove('pods', 'default/web');
    for (const name of ['used', 'spare']) cluster.addRunning(`db-${name}`, name, { spec });
    drift(cluster, ['used', 'spare']);
    const policy = { ...cluster.ports.policy, gates: { ...cluster.ports.policy.gates, staticCapacity: true } };
    const ports = faulty({ ...cluster.ports, policy });
    const outcome = await disrupt(ports);
    const known = new Set(['used', 'spare']);
    const fresh = (): ReadonlyArray<string> =>
      server.list('nodeclaims').flatMap(({ metadata: { name } }) => (known.has(name) ? [] : [name]));
    return { ...cluster, ports, outcome, fresh };
  }

  test.each([[{}], [{ limits: { nodes: '2' } }]])(
    'goes alone, when what follows it is in use and holds its pods: %j [L03]',
    async (limits) => {
      const { ports, outcome, fresh, server, addReady, clock, marks, stateOf } = await full(limits);
      expect(outcome).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
      const gone = marks('used').tainted ? 'used' : 'spare';
      const other = gone === 'used' ? 'spare' : 'used';
      clock.advance(120_000);
      expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: 'replacements' });
      expect(marks(other).tainted).toBe(false);
      const [replacement = ''] = fresh();
      server.remove('nodeclaims', replacement);
      addReady(replacement);
      expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
      expect([stateOf(gone), stateOf(other), fresh().length]).toEqual(['leaving', 'there', 1]);
      // While its pods leave, the next may come; where the pool has a limit, once it has gone.
      if ('limits' in limits) {
        expect(await disrupt(ports)).toMatchObject({ kind: 'idle' });
        for (const [kind, name] of [
          ['nodes', `aks-${gone}`],
          ['nodeclaims', gone],
        ] as const) {
          server.remove(kind, name);
        }
      }
      expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 1 });
      expect(marks(other).reason).toBe('Drifted');
    },
  );

  test('is not begun where provisioning would not make the node that its pods need [L03]', async () => {
    const none = microUsdPerHour(0);
    const without = (ports: Ports): Ports => ({
      ...ports,
      planner: (input, now) => ({ ...ports.planner(input, now), claims: [], cost: none, lowerBound: none }),
    });
    const { outcome, fresh } = await full({}, without);
    expect(outcome).toEqual({
      kind: 'refused',
      why: 'the next node of NodePool general would not be what its pods need',
    });
    expect(fresh()).toEqual([]);
  });

  test('stays when what follows it has no room for its pods any more [L03]', async () => {
    const { ports, fresh, server, addReady, addRunning, clock, marks } = await full();
    const [replacement = ''] = fresh();
    server.remove('nodeclaims', replacement);
    addReady(replacement);
    addRunning('other', replacement);
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 0, takenBack: 1 });
    expect([marks('used').tainted, marks('spare').tainted]).toEqual([false, false]);
  });
});

describe('decisions are counted as Karpenter labels them', () => {
  function counted({ blobs }: Cluster): ReadonlyArray<Readonly<Record<string, string>>> {
    const blob = blobs.readNow('small/disruption-figures');
    const record = parseDisruptionFigures(new TextDecoder().decode(blob?.bytes ?? new Uint8Array()));
    return (record?.totals ?? []).flatMap(({ counter, labels }) => (counter === 'decisions_total' ? [labels] : []));
  }
  const small = { spec: { containers: [{ resources: { requests: { cpu: '200m', memory: '128Mi' } } }] } };

  test('one node that goes: delete, single [L14]', async () => {
    const cluster = consolidated();
    cluster.addRunning('light', 'spare', small);
    await disrupt(cluster.ports);
    expect(counted(cluster)).toEqual([{ decision: 'delete', reason: 'underutilized', consolidation_type: 'single' }]);
  });

  test('several that go: delete, multi [L14]', async () => {
    const cluster = consolidated();
    cluster.addRunning('light', 'spare', small);
    cluster.addReady('third');
    cluster.addRunning('lighter', 'third', small);
    await disrupt(cluster.ports);
    expect(counted(cluster)).toEqual([{ decision: 'delete', reason: 'underutilized', consolidation_type: 'multi' }]);
  });

  test('one that is replaced: replace, single; one that has drifted: replace, and no type [L14]', async () => {
    expect(counted(await begunReplacement())).toEqual([
      { decision: 'replace', reason: 'underutilized', consolidation_type: 'single' },
    ]);
    const cluster = consolidated();
    for (const name of ['used', 'spare']) cluster.addRunning(`busy-${name}`, name, small);
    cluster.addRunning('busy', 'spare');
    drift(cluster, ['used']);
    await disrupt(cluster.ports);
    expect(counted(cluster)).toEqual([{ decision: 'replace', reason: 'drifted', consolidation_type: '' }]);
  });
});
