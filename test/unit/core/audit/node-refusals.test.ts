import { describe, expect, test } from 'vitest';
import type {
  Container,
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  PodSpec,
  StorageClass,
} from '../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../shared/kubernetes/labels.ts';
import { daemonSet, node, pods, pool, requirement, shape, spec, zones } from '../../../kit/core/build.ts';
import { planned as planning } from '../../../kit/core/build-devices.ts';
import { changed, claimFor, judge, onto, waiting, type Case, type Judged } from './judge.ts';

/**
 * Each plan here is right, and breaks one rule of one node when one thing is changed: the audit says that and nothing
 * else.
 */

const [z1, z2] = zones;
const [a, b] = [waiting(), waiting(0, 1)];
const there = pods(1, 1, { nodeName: 'n' });
const small = spec('1', '1Gi');

const dedicated = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
const tainted = (...taints: ReadonlyArray<NonNullable<NonNullable<Node['spec']>['taints']>[number]>): Node => ({
  ...node('n', 8, 32, { [labelKey.zone]: z1 }),
  spec: { taints },
});
const inZone = node('n', 8, 32, { [labelKey.zone]: z1 });

/** One pod of these specs goes to node n; of the second, a pod runs there already. */
function beside(wanting: PodSpec, running?: PodSpec, more: Judged['cluster'] = {}): Judged {
  const shapes = [shape(wanting), ...(running === undefined ? [] : [shape(running)])];
  const all = running === undefined ? [a, b] : [a, b, ...there];
  return { cluster: { nodes: [inZone], shapes, pods: all, ...more }, nominations: [onto('n', [a])] };
}

/** One pod of this spec goes to a new node. */
function alone(wanting: PodSpec, more: Judged['cluster'] = {}): Judged {
  return { cluster: { shapes: [shape(wanting)], pods: [a, b], ...more }, claims: [claimFor([a])] };
}

const tolerating = (...tolerations: NonNullable<PodSpec['tolerations']>) => spec('1', '1Gi', { tolerations });
const near = (...terms: ReadonlyArray<object>) =>
  spec('1', '1Gi', {
    affinity: { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } } },
  });
const whereZone = (operator: string, ...values: ReadonlyArray<string>) =>
  near({ matchExpressions: [requirement(labelKey.zone, operator, ...values)] });
const noTaint = 'taint pods of default/no owner on n: dedicated:NoSchedule is not tolerated';
const notMet = 'node-affinity pods of default/no owner on n: not met';

