import { describe, expect, test } from 'vitest';
import {
  createSnapshotBuilder,
  snapshotResources,
  type SnapshotBuilder,
} from '../../../../shared/contract/snapshot/builder.ts';
import { parseSnapshot, type Snapshot } from '../../../../shared/contract/snapshot/parse.ts';

const header = { version: '1', takenAtMs: 1, source: 'relay' } as const;

const buffers = { buffers: true };

function builderWith(
  ...given: ReadonlyArray<readonly [Parameters<SnapshotBuilder['upsert']>[0], object]>
): SnapshotBuilder {
  const builder = createSnapshotBuilder('c', buffers);
  for (const [resource, raw] of given) builder.upsert(resource, raw);
  return builder;
}

const read = (builder: SnapshotBuilder): Snapshot => parseSnapshot(builder.encode(header));

function named(name: string, more: object = {}): object {
  return { metadata: { name, namespace: 'default', uid: name, ...more } };
}

const podSpec = { containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: '1' } } }] };
const reducedSpec = { containers: [{ name: 'a', resources: { requests: { cpu: '1' } } }] };
const template = { metadata: { labels: { app: 'web' } }, spec: podSpec };
const reducedTemplate = { metadata: { labels: { app: 'web' } }, spec: reducedSpec };

const workload = (name: string, replicas: number, more: object = {}) => ({
  ...named(name, more),
  spec: { replicas, template },
  status: { replicas },
});

const referring = (kind: string, name: string): object => ({
  ...named('spare', { generation: 2 }),
  spec: { scalableRef: { apiGroup: 'apps', kind, name }, percentage: 20 },
});

const ofTemplate = { ...named('spare'), spec: { podTemplateRef: { name: 'room' }, replicas: 1, limits: { cpu: 4 } } };

describe('what a snapshot has of capacity buffers [M05]', () => {
  test('is the buffer with its conditions, and the template that it names, as a decision reads them', () => {
    const status = { replicas: 1, conditions: [{ type: 'ReadyForProvisioning', status: 'True', reason: 'Resolved' }] };
    const snapshot = read(
      builderWith(
        ['capacitybuffers', { ...ofTemplate, status }],
        ['podtemplates', { ...named('room', { generation: 7 }), template }],
      ),
    );
    expect(snapshot.capacityBuffers).toMatchObject([{ spec: ofTemplate.spec, status }]);
    expect(snapshot.podTemplates).toMatchObject([{ metadata: { generation: 7 }, template: reducedTemplate }]);
  });

  test.each([
    ['deployments', 'Deployment', 'deployments'],
    ['replicasets', 'ReplicaSet', 'replicaSets'],
    ['statefulsets', 'StatefulSet', 'statefulSets'],
  ] as const)('is of all %s the one that a buffer names, with its replicas and template', (resource, kind, list) => {
    const builder = builderWith([resource, workload('web', 3)], [resource, workload('other', 3)]);
    expect(read(builder)[list]).toEqual([]);
    builder.upsert('capacitybuffers', referring(kind, 'web'));
    expect(read(builder)[list]).toEqual([
      { metadata: { name: 'web', namespace: 'default' }, spec: { replicas: 3, template: reducedTemplate } },
    ]);
  });

  test('is a ReplicaSet without replicas too, unless it is of a past revision', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', uid: 'web' };
    const builder = builderWith(
      ['capacitybuffers', referring('ReplicaSet', 'web')],
      ['replicasets', workload('web', 0)],
    );
    expect(read(builder).replicaSets).toHaveLength(1);
    builder.upsert('replicasets', workload('web', 0, { ownerReferences: [owner] }));
    expect(read(builder).replicaSets).toEqual([]);
  });

  test('is nothing where buffers are not read: no template of a workload is kept', () => {
    const builder = createSnapshotBuilder('c');
    builder.upsert('statefulsets', workload('web', 3));
    builder.upsert('capacitybuffers', referring('StatefulSet', 'web'));
    expect(read(builder).statefulSets).toEqual([]);
    expect(snapshotResources({ buffers: false })).not.toEqual(
      expect.arrayContaining([expect.stringMatching(/capacitybuffers|podtemplates|deployments/)]),
    );
    expect(snapshotResources(buffers)).toEqual(
      expect.arrayContaining(['capacitybuffers', 'podtemplates', 'deployments', 'replicasets', 'statefulsets']),
    );
  });
});

describe('a change', () => {
  const builder = builderWith(
    ['capacitybuffers', referring('StatefulSet', 'web')],
    ['statefulsets', workload('web', 3)],
    ['statefulsets', workload('other', 3)],
  );

  test('of a workload that no buffer names is one of its number, or none', () => {
    expect(builder.upsert('statefulsets', workload('other', 4))).toMatchObject({ kind: 'owner' });
    const changed = { ...workload('other', 4), spec: { replicas: 4, template: { spec: { containers: [{}] } } } };
    expect(builder.upsert('statefulsets', changed)).toEqual({ kind: 'same' });
    expect(builder.upsert('deployments', workload('any', 4))).toEqual({ kind: 'same' });
  });

  test('of a workload that a buffer names says so', () => {
    expect(builder.upsert('statefulsets', workload('web', 4))).toMatchObject({
      kind: 'object',
      resource: 'statefulsettemplates',
      after: { spec: { replicas: 4 } },
    });
    expect(builder.upsert('statefulsets', workload('web', 4))).toEqual({ kind: 'same' });
    expect(builder.remove('statefulsets', 'default/web')).toMatchObject({
      resource: 'statefulsettemplates',
      after: null,
    });
  });

  test('that a listing did not show is found there', () => {
    builder.upsert('statefulsets', workload('web', 4));
    builder.beginListing('statefulsets');
    const kinds = builder.finishListing('statefulsets').map((change) => change.kind);
    expect(kinds.toSorted()).toEqual(['object', 'owner', 'owner', 'same']);
    expect(builder.count('statefulsettemplates')).toBe(0);
  });
});

test('a snapshot of a relay that does not send buffers yet is one without buffers', () => {
  expect(read(createSnapshotBuilder('c'))).toMatchObject({ capacityBuffers: [], podTemplates: [], deployments: [] });
});
