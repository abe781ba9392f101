import { describe, expect, test } from 'vitest';
import type { CapacityBuffer, ScalableWorkload } from '../../../../shared/kubernetes/buffer-manifest.ts';
import type { ExactDeviceRequest, ResourceSlice } from '../../../../shared/kubernetes/device-manifest.ts';
import type { NodeClaim, PodSpec, Taint } from '../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../shared/kubernetes/labels.ts';
import type { DeviceAssignment, Nomination, PlannedBuffer } from '../../../../shared/core/model/plan.ts';
import { DEVICES_IGNORED } from '../../../../shared/core/model/provisioning-input.ts';
import { daemonSet, node, onDemand, pods, pool, requirement, shape, spec, zones } from '../../../kit/core/build.ts';
import {
  deviceClass,
  driver,
  fromTemplates,
  gpus,
  nodeSlice,
  planned as planning,
  request,
  template as claimTemplate,
} from '../../../kit/core/build-devices.ts';
import { changed, claimFor, D4, judge, offered, onto, waiting, type Case, type Judged } from './judge.ts';

/**
 * Each plan here is right, and breaks one rule about others when one thing is changed: the audit says that and nothing
 * else.
 */

const [z1, z2] = zones;
const [a, b] = [waiting(), waiting(0, 1)];
const small = spec('1', '1Gi');
const roomy = node('n', 8, 32, { [labelKey.zone]: z1 });

const template = (podSpec: PodSpec = small) => [
  { metadata: { name: 'room', namespace: 'default' }, template: { spec: podSpec } },
];
const buffer = (parts: Partial<CapacityBuffer['spec']>, more: object = {}): CapacityBuffer => ({
  metadata: { name: 'spare', namespace: 'default', ...more },
  spec: parts.scalableRef === undefined ? { podTemplateRef: { name: 'room' }, ...parts } : parts,
});
const room = (count: number) =>
  Array.from({ length: count }, (_, at) => ({
    name: `capacity-buffer-spare-${at + 1}`,
    uid: `capacity-buffer/default/spare/${at + 1}`,
  }));
const target: Nomination['target'] = { kind: 'node', name: 'n' };
const told = (count: number, parts: Partial<PlannedBuffer> = {}): PlannedBuffer => ({
  buffer: 'default/spare',
  nominations: count === 0 ? [] : [{ target, pods: room(count) }],
  claims: [],
  left: [],
  ...parts,
});
const held = (count: number): Judged => ({
  cluster: { nodes: [roomy], capacityBuffers: [buffer({ replicas: count })], podTemplates: template() },
  buffers: [told(count)],
});
const closed = { nodeOverlay: true, staticCapacity: true, capacityBuffer: false, reservedCapacity: true };

const BUFFERS: ReadonlyArray<Case> = [
  ['a buffer is not told of', held(2), { buffers: [] }, 'buffers buffer default/spare is not told of'],
  [
    'a buffer has less room than it asks for',
    held(2),
    { buffers: [told(1)] },
    'buffers capacity-buffer-spare-2 of buffer default/spare is not told of',
  ],
  [
    'a buffer is told of that is not there',
    {},
    { buffers: [told(0)] },
    'buffers there is no buffer default/spare to be filled',
  ],
  [
    'a buffer is told of behind a closed gate',
    { cluster: { capacityBuffers: [buffer({ replicas: 1 })], podTemplates: template(), policy: { gates: closed } } },
    { buffers: [told(0)] },
    'buffers there is no buffer default/spare to be filled',
  ],
  [
    'what stands for the room of a buffer is told among real pods',
    { cluster: { nodes: [roomy], shapes: [shape(small)], pods: [a] }, nominations: [onto('n', [a])] },
    {
      cluster: { pods: [{ ...a, uid: room(1)[0]?.uid ?? '' }] },
      nominations: [{ target, pods: [{ ...a, uid: room(1)[0]?.uid ?? '' }] }],
    },
    'buffers s0-0000 is told among real pods',
  ],
  [
    'a buffer has room where there is none',
    held(2),
    { cluster: { podTemplates: template(spec('4001m', '1Gi')) } },
    'resources n: cpu 8002 of 8000',
  ],
  [
    'a buffer has room on a new node that has none',
    { ...held(4), claims: [claimFor([])], buffers: [told(0, { claims: [{ claim: 0, pods: room(4) }] })] },
    { cluster: { podTemplates: template(spec('1001m', '1Gi')) } },
    'resources planned-0: cpu 4004 of 4000',
  ],
  [
    'a buffer has room that a pod is left without',
    { ...held(1), cluster: { ...held(1).cluster, shapes: [shape(spec('8001m', '1Gi'))], pods: [a] }, left: [a] },
    { cluster: { shapes: [shape(spec('8', '1Gi'))] } },
    'buffer-precedence a buffer has room on n that a pod of default is left without',
  ],
];