const ADMISSION: ReadonlyArray<Case> = [
  [
    'a pod does not tolerate its node',
    beside(tolerating({ key: 'dedicated', operator: 'Equal', value: 'gpu' }), undefined, {
      nodes: [tainted(dedicated)],
    }),
    { cluster: { shapes: [shape(small)] } },
    noTaint,
  ],
  [
    'a pod tolerates another value',
    beside(tolerating({ key: 'dedicated', operator: 'Equal', value: 'gpu' }), undefined, {
      nodes: [tainted(dedicated)],
    }),
    { cluster: { shapes: [shape(tolerating({ key: 'dedicated', operator: 'Equal', value: 'cpu' }))] } },
    noTaint,
  ],
  [
    'a pod tolerates another key',
    beside(tolerating({ key: 'dedicated', operator: 'Exists' }), undefined, { nodes: [tainted(dedicated)] }),
    { cluster: { shapes: [shape(tolerating({ key: 'other', operator: 'Exists' }))] } },
    noTaint,
  ],
  [
    'a pod tolerates another effect',
    beside(tolerating({ operator: 'Exists', effect: 'NoSchedule' }), undefined, { nodes: [tainted(dedicated)] }),
    { cluster: { shapes: [shape(tolerating({ operator: 'Exists', effect: 'NoExecute' }))] } },
    noTaint,
  ],
  [
    'a pod tolerates every key, but not every value',
    beside(tolerating({ key: '', operator: 'Exists', effect: '' }), undefined, { nodes: [tainted(dedicated)] }),
    { cluster: { shapes: [shape(tolerating({ key: '', operator: 'Equal', value: 'gpu' }))] } },
    noTaint,
  ],
  [
    'the second taint of a node is not tolerated',
    beside(tolerating({ key: 'first', operator: 'Exists' }), undefined, {
      nodes: [tainted({ key: 'first', effect: 'NoSchedule' }, { ...dedicated, effect: 'PreferNoSchedule' })],
    }),
    { cluster: { nodes: [tainted({ key: 'first', effect: 'NoSchedule' }, { ...dedicated, effect: 'NoExecute' })] } },
    'taint pods of default/no owner on n: dedicated:NoExecute is not tolerated',
  ],
  [
    'a node is cordoned',
    beside(small),
    { cluster: { nodes: [{ ...inZone, spec: { taints: [], unschedulable: true } }] } },
    'taint pods of default/no owner on n: node.kubernetes.io/unschedulable:NoSchedule is not tolerated',
  ],
  [
    'a pod does not tolerate the nodes of its pool',
    alone(small),
    { cluster: { nodePools: [pool('general', { taints: [dedicated] })] } },
    'taint pods of default/no owner on planned-0: dedicated:NoSchedule is not tolerated',
  ],
  [
    'a node lacks what the pod selects',
    beside(spec('1', '1Gi', { nodeSelector: { [labelKey.zone]: z1 } })),
    { cluster: { shapes: [shape(spec('1', '1Gi', { nodeSelector: { [labelKey.zone]: z2 } }))] } },
    notMet,
  ],
  [
    'a node is in none of the zones',
    beside(whereZone('In', z2, z1)),
    { cluster: { shapes: [shape(whereZone('In', z2))] } },
    notMet,
  ],
  [
    'a node is in one of the zones to avoid',
    beside(whereZone('NotIn', z2)),
    { cluster: { shapes: [shape(whereZone('NotIn', z2, z1))] } },
    notMet,
  ],
  [
    'a node lacks a label',
    beside(whereZone('Exists')),
    { cluster: { shapes: [shape(near({ matchExpressions: [requirement('example.com/x', 'Exists')] }))] } },
    notMet,
  ],
  [
    'a node has a label',
    beside(near({ matchExpressions: [requirement('example.com/x', 'DoesNotExist')] })),
    { cluster: { shapes: [shape(whereZone('DoesNotExist'))] } },
    notMet,
  ],
  [
    'a node meets one of two expressions of a term',
    beside(near({ matchExpressions: [requirement(labelKey.zone, 'Exists'), requirement(labelKey.zone, 'In', z1)] })),
    {
      cluster: {
        shapes: [
          shape(
            near({ matchExpressions: [requirement(labelKey.zone, 'Exists'), requirement(labelKey.zone, 'In', z2)] }),
          ),
        ],
      },
    },
    notMet,
  ],
  [
    'a node meets none of the terms',
    beside(
      near(
        { matchExpressions: [requirement(labelKey.zone, 'In', z2)] },
        { matchExpressions: [requirement(labelKey.zone, 'In', z1)] },
      ),
    ),
    { cluster: { shapes: [shape(near({ matchExpressions: [requirement(labelKey.zone, 'In', z2)] }, {}))] } },
    notMet,
  ],
  [
    'a node is not the one of that name',
    beside(near({ matchFields: [requirement('metadata.name', 'In', 'n')] })),
    { cluster: { shapes: [shape(near({ matchFields: [requirement('metadata.name', 'In', 'm')] }))] } },
    notMet,
  ],
];

