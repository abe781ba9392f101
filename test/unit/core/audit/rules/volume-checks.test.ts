import { describe, expect, test } from 'vitest';
import type { Cluster } from '../../../../../shared/core/model/cluster.ts';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  SelectorRequirement,
  StorageClass,
  Volume,
} from '../../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../../shared/kubernetes/labels.ts';
import type { FinalNode, PodsOnNode } from '../../../../../shared/core/audit/seen/final-state.ts';
import { checkAttachments, volumeFacts, volumeProblem } from '../../../../../shared/core/audit/rules/volume-checks.ts';
import { EMPTY_CLUSTER, plannedClaim, requirement, shape, spec, zones } from '../../../../kit/core/build.ts';
import { offered } from '../judge.ts';

/** What volumes keep a pod off a node, and how many a node attaches. */

const [z1, z2] = zones;
const cluster = (parts: Partial<Cluster>): Cluster => ({ ...EMPTY_CLUSTER, ...parts });

function nodeWith(pods: ReadonlyArray<PodsOnNode> = [], parts: Partial<FinalNode> = {}): FinalNode {
  return {
    name: 'n',
    labels: new Map([
      [labelKey.zone, [z1]],
      ['disk', ['fast']],
    ]),
    taints: [],
    presentTaints: [],
    allocatable: new Map(),
    capacity: new Map(),
    nodePool: null,
    leaving: false,
    counts: true,
    claim: null,
    plannedIndex: -1,
    pods: new Map(pods.map((one) => [one.shape, one])),
    ...parts,
  };
}
const mounting = (...volumes: ReadonlyArray<Volume>) => shape(spec('1', '1Gi', { volumes }));
const data: Volume = { name: 'v', persistentVolumeClaim: { claimName: 'data' } };
const scratch: Volume = { name: 'scratch', ephemeral: {} };
const problem = (parts: Partial<Cluster>, volume: Volume = data): string | null =>
  volumeProblem(nodeWith(), volumeFacts(cluster(parts)), mounting(volume));

const named = (name: string, parts: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name },
  provisioner: `${name}.csi`,
  volumeBindingMode: 'WaitForFirstConsumer',
  ...parts,
});
const byDefault = (name: string, creationTimestamp?: string): StorageClass =>
  named(name, {
    metadata: {
      name,
      annotations: { 'storageclass.kubernetes.io/is-default-class': 'true' },
      ...(creationTimestamp === undefined ? {} : { creationTimestamp }),
    },
  });
const claimed = (parts: Partial<PersistentVolumeClaim> = {}): Partial<Cluster> => ({
  persistentVolumeClaims: [{ metadata: { name: 'data', namespace: 'default' }, ...parts }],
});
const boundTo = (own?: PersistentVolume['spec']): Partial<Cluster> => ({
  ...claimed({ spec: { volumeName: 'pv' }, status: { phase: 'Bound' } }),
  persistentVolumes: [{ metadata: { name: 'pv' }, ...(own === undefined ? {} : { spec: own }) }],
});
type Terms = ReadonlyArray<ReadonlyArray<SelectorRequirement>>;
const reaching = (terms: Terms): NonNullable<PersistentVolume['spec']> => ({
  nodeAffinity: { required: { nodeSelectorTerms: terms.map((matchExpressions) => ({ matchExpressions })) } },
});
const here = requirement(labelKey.zone, 'In', z1);
const elsewhere = requirement(labelKey.zone, 'In', z2);

describe('a claim without a class is of the default class', () => {
  const attached = (...storageClasses: ReadonlyArray<StorageClass>): string | undefined =>
    volumeFacts(cluster({ storageClasses })).classNamed(undefined)?.metadata.name;
  const [old, young] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z'];

  test('of which the newest counts, in whatever order they are listed', () => {
    expect(attached(byDefault('b', old), byDefault('a', young))).toBe('a');
    expect(attached(byDefault('a', young), byDefault('b', old))).toBe('a');
    expect(attached(byDefault('b', young), byDefault('a', old))).toBe('b');
  });

  test('of which, of one age, the first by name counts', () => {
    expect(attached(byDefault('b', old), byDefault('a', old))).toBe('a');
    expect(attached(byDefault('a', old), byDefault('b', old))).toBe('a');
    expect(attached(byDefault('b'), byDefault('a'))).toBe('a');
    expect(attached(byDefault('a'), byDefault('b'))).toBe('a');
  });

  test('of which there may be none', () => {
    expect(attached(named('a'))).toBeUndefined();
    expect(problem({ ...claimed(), storageClasses: [named('a')] })).toBe('data has no class');
  });

  test('as is a volume that goes with its pod and says nothing', () => {
    expect(problem({ storageClasses: [byDefault('a')] }, scratch)).toBeNull();
    expect(problem({ storageClasses: [named('a')] }, scratch)).toBe('scratch has no class');
  });
});

test('a claim of a class by the empty name is of no class, whatever the default', () => {
  const none = claimed({ spec: { storageClassName: '' } });
  expect(problem({ ...none, storageClasses: [byDefault('a')] })).toBe('data has no class');
});

test('a claim that names its volume is not bound before it says so', () => {
  expect(problem(claimed({ spec: { volumeName: 'pv' } }))).toBe('volume claim data is not bound yet');
  expect(problem(boundTo({}))).toBeNull();
});