const near = (topologyKey = labelKey.zone): PodSpec => {
  const term = { topologyKey, labelSelector: { matchLabels: { app: 'web' } } };
  return spec('1', '1Gi', { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } });
};
const away = (topologyKey = labelKey.zone): PodSpec => {
  const term = { topologyKey, labelSelector: { matchLabels: { app: 'web' } } };
  return spec('1', '1Gi', {
    affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } },
  });
};
const even = (more: object = {}): PodSpec => {
  const labelSelector = { matchLabels: { app: 'web' } };
  const constraint = {
    maxSkew: 1,
    topologyKey: labelKey.zone,
    whenUnsatisfiable: 'DoNotSchedule',
    labelSelector,
    ...more,
  };
  return spec('1', '1Gi', { topologySpreadConstraints: [constraint] });
};
const web = { app: 'web' };
const elsewhere = node('m', 8, 32, { [labelKey.zone]: z2 });
const nowhere = node('m', 8, 32);
const runningOn = (name: string) => pods(1, 1, { nodeName: name });
/** Pod a goes to node m; a pod of `web` runs on node n. */
const company = (podSpec: PodSpec, labels = {}, nodes = [roomy, elsewhere]): Judged => ({
  cluster: { nodes, shapes: [shape(podSpec, labels), shape(small, web)], pods: [a, b, ...runningOn('n')] },
  nominations: [onto('m', [a])],
});

const OTHERS: ReadonlyArray<Case> = [
  [
    'a pod is where one is that it must be away from',
    company(away()),
    { nominations: [onto('n', [a])] },
    `anti-affinity default/0: 1 pods in ${z1}`,
  ],
  [
    'a pod is where one is that must be away from it',
    {
      ...company(small, web),
      cluster: { ...company(small, web).cluster, shapes: [shape(small, web), shape(away(), web)] },
    },
    { nominations: [onto('n', [a])] },
    `anti-affinity default/1: 2 pods in ${z1}`,
  ],
  [
    'two pods are together that must be away from their like',
    {
      cluster: { nodes: [roomy, elsewhere], shapes: [shape(away(), web)], pods: [a, b] },
      nominations: [onto('n', [a]), onto('m', [b])],
    },
    { nominations: [onto('n', [a, b])] },
    `anti-affinity default/0: 2 pods in ${z1}`,
  ],
  [
    'a pod is not where those are that it must be near',
    { ...company(near()), nominations: [onto('n', [a])] },
    { nominations: [onto('m', [a])] },
    `affinity default/0: nothing that it must be near in ${z2}`,
  ],
  [
    'a pod that must be near others is on a node without a domain',
    { ...company(near(), {}, [roomy, nowhere]), nominations: [onto('n', [a])] },
    { nominations: [onto('m', [a])] },
    `affinity default/0: a node has no ${labelKey.zone}`,
  ],
  [
    'pods are spread unevenly',
    company(even(), web),
    { nominations: [onto('n', [a])] },
    `spread default: ${labelKey.zone} ${z1} has too many pods`,
  ],
  [
    'a pod that is spread is on a node without a domain',
    { ...company(even({ maxSkew: 5 }), web, [roomy, nowhere]), nominations: [onto('n', [a])] },
    { nominations: [onto('m', [a])] },
    `spread a node has no ${labelKey.zone}`,
  ],
  [
    'a spread that was a wish is a rule',
    { ...company(even({ whenUnsatisfiable: 'ScheduleAnyway' }), web), nominations: [onto('n', [a])] },
    { cluster: { shapes: [shape(even(), web), shape(small, web)] } },
    `spread default: ${labelKey.zone} ${z1} has too many pods`,
  ],
];

test.each([...BUFFERS, ...OTHERS])('the audit refuses a plan when %s', (_, sound, change, finding) => {
  expect(judge(sound)).toEqual([]);
  expect(judge(changed(sound, change))).toEqual([finding]);
});