const numbered = (value: string) => ({ nodes: [node('n', 8, 32, { size: value })] });
const bound = (operator: string, value: string) => near({ matchExpressions: [requirement('size', operator, value)] });
const NUMBERS: ReadonlyArray<Case> = (
  [
    ['Gt', '4', '5'],
    ['Gte', '5', '6'],
    ['Lt', '6', '5'],
    ['Lte', '5', '4'],
  ] as const
).map(([operator, right, wrong]) => [
  `a label is not ${operator} a number`,
  beside(bound(operator, right), undefined, numbered('5')),
  { cluster: { shapes: [shape(bound(operator, wrong))] } },
  notMet,
]);
const NO_NUMBERS: ReadonlyArray<Case> = (
  [
    ['a label that is compared is no number', 'Gt', '4', '5.5'],
    ['a label that is compared is empty', 'Lt', '4', ''],
  ] as const
).map(([what, operator, value, label]) => [
  what,
  beside(bound(operator, value), undefined, numbered(operator === 'Gt' ? '5' : '3')),
  { cluster: numbered(label) },
  notMet,
]);

const sized = (cpu: number, count = 30): Node => ({
  ...inZone,
  status: {
    allocatable: { cpu, memory: '32Gi', pods: count },
    capacity: { cpu, memory: '32Gi', pods: count },
  },
});
const cores = (cpu: string, more: Partial<Container> = {}): Container => ({
  resources: { requests: { cpu } },
  ...more,
});
const starting = (...initContainers: ReadonlyArray<Container>): PodSpec => ({
  containers: [cores('1')],
  initContainers,
});
const shortOf = (needed: number, of: number) => `resources n: cpu ${needed} of ${of}`;

const RESOURCES: ReadonlyArray<Case> = [
  [
    'pods need more than a new node has',
    alone(spec('4', '1Gi')),
    { cluster: { shapes: [shape(spec('4001m', '1Gi'))] } },
    'resources planned-0: cpu 4001 of 4000',
  ],
  [
    'two pods together need more than the node has',
    { ...beside(spec('4', '1Gi')), nominations: [onto('n', [a, b])] },
    { cluster: { shapes: [shape(spec('4001m', '1Gi'))] } },
    shortOf(8002, 8000),
  ],
  [
    'a pod has no room beside one that runs there',
    beside(spec('4', '1Gi'), spec('4', '1Gi')),
    { cluster: { shapes: [shape(spec('4', '1Gi')), shape(spec('4001m', '1Gi'))] } },
    shortOf(8001, 8000),
  ],
  [
    'a pod has no room beside one that is going',
    beside(spec('4', '1Gi'), spec('4', '1Gi')),
    {
      cluster: {
        shapes: [shape(spec('4', '1Gi')), shape(spec('4001m', '1Gi'))],
        pods: [a, b, ...there.map((pod) => ({ ...pod, deleting: true }))],
      },
    },
    shortOf(8001, 8000),
  ],
  [
    'a node holds as many pods as it can',
    beside(small, small, { nodes: [sized(8, 2)] }),
    { cluster: { nodes: [sized(8, 1)] } },
    'resources n: pods 2 of 1',
  ],
  [
    'what pods ask for the node does not have at all',
    beside(small),
    { cluster: { shapes: [shape({ containers: [{ resources: { requests: { 'nvidia.com/gpu': 1 } } }] })] } },
    'resources n: nvidia.com/gpu 1 of 0',
  ],
  [
    'a container without a request needs what its limit says',
    beside(spec('1', '1Gi')),
    { cluster: { shapes: [shape({ containers: [{ resources: { limits: { cpu: '9' } } }] })] } },
    shortOf(9000, 8000),
  ],
  [
    'two containers of a pod need more than the node has',
    beside({ containers: [cores('4'), cores('4')] }),
    { cluster: { shapes: [shape({ containers: [cores('4'), cores('5')] })] } },
    shortOf(9000, 8000),
  ],
  [
    'an init container needs more than the node has',
    beside(starting(cores('8'), cores('7'))),
    { cluster: { shapes: [shape(starting(cores('9'), cores('7')))] } },
    shortOf(9000, 8000),
  ],
  [
    'an init container runs beside a sidecar that started before it',
    beside(starting(cores('2', { restartPolicy: 'Always' }), cores('6'))),
    { cluster: { shapes: [shape(starting(cores('2', { restartPolicy: 'Always' }), cores('7')))] } },
    shortOf(9000, 8000),
  ],
  [
    'a container runs beside its sidecars',
    beside(starting(cores('3', { restartPolicy: 'Always' }), cores('4', { restartPolicy: 'Always' }))),
    {
      cluster: {
        shapes: [shape(starting(cores('3', { restartPolicy: 'Always' }), cores('5', { restartPolicy: 'Always' })))],
      },
    },
    shortOf(9000, 8000),
  ],
  [
    'a pod has an overhead',
    beside({ ...spec('7', '1Gi'), overhead: { cpu: '1' } }),
    { cluster: { shapes: [shape({ ...spec('7', '1Gi'), overhead: { cpu: '1001m' } })] } },
    shortOf(8001, 8000),
  ],
  [
    'a pod as a whole requests more than its containers',
    beside({ ...spec('1', '1Gi'), resources: { requests: { cpu: '8' } } }),
    { cluster: { shapes: [shape({ ...spec('1', '1Gi'), resources: { requests: { cpu: '9' } } })] } },
    shortOf(9000, 8000),
  ],
  [
    'a pod as a whole has a limit, and nothing is said of its containers',
    beside({ containers: [{}], resources: { limits: { cpu: '8' } } }),
    { cluster: { shapes: [shape({ containers: [{}], resources: { limits: { cpu: '9' } } })] } },
    shortOf(9000, 8000),
  ],
  [
    'a container holds more than it requests',
    beside({ containers: [cores('1', { held: [{ cpu: '8' }] })] }),
    { cluster: { shapes: [shape({ containers: [cores('1', { held: [{ cpu: '2' }, { cpu: '9' }] })] })] } },
    shortOf(9000, 8000),
  ],
];

