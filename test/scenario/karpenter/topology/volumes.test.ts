import { describe, expect, test } from 'vitest';
import type {
  PersistentVolume,
  PersistentVolumeClaim,
  StorageClass,
  Volume,
} from '../../../../shared/kubernetes/manifest.ts';
import { requirement } from '../../../kit/core/build.ts';
import { key, machines, ours, pod, poolWith, replicas, schedule, spreadOver, web, z1, z2, z3 } from '../kit/kit.ts';

/** Karpenter's scenarios of section E: volumes. */

const mounts = (...claims: ReadonlyArray<string>): { readonly volumes: ReadonlyArray<Volume> } => ({
  volumes: claims.map((claimName) => ({ name: claimName, persistentVolumeClaim: { claimName } })),
});
const ephemeral = (storageClassName?: string): { readonly volumes: ReadonlyArray<Volume> } => ({
  volumes: [
    {
      name: 'scratch',
      ephemeral: { volumeClaimTemplate: { spec: storageClassName === undefined ? {} : { storageClassName } } },
    },
  ],
});
const BOUND = { 'pv.kubernetes.io/bind-completed': 'yes' };

function bound(
  name: string,
  volumeName: string,
  more: Partial<PersistentVolumeClaim['metadata']> = {},
): PersistentVolumeClaim {
  return {
    metadata: { name, namespace: 'default', annotations: BOUND, ...more },
    spec: { volumeName },
    status: { phase: 'Bound' },
  };
}

function unbound(name: string, storageClassName?: string): PersistentVolumeClaim {
  return { metadata: { name, namespace: 'default' }, spec: storageClassName === undefined ? {} : { storageClassName } };
}

type Terms = ReadonlyArray<ReadonlyArray<ReturnType<typeof requirement>>>;

function volume(name: string, terms: Terms, more: PersistentVolume['spec'] = {}): PersistentVolume {
  const nodeSelectorTerms = terms.map((matchExpressions) => ({ matchExpressions }));
  return {
    metadata: { name },
    spec: { csi: { driver: 'disk.csi.azure.com' }, nodeAffinity: { required: { nodeSelectorTerms } }, ...more },
  };
}

function storageClass(
  name: string,
  topologies: ReadonlyArray<ReadonlyArray<string>> = [],
  more: Partial<StorageClass> = {},
): StorageClass {
  return {
    metadata: { name },
    provisioner: 'disk.csi.azure.com',
    volumeBindingMode: 'WaitForFirstConsumer',
    allowedTopologies: topologies.map((values) => ({ matchLabelExpressions: [{ key: key.zone, values }] })),
    ...more,
  };
}

const inZone = (...zones: ReadonlyArray<string>) => [requirement(key.zone, 'In', ...zones)];
const onHost = (host: string) => [requirement(key.host, 'In', host)];
const zoneFor = (outcome: ReturnType<typeof schedule>, name: string) => outcome.claimOf(name).offering.zone;
const limitOf = (name: string, driver: string, count: number) => ({
  metadata: { name },
  spec: { drivers: [{ name: driver, allocatable: { count } }] },
});
const DISK = 'disk.csi.azure.com';