describe('a buffer', () => {
  const deployed = (replicas: number | undefined): ScalableWorkload => ({
    metadata: { name: 'web', namespace: 'default' },
    spec: { ...(replicas === undefined ? {} : { replicas }), template: { spec: small } },
  });
  const of = (kind: string, more: object = {}) => ({ scalableRef: { kind, name: 'web', ...more } });
  const strategy = 'buffer.x-k8s.io/active-capacity';

  test.each<readonly [string, CapacityBuffer, number]>([
    ['of three replicas', buffer({ replicas: 3 }), 3],
    ['of half of a Deployment of three, rounded up', buffer({ ...of('Deployment'), percentage: 50 }), 2],
    ['of the larger of a number and a percentage', buffer({ ...of('Deployment'), percentage: 50, replicas: 1 }), 2],
    ['of the larger of a percentage and a number', buffer({ ...of('Deployment'), percentage: 50, replicas: 4 }), 4],
    ['of all of a StatefulSet of two', buffer({ ...of('StatefulSet', { apiGroup: 'apps' }), percentage: 100 }), 2],
    ['of all of a ReplicaSet that says nothing', buffer({ ...of('ReplicaSet', { apiGroup: '' }), percentage: 100 }), 1],
    ['of what its limits hold', buffer({ limits: { cpu: '2500m', memory: '4Gi' } }), 2],
    ['of no more than its limits hold', buffer({ replicas: 5, limits: { cpu: '4', memory: '3Gi' } }), 3],
    ['whose limits do not bind', buffer({ replicas: 1, limits: { cpu: '4', 'nvidia.com/gpu': 0 } }), 1],
    ['whose limit on pods is nobody’s', buffer({ replicas: 2, limits: { pods: 1 } }), 2],
    ['of the strategy that is known', buffer({ replicas: 2, provisioningStrategy: strategy }), 2],
    ['of another strategy', buffer({ replicas: 2, provisioningStrategy: 'other' }), 0],
    ['that is being deleted', buffer({ replicas: 2 }, { deletionTimestamp: '2026-12-01T00:00:00Z' }), 0],
    ['of another namespace than its template', buffer({ replicas: 2 }, { namespace: 'red' }), 0],
    ['of a kind that is not scaled', buffer({ ...of('DaemonSet'), replicas: 2 }), 0],
    ['of a kind of another group', buffer({ ...of('Deployment', { apiGroup: 'other' }), replicas: 2 }), 0],
    ['of more than can be held', buffer({ replicas: 10_001 }), 0],
    [
      'of a percentage of nothing, and so of what its limits hold',
      buffer({ ...of('Deployment', { name: 'idle' }), percentage: 50, limits: { cpu: '2' } }),
      2,
    ],
    [
      'of a percentage that is below what its limits hold',
      buffer({ ...of('Deployment'), percentage: 50, limits: { cpu: '9' } }),
      2,
    ],
    ['of neither a number nor limits', buffer({}), 0],
    [
      'of neither a template nor a workload',
      { metadata: { name: 'spare', namespace: 'default' }, spec: { replicas: 2 } },
      0,
    ],
    ['of a namespace that is not named', { ...buffer({ replicas: 2 }), metadata: { name: 'spare' } }, 2],
  ])('%s is filled with as many pods as it asks for', (_, wanted, count) => {
    const cluster: Judged['cluster'] = {
      nodes: [roomy],
      podTemplates: template(),
      deployments: [deployed(3), { ...deployed(0), metadata: { name: 'idle' } }],
      statefulSets: [deployed(2)],
      replicaSets: [deployed(undefined)],
      capacityBuffers: [wanted],
    };
    if (count === 0) {
      expect(judge({ cluster })).toEqual([]);
      return;
    }
    const missing = `buffers capacity-buffer-spare-${count} of buffer default/spare is not told of`;
    expect(judge({ cluster, buffers: [told(count)] })).toEqual([]);
    expect(judge({ cluster, buffers: [told(count - 1)] })).toEqual([missing]);
    expect(judge({ cluster, buffers: [told(count + 1)] })).toEqual([
      'buffers buffer default/spare has 1 pods more than it asks for',
      `accounting pod capacity-buffer-spare-${count + 1} is not known`,
    ]);
  });

  test('of pods with volumes has room where these are not', () => {
    const volumes = [{ name: 'v', persistentVolumeClaim: { claimName: 'none' } }];
    const podTemplates = template(spec('1', '1Gi', { volumes }));
    expect(judge(changed(held(2), { cluster: { podTemplates } }))).toEqual([]);
  });

  test('of just as many pods as can be held is filled', () => {
    const missing = judge({
      cluster: { ...held(0).cluster, capacityBuffers: [buffer({ replicas: 10_000 })] },
      buffers: [],
    });
    expect(missing).toEqual(['buffers buffer default/spare is not told of']);
  });

  test('stands in the way of what would have room beside those that run there', () => {
    const left = (cpu: string) => {
      const shapes = [shape(spec(cpu, '1Gi')), shape(small)];
      const cluster: Judged['cluster'] = { ...held(1).cluster, shapes, pods: [a, ...pods(1, 1, { nodeName: 'n' })] };
      return judge({ ...held(1), cluster, left: [a] });
    };
    expect(left('8')).toEqual([]);
    expect(left('7')).toEqual(['buffer-precedence a buffer has room on n that a pod of default is left without']);
  });

  test('does not stand in the way where it has no room', () => {
    const nodes = [roomy, node('m', 8, 32)];
    const shapes = [shape(spec('7500m', '1Gi')), shape(small)];
    const cluster: Judged['cluster'] = {
      ...held(1).cluster,
      nodes,
      shapes,
      pods: [a, ...pods(1, 2, { nodeName: 'n' })],
    };
    expect(judge({ ...held(1), cluster, left: [a] })).toEqual([]);
  });

  test('does not stand in the way where any pod keeps others away', () => {
    const sound = held(1);
    const shapes = [shape(spec('4', '1Gi')), shape(small), shape(away())];
    const others = [a, ...pods(1, 1, { nodeName: 'n' }), ...pods(2, 1, { nodeName: 'n' })];
    const found = ['buffer-precedence a buffer has room on n that a pod of default is left without'];
    const judgedWith = (all: typeof others) =>
      judge({
        ...sound,
        cluster: { ...sound.cluster, shapes: all.length > 2 ? shapes : shapes.slice(0, 2), pods: all },
        left: [a],
      });
    expect(judgedWith(others.slice(0, 2))).toEqual(found);
    expect(judgedWith(others)).toEqual([]);
  });

  test('whose room is left tells of it all the same', () => {
    const [first, second] = room(2);
    if (first === undefined || second === undefined) throw new Error('two');
    const buffers = [told(1, { left: [{ pod: second, refusals: [] }] })];
    expect(judge({ ...held(2), buffers })).toEqual([]);
  });

  test('of pods that claim devices is not filled', () => {
    const sound = held(2);
    expect(judge({ cluster: { ...sound.cluster, podTemplates: template(fromTemplates('one')) } })).toEqual([]);
  });

  /** A pod is left that would fit where the buffer has its room, had it none of these. */
  const unjudged: ReadonlyArray<readonly [string, PodSpec]> = [
    ['has to be near others', near()],
    ['has to be away from others', away()],
    ['is spread', even()],
    ['claims devices', fromTemplates('one')],
  ];
  test.each(unjudged)('does not stand in the way of a pod that %s', (_, podSpec) => {
    const sound = held(1);
    const cluster = { ...sound.cluster, shapes: [shape(podSpec)], pods: [a] };
    expect(judge({ ...sound, cluster, left: [a] })).toEqual([]);
  });

  test('does not stand in the way on a node of a pool with minValues, nor where a daemon asks for a label left open', () => {
    const [first] = room(1);
    if (first === undefined) throw new Error('one');
    const parts = { labels: { team: 'red' }, requirements: [requirement(labelKey.instanceType, 'In', D4.name)] };
    const leaving = (nodePool: ReturnType<typeof pool>, more: Judged['cluster'] = {}): ReadonlyArray<string> =>
      judge({
        cluster: {
          nodePools: [nodePool],
          shapes: [shape(spec('4', '1Gi'))],
          pods: [a],
          capacityBuffers: [buffer({ replicas: 1 })],
          podTemplates: template(),
          ...more,
        },
        claims: [claimFor([], parts)],
        buffers: [told(0, { claims: [{ claim: 0, pods: [first] }] })],
        left: [a],
      });
    const found = ['buffer-precedence a buffer has room on planned-0 that a pod of default is left without'];
    const teams = requirement('team', 'In', 'red', 'blue');
    const least = { key: labelKey.instanceType, operator: 'Exists', minValues: 1 };
    expect(leaving(pool('general'))).toEqual(found);
    expect(leaving(pool('general', { requirements: [onDemand, least] }))).toEqual([]);
    expect(leaving(pool('general', { requirements: [onDemand, teams] }))).toEqual(found);
    const asking = (podSpec: PodSpec) => ({ daemonSets: [daemonSet('agent', podSpec)] });
    const blue = { nodeSelector: { team: 'blue' } };
    const term = { matchExpressions: [requirement('team', 'In', 'blue')] };
    const affinity = {
      nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [term] } },
    };
    expect(leaving(pool('general', { requirements: [onDemand, teams] }), asking(spec('1', '1Gi', blue)))).toEqual([]);
    expect(
      leaving(pool('general', { requirements: [onDemand, teams] }), asking(spec('1', '1Gi', { affinity }))),
    ).toEqual([]);
    expect(leaving(pool('general'), asking(spec('1', '1Gi', blue)))).toEqual(found);
  });
});