const agent = (podSpec: PodSpec) => ({ daemonSets: [daemonSet('agent', podSpec)] });
const reserve = (wanting: PodSpec, podSpec: PodSpec) => alone(wanting, agent(podSpec));

const DAEMONS: ReadonlyArray<Case> = [
  [
    'a DaemonSet’s pod has no room left on a new node',
    reserve(spec('3', '1Gi'), spec('1', '1Gi')),
    { cluster: agent(spec('1001m', '1Gi')) },
    'resources planned-0: cpu 4001 of 4000',
  ],
  [
    'a DaemonSet’s pod has yet to come to a node',
    beside(spec('7', '1Gi'), undefined, agent(spec('1', '1Gi'))),
    { cluster: agent(spec('1001m', '1Gi')) },
    shortOf(8001, 8000),
  ],
  [
    'a DaemonSet’s pod that does not come to some nodes comes to this one',
    reserve(spec('4', '1Gi'), spec('1', '1Gi', { nodeSelector: { [labelKey.zone]: z2 } })),
    { cluster: agent(spec('1', '1Gi', { nodeSelector: { [labelKey.zone]: z1 } })) },
    'resources planned-0: cpu 5000 of 4000',
  ],
  [
    'a DaemonSet’s pod tolerates the taint of this node',
    beside(tolerating({ operator: 'Exists' }), undefined, {
      nodes: [{ ...tainted(dedicated), status: sized(1).status ?? {} }],
      ...agent(spec('1', '1Gi')),
    }),
    { cluster: agent(tolerating({ operator: 'Exists' })) },
    shortOf(2000, 1000),
  ],
];

test.each([...ADMISSION, ...NUMBERS, ...NO_NUMBERS, ...RESOURCES, ...DAEMONS])(
  'the audit refuses a plan when %s',
  (_, sound, change, finding) => {
    expect(judge(sound)).toEqual([]);
    // That the plan knows nothing of the pool’s taints is another finding.
    expect(judge(changed(sound, change)).filter((one) => !one.startsWith('taints '))).toEqual([finding]);
  },
);