describe('how many volumes a node takes', () => {
  test('when the limit of its driver is reached, further pods get another node [E01]', () => {
    const outcome = schedule({
      ...machines(ours('n')),
      csiNodes: [limitOf('n', DISK, 2)],
      storageClasses: [storageClass('disk')],
      pods: replicas(4, 'a', ephemeral('disk')),
    });
    expect(outcome.plan.nominations[0]?.pods).toHaveLength(2);
    expect(outcome.left).toEqual([]);
  });

  test('a claim that pods share is attached once [E01]', () => {
    const outcome = schedule({
      ...machines(ours('n')),
      csiNodes: [limitOf('n', DISK, 1)],
      storageClasses: [storageClass('disk')],
      persistentVolumeClaims: [unbound('data', 'disk')],
      pods: replicas(4, 'a', mounts('data')),
    });
    expect(outcome.perPlace('a')).toEqual([4]);
  });

  test('volumes of no CSI driver, such as NFS, do not count [E01]', () => {
    const claims = ['a', 'b', 'c'];
    const outcome = schedule({
      ...machines(ours('n')),
      csiNodes: [limitOf('n', DISK, 1)],
      persistentVolumeClaims: claims.map((name) => bound(name, `pv-${name}`)),
      persistentVolumes: claims.map((name) => ({ metadata: { name: `pv-${name}` }, spec: {} })),
      pods: claims.map((name) => pod(name, mounts(name))),
    });
    expect(claims.map((name) => outcome.placeOf(name))).toEqual(['node n', 'node n', 'node n']);
  });

  test.each([
    [
      'a volume of the in-tree driver',
      {
        persistentVolumes: [{ metadata: { name: 'pv' }, spec: { azureDisk: {} } }],
        persistentVolumeClaims: [bound('data', 'pv')],
      },
      mounts('data'),
    ],
    [
      'a class of the in-tree driver',
      {
        storageClasses: [storageClass('old', [], { provisioner: 'kubernetes.io/azure-disk' })],
        persistentVolumeClaims: [unbound('data', 'old')],
      },
      mounts('data'),
    ],
    [
      'an ephemeral volume of such a class',
      { storageClasses: [storageClass('old', [], { provisioner: 'kubernetes.io/azure-disk' })] },
      ephemeral('old'),
    ],
  ])('%s counts against the CSI driver that took over from it [E09]', (_, objects, volumes) => {
    const outcome = schedule({
      ...machines(ours('n')),
      csiNodes: [limitOf('n', DISK, 0)],
      ...objects,
      pods: [pod('a', volumes)],
    });
    expect(outcome.placeOf('a')).toBe('new 0');
    const files = schedule({
      ...machines(ours('n')),
      csiNodes: [limitOf('n', 'file.csi.azure.com', 0)],
      ...objects,
      pods: [pod('a', volumes)],
    });
    expect(files.placeOf('a')).toBe('node n');
  });
});