const gpu = (device = 'gpu-0', parts: Partial<DeviceAssignment['devices'][number]> = {}) => ({
  request: 'gpu',
  driver,
  pool: 'n',
  device,
  ...parts,
});
const assigned = (...devices: DeviceAssignment['devices']): DeviceAssignment => ({
  claim: 'default/s0-0000/my-one',
  pods: ['s0-0000'],
  instanceTypes: null,
  devices,
});
const slices = (
  count: number,
  parts: Parameters<typeof gpus>[1] = {},
  more: object = {},
): ReadonlyArray<ResourceSlice> => [nodeSlice('n', gpus(count, parts), more)];
/** Pod a goes to node n with one device of two. */
function withDevice(exactly: Partial<ExactDeviceRequest> = {}, more: Judged['cluster'] = {}): Judged {
  return {
    cluster: {
      nodes: [roomy],
      resourceSlices: slices(2),
      devices: planning(),
      deviceClasses: [deviceClass()],
      resourceClaimTemplates: [claimTemplate('one', { requests: [request('gpu', exactly)] })],
      shapes: [shape(fromTemplates('one'))],
      pods: [a],
      ...more,
    },
    nominations: [onto('n', [a])],
    devices: [assigned(gpu())],
  };
}
const asking = (exactly: Partial<ExactDeviceRequest>) => ({
  resourceClaimTemplates: [claimTemplate('one', { requests: [request('gpu', exactly)] })],
});
const wrong = (problem: string) => `devices claim default/s0-0000/my-one of pod s0-0000 on node/n: ${problem}`;
const id = `${driver}/n/gpu-0`;
const memory = (value: string, requestPolicy?: object) => ({
  allowMultipleAllocations: true,
  capacity: { memory: { value, ...(requestPolicy === undefined ? {} : { requestPolicy }) } },
});
const counted = (value: string) => ({
  consumesCounters: [{ counterSet: 'set', counters: { slots: { value } } }],
});
const set = (value: string) => ({ sharedCounters: [{ name: 'set', counters: { slots: { value } } }] });
const bad: Taint = { key: 'bad', effect: 'NoSchedule' };