const port = (hostPort: number, hostIP?: string, protocol?: string): PodSpec => ({
  containers: [
    {
      ports: [
        { hostPort, ...(hostIP === undefined ? {} : { hostIP }), ...(protocol === undefined ? {} : { protocol }) },
      ],
    },
  ],
});
const sidecarPort = (hostPort: number, restartPolicy: string): PodSpec => ({
  containers: [{}],
  initContainers: [{ restartPolicy, ...port(hostPort).containers[0] }],
});
const clash = 'host-port n: two pods use one host port';

/** What waits, what runs there, what else could run there without harm. */
const PORTS: ReadonlyArray<readonly [what: string, wanting: PodSpec, harmful: PodSpec, harmless: PodSpec]> = [
  ['a port of all addresses is taken on a specific one', port(80), port(80, '10.0.0.1'), port(81, '10.0.0.1')],
  ['a port of one address is taken on all of them', port(80, '10.0.0.1'), port(80), port(81)],
  ['a port of one address is taken on it', port(80, '10.0.0.1'), port(80, '10.0.0.1'), port(80, '10.0.0.2')],
  ['all addresses are written as 0.0.0.0', port(80, '0.0.0.0'), port(80, '10.0.0.1'), port(81, '0.0.0.0')],
  ['all addresses are written as ::', port(80, '::'), port(80, '10.0.0.1'), port(81, '::')],
  ['a port without a protocol is one of TCP', port(80), port(80, undefined, 'TCP'), port(80, undefined, 'UDP')],
  ['a sidecar uses a port, unlike what ends before', port(80), sidecarPort(80, 'Always'), sidecarPort(80, 'Never')],
];

test.each(PORTS)('the audit refuses a plan when %s', (_, wanting, harmful, harmless) => {
  expect(judge(beside(wanting, harmless))).toEqual([]);
  expect(judge(beside(wanting, harmful))).toEqual([clash]);
});

test('the audit refuses a plan when two pods that it puts on a node use one host port', () => {
  expect(judge(beside(port(80)))).toEqual([]);
  expect(judge({ ...beside(port(80)), nominations: [onto('n', [a, b])] })).toEqual([clash]);
  expect(judge({ ...beside(spec('1', '1Gi')), nominations: [onto('n', [a, b])] })).toEqual([]);
});

test('a port that one pod takes on one address and on all of them is its own', () => {
  const both: PodSpec = { containers: [{ ports: [{ hostPort: 80 }, { hostPort: 80, hostIP: '10.0.0.1' }] }] };
  expect(judge(beside(both))).toEqual([]);
  expect(judge(beside(both, port(80, '10.0.0.2')))).toEqual([clash]);
});

test('a port of a pod that is going is still taken', () => {
  const going = [a, b, ...there.map((pod) => ({ ...pod, deleting: true }))];
  expect(judge(changed(beside(port(80), port(80)), { cluster: { pods: going } }))).toEqual([clash]);
});

test('that two pods share a port already is not the plan’s fault', () => {
  const twice = [a, ...pods(1, 2, { nodeName: 'n' })];
  expect(judge(changed(beside(small, port(80)), { cluster: { pods: twice } }))).toEqual([]);
});

test('a port of a DaemonSet’s pod is taken on a new node, and on one that is there once it has come', () => {
  expect(judge(alone(port(80), agent(port(81))))).toEqual([]);
  expect(judge(alone(port(80), agent(port(80))))).toEqual(['host-port planned-0: two pods use one host port']);
  expect(judge(beside(port(80), undefined, agent(port(80))))).toEqual([]);
});

test('a DaemonSet’s pod that is there already is counted once', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent', uid: 'agent' };
  const its = { ...shape(spec('4', '1Gi'), {}, 'kube-system'), owner };
  const given = changed(beside(spec('4', '1Gi'), small, agent(spec('4', '1Gi'))), {
    cluster: { shapes: [shape(spec('4', '1Gi')), its] },
  });
  expect(judge(given)).toEqual([]);
});