describe('where a volume lets its pod be', () => {
  test('a volume that several zones reach, as terms or as values, can be used in each [E02]', () => {
    const wants = (zone: string) => ({ nodeSelector: { [key.zone]: zone } });
    const outcome = schedule({
      persistentVolumeClaims: [bound('terms', 'pv-terms'), bound('values', 'pv-values')],
      persistentVolumes: [volume('pv-terms', [inZone(z1), inZone(z3)]), volume('pv-values', [inZone(z1, z3)])],
      pods: [
        pod('a', { ...mounts('terms'), ...wants(z3) }),
        pod('b', { ...mounts('values'), ...wants(z3) }),
        pod('c', { ...mounts('terms'), ...wants(z2) }),
      ],
    });
    expect([zoneFor(outcome, 'a'), zoneFor(outcome, 'b'), outcome.left]).toEqual([z3, z3, ['c']]);
  });

  test('a class that allows several topologies can be used in each [E02]', () => {
    const outcome = schedule({
      pools: [poolWith('default', requirement(key.zone, 'In', z3))],
      storageClasses: [storageClass('zonal', [[z1], [z3]])],
      persistentVolumeClaims: [unbound('data', 'zonal')],
      pods: [pod('a', mounts('data'))],
    });
    expect(zoneFor(outcome, 'a')).toBe(z3);
  });

  test('of several volumes only the zones that all reach are left, and none keeps the pod out [E02]', () => {
    const outcome = schedule({
      persistentVolumeClaims: [bound('ab', 'pv-ab'), bound('bc', 'pv-bc'), bound('c', 'pv-c')],
      persistentVolumes: [
        volume('pv-ab', [inZone(z1), inZone(z2)]),
        volume('pv-bc', [inZone(z2), inZone(z3)]),
        volume('pv-c', [inZone(z3)]),
      ],
      pods: [pod('a', mounts('ab', 'bc')), pod('b', mounts('ab', 'c'))],
    });
    expect([zoneFor(outcome, 'a'), outcome.left]).toEqual([z2, ['b']]);
  });

  test.each([
    ['local', { local: {} }],
    ['host-path', { hostPath: {} }],
  ])('a %s volume does not tie its pod to the host that it is on, but to the zone [E03]', (_, kind) => {
    const outcome = schedule({
      persistentVolumeClaims: [bound('data', 'pv')],
      persistentVolumes: [volume('pv', [[...onHost('gone'), ...inZone(z2)]], { ...kind })],
      pods: [pod('a', mounts('data'))],
    });
    expect(zoneFor(outcome, 'a')).toBe(z2);
  });

  test('a local volume with a term of nothing but its host lets the pod be anywhere [E03]', () => {
    const outcome = schedule({
      persistentVolumeClaims: [bound('data', 'pv')],
      persistentVolumes: [volume('pv', [onHost('gone')], { local: {} })],
      pods: [pod('a', mounts('data'))],
    });
    expect(outcome.left).toEqual([]);
  });

  test('any other volume keeps its host [E03]', () => {
    const objects = {
      persistentVolumeClaims: [bound('data', 'pv')],
      persistentVolumes: [volume('pv', [onHost('n')])],
      pods: [pod('a', mounts('data'))],
    };
    expect(schedule(objects).left).toEqual(['a']);
    expect(schedule({ ...objects, ...machines(ours('m'), ours('n')) }).placeOf('a')).toBe('node n');
  });

  const DEFAULT = { 'storageclass.kubernetes.io/is-default-class': 'true' };
  const defaultClass = (name: string, zone: string, creationTimestamp: string) =>
    storageClass(name, [[zone]], { metadata: { name, annotations: DEFAULT, creationTimestamp } });

  test('an ephemeral volume has the class that it names, else the default, of several the newest [E04]', () => {
    const named = schedule({ storageClasses: [storageClass('zonal', [[z2]])], pods: [pod('a', ephemeral('zonal'))] });
    expect(zoneFor(named, 'a')).toBe(z2);
    const one = defaultClass('one', z2, '2026-01-01T00:00:00Z');
    expect(zoneFor(schedule({ storageClasses: [one], pods: [pod('a', ephemeral())] }), 'a')).toBe(z2);
    const newer = defaultClass('a-newer', z3, '2026-02-01T00:00:00Z');
    expect(zoneFor(schedule({ storageClasses: [newer, one], pods: [pod('a', ephemeral())] }), 'a')).toBe(z3);
  });

  const LIMITED = { csiNodes: [limitOf('n', 'newest', 0), limitOf('n2', 'newest', 1)] };
  test('the newest default class is also the one that the attach limit is counted for [E04]', () => {
    const classes = [
      storageClass('old', [], {
        provisioner: 'oldest',
        metadata: { name: 'old', annotations: DEFAULT, creationTimestamp: '2026-01-01T00:00:00Z' },
      }),
      storageClass('new', [], {
        provisioner: 'newest',
        metadata: { name: 'new', annotations: DEFAULT, creationTimestamp: '2026-02-01T00:00:00Z' },
      }),
    ];
    const outcome = schedule({
      ...machines(ours('n'), ours('n2')),
      ...LIMITED,
      storageClasses: classes,
      pods: [pod('a', ephemeral())],
    });
    expect(outcome.placeOf('a')).toBe('node n2');
  });

  test.each([
    ['class', { storageClasses: [storageClass('zonal', [[z2]])], persistentVolumeClaims: [unbound('data', 'zonal')] }],
    ['volume', { persistentVolumes: [volume('pv', [inZone(z2)])], persistentVolumeClaims: [bound('data', 'pv')] }],
  ])(
    'the zone of a %s narrows the node; where they contradict, the pod waits and nothing is relaxed [E08]',
    (_, objects) => {
      const elsewhere = { nodeSelector: { [key.zone]: z1 } };
      const outcome = schedule({
        ...objects,
        pods: [pod('a', mounts('data')), pod('b', { ...mounts('data'), ...elsewhere })],
      });
      expect([zoneFor(outcome, 'a'), outcome.left]).toEqual([z2, ['b']]);
      const narrow = poolWith('default', requirement(key.zone, 'In', z1));
      expect(schedule({ ...objects, pools: [narrow], pods: [pod('a', mounts('data'))] }).left).toEqual(['a']);
    },
  );

  test('pods of three zonal volumes spread over three zones with minDomains 3 [E10]', () => {
    const spread = { labels: web, topologySpreadConstraints: [spreadOver(key.zone, { minDomains: 3 })] };
    const zones = [z1, z2, z3];
    const outcome = schedule({
      persistentVolumeClaims: zones.map((zone, index) => bound(`data-${index}`, `pv-${zone}`)),
      persistentVolumes: zones.map((zone) => volume(`pv-${zone}`, [inZone(zone)])),
      pods: zones.map((_, index) => pod(`web-${index}`, { ...spread, ...mounts(`data-${index}`) })),
    });
    expect(outcome.claims.map(({ offering }) => offering.zone).toSorted()).toEqual(zones);
  });

  test('pods of a class that allows three zones spread over them too [E10]', () => {
    const spread = { labels: web, topologySpreadConstraints: [spreadOver(key.zone, { minDomains: 3 })] };
    const outcome = schedule({
      storageClasses: [storageClass('zonal', [[z1, z2, z3]])],
      pods: replicas(3, 'web', { ...spread, ...ephemeral('zonal') }),
    });
    expect(outcome.perZone('web')).toEqual([1, 1, 1]);
  });
});

