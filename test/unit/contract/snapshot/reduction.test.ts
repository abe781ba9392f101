import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { zstdCompressSync, zstdDecompressSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createSnapshotBuilder } from '../../../../shared/contract/snapshot/builder.ts';
import { parseSnapshot, type Snapshot } from '../../../../shared/contract/snapshot/parse.ts';
import type { Cluster } from '../../../../shared/core/model/cluster.ts';

const root = join(import.meta.dirname, '../../../..');
const header = { version: '3-7', takenAtMs: 42, source: 'relay' } as const;

function snapshotOf(fill: (builder: ReturnType<typeof createSnapshotBuilder>) => void): Snapshot {
  const builder = createSnapshotBuilder('cluster');
  fill(builder);
  return parseSnapshot(builder.encode(header));
}

const onlyShape = (raw: object) => snapshotOf((builder) => void builder.upsert('pods', raw)).shapes[0];

function pod(name: string, spec: object = {}, metadata: object = {}): object {
  return { metadata: { name, namespace: 'default', ...metadata }, spec: { containers: [{}], ...spec } };
}

test('a snapshot is a Cluster, as the core takes it', () => {
  const cluster: Cluster = snapshotOf(() => {});
  expect(cluster.pods).toEqual([]);
});

test('a snapshot says of which cluster, version, time and source it is, and up to where it looked', () => {
  const snapshot = snapshotOf((builder) => builder.setResourceVersion('pods', '17'));
  expect(snapshot).toMatchObject({ cluster: 'cluster', ...header, resourceVersions: { pods: '17' } });
});

describe('shapes', () => {
  test('pods that differ in nothing that a decision reads share one', () => {
    const snapshot = snapshotOf((builder) => {
      for (let index = 0; index < 100; index++) {
        const spec = { containers: [{ image: `image-${index}`, env: [index], ports: [{ containerPort: index }] }] };
        builder.upsert(
          'pods',
          pod(`p-${index}`, spec, { annotations: { 'example.com/a': String(index) }, resourceVersion: String(index) }),
        );
      }
    });
    expect([snapshot.pods.length, snapshot.shapes.length]).toEqual([100, 1]);
  });

  test('pods that differ in the node that we have planned them onto share one', () => {
    const passage = (value: string) => ({
      key: 'nodewright.dev/reserved',
      operator: 'Equal',
      value,
      effect: 'NoSchedule',
    });
    const own = { key: 'a', operator: 'Exists' };
    const shapesOf = (...tolerations: ReadonlyArray<ReadonlyArray<object>>) =>
      snapshotOf((builder) => {
        builder.upsert('pods', pod('plain', tolerations[0]?.length === 0 ? {} : { tolerations: tolerations[0] }));
        tolerations.slice(1).forEach((list, index) => builder.upsert('pods', pod(`p-${index}`, { tolerations: list })));
      }).shapes;
    expect(shapesOf([], [passage('x')], [passage('y')])).toHaveLength(1);
    expect(shapesOf([own], [own, passage('x')], [own, passage('x'), passage('y')])).toHaveLength(1);
  });

  test('pods that were let onto a node share one with their successors, whatever else they ask for', () => {
    const own = {
      key: 'node.kubernetes.io/not-ready',
      operator: 'Exists',
      effect: 'NoExecute',
      tolerationSeconds: 300,
    };
    const passage = { key: 'nodewright.dev/reserved', operator: 'Equal', value: 'x', effect: 'NoSchedule' };
    const others = {
      topologySpreadConstraints: [
        { maxSkew: 1, topologyKey: 'kubernetes.io/hostname', whenUnsatisfiable: 'ScheduleAnyway' },
      ],
      volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }],
    };
    const { shapes } = snapshotOf((builder) => {
      builder.upsert('pods', pod('let-in', { tolerations: [own, passage], ...others }));
      builder.upsert('pods', pod('successor', { tolerations: [own], ...others }));
    });
    expect(shapes).toHaveLength(1);
  });

  test.each([
    ['labels', {}, { labels: { a: 'b' } }],
    ['namespace', {}, { namespace: 'other' }],
    ['an annotation that a decision reads', {}, { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } }],
    ['requests', { containers: [{ resources: { requests: { cpu: '1' } } }] }, {}],
    ['a host port', { containers: [{ ports: [{ hostPort: 80, protocol: 'TCP' }] }] }, {}],
    ['tolerations', { tolerations: [{ operator: 'Exists' }] }, {}],
    ['a volume claim', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] }, {}],
  ])('pods that differ in %s have two', (_, spec, metadata) => {
    const snapshot = snapshotOf((builder) => {
      builder.upsert('pods', pod('a'));
      builder.upsert('pods', pod('b', spec, metadata));
    });
    expect(snapshot.shapes).toHaveLength(2);
  });

  test('a daemonset has one shape on a thousand nodes, with the affinity of its template', () => {
    const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'd', uid: 'u', controller: true };
    const arch = { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] };
    const snapshot = snapshotOf((builder) => {
      for (let index = 0; index < 1_000; index++) {
        const fields = [{ key: 'metadata.name', operator: 'In', values: [`node-${index}`] }];
        const terms = [{ matchExpressions: [arch], matchFields: fields }];
        const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
        builder.upsert(
          'pods',
          pod(`d-${index}`, { nodeName: `node-${index}`, affinity: { nodeAffinity } }, { ownerReferences: [owner] }),
        );
      }
    });
    expect(snapshot.shapes).toHaveLength(1);
    expect(snapshot.shapes[0]?.spec.affinity).toEqual({
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [{ matchExpressions: [arch] }] },
      },
    });
  });

  test('shapes that no pod has any more are forgotten', () => {
    const builder = createSnapshotBuilder('c');
    for (let index = 0; index < 1_000; index++) {
      builder.upsert('pods', pod('same', { priority: index }));
    }
    expect(builder.shapeCount()).toBe(1);
    builder.remove('pods', 'default/same');
    expect(builder.shapeCount()).toBe(0);
  });

  test('an empty selector, which selects all, is not an absent one, which selects none', () => {
    const term = (selector: object): object => ({
      affinity: {
        podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: 'zone', ...selector }] },
      },
    });
    expect(onlyShape(pod('a', term({ namespaceSelector: {} })))?.spec).toMatchObject(term({ namespaceSelector: {} }));
    expect(JSON.stringify(onlyShape(pod('a', term({}))))).not.toContain('namespaceSelector');
  });

  test('the owner is the controller, else the first', () => {
    const owner = (name: string, controller: boolean): object => ({
      apiVersion: 'v1',
      kind: 'K',
      name,
      uid: name,
      controller,
    });
    const owned = (...ownerReferences: Array<object>) => onlyShape(pod('a', {}, { ownerReferences }))?.owner?.name;
    expect(owned(owner('a', false), owner('b', true))).toBe('b');
    expect(owned(owner('a', false), owner('b', false))).toBe('a');
    expect(onlyShape(pod('a'))?.owner).toBeNull();
  });
});

