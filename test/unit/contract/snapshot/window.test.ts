import { describe, expect, test } from 'vitest';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';
import { parseSnapshot } from '../../../../shared/contract/snapshot/parse.ts';
import { pendingWindow } from '../../../../shared/contract/snapshot/window.ts';

const second = 1_000;
const start = 1_790_000_000_000;

interface PodDraft {
  readonly owner?: { readonly kind: string; readonly uid: string };
  readonly atS?: number;
  readonly state?: 'unschedulable' | 'new' | 'bound' | 'nominated' | 'gated' | 'deleting';
}

const web = { kind: 'ReplicaSet', uid: 'web' };
const api = { kind: 'ReplicaSet', uid: 'api' };

function pod(index: number, { owner, atS = 0, state = 'unschedulable' }: PodDraft): unknown {
  const createdAt = new Date(start + atS * second).toISOString();
  return {
    metadata: {
      name: `pod-${index}`,
      namespace: 'default',
      creationTimestamp: createdAt,
      ...(state === 'deleting' ? { deletionTimestamp: createdAt } : {}),
      ownerReferences:
        owner === undefined ? [] : [{ apiVersion: 'apps/v1', name: 'owner', controller: true, ...owner }],
    },
    spec: {
      containers: [{}],
      ...(state === 'bound' ? { nodeName: 'n' } : {}),
      ...(state === 'gated' ? { schedulingGates: [{ name: 'g' }] } : {}),
    },
    status: {
      ...(state === 'nominated' ? { nominatedNodeName: 'n' } : {}),
      conditions:
        state === 'unschedulable' || state === 'deleting'
          ? [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }]
          : [],
    },
  };
}

function windowOf(
  pods: ReadonlyArray<PodDraft>,
  owners: ReadonlyArray<readonly [string, object]>,
  atMs = 0,
  takenMs = Number.NEGATIVE_INFINITY,
) {
  const builder = createSnapshotBuilder('c');
  for (const [index, draft] of pods.entries()) builder.upsert('pods', pod(index, draft));
  for (const [index, [uid, raw]] of owners.entries()) {
    const { resource = 'replicasets', ...rest } = raw as { resource?: 'replicasets' | 'statefulsets' | 'jobs' };
    builder.upsert(resource, { metadata: { name: `owner-${index}`, namespace: 'default', uid }, ...rest });
  }
  const snapshot = parseSnapshot(
    builder.encode({ version: '1', takenAtMs: Math.max(0, start + takenMs), source: 'relay' }),
  );
  const window = pendingWindow(snapshot, start + atMs);
  return window.kind === 'wait' ? `wait until ${window.untilMs - start}` : window.kind;
}

const wants = (replicas: number): object => ({ spec: { replicas } });