test('a class allows a node that meets all of one of its topologies', () => {
  const allowing = (...keys: ReadonlyArray<readonly [string, string]>) => ({
    matchLabelExpressions: keys.map(([key, value]) => ({ key, values: [value] })),
  });
  const of = (allowedTopologies: NonNullable<StorageClass['allowedTopologies']>): string | null =>
    problem({ ...claimed({ spec: { storageClassName: 'a' } }), storageClasses: [named('a', { allowedTopologies })] });
  const refused = 'the class of data does not allow this domain';
  expect(of([])).toBeNull();
  expect(of([allowing([labelKey.zone, z1], ['disk', 'fast'])])).toBeNull();
  expect(of([allowing([labelKey.zone, z1], ['disk', 'slow'])])).toBe(refused);
  expect(of([allowing(['disk', 'slow']), allowing([labelKey.zone, z1])])).toBeNull();
});

describe('a volume is reached from a node', () => {
  const slow = requirement('disk', 'In', 'slow');
  const host = requirement(labelKey.hostname, 'In', 'other');

  test.each<readonly [string, PersistentVolume['spec'] | undefined, boolean]>([
    ['when it says nothing', undefined, true],
    ['when it says nothing of nodes', {}, true],
    ['when it requires nothing of nodes', { nodeAffinity: {} }, true],
    ['when it has no terms', reaching([]), true],
    ['when one of its terms is met', reaching([[elsewhere], [here]]), true],
    ['unless none of its terms is met', reaching([[elsewhere], [here, slow]]), false],
    ['whatever its host when it is local', { ...reaching([[here, host]]), local: {} }, true],
    ['unless it is local and nothing but its host is near', { ...reaching([[here, slow]]), local: {} }, false],
  ])('%s', (_, own, isReached) => {
    expect(problem(boundTo(own))).toBe(isReached ? null : 'volume of data is elsewhere');
  });
});

describe('a node attaches', () => {
  const driver = 'disk.csi.azure.com';
  const attaching = (count: number | undefined, name = driver): Partial<Cluster> => ({
    csiNodes: [
      {
        metadata: { name: 'n' },
        spec: {
          drivers: [
            { name: 'other', allocatable: {} },
            { name, ...(count === undefined ? {} : { allocatable: { count } }) },
          ],
        },
      },
    ],
  });
  const pods = (count: Partial<PodsOnNode>, ...volumes: ReadonlyArray<Volume>): PodsOnNode => {
    const own = mounting(...volumes);
    return { shape: 0, spec: own, running: 0, leaving: 0, planned: 0, ...count };
  };
  const azure = { ...byDefault('azure'), provisioner: driver };
  const found = (parts: Partial<Cluster>, own: PodsOnNode, node: Partial<FinalNode> = {}): ReadonlyArray<string> =>
    checkAttachments(nodeWith([own], node), volumeFacts(cluster(parts))).map(({ text }) => text);
  const tooMany = (count: number, limit: number, name = driver) => [
    `n: ${count} volumes of ${name}, ${limit} can be attached`,
  ];

  test('the volumes of pods that run, that are going and that come', () => {
    const own = pods({ running: 1, leaving: 2, planned: 1 }, scratch);
    expect(found({ storageClasses: [azure], ...attaching(4) }, own)).toEqual([]);
    expect(found({ storageClasses: [azure], ...attaching(3) }, own)).toEqual(tooMany(4, 3));
  });

  test('any number where its driver or the node says nothing', () => {
    const own = pods({ planned: 9 }, scratch);
    expect(found({ storageClasses: [azure], ...attaching(undefined) }, own)).toEqual([]);
    expect(found({ storageClasses: [azure], csiNodes: [{ metadata: { name: 'n' } }] }, own)).toEqual([]);
    expect(found({ storageClasses: [azure] }, own)).toEqual([]);
  });

  test('nothing while it is only planned', () => {
    const claim = plannedClaim(offered());
    expect(found({ storageClasses: [azure], ...attaching(0) }, pods({ planned: 1 }, scratch), { claim })).toEqual([]);
  });

  test('each claim once, and only what is a claim', () => {
    const other: Volume = { name: 'w', persistentVolumeClaim: { claimName: 'more' } };
    const parts = {
      storageClasses: [azure],
      persistentVolumeClaims: ['data', 'more'].map((name) => ({ metadata: { name, namespace: 'default' } })),
    };
    const own = pods({ planned: 3 }, { name: 'plain' }, data, other);
    expect(found({ ...parts, ...attaching(2) }, own)).toEqual([]);
    expect(found({ ...parts, ...attaching(1) }, own)).toEqual(tooMany(2, 1));
  });

  test.each([
    ['kubernetes.io/azure-disk', 'disk.csi.azure.com'],
    ['kubernetes.io/azure-file', 'file.csi.azure.com'],
    ['own.csi', 'own.csi'],
  ])('what a class of provisioner %s makes by driver %s', (provisioner, name) => {
    const own = pods({ planned: 1 }, data);
    const parts = { ...claimed({ spec: { storageClassName: 'a' } }), storageClasses: [named('a', { provisioner })] };
    expect(found({ ...parts, ...attaching(1, name) }, own)).toEqual([]);
    expect(found({ ...parts, ...attaching(0, name) }, own)).toEqual(tooMany(1, 0, name));
  });

  test('a volume by its own driver, not by that of its class', () => {
    const parts = { ...boundTo({}), storageClasses: [azure] };
    expect(found({ ...parts, ...attaching(0) }, pods({ planned: 1 }, data))).toEqual([]);
    const own = { ...boundTo({ csi: { driver } }), storageClasses: [byDefault('other')] };
    expect(found({ ...own, ...attaching(0) }, pods({ planned: 1 }, data))).toEqual(tooMany(1, 0));
  });

  test('nothing for a claim that has neither volume nor class', () => {
    expect(found({ ...claimed(), ...attaching(0) }, pods({ planned: 1 }, data))).toEqual([]);
  });
});