describe('pods', () => {
  test('what is a pod\u2019s own comes back as it was', () => {
    const raw = {
      metadata: {
        name: 'a',
        namespace: 'default',
        uid: '0d5a3f0a-1111-4222-8333-444455556666',
        creationTimestamp: '2026-11-21T00:00:00Z',
        deletionTimestamp: '2026-11-21T00:01:00Z',
      },
      spec: { containers: [{}], nodeName: 'n1' },
      status: {
        phase: 'Running',
        startTime: '2026-11-21T00:00:03Z',
        nominatedNodeName: 'n2',
        conditions: [
          { type: 'Ready', status: 'True' },
          { type: 'PodScheduled', status: 'True' },
        ],
      },
    };
    const snapshot = snapshotOf((builder) => void builder.upsert('pods', raw));
    expect(snapshot.pods).toEqual([
      {
        name: 'a',
        uid: '0d5a3f0a-1111-4222-8333-444455556666',
        shape: 0,
        createdAtMs: Date.parse('2026-11-21T00:00:00Z'),
        nodeName: 'n1',
        nominatedNodeName: 'n2',
        unschedulable: false,
        gated: false,
        deleting: true,
        running: true,
        ready: true,
        startedAtMs: Date.parse('2026-11-21T00:00:03Z'),
        deletionAtMs: Date.parse('2026-11-21T00:01:00Z'),
      },
    ]);
  });

  test('the uid of a static pod, which is no UUID, comes back as it was', () => {
    const snapshot = snapshotOf(
      (builder) => void builder.upsert('pods', pod('a', {}, { uid: 'd41d8cd98f00b204e9800998ecf8427e' })),
    );
    expect(snapshot.pods[0]?.uid).toBe('d41d8cd98f00b204e9800998ecf8427e');
  });

  test.each(['Succeeded', 'Failed'])('a pod that has %s is gone [M01]', (phase) => {
    const builder = createSnapshotBuilder('c');
    builder.upsert('pods', pod('a'));
    expect(builder.upsert('pods', { ...pod('a'), status: { phase } }).kind).toBe('pod');
    expect(builder.count('pods')).toBe(0);
  });
});

