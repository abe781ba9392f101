import { describe, expect, test } from 'vitest';
import { createSnapshotBuilder, type SnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';
import { parseSnapshot } from '../../../../shared/contract/snapshot/parse.ts';
import { planProvisioning } from '../../../../shared/core/plan-provisioning.ts';
import { instant } from '../../../../shared/core/quantity/units.ts';
import { input, pool, size } from '../../../kit/core/build.ts';

/**
 * What plans know of nodes, whatever events told it and in whatever order: Karpenter's M01 and M02, which are about its
 * memory.
 */

const HOUR = instant(Date.UTC(2026, 10, 21, 1));
const header = { version: '1.1', takenAtMs: HOUR, source: 'relay' } as const;
const web = { matchLabels: { app: 'web' } };
const aloneOnHost = {
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'kubernetes.io/hostname', labelSelector: web }],
  },
};

const node = (name: string, labels: object = {}) => ({
  metadata: { name, labels: { 'kubernetes.io/hostname': name, 'kubernetes.io/os': 'linux', ...labels } },
  spec: {},
  status: {
    allocatable: { cpu: '2', memory: '8Gi', pods: '30' },
    capacity: { cpu: '2', memory: '8Gi', pods: '30' },
    conditions: [{ type: 'Ready', status: 'True' }],
  },
});

interface PodParts {
  readonly on?: string;
  readonly uid?: string;
  readonly phase?: string;
  readonly cpu?: string;
  readonly labels?: object;
  readonly spec?: object;
  readonly owner?: string;
}

const pod = (name: string, { on, uid = name, phase, cpu = '1500m', labels = {}, spec = {}, owner }: PodParts = {}) => ({
  metadata: {
    name,
    namespace: 'default',
    uid,
    labels,
    creationTimestamp: '2026-11-21T00:00:00Z',
    ...(owner === undefined
      ? {}
      : { ownerReferences: [{ apiVersion: 'apps/v1', kind: owner, name: 'o', uid: 'o', controller: true }] }),
  },
  spec: {
    containers: [{ resources: { requests: { cpu, memory: '1Gi' } } }],
    ...(on === undefined ? {} : { nodeName: on }),
    ...spec,
  },
  status: {
    phase: phase ?? (on === undefined ? 'Pending' : 'Running'),
    conditions: on === undefined ? [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] : [],
  },
});

/** Where a pod that waits goes once all that has been told: the node's name, or `new`. */
function placeAfter(tell: (builder: SnapshotBuilder) => void, waiting = pod('waits')): string {
  const builder = createSnapshotBuilder('cluster');
  tell(builder);
  builder.upsert('pods', waiting);
  const snapshot = parseSnapshot(builder.encode(header));
  const given = input({ ...snapshot, types: [size('Standard_D2s_v5', 2, 8, 100_000)], nodePools: [pool('general')] });
  const plan = planProvisioning(given, HOUR);
  const there = plan.nominations.find(({ pods }) => pods.some(({ name }) => name === 'default/waits'));
  return there?.target.name ?? (plan.claims.length > 0 ? 'new' : 'left');
}

describe('a pod takes room on its node', () => {
  test('once, however often it is told of [M01]', () => {
    const tiny = pod('a', { on: 'n', cpu: '400m' });
    const told = (builder: SnapshotBuilder): void => {
      builder.upsert('nodes', node('n'));
      for (let time = 0; time < 3; time++) builder.upsert('pods', tiny);
    };
    expect(placeAfter(told)).toBe('n');
  });

  test('though it was told of before its node was [M01]', () => {
    const told = (builder: SnapshotBuilder): void => {
      builder.upsert('pods', pod('a', { on: 'n' }));
      builder.upsert('nodes', node('n'));
    };
    expect([placeAfter(told), placeAfter((builder) => void builder.upsert('nodes', node('n')))]).toEqual(['new', 'n']);
  });

  test('that it has left when the next listing does not show it, though nobody told of its end [M01]', () => {
    const told = (builder: SnapshotBuilder): void => {
      builder.upsert('nodes', node('n'));
      builder.upsert('pods', pod('a', { on: 'n' }));
      builder.beginListing('pods');
      builder.finishListing('pods');
    };
    expect(placeAfter(told)).toBe('n');
  });

  test('where it is by now: one of its name that came after it on another node leaves the first [M01]', () => {
    const told = (builder: SnapshotBuilder): void => {
      for (const name of ['m', 'n']) builder.upsert('nodes', node(name));
      builder.upsert('pods', pod('a', { on: 'm', uid: 'first' }));
      builder.upsert('pods', pod('a', { on: 'n', uid: 'second' }));
    };
    expect(placeAfter(told)).toBe('m');
  });

  test.each(['Succeeded', 'Failed'])('no more once it has %s [M01]', (phase) => {
    const told = (builder: SnapshotBuilder): void => {
      builder.upsert('nodes', node('n'));
      builder.upsert('pods', pod('a', { on: 'n' }));
      builder.upsert('pods', pod('a', { on: 'n', phase }));
    };
    expect(placeAfter(told)).toBe('n');
  });

  test('also when it is of a DaemonSet, and it moves nowhere [M01]', () => {
    const told = (cpu: string) => (builder: SnapshotBuilder) => {
      builder.upsert('nodes', node('n'));
      builder.upsert('pods', pod('agent', { on: 'n', cpu, owner: 'DaemonSet' }));
    };
    expect([placeAfter(told('400m')), placeAfter(told('1'))]).toEqual(['n', 'new']);
  });
});

describe('a pod that keeps others away', () => {
  const averse = { on: 'n', cpu: '100m', spec: { affinity: aloneOnHost } };
  const small = pod('waits', { cpu: '100m', labels: { app: 'web' } });

  test('does so while it runs, and no more when it has ended, or was taken off the list [M02]', () => {
    const told =
      (...last: ReadonlyArray<PodParts | null>) =>
      (builder: SnapshotBuilder) => {
        builder.upsert('nodes', node('n'));
        for (const parts of last) {
          if (parts === null) builder.remove('pods', 'default/averse');
          else builder.upsert('pods', pod('averse', parts));
        }
      };
    expect(placeAfter(told(averse), small)).toBe('new');
    expect(placeAfter(told(averse, { ...averse, phase: 'Succeeded' }), small)).toBe('n');
    expect(placeAfter(told(averse, null), small)).toBe('n');
  });

  test('does so though its node was told of after it [M02]', () => {
    const told = (builder: SnapshotBuilder): void => {
      builder.upsert('pods', pod('averse', averse));
      builder.upsert('nodes', node('n'));
    };
    expect(placeAfter(told, small)).toBe('new');
  });
});

test('taints of a node count as they were last told [M02]', () => {
  const taints = [{ key: 'team', value: 'x', effect: 'NoSchedule' }];
  const told =
    (...last: ReadonlyArray<object>) =>
    (builder: SnapshotBuilder) => {
      for (const spec of last) builder.upsert('nodes', { ...node('n'), spec });
    };
  expect([placeAfter(told({}, { taints })), placeAfter(told({ taints }, {}))]).toEqual(['new', 'n']);
});

test('a node that is gone has no room, and one that comes back by its name has what it says then [M02]', () => {
  const told = (builder: SnapshotBuilder): void => {
    builder.upsert('nodes', node('n'));
    builder.remove('nodes', 'n');
  };
  expect(placeAfter(told)).toBe('new');
  const again = (builder: SnapshotBuilder): void => {
    told(builder);
    builder.upsert('nodes', node('n'));
  };
  expect(placeAfter(again)).toBe('n');
});