test('two DaemonSets that want one port are not the plan’s fault', () => {
  const twice = { daemonSets: [daemonSet('agent', port(80)), daemonSet('other', port(80))] };
  expect(judge(alone(small, twice))).toEqual([]);
});

test('a port of the container alone is nobody else’s', () => {
  const inside: PodSpec = { containers: [{ ports: [{}, { hostPort: 0 }] }] };
  expect(judge(beside(inside, inside))).toEqual([]);
});

test('what runs on a node that would not take it today is not the plan’s fault', () => {
  const given = beside(tolerating({ operator: 'Exists' }), small, { nodes: [tainted(dedicated)] });
  expect(judge(given)).toEqual([]);
});

describe('a DaemonSet’s pod that states no requests', () => {
  const unstated: PodSpec = { containers: [{}], initContainers: [{}] };
  const range = (name: string, cpu: string, type = 'Container', namespace = 'kube-system') => ({
    metadata: { name, namespace },
    spec: { limits: [{ type, defaultRequest: { cpu } }] },
  });
  const found = (...limitRanges: ReadonlyArray<object>): ReadonlyArray<string> =>
    judge(alone(spec('4', '1Gi'), { ...agent(unstated), limitRanges: limitRanges as never }));

  test('requests what its namespace’s ranges say for containers', () => {
    expect(found()).toEqual([]);
    expect(found(range('a', '1'))).toEqual(['resources planned-0: cpu 5000 of 4000']);
    expect(found(range('a', '1', 'Container', 'default'))).toEqual([]);
    expect(found(range('a', '1', 'Pod'))).toEqual([]);
    expect(found({ metadata: { name: 'a', namespace: 'kube-system' } })).toEqual([]);
  });

  test('requests, of several ranges, what the last by name says', () => {
    expect(found(range('a', '1'), range('b', '2'))).toEqual(['resources planned-0: cpu 6000 of 4000']);
    expect(found(range('b', '2'), range('a', '1'))).toEqual(['resources planned-0: cpu 6000 of 4000']);
  });

  test('requests its own where it states them', () => {
    const given = {
      ...agent({ containers: [{ resources: { limits: { cpu: '1' } } }] }),
      limitRanges: [range('a', '2')],
    };
    expect(judge(alone(spec('4', '1Gi'), given as never))).toEqual(['resources planned-0: cpu 5000 of 4000']);
  });
});

test('a DaemonSet whose pods claim devices takes room where claims are planned for, and none where they are ignored', () => {
  const its = agent(spec('1', '1Gi', { resourceClaims: [{ name: 'gpu' }] }));
  expect(judge(alone(spec('4', '1Gi'), its))).toEqual([]);
  expect(judge(alone(spec('4', '1Gi'), { ...its, devices: planning() }))).toEqual([
    'resources planned-0: cpu 5000 of 4000',
  ]);
});

test('a node that gets no pod is not judged, however full it is', () => {
  const { cluster = {} } = beside(small, spec('9', '1Gi'));
  expect(judge({ cluster, left: [a, b] })).toEqual([]);
});

test('what a node lacks that pods of the plan do not ask for is not their fault', () => {
  const gpu: PodSpec = { containers: [{ resources: { requests: { 'nvidia.com/gpu': 1, cpu: 0 } } }] };
  const none: PodSpec = { containers: [{ resources: { requests: { 'nvidia.com/gpu': 0 } } }] };
  expect(judge(beside(small, gpu))).toEqual([]);
  expect(judge(beside(none, gpu))).toEqual([]);
});