const DEVICES: ReadonlyArray<Case> = [
  ['a claim gets no devices', withDevice(), { devices: [] }, wrong('it is given no devices')],
  [
    'the devices of a claim are for another pod',
    withDevice(),
    { devices: [{ ...assigned(gpu()), pods: ['other'] }] },
    wrong('it is given no devices'),
  ],
  [
    'the devices of a claim are for another size',
    withDevice(),
    { devices: [{ ...assigned(gpu()), instanceTypes: [D4.name] }] },
    wrong('it is given no devices'),
  ],
  [
    'a device is not there',
    withDevice(),
    { devices: [assigned(gpu('gpu-2'))] },
    wrong('it is given a device that is not reached from there'),
  ],
  [
    'a pool of devices is not complete',
    withDevice(),
    { cluster: { resourceSlices: slices(2, {}, { pool: { name: 'n', generation: 1, resourceSliceCount: 2 } }) } },
    wrong('it is given a device that is not reached from there'),
  ],
  [
    'a device is another node’s',
    withDevice({}, { nodes: [roomy, elsewhere] }),
    { cluster: { resourceSlices: slices(2, {}, { nodeName: 'm' }) } },
    wrong('it is given a device that is not reached from there'),
  ],
  [
    'a claim gets fewer devices than it asks for',
    { ...withDevice({ count: 2 }), devices: [assigned(gpu(), gpu('gpu-1'))] },
    { devices: [assigned(gpu())] },
    wrong('request gpu gets 1 devices'),
  ],
  [
    'a claim gets more devices than it asks for',
    withDevice(),
    { devices: [assigned(gpu(), gpu('gpu-1'))] },
    wrong('request gpu gets 2 devices'),
  ],
  [
    'a claim for all devices gets some',
    { ...withDevice({ allocationMode: 'All' }), devices: [assigned(gpu(), gpu('gpu-1'))] },
    { devices: [assigned(gpu())] },
    wrong('request gpu gets 1 devices'),
  ],
  [
    'one device stands for two',
    { ...withDevice({ count: 2 }), devices: [assigned(gpu(), gpu('gpu-1'))] },
    { cluster: asking({ count: 1 }), devices: [assigned(gpu(), gpu())] },
    wrong('request gpu gets 1 devices'),
  ],
  [
    'the class of a request does not exist',
    withDevice(),
    { cluster: asking({ deviceClassName: 'other' }) },
    wrong('the class of request gpu does not exist'),
  ],
  [
    'the class of a request does not select the device',
    withDevice(),
    { cluster: { deviceClasses: [deviceClass('gpu', 'false')] } },
    wrong(`request gpu does not select ${id}`),
  ],
  [
    'a request does not select the device',
    withDevice({ selectors: [{ cel: { expression: 'true' } }] }),
    { cluster: asking({ selectors: [{ cel: { expression: 'true' } }, { cel: { expression: 'false' } }] }) },
    wrong(`request gpu does not select ${id}`),
  ],
  [
    'a request does not tolerate the taint of its device',
    withDevice({ tolerations: [{ key: 'bad', operator: 'Exists' }] }, { resourceSlices: slices(2, { taints: [bad] }) }),
    { cluster: asking({ tolerations: [{ key: 'good', operator: 'Exists' }] }) },
    wrong(`request gpu does not tolerate the taints of ${id}`),
  ],
  [
    'a request tolerates another effect',
    withDevice(
      { tolerations: [{ operator: 'Exists', effect: 'NoSchedule' }] },
      { resourceSlices: slices(2, { taints: [bad] }) },
    ),
    { cluster: { resourceSlices: slices(2, { taints: [{ ...bad, effect: 'NoExecute' }] }) } },
    wrong(`request gpu does not tolerate the taints of ${id}`),
  ],
  [
    'a request tolerates another value',
    withDevice(
      { tolerations: [{ key: 'bad', value: 'x' }] },
      { resourceSlices: slices(2, { taints: [{ ...bad, value: 'x' }] }) },
    ),
    { cluster: { resourceSlices: slices(2, { taints: [{ ...bad, value: 'y' }] }) } },
    wrong(`request gpu does not tolerate the taints of ${id}`),
  ],
  [
    'devices are given that no request asks for',
    withDevice(),
    { devices: [assigned(gpu(), gpu('gpu-1', { request: 'other' }))] },
    wrong('devices are given that no request asks for'),
  ],
  [
    'a request takes a larger share than the device has',
    withDevice({ capacity: { requests: { memory: '8Gi' } } }, { resourceSlices: slices(1, memory('8Gi')) }),
    { cluster: asking({ capacity: { requests: { memory: '9Gi' } } }) },
    wrong(`request gpu cannot have that share of ${id}`),
  ],
  [
    'a request takes a share of what the device does not have',
    withDevice({ capacity: { requests: { memory: '8Gi' } } }, { resourceSlices: slices(1, memory('8Gi')) }),
    { cluster: asking({ capacity: { requests: { cores: '1' } } }) },
    wrong(`request gpu cannot have that share of ${id}`),
  ],
  [
    'a share is above those that are allowed',
    withDevice(
      { capacity: { requests: { memory: '3Gi' } } },
      { resourceSlices: slices(1, memory('8Gi', { default: '1Gi', validValues: ['2Gi', '4Gi'] })) },
    ),
    { cluster: asking({ capacity: { requests: { memory: '5Gi' } } }) },
    wrong(`request gpu cannot have that share of ${id}`),
  ],
  [
    'a share is above the range that is allowed',
    withDevice(
      { capacity: { requests: { memory: '3Gi' } } },
      {
        resourceSlices: slices(
          1,
          memory('8Gi', { default: '1Gi', validRange: { min: '2Gi', max: '4Gi', step: '2Gi' } }),
        ),
      },
    ),
    { cluster: asking({ capacity: { requests: { memory: '5Gi' } } }) },
    wrong(`request gpu cannot have that share of ${id}`),
  ],
  [
    'the pool of a device lacks the counters',
    withDevice({}, { resourceSlices: slices(1, counted('4'), set('4')) }),
    { cluster: { resourceSlices: slices(1, counted('5'), set('4')) } },
    `devices the pool of ${id} is short of counter set/slots`,
  ],
  [
    'devices of a claim are not of one kind',
    {
      ...withDevice({ count: 2 }, sameKind('a', 'a')),
      devices: [assigned(gpu(), gpu('gpu-1'))],
    },
    { cluster: { resourceSlices: sameKind('a', 'b').resourceSlices } },
    wrong(`the constraint on ${driver}/kind does not hold`),
  ],
  [
    'claims are ignored and a pod that has one gets a place',
    { ...withDevice({}, { devices: DEVICES_IGNORED }), nominations: [], left: [a], devices: [] },
    { nominations: [onto('n', [a])], left: [] },
    'devices claims are ignored, and s0-0000 have a place',
  ],
  [
    'there is neither a claim nor what it is made from',
    withDevice(),
    { cluster: { resourceClaimTemplates: [] } },
    'devices the claim my-one of pod s0-0000 does not exist',
  ],
];

