import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../shared/app/disrupt/disrupt.ts';
import { keptEvent } from '../../../../shared/app/disrupt/tell/kept-event.ts';
import { createRecentReports } from '../../../../shared/app/ports/recent-reports.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { consolidated, emptied } from '../../../kit/app/consolidated.ts';

/**
 * What `kubectl describe` shows about disruption: Karpenter's reasons and texts, once, however often the timer looks.
 */

type Cluster = ReturnType<typeof consolidated>;

function told({ server }: Cluster, kind: string): ReadonlyArray<string> {
  return server
    .list('events')
    .filter((event) => ((event as Fields)['involvedObject'] as Fields)['kind'] === kind)
    .map((event) => {
      const { involvedObject, type, reason, message } = event as Fields;
      return `${(involvedObject as Fields)['name']}: ${type} ${reason}: ${message}`;
    });
}

/** Both nodes stay, one of them for a reason that nobody is told. */
function keep(server: Cluster['server']): void {
  const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  server.patch('nodeclaims', 'spare', { metadata: { annotations } }, 'object');
  server.patch('pods', 'default/web', { metadata: { annotations } }, 'object');
}

function events(trace: ReadonlyArray<string>): number {
  return trace.filter((step) => step.startsWith('POST') && step.includes('/events')).length;
}

test('a node that a pod keeps says so, and its claim does', async () => {
  const cluster = consolidated();
  cluster.server.remove('pods', 'default/web');
  const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  cluster.addRunning('db', 'used', { metadata: { name: 'db', namespace: 'default', annotations } });
  await disrupt(cluster.ports);
  const text = 'Normal DisruptionBlocked: Pod has "karpenter.sh/do-not-disrupt" annotation (Pod=default/db)';
  expect(told(cluster, 'Node')).toContain(`aks-used: ${text}`);
  expect(told(cluster, 'NodeClaim')).toContain(`used: ${text}`);
});

test('a node whose pods have no other place says so, and which pod it is', async () => {
  const cluster = consolidated();
  await disrupt(cluster.ports);
  expect(told(cluster, 'Node')).toEqual([
    'aks-used: Normal Unconsolidatable: No other node has room for pod default/web',
    'aks-spare: Normal DisruptionPlanned: To be removed: Empty, saves EUR 0.1 an hour; no pod has to move',
  ]);
});

test('looking again tells nothing again and asks the API server for nothing, until an hour has passed', async () => {
  const cluster = consolidated();
  const { ports, trace, server, clock } = cluster;
  keep(server);
  await disrupt(ports);
  const once = events(trace);
  expect(once).toBeGreaterThan(0);
  clock.advance(60_000);
  await disrupt(ports);
  expect(events(trace)).toBe(once);
  clock.advance(3_600_000);
  await disrupt(ports);
  expect(events(trace)).toBe(2 * once);
  expect(server.list('events')).toHaveLength(2 * once);
});

test('two instances tell it once: what the other has told is refused by its name', async () => {
  const { ports, server } = consolidated();
  keep(server);
  await disrupt(ports);
  const once = server.list('events').length;
  await disrupt({ ...ports, told: createRecentReports() });
  expect(server.list('events')).toHaveLength(once);
});

test('a pool whose budgets let none go says so for each reason [L02]', async () => {
  const cluster = consolidated();
  const budgets = [{ nodes: '0', reasons: ['Empty', 'Drifted'] }];
  cluster.server.patch('nodepools', 'general', { spec: { disruption: { budgets } } }, 'object');
  await disrupt(cluster.ports);
  const text = 'No allowed disruptions for disruption reason';
  expect(told(cluster, 'NodePool').filter((one) => one.includes('Blocked'))).toEqual([
    `general: Normal DisruptionBlocked: ${text} Empty due to blocking budget`,
    `general: Normal DisruptionBlocked: ${text} Drifted due to blocking budget`,
  ]);
});

test('the removal is told on the node and on its claim', async () => {
  const cluster = consolidated();
  await disrupt(cluster.ports);
  cluster.clock.advance(6_000);
  await disrupt(cluster.ports);
  expect(told(cluster, 'Node')).toContain('aks-spare: Normal DisruptionTerminating: Disrupting Node: Empty');
  expect(told(cluster, 'NodeClaim')).toContain('spare: Normal DisruptionTerminating: Disrupting NodeClaim: Empty');
});

test('a replacement says what it is launched for, and that it is waited for', async () => {
  const cluster = emptied({ types: 2 });
  const { server, ports, clock } = cluster;
  cluster.addReady('large', 8);
  cluster.addRunning('web', 'large');
  await disrupt(ports);
  const name = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large')?.metadata.name ?? '';
  for (let look = 0; look < 3; look++) {
    clock.advance(60_000);
    await disrupt(ports);
  }
  expect(told(cluster, 'NodeClaim').filter((one) => one.startsWith(name))).toEqual([
    `${name}: Normal DisruptionLaunching: Launching NodeClaim: Underutilized`,
    `${name}: Normal DisruptionWaitingReadiness: Waiting on readiness to continue disruption`,
  ]);
});

