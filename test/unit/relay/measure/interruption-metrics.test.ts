import { describe, expect, it } from 'vitest';
import { createInterruptionMetrics } from '../../../../relay/measure/interruption-metrics.ts';
import { createSnapshotBuilder, type FedResource } from '../../../../shared/contract/snapshot/builder.ts';

const START = Date.UTC(2026, 0, 1);
const labels = { 'karpenter.sh/nodepool': 'general' };
const MARKED = 'nodewright_interruption_marked_duration_seconds';
const TOLD = 'nodewright_interruption_pods_told_duration_seconds';
const LAUNCHED = 'nodewright_interruption_replacement_launched_duration_seconds';
const READY = 'nodewright_interruption_replacement_ready_duration_seconds';

function node(parts: { readonly noticed?: boolean; readonly closed?: boolean } = {}) {
  const message = 'Preempt Scheduled: Thu, 01 Jan 2026 00:00:30 GMT. DurationInSeconds: -1.';
  const notice = { type: 'PreemptionScheduled', status: 'True', message };
  return {
    metadata: { name: 'n', labels },
    spec: { taints: parts.closed === true ? [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] : [] },
    status: { conditions: parts.noticed === true ? [notice] : [] },
  };
}

function pod(name: string, changes: { readonly deleting?: boolean; readonly ofNode?: boolean } = {}) {
  const owner = { apiVersion: 'v1', kind: changes.ofNode === true ? 'Node' : 'ReplicaSet', name: 'o', uid: 'o' };
  return {
    metadata: {
      name,
      namespace: 'default',
      uid: `00000000-0000-0000-0000-00000000000${name}`,
      creationTimestamp: '2026-01-01T00:00:00Z',
      ownerReferences: [owner],
      ...(changes.deleting === true ? { deletionTimestamp: '2026-01-01T00:00:10Z' } : {}),
    },
    spec: { nodeName: 'n', containers: [] },
    status: { phase: 'Running' },
  };
}

function claim(...conditions: ReadonlyArray<string>) {
  return {
    metadata: { name: 'c', labels, annotations: { 'nodewright.dev/noticed': '2026-01-01T00:00:00.500Z' } },
    spec: { nodeClassRef: { group: 'g', kind: 'k', name: 'n' }, requirements: [] },
    status: { conditions: conditions.map((type) => ({ type, status: 'True' })) },
  };
}

/** What happens, each at its time in seconds; answers the sums that are shown at the end, by metric. */
function after(...steps: ReadonlyArray<readonly [atSeconds: number, FedResource, object | string]>) {
  const builder = createSnapshotBuilder('test');
  const at = { seconds: 0, isPublishing: true };
  const metrics = createInterruptionMetrics({
    isPublishing: () => at.isPublishing,
    now: () => START + 1_000 * at.seconds,
  });
  for (const [seconds, resource, what] of steps) {
    at.seconds = seconds;
    metrics.observe(typeof what === 'string' ? builder.remove(resource, what) : builder.upsert(resource, what));
  }
  const lines = metrics.render().split('\n');
  at.isPublishing = false;
  expect(metrics.render()).toBe('');
  return lines.filter((line) => line.includes('_sum') || line.includes('_count'));
}

const ofPool = '{notice="preempt",nodepool="general"}';
const shown = (name: string, seconds: number, of = ofPool): ReadonlyArray<string> => [
  `${name}_sum${of} ${seconds}`,
  `${name}_count${of} 1`,
];

describe('from a notice', () => {
  it('it is counted when the node is closed, and when the last of its pods is told', () => {
    const lines = after(
      [0, 'nodes', node()],
      [0, 'pods', pod('1')],
      [0, 'pods', pod('2')],
      [0, 'pods', pod('3', { ofNode: true })],
      [5, 'nodes', node({ noticed: true })],
      [6, 'nodes', node({ noticed: true, closed: true })],
      [7, 'pods', pod('1', { deleting: true })],
      [9, 'pods', pod('2', { deleting: true })],
      [20, 'pods', 'default/1'],
      [20, 'pods', 'default/2'],
      [21, 'nodes', 'n'],
    );
    expect(lines).toEqual([...shown(MARKED, 1), ...shown(TOLD, 4)]);
  });

  it('pods that go before their node is closed are told by then', () => {
    const lines = after(
      [0, 'nodes', node()],
      [0, 'pods', pod('1')],
      [5, 'nodes', node({ noticed: true })],
      [6, 'pods', 'default/1'],
      [8, 'nodes', node({ noticed: true, closed: true })],
    );
    expect(lines).toEqual([...shown(MARKED, 3), ...shown(TOLD, 3)]);
  });

  it('the same notice again begins nothing anew', () => {
    const noticed = node({ noticed: true });
    const again = { ...noticed, metadata: { ...noticed.metadata, annotations: { a: 'b' } } };
    const lines = after(
      [0, 'nodes', node()],
      [5, 'nodes', noticed],
      [7, 'nodes', again],
      [9, 'nodes', node({ noticed: true, closed: true })],
    );
    expect(lines).toEqual([...shown(MARKED, 4), ...shown(TOLD, 4)]);
  });

  it.each([
    [
      'a node that had it when it was first seen',
      [
        [0, 'nodes', node({ noticed: true })],
        [1, 'nodes', node({ noticed: true, closed: true })],
      ],
    ],
    [
      'one that goes without being closed',
      [
        [0, 'nodes', node()],
        [1, 'nodes', node({ noticed: true })],
        [2, 'nodes', 'n'],
      ],
    ],
    [
      'one without a notice that is closed',
      [
        [0, 'nodes', node()],
        [1, 'nodes', node({ closed: true })],
      ],
    ],
  ] as const)('nothing is counted of %s', (_, steps) => {
    expect(after(...steps)).toEqual([]);
  });
});

describe('what replaces a machine', () => {
  it('is counted when Azure has accepted it and when it can be used, each once', () => {
    const lines = after(
      [2, 'nodeclaims', claim()],
      [3, 'nodeclaims', claim('Launched')],
      [60.5, 'nodeclaims', claim('Launched', 'Initialized')],
      [70, 'nodeclaims', claim('Launched', 'Initialized', 'Consolidatable')],
      [80, 'nodeclaims', 'c'],
    );
    const of = '{nodepool="general"}';
    expect(lines).toEqual([...shown(LAUNCHED, 2.5, of), ...shown(READY, 60, of)]);
  });

  it('is not one that replaces nothing', () => {
    const bare = (...conditions: ReadonlyArray<string>): object => ({
      ...claim(...conditions),
      metadata: { name: 'c', labels },
    });
    expect(after([0, 'nodeclaims', bare()], [1, 'nodeclaims', bare('Launched', 'Initialized')])).toEqual([]);
  });
});