const disk = (parts: Partial<StorageClass> = {}): StorageClass => ({
  metadata: { name: 'disk' },
  provisioner: 'disk.csi.azure.com',
  volumeBindingMode: 'WaitForFirstConsumer',
  ...parts,
});
const going = '2026-12-01T00:00:00Z';
const mounting = spec('1', '1Gi', { volumes: [{ name: 'v', persistentVolumeClaim: { claimName: 'data' } }] });
const scratch = spec('1', '1Gi', {
  volumes: [
    { name: 'plain' },
    { name: 'scratch', ephemeral: { volumeClaimTemplate: { spec: { storageClassName: 'disk' } } } },
  ],
});
const claimed = (parts: Partial<PersistentVolumeClaim> = {}): ReadonlyArray<PersistentVolumeClaim> => [
  {
    metadata: { name: 'data', namespace: 'default' },
    spec: { volumeName: 'pv' },
    status: { phase: 'Bound' },
    ...parts,
  },
];
const unbound = { spec: { storageClassName: 'disk' }, status: { phase: 'Pending' } };
const volume = (
  zone: string,
  more: object = {},
  names: ReadonlyArray<string> = [],
): ReadonlyArray<PersistentVolume> => [
  {
    metadata: { name: 'pv' },
    spec: {
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                requirement(labelKey.zone, 'In', zone),
                ...(names.length === 0 ? [] : [requirement(labelKey.hostname, 'In', ...names)]),
              ],
            },
          ],
        },
      },
      ...more,
    },
  },
];
const allowing = (...values: ReadonlyArray<string>) => [{ matchLabelExpressions: [{ key: labelKey.zone, values }] }];
const mounted = (more: Judged['cluster'] = {}): Judged =>
  beside(mounting, undefined, { persistentVolumeClaims: claimed(), persistentVolumes: volume(z1), ...more });
const toBind = (more: Judged['cluster'] = {}): Judged =>
  beside(mounting, undefined, { persistentVolumeClaims: claimed(unbound), storageClasses: [disk()], ...more });
const volumeOf = (problem: string) => `volume pods of default/no owner on n: ${problem}`;

const VOLUMES: ReadonlyArray<Case> = [
  [
    'a volume claim does not exist',
    mounted(),
    { cluster: { persistentVolumeClaims: [] } },
    volumeOf('volume claim data does not exist'),
  ],
  [
    'a volume claim is being deleted',
    mounted(),
    {
      cluster: {
        persistentVolumeClaims: claimed({ metadata: { name: 'data', namespace: 'default', deletionTimestamp: going } }),
      },
    },
    volumeOf('volume claim data is going'),
  ],
  [
    'a volume claim has lost its volume',
    mounted(),
    { cluster: { persistentVolumeClaims: claimed({ status: { phase: 'Lost' } }) } },
    volumeOf('volume claim data is going'),
  ],
  [
    'a volume claim is not bound yet',
    mounted(),
    { cluster: { persistentVolumeClaims: claimed({ status: { phase: 'Pending' } }) } },
    volumeOf('volume claim data is not bound yet'),
  ],
  [
    'a volume claim that says by an annotation that it is bound says so no more',
    mounted({
      persistentVolumeClaims: claimed({
        metadata: { name: 'data', namespace: 'default', annotations: { 'pv.kubernetes.io/bind-completed': 'yes' } },
        status: {},
      }),
    }),
    { cluster: { persistentVolumeClaims: claimed({ status: {} }) } },
    volumeOf('volume claim data is not bound yet'),
  ],
  ['a volume is not there', mounted(), { cluster: { persistentVolumes: [] } }, volumeOf('volume of data is not there')],
  [
    'a volume is being deleted',
    mounted(),
    {
      cluster: {
        persistentVolumes: volume(z1).map((one) => ({ ...one, metadata: { name: 'pv', deletionTimestamp: going } })),
      },
    },
    volumeOf('volume of data is going'),
  ],
  [
    'a volume is in another zone',
    mounted(),
    { cluster: { persistentVolumes: volume(z2) } },
    volumeOf('volume of data is elsewhere'),
  ],
  [
    'a volume is on another node',
    mounted({ persistentVolumes: volume(z1, {}, ['n']) }),
    { cluster: { persistentVolumes: volume(z1, {}, ['m']) } },
    volumeOf('volume of data is elsewhere'),
  ],
  [
    'a local volume is in another zone, whatever its node',
    mounted({ persistentVolumes: volume(z1, { local: {} }, ['m']) }),
    { cluster: { persistentVolumes: volume(z2, { local: {} }, ['n']) } },
    volumeOf('volume of data is elsewhere'),
  ],
  [
    'a path of a host is in another zone, whatever its node',
    mounted({ persistentVolumes: volume(z1, { hostPath: {} }, ['m']) }),
    { cluster: { persistentVolumes: volume(z2, { hostPath: {} }, ['n']) } },
    volumeOf('volume of data is elsewhere'),
  ],
  [
    'a claim that is still to be bound has no class',
    toBind(),
    { cluster: { storageClasses: [] } },
    volumeOf('data has no class'),
  ],
  [
    'a claim without a class is bound at once or not at all',
    toBind(),
    { cluster: { storageClasses: [disk({ volumeBindingMode: 'Immediate' })] } },
    volumeOf('data is bound at once or not at all'),
  ],
  [
    'the class of a claim allows other zones',
    toBind({ storageClasses: [disk({ allowedTopologies: [...allowing(z2), ...allowing(z1)] })] }),
    { cluster: { storageClasses: [disk({ allowedTopologies: allowing(z2) })] } },
    volumeOf('the class of data does not allow this domain'),
  ],
  [
    'a volume that goes with its pod has no class',
    beside(scratch, undefined, { storageClasses: [disk()] }),
    { cluster: { storageClasses: [disk({ metadata: { name: 'other' } })] } },
    volumeOf('scratch has no class'),
  ],
];