describe('the event about a node that stays', () => {
  test.each([
    [{ kind: 'awaits-pods', pods: 1 }, 'DisruptionBlocked', 'Node is nominated for a pending pod'],
    [
      { kind: 'pod-budget', pod: 'a/b', budget: 'a/c', known: true },
      'DisruptionBlocked',
      'Pdb prevents pod evictions (PodDisruptionBudget=a/c)',
    ],
    [{ kind: 'consolidation-off', nodePool: 'p' }, 'Unconsolidatable', 'NodePool "p" has consolidation disabled'],
    [
      { kind: 'only-when-empty', nodePool: 'p', pods: 2 },
      'Unconsolidatable',
      'NodePool "p" has non-empty consolidation disabled',
    ],
    [{ kind: 'nothing-cheaper' }, 'Unconsolidatable', "Can't replace with a cheaper node"],
    [{ kind: 'no-place', pod: 'a/b' }, 'Unconsolidatable', 'No other node has room for pod a/b'],
    [
      { kind: 'not-replaced', because: 'Unhealthy', pod: null, refusals: [] },
      'DisruptionBlocked',
      'It is not healthy, and no nodes that can be created have room for all its pods together',
    ],
    [
      { kind: 'not-worth', saving: 12_500, pods: 2, least: 30_000 },
      'Unconsolidatable',
      'Removing it saves EUR 0.0125 an hour for each pod that moves, and its NodePool requires EUR 0.03 (annotation nodewright.dev/move-cost)',
    ],
    [{ kind: 'holds-buffer', buffer: 'a/b' }, 'DisruptionBlocked', 'It holds room for CapacityBuffer a/b'],
  ] as const)('%j', (why, reason, message) => {
    expect(keptEvent(why, 'EUR')).toEqual({ type: 'Normal', reason, message });
  });

  test('is a warning where repair is held back', () => {
    const why = { kind: 'too-many-unhealthy', nodePool: 'p', unhealthy: 3, nodes: 5 } as const;
    expect(keptEvent(why, 'EUR')).toMatchObject({ type: 'Warning', reason: 'NodeRepairBlocked' });
  });

  test('is none where somebody has said so or it passes by itself', () => {
    const kinds = ['do-not-disrupt', 'not-initialized'] as const;
    expect(kinds.map((kind) => keptEvent({ kind }, 'EUR'))).toEqual([null, null]);
  });
});

describe('a node that is to be removed', () => {
  test('says what that saves and where its pods go, and so do its claim and its NodePool', async () => {
    const cluster = consolidated();
    cluster.server.patch('nodepools', 'general', { spec: { disruption: { budgets: [{ nodes: '100%' }] } } }, 'object');
    await disrupt(cluster.ports);
    const text = 'To be removed: Empty, saves EUR 0.1 an hour; no pod has to move';
    expect(told(cluster, 'Node')).toContain(`aks-spare: Normal DisruptionPlanned: ${text}`);
    expect(told(cluster, 'NodeClaim')).toContain(`spare: Normal DisruptionPlanned: ${text}`);
    expect(told(cluster, 'NodePool')).toEqual([
      expect.stringMatching(
        /^general: Normal DisruptionPlanned: Decision \S+ removes aks-spare: Empty, saves EUR 0.1 an hour; no pod has to move$/,
      ),
    ]);
  });

  test('names what replaces it, with its size and price', async () => {
    const cluster = emptied({ types: 2 });
    cluster.addReady('large', 8);
    cluster.addRunning('web', 'large');
    await disrupt(cluster.ports);
    const name = cluster.server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large')?.metadata.name;
    expect(told(cluster, 'Node')).toContain(
      `aks-large: Normal DisruptionPlanned: To be removed: Underutilized, saves EUR 0.3 an hour; 1 pod moves to nodeclaim/${name} (1); ` +
        `replaced by nodeclaim/${name}, Standard_D2_v5 (on-demand) in westeurope-1 at EUR 0.1 an hour`,
    );
  });
});

test('what a move saves is rounded down and what is required up, to three digits, with the annotation that sets it', () => {
  expect(keptEvent({ kind: 'not-worth', saving: 48_567, pods: 3, least: 144_613 }, 'USD')?.message).toBe(
    'Removing it saves $0.0485 an hour for each pod that moves, and its NodePool requires $0.145 (annotation nodewright.dev/move-cost)',
  );
});