describe('objects', () => {
  test('budgets that are explicitly none stay that, for absent ones mean 10 %', () => {
    const template = { spec: { nodeClassRef: { group: 'g', kind: 'k', name: 'n' }, requirements: [] } };
    const raw = { metadata: { name: 'p' }, spec: { template, disruption: { budgets: [] } } };
    const snapshot = snapshotOf((builder) => void builder.upsert('nodepools', raw));
    expect(snapshot.nodePools[0]?.spec.disruption).toEqual({ budgets: [] });
  });

  test('a node keeps the message of a notice, and no other', () => {
    const conditions = [
      { type: 'Ready', status: 'True', message: 'kubelet is posting ready status', lastHeartbeatTime: 'now' },
      { type: 'PreemptionScheduled', status: 'True', message: 'Preempt Scheduled: .' },
    ];
    const snapshot = snapshotOf(
      (builder) => void builder.upsert('nodes', { metadata: { name: 'n' }, status: { conditions } }),
    );
    expect(snapshot.nodes[0]?.status?.conditions).toEqual([
      { type: 'Ready', status: 'True' },
      { type: 'PreemptionScheduled', status: 'True', message: 'Preempt Scheduled: .' },
    ]);
  });

  test('a node class keeps its spec whole, with its conditions', () => {
    const raw = {
      metadata: { name: 'default' },
      spec: { imageFamily: 'AzureLinux', kubelet: { maxPods: 50 }, tags: { z: '1', a: '2' } },
      status: { conditions: [{ type: 'Ready', status: 'True' }], kubernetesVersion: '1.34.2' },
    };
    const snapshot = snapshotOf((builder) => void builder.upsert('aksnodeclasses', raw));
    expect(snapshot.nodeClasses).toEqual([raw]);
  });

  test('devices, their classes and the claims for them come back as they were', () => {
    const selectors = [{ cel: { expression: 'device.driver == "gpu.example.com"' } }];
    const terms = [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n'] }] }];
    const device = {
      name: 'gpu-0',
      attributes: { index: { int: 0 }, 'other.com/links': { strings: ['a', 'b'] } },
      capacity: {
        memory: { value: '40Gi', requestPolicy: { default: '1Gi', validRange: { min: '1Gi', step: '1Gi' } } },
      },
      consumesCounters: [{ counterSet: 'card', counters: { memory: { value: '40Gi' } } }],
      taints: [{ key: 'sick', effect: 'NoSchedule' }],
      allowMultipleAllocations: true,
    };
    const slice = {
      metadata: { name: 'slice' },
      spec: {
        driver: 'gpu.example.com',
        pool: { name: 'n', generation: 3, resourceSliceCount: 2 },
        nodeName: 'n',
        devices: [device],
        sharedCounters: [{ name: 'card', counters: { memory: { value: '40Gi' } } }],
      },
    };
    const requests = [
      { name: 'one', exactly: { deviceClassName: 'gpu', selectors, allocationMode: 'All', adminAccess: true } },
      { name: 'two', firstAvailable: [{ name: 'a', deviceClassName: 'gpu', count: 2 }] },
    ];
    const spec = {
      devices: { requests, constraints: [{ requests: ['one'], matchAttribute: 'gpu.example.com/index' }] },
    };
    const result = { request: 'one', driver: 'gpu.example.com', pool: 'n', device: 'gpu-0', shareID: 's' };
    const claim = {
      metadata: {
        name: 'mine',
        namespace: 'd',
        annotations: { 'resource.kubernetes.io/pod-claim-name': 'gpu' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u', controller: true }],
      },
      spec,
      status: {
        allocation: { devices: { results: [result] }, nodeSelector: { nodeSelectorTerms: terms } },
        reservedFor: [{ resource: 'pods', name: 'p', uid: 'u' }],
      },
    };
    const deviceClass = { metadata: { name: 'gpu' }, spec: { selectors } };
    const template = { metadata: { name: 'mine', namespace: 'd' }, spec: { spec } };
    const snapshot = snapshotOf((builder) => {
      builder.upsert('resourceslices', slice);
      builder.upsert('deviceclasses', deviceClass);
      builder.upsert('resourceclaims', claim);
      builder.upsert('resourceclaimtemplates', template);
    });
    expect(snapshot.resourceSlices).toEqual([slice]);
    expect(snapshot.deviceClasses).toEqual([deviceClass]);
    expect(snapshot.resourceClaims).toEqual([claim]);
    expect(snapshot.resourceClaimTemplates).toEqual([template]);
  });

  test('what a driver says for itself only is left out', () => {
    const spec = { devices: { requests: [], config: [{ opaque: { driver: 'x', parameters: { large: true } } }] } };
    const status = { devices: [{ driver: 'x', pool: 'p', device: 'd', data: { large: true } }] };
    const snapshot = snapshotOf(
      (builder) => void builder.upsert('resourceclaims', { metadata: { name: 'c', namespace: 'd' }, spec, status }),
    );
    expect(JSON.stringify(snapshot.resourceClaims)).not.toContain('large');
  });

  test('a snapshot of a relay that does not send devices yet is one without devices', () => {
    const bytes = createSnapshotBuilder('cluster').encode(header);
    const {
      resourceSlices: _,
      deviceClasses: __,
      resourceClaims: ___,
      resourceClaimTemplates: ____,
      ...older
    } = JSON.parse(zstdDecompressSync(bytes).toString()) as Record<string, unknown>;
    const snapshot = parseSnapshot(zstdCompressSync(JSON.stringify(older)));
    expect([snapshot.resourceSlices, snapshot.deviceClasses, snapshot.resourceClaims]).toEqual([[], [], []]);
    const { pods: _____, ...broken } = older;
    expect(() => parseSnapshot(zstdCompressSync(JSON.stringify(broken)))).toThrow('pods is missing');
  });

  test('owners that want nothing are left out', () => {
    const set = (name: string, replicas: number): object => ({
      metadata: { name, namespace: 'd', uid: name },
      spec: { replicas },
    });
    const snapshot = snapshotOf((builder) => {
      builder.upsert('replicasets', set('old', 0));
      builder.upsert('replicasets', set('new', 2));
    });
    expect(snapshot.owners).toEqual([
      { uid: 'new', kind: 'ReplicaSet', namespace: 'd', name: 'new', desired: 2, oneByOne: false },
    ]);
  });

  test.each([
    null,
    7,
    'text',
    [],
    {},
    { metadata: null },
    { metadata: { name: '' } },
    { metadata: { name: 'a' }, spec: 7 },
  ])('an event with %j is malformed, whatever it claims to be', (raw) => {
    const builder = createSnapshotBuilder('c');
    expect(builder.upsert('pods', raw)).toEqual({ kind: 'malformed' });
    expect(builder.upsert('nodepools', raw)).toEqual({ kind: 'malformed' });
  });
});

test('a snapshot of another format is refused by name', () => {
  expect(() => parseSnapshot(Buffer.from('hello'))).toThrow(/not a snapshot: the whole cannot be unpacked/);
  for (const format of [99, { toString: 1 }]) {
    expect(() => parseSnapshot(zstdCompressSync(JSON.stringify({ format })))).toThrow(
      `not a snapshot: format is ${JSON.stringify(format)}, this version reads`,
    );
  }
});

/** An import of a name that a module does not have keeps the importer from loading, so this takes another process. */
test('a snapshot is written and read where Node.js has no zstd, as before 22.15', () => {
  const urlOf = (path: string): string => JSON.stringify(pathToFileURL(join(root, path)).href);
  const script = `
    import { createSnapshotBuilder } from ${urlOf('shared/contract/snapshot/builder.ts')};
    import { parseSnapshot } from ${urlOf('shared/contract/snapshot/parse.ts')};
    const builder = createSnapshotBuilder('cluster');
    builder.upsert('pods', ${JSON.stringify(pod('a'))});
    console.log(parseSnapshot(builder.encode(${JSON.stringify(header)})).pods[0].name);`;
  const older = ['--import', pathToFileURL(join(root, 'test/kit/cli/without-zstd.mjs')).href];
  const { stdout, stderr } = spawnSync(process.execPath, [...older, '--input-type=module', '--eval', script], {
    encoding: 'utf8',
  });
  expect([stdout, stderr]).toEqual(['a\n', '']);
});