/** Two devices of these kinds, and a claim that wants both to be of one. */
function sameKind(...kinds: readonly [string, string]) {
  const constraints = [{ matchAttribute: `${driver}/kind` }];
  const devices = kinds.map((kind, at) => ({ name: `gpu-${at}`, attributes: { kind: { string: kind } } }));
  return {
    resourceSlices: [nodeSlice('n', devices)],
    resourceClaimTemplates: [claimTemplate('one', { requests: [request('gpu', { count: 2 })], constraints })],
  };
}

test.each(DEVICES)('the audit refuses a plan when %s', (_, sound, change, finding) => {
  expect(judge(sound)).toEqual([]);
  expect(judge(changed(sound, change))).toEqual([finding]);
});

/** Pods a and b, each with a share of the one device of node n. */
const shared = (each: string, value = '8Gi'): Judged => ({
  ...withDevice(
    { capacity: { requests: { memory: each } } },
    { resourceSlices: slices(1, memory(value)), pods: [a, b] },
  ),
  nominations: [onto('n', [a, b])],
  devices: [assigned(gpu()), { ...assigned(gpu()), claim: 'default/s0-0001/my-one', pods: ['s0-0001'] }],
});

test('the audit refuses a plan when a device is shared beyond what it has, or held by two that cannot share it', () => {
  expect(judge(shared('4Gi'))).toEqual([]);
  expect(judge(shared('5Gi'))).toEqual([`devices device ${id} is short of memory`]);
  const whole = changed(shared('4Gi'), {
    cluster: { resourceSlices: slices(1, { capacity: { memory: { value: '8Gi' } } }) },
  });
  expect(judge(whole)).toEqual([`devices device ${id} is held by 2 requests`]);
});