test.each(VOLUMES)('the audit refuses a plan when %s', (_, sound, change, finding) => {
  expect(judge(sound)).toEqual([]);
  expect(judge(changed(sound, change))).toEqual([finding]);
});

const attaching = (count: number, driver = 'disk.csi.azure.com') => ({
  csiNodes: [{ metadata: { name: 'n' }, spec: { drivers: [{ name: driver, allocatable: { count } }] } }],
});
const tooMany = (count: number, limit: number, driver = 'disk.csi.azure.com') =>
  `volume-limit n: ${count} volumes of ${driver}, ${limit} can be attached`;

test('the audit refuses a plan when a node attaches fewer volumes than its pods would have', () => {
  const beside2 = beside(scratch, scratch, { storageClasses: [disk()], ...attaching(2) });
  expect(judge(beside2)).toEqual([]);
  expect(judge(changed(beside2, { cluster: attaching(1) }))).toEqual([tooMany(2, 1)]);
});

test('a volume that several pods share is attached once', () => {
  const shared = mounted({
    storageClasses: [disk()],
    persistentVolumes: volume(z1, { csi: { driver: 'disk.csi.azure.com' } }),
  });
  const both = { ...shared, nominations: [onto('n', [a, b])] };
  expect(judge(changed(both, { cluster: attaching(1) }))).toEqual([]);
  expect(judge(changed(both, { cluster: attaching(0) }))).toEqual([tooMany(1, 0)]);
});

test.each([
  ['azureDisk', 'disk.csi.azure.com'],
  ['azureFile', 'file.csi.azure.com'],
])('a volume of the in-tree driver %s is attached by the CSI driver that took over', (kind, driver) => {
  const own = mounted({ persistentVolumes: volume(z1, { [kind]: {} }) });
  expect(judge(changed(own, { cluster: attaching(1, driver) }))).toEqual([]);
  expect(judge(changed(own, { cluster: attaching(0, driver) }))).toEqual([tooMany(1, 0, driver)]);
  expect(judge(changed(own, { cluster: attaching(0, 'other.csi') }))).toEqual([]);
});

test('volumes beyond what a node attaches are the plan’s fault only when it adds one', () => {
  const given = beside(small, scratch, { storageClasses: [disk()], ...attaching(0) });
  expect(judge(given)).toEqual([]);
});