describe('the batching window', () => {
  test('no pod waits: empty', () => {
    expect(windowOf([], [])).toBe('empty');
    expect(windowOf([{ state: 'bound' }, { state: 'new' }, { state: 'nominated' }, { state: 'gated' }], [])).toBe(
      'empty',
    );
    expect(windowOf([{ state: 'deleting' }], [])).toBe('empty');
  });

  test('all replicas are accounted for: nothing more is coming', () => {
    expect(windowOf([{ owner: web }, { owner: web }], [['web', wants(2)]])).toBe('settled');
    const states = ['unschedulable', 'bound', 'nominated', 'gated'] as const;
    expect(
      windowOf(
        states.map((state) => ({ owner: web, state })),
        [['web', wants(4)]],
      ),
    ).toBe('settled');
  });

  test('a replica that is missing, that nobody has looked at yet, or that is leaving, is still to come', () => {
    expect(windowOf([{ owner: web }], [['web', wants(2)]])).toBe('wait until 1000');
    expect(windowOf([{ owner: web }, { owner: web, state: 'new' }], [['web', wants(2)]])).toBe('wait until 1000');
    expect(windowOf([{ owner: web }, { owner: web, state: 'deleting' }], [['web', wants(2)]])).toBe('wait until 1000');
  });

  test('every owner of a waiting pod must be complete; owners of which no pod waits do not matter', () => {
    const both = [
      ['web', wants(1)],
      ['api', wants(2)],
    ] as const;
    expect(windowOf([{ owner: web }, { owner: api }], both)).toBe('wait until 1000');
    expect(windowOf([{ owner: web }, { owner: api, state: 'bound' }], both)).toBe('settled');
  });

  test('pods without an owner, or with one whose wishes are unknown, are waited with', () => {
    expect(windowOf([{}, {}], [])).toBe('wait until 1000');
    const owner = { kind: 'Workflow', uid: 'w' };
    expect(windowOf([{ owner }, { owner }], [])).toBe('wait until 1000');
  });

  test('a StatefulSet that makes its pods one by one makes no more before this one is ready', () => {
    const owner = { kind: 'StatefulSet', uid: 'db' };
    expect(windowOf([{ owner }], [['db', { resource: 'statefulsets', spec: { replicas: 3 } }]])).toBe('settled');
    const parallel = { replicas: 3, podManagementPolicy: 'Parallel' };
    expect(windowOf([{ owner }], [['db', { resource: 'statefulsets', spec: parallel }]])).toBe('wait until 1000');
  });

  test.each([
    ['as many as it runs at once', { parallelism: 2, completions: 9 }, 0, 'settled'],
    ['no more than it has left', { parallelism: 5, completions: 9 }, 7, 'settled'],
    ['more than there are', { parallelism: 3, completions: 9 }, 0, 'wait until 1000'],
  ])('a Job wants %s', (_, spec, succeeded, expected) => {
    const owner = { kind: 'Job', uid: 'job' };
    expect(windowOf([{ owner }, { owner }], [['job', { resource: 'jobs', spec, status: { succeeded } }]])).toBe(
      expected,
    );
  });

  test('one pod that came alone, and of which nobody knows a sibling, waits for 300 ms', () => {
    expect(windowOf([{}], [], 100)).toBe('wait until 300');
    expect(windowOf([{}], [], 300)).toBe('elapsed');
    expect(windowOf([{ owner: { kind: 'Workflow', uid: 'w' } }], [])).toBe('wait until 300');
    expect(windowOf([{ atS: -3_600 }, {}], [])).toBe('wait until 300');
  });

  test('silence is counted from the last moment at which the newest pod can have come, so that no burst is cut in two', () => {
    // Created in one second, the last of them perhaps at its end: three snapshots of one burst.
    expect(windowOf([{}, {}], [], 400, 350)).toBe('wait until 1350');
    expect(windowOf([{}, {}, {}], [], 950, 900)).toBe('wait until 1900');
    expect(windowOf([{}, {}, {}], [], 1_950, 1_900)).toBe('wait until 1999');
    expect(windowOf([{}, {}, {}], [], 1_999, 1_900)).toBe('elapsed');
  });

  test('a clock that is ahead of the one who took the snapshot shortens no wait', () => {
    expect(windowOf([{}, {}], [], 0, -5_000)).toBe('wait until 1000');
  });

  test('pods that a clock an hour ahead has made wait from when they were seen, and not for an hour', () => {
    const ahead = [{ atS: 3_600 }, { atS: 3_600 }];
    expect(windowOf(ahead, [], 600, 500)).toBe('wait until 1500');
    expect(windowOf(ahead, [], 1_500, 500)).toBe('elapsed');
    // As much as a window may last is nothing to tell clocks by.
    expect(windowOf([{ atS: 10 }, { atS: 10 }], [], 0, 0)).toBe('wait until 11000');
  });

  test('a second of silence after the newest pod ends the wait [I01]', () => {
    expect(windowOf([{ atS: 0 }, { atS: 1 }], [], 1_500)).toBe('wait until 2000');
    expect(windowOf([{ atS: 0 }, { atS: 1 }], [], 2_000)).toBe('elapsed');
  });

  test('a batch that never falls silent ends 10 s after its oldest pod [I01]', () => {
    const steady = Array.from({ length: 11 }, (_, atS) => ({ atS }));
    expect(windowOf(steady, [], 9_900)).toBe('wait until 10000');
    expect(windowOf(steady, [], 10_000)).toBe('elapsed');
  });

  test('pods that have waited for long do not close the window on those that come now [I01]', () => {
    expect(windowOf([{ atS: -3_600 }, { atS: -3_599 }, { atS: 0 }, { atS: 0 }], [], 100)).toBe('wait until 1000');
  });
});