const claimOnItsWay = (startupTaints: ReadonlyArray<Taint> = [], taints: ReadonlyArray<Taint> = []): NodeClaim => ({
  metadata: { name: 'k', labels: { [labelKey.nodePool]: 'general', [labelKey.instanceType]: D4.name } },
  spec: {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [requirement(labelKey.zone, 'In', z1), requirement('team', 'In', 'red', 'blue')],
    taints,
    startupTaints,
  },
  status: { nodeName: 'n', providerID: 'azure://k' },
});
const started = (labels: Readonly<Record<string, string>>, taints: ReadonlyArray<Taint> = []) => ({
  ...node('n', 4, 16, { [labelKey.nodePool]: 'general', ...labels }),
  spec: { taints, providerID: 'azure://k' },
});
const starting = { key: 'starting', effect: 'NoSchedule' };
const waitingFor = (podSpec: PodSpec, cluster: Judged['cluster'], kind: 'node' | 'claim'): Judged => ({
  cluster: { shapes: [shape(podSpec)], pods: [a], ...cluster },
  nominations: [onto(kind === 'node' ? 'n' : 'k', [a], kind)],
});

const FINAL: ReadonlyArray<Case> = [
  [
    'a taint that a node starts with is there when it has started',
    waitingFor(
      small,
      { nodeClaims: [claimOnItsWay([starting])], nodes: [started({ [labelKey.registered]: 'true' }, [starting])] },
      'node',
    ),
    { cluster: { nodes: [started({ [labelKey.registered]: 'true', [labelKey.initialized]: 'true' }, [starting])] } },
    'taint pods of default/no owner on n: starting:NoSchedule is not tolerated',
  ],
  [
    'a node that is not ready has a taint that does not go',
    waitingFor(small, { nodeClaims: [claimOnItsWay([starting])], nodes: [started({}, [starting])] }, 'node'),
    { cluster: { nodes: [started({}, [{ ...starting, effect: 'NoExecute' }])] } },
    'taint pods of default/no owner on n: starting:NoExecute is not tolerated',
  ],
  [
    'a node that is not ours is not ready and stays so',
    waitingFor(
      small,
      { nodes: [started({}, [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }])] },
      'node',
    ),
    {
      cluster: {
        nodes: [
          { ...node('n', 4, 16), spec: { taints: [{ key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' }] } },
        ],
      },
    },
    'taint pods of default/no owner on n: node.kubernetes.io/not-ready:NoSchedule is not tolerated',
  ],
  [
    'a claim on its way has a taint',
    waitingFor(small, { nodeClaims: [claimOnItsWay()] }, 'claim'),
    { cluster: { nodeClaims: [claimOnItsWay([], [bad])] } },
    'taint pods of default/no owner on k: bad:NoSchedule is not tolerated',
  ],
  [
    'a claim on its way will have less than its pods need',
    waitingFor(spec('4', '1Gi'), { nodeClaims: [claimOnItsWay()] }, 'claim'),
    { cluster: { shapes: [shape(spec('4001m', '1Gi'))] } },
    'resources k: cpu 4001 of 4000',
  ],
  [
    'system and kubelet keep some of a claim on its way',
    waitingFor(spec('4', '1Gi'), { nodeClaims: [claimOnItsWay()] }, 'claim'),
    { cluster: { types: [{ ...D4, overhead: { cpu: '1m' } }] } },
    'resources k: cpu 4000 of 3999',
  ],
  [
    'system and kubelet keep some of a new node',
    { cluster: { shapes: [shape(spec('4', '1Gi'))], pods: [a] }, claims: [claimFor([a])] },
    { cluster: { types: [{ ...D4, overhead: { cpu: '1m' } }] } },
    'resources planned-0: cpu 4000 of 3999',
  ],
  [
    'a claim on its way may become what the pod does not want',
    waitingFor(spec('1', '1Gi', { nodeSelector: { [labelKey.zone]: z1 } }), { nodeClaims: [claimOnItsWay()] }, 'claim'),
    { cluster: { shapes: [shape(spec('1', '1Gi', { nodeSelector: { team: 'red' } }))] } },
    'node-affinity pods of default/no owner on k: not met',
  ],
];

test.each(FINAL)('the audit refuses a plan when %s', (_, sound, change, finding) => {
  expect(judge(sound)).toEqual([]);
  expect(judge(changed(sound, change))).toEqual([finding]);
});

test('a claim that was planned is what it was planned to be', () => {
  const inFlight = new Map([['k', { pods: [], instanceType: D4.name, zone: z2, capacityType: 'spot' as const }]]);
  const wants = (nodeSelector: Readonly<Record<string, string>>) =>
    judge(waitingFor(spec('1', '1Gi', { nodeSelector }), { nodeClaims: [claimOnItsWay()], inFlight }, 'claim'));
  expect(wants({ [labelKey.zone]: z2, [labelKey.capacityType]: 'spot', [labelKey.instanceType]: D4.name })).toEqual([]);
  expect(wants({ 'karpenter.azure.com/sku-family': 'D', [labelKey.registered]: 'true' })).toEqual([]);
  expect(wants({ [labelKey.zone]: z1 })).toEqual(['node-affinity pods of default/no owner on k: not met']);
});

test('the offering of a claim is what its pods are judged by', () => {
  const there = (zone: string) => ({
    cluster: { shapes: [shape(spec('1', '1Gi', { nodeSelector: { [labelKey.zone]: z1 } }))], pods: [a] },
    claims: [claimFor([a], { offering: offered(D4.name, { zone }) })],
  });
  expect(judge(there(z1))).toEqual([]);
  expect(judge(there(z2))).toEqual(['node-affinity pods of default/no owner on planned-0: not met']);
});