describe('volumes that cannot be had', () => {
  const deleting = { deletionTimestamp: '2026-01-01T00:00:00Z' };
  const fine = { persistentVolumes: [volume('pv', [inZone(z1)])] };
  const CASES = [
    ['the claim does not exist', 'volume-claim-missing', {}, mounts('data')],
    [
      'the claim is being deleted',
      'volume-claim-lost',
      { ...fine, persistentVolumeClaims: [bound('data', 'pv', deleting)] },
      mounts('data'),
    ],
    [
      'the claim is lost',
      'volume-claim-lost',
      { ...fine, persistentVolumeClaims: [{ ...bound('data', 'pv'), status: { phase: 'Lost' } }] },
      mounts('data'),
    ],
    ['the volume does not exist', 'volume-missing', { persistentVolumeClaims: [bound('data', 'pv')] }, mounts('data')],
    [
      'the volume is being deleted',
      'volume-missing',
      {
        persistentVolumes: [{ ...volume('pv', []), metadata: { name: 'pv', ...deleting } }],
        persistentVolumeClaims: [bound('data', 'pv')],
      },
      mounts('data'),
    ],
    [
      'the claim names a volume and is not bound to it yet',
      'volume-binding',
      {
        ...fine,
        persistentVolumeClaims: [{ ...bound('data', 'pv', { annotations: {} }), status: { phase: 'Pending' } }],
      },
      mounts('data'),
    ],
    [
      'the class does not exist',
      'storage-class-missing',
      { persistentVolumeClaims: [unbound('data', 'none')] },
      mounts('data'),
    ],
    ['there is no class', 'storage-class-missing', { persistentVolumeClaims: [unbound('data')] }, mounts('data')],
    [
      'the class is empty, so that none is meant',
      'storage-class-missing',
      { persistentVolumeClaims: [unbound('data', '')] },
      mounts('data'),
    ],
    [
      'the class binds at once, and nothing is bound',
      'volume-not-bound',
      {
        storageClasses: [storageClass('now', [], { volumeBindingMode: 'Immediate' })],
        persistentVolumeClaims: [unbound('data', 'now')],
      },
      mounts('data'),
    ],
    ['the class of an ephemeral volume does not exist', 'storage-class-missing', {}, ephemeral('none')],
    [
      'the class of an ephemeral volume binds at once',
      'volume-not-bound',
      { storageClasses: [storageClass('now', [], { volumeBindingMode: 'Immediate' })] },
      ephemeral('now'),
    ],
  ] as const;

  test.each(CASES)(
    'when %s, the pod waits for that, and others are placed [E05] [E07]',
    (_, kind, objects, volumes) => {
      const outcome = schedule({
        ...objects,
        ...machines(ours('n')),
        pods: [pod('a', { cpu: '1', ...volumes }), pod('b')],
      });
      expect([outcome.rulesFor('a'), outcome.placeOf('b')]).toEqual([[kind], 'node n']);
    },
  );

  test('a class that allows only a topology no node has keeps the pod out [E05]', () => {
    const allowedTopologies = [{ matchLabelExpressions: [{ key: 'topology.example.com/rack', values: ['1'] }] }];
    const outcome = schedule({
      storageClasses: [storageClass('odd', [], { allowedTopologies })],
      pods: [pod('a', ephemeral('odd')), pod('b')],
    });
    expect(outcome.left).toEqual(['a']);
  });

  test.each([
    ['is empty', { storageClassName: '' }],
    ['does not exist', { storageClassName: 'gone' }],
  ])('a bound claim needs no class: one that %s does no harm [E06]', (_, more) => {
    const claim = bound('data', 'pv');
    const outcome = schedule({
      persistentVolumes: [volume('pv', [inZone(z2)])],
      persistentVolumeClaims: [{ ...claim, spec: { ...claim.spec, ...more } }],
      pods: [pod('a', mounts('data'))],
    });
    expect(zoneFor(outcome, 'a')).toBe(z2);
  });
});
