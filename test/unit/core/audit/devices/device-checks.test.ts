import { describe, expect, test } from 'vitest';
import type {
  PublishedDevice,
  ResourceClaim,
  ResourceSlice,
} from '../../../../../shared/kubernetes/device-manifest.ts';
import type { Pod } from '../../../../../shared/core/model/cluster.ts';
import type { Node, NodeClaim } from '../../../../../shared/kubernetes/manifest.ts';
import { labelKey } from '../../../../../shared/kubernetes/labels.ts';
import type { DeviceAssignment } from '../../../../../shared/core/model/plan.ts';
import { node, onDemand, pods as running, pool, requirement, shape, spec, zones } from '../../../../kit/core/build.ts';
import {
  claim,
  deviceClass,
  driver,
  fromTemplates,
  gpus,
  heldOn,
  inZone,
  nodeSlice,
  planned,
  request,
  sharedSlice,
  sliceSpec,
  template,
  using,
} from '../../../../kit/core/build-devices.ts';
import { claimFor, D4, D8, judge, offered, onto, waiting, type Judged } from '../judge.ts';

/**
 * Whose devices are taken already, which of them a machine reaches, and what one will publish that is not there yet.
 */

const [z1, z2] = zones;
const a = waiting();
const wants = shape(fromTemplates('one'));
const plain = shape(spec('1', '1Gi'));
const n = node('n', 8, 32, { [labelKey.zone]: z1 });
const going = '2026-12-01T00:00:00Z';
const id = `${driver}/n/gpu-0`;

const gpu = (device = 'gpu-0', parts: Partial<DeviceAssignment['devices'][number]> = {}) => ({
  request: 'gpu',
  driver,
  pool: 'n',
  device,
  ...parts,
});
const given = (
  devices: DeviceAssignment['devices'] = [gpu()],
  parts: Partial<DeviceAssignment> = {},
): DeviceAssignment => ({
  claim: 'default/s0-0000/my-one',
  pods: ['s0-0000'],
  instanceTypes: null,
  devices,
  ...parts,
});

/** Pod a goes to node n and is given its first device. */
function judged(cluster: Judged['cluster'], more: Omit<Judged, 'cluster'> = {}): ReadonlyArray<string> {
  return judge({
    nominations: [onto('n', [a])],
    devices: [given()],
    ...more,
    cluster: {
      nodes: [n],
      resourceSlices: [nodeSlice('n', gpus(2))],
      devices: planned(),
      deviceClasses: [deviceClass()],
      resourceClaimTemplates: [template('one')],
      shapes: [wants, plain],
      pods: [a],
      ...cluster,
    },
  });
}
const wrong = (problem: string, where = 'node/n') => [
  `devices claim default/s0-0000/my-one of pod s0-0000 on ${where}: ${problem}`,
];
const unreached = (where?: string) => wrong('it is given a device that is not reached from there', where);

describe('a device that a claim holds already', () => {
  type Status = NonNullable<ResourceClaim['status']>;
  type User = NonNullable<Status['reservedFor']>[number];
  const twice = [`devices device ${id} is held by 2 requests`];
  const [there] = running(1, 1, { nodeName: 'n' });
  if (there === undefined) throw new Error('one');
  const user = ({ name, uid }: Pick<Pod, 'name' | 'uid'>, resource = 'pods'): User => ({ resource, name, uid });
  const other = waiting(1);
  const allocation = heldOn('n', ['gpu-0'], []).allocation;
  const elsewhere = heldOn('gone', [], []).allocation?.nodeSelector;
  const { nodeSelector: _, ...anywhere } = allocation ?? {};
  const holding = (status: Status): Judged['cluster'] => ({ resourceClaims: [claim('held', {}, status)] });
  const of = (reservedFor: ReadonlyArray<User>, from: Status['allocation'] = allocation): Judged['cluster'] => ({
    ...holding({ allocation: from ?? {}, reservedFor }),
    pods: [a, there, other],
  });
  const lost = { ...allocation, ...(elsewhere === undefined ? {} : { nodeSelector: elsewhere }) };

  test.for<readonly [string, Judged['cluster'], Omit<Judged, 'cluster'>?]>([
    ['that nobody uses and that is within reach', of([])],
    ['that nobody uses and that says nothing of reach', of([], anywhere)],
    ['that says nothing of users', holding({ allocation: allocation ?? {} })],
    ['of a pod that stays', of([user(there)], lost)],
    ['of something that is no pod', of([user(there, 'podgroups')], lost)],
    ['of a pod that stays beside one that is gone', of([user(there), { ...user(other), uid: 'gone' }], lost)],
    ['of a pod that waits, within reach', of([user(other)]), { left: [other] }],
    [
      'of a pod that waits beside one that is gone, within reach',
      of([user(other), { ...user(other), uid: 'gone' }]),
      { left: [other] },
    ],
  ])('%s is taken', ([, cluster, more]) => {
    expect(judged(cluster, more)).toEqual(twice);
  });

  const leaving = { ...there, deleting: true };
  const moving = onto('n', [a, there]);
  test.for<readonly [string, Judged['cluster'], Omit<Judged, 'cluster'>?]>([
    ['that nobody uses, out of reach of all nodes', of([], lost)],
    ['of a pod that is gone', of([{ ...user(there), uid: 'gone' }])],
    ['of a pod that is going', { ...of([user(there)]), pods: [a, leaving, other] }],
    ['of a pod that is moved', of([user(there)]), { nominations: [moving] }],
    ['of a pod that is left without its node', of([user(there)]), { left: [there] }],
    ['of a pod that waits, out of reach of all nodes', of([user(other)], lost), { left: [other] }],
    [
      'of a pod that gets a place, out of reach of all nodes',
      of([user(other)], lost),
      { nominations: [onto('n', [a, other])] },
    ],
    ['that is not allocated', holding({ reservedFor: [user(there)] })],
    ['that has no status', { resourceClaims: [claim('held')] }],
  ])('%s is free', ([, cluster, more]) => {
    expect(judged(cluster, more)).toEqual([]);
  });

  const [result] = allocation?.devices?.results ?? [];
  const holdingAs = (parts: object, device: Partial<PublishedDevice> = {}): Judged['cluster'] => ({
    ...holding({ allocation: { devices: { results: result === undefined ? [] : [{ ...result, ...parts }] } } }),
    resourceSlices: [nodeSlice('n', gpus(2, device))],
  });

  test('for its administrator only is free, and so is one that there is not', () => {
    expect(judged(holdingAs({ adminAccess: false }))).toEqual(twice);
    expect(judged(holdingAs({ adminAccess: true }))).toEqual([]);
    expect(judged(holdingAs({ device: 'gpu-9' }))).toEqual([]);
    expect(judged(holding({ allocation: {} }))).toEqual([]);
  });

  test('in part is free for the rest of it', () => {
    const device = { allowMultipleAllocations: true, capacity: { memory: { value: '8Gi' } } };
    const asking = { requests: [request('gpu', { capacity: { requests: { memory: '4Gi' } } })] };
    const share = (parts: object) =>
      judged({ ...holdingAs(parts, device), resourceClaimTemplates: [template('one', asking)] });
    expect(share({ consumedCapacity: { memory: '4Gi' } })).toEqual([]);
    expect(share({ consumedCapacity: { memory: '5Gi' } })).toEqual([`devices device ${id} is short of memory`]);
    expect(share({ shareID: 'x' })).toEqual([]);
    expect(share({})).toEqual(twice);
  });

  test('is not for that claim to be given again', () => {
    const { metadata, ...rest } = claim('held', {}, heldOn('n', ['gpu-0'], []));
    const again = { devices: [given([gpu('gpu-1')]), given([gpu()], { claim: 'default/held', pods: [] })] };
    const said = ['devices claim default/held holds devices already'];
    expect(judged({ resourceClaims: [{ metadata, ...rest }] }, again)).toEqual(said);
    expect(judged({ resourceClaims: [{ metadata: { name: metadata.name }, ...rest }] }, again)).toEqual(said);
    expect(judged({ resourceClaims: [{ metadata: { ...metadata, namespace: 'red' }, ...rest }] }, again)).toEqual([]);
  });

  test('by two already, and counters that are short already, are not the plan’s fault', () => {
    const both = ['first', 'second'].map((name) => claim(name, {}, heldOn('n', ['gpu-0'], [user(there)])));
    const second = { devices: [given([gpu('gpu-1')])] };
    expect(judged({ resourceClaims: both, pods: [a, there] }, second)).toEqual([]);
    const counted = { consumesCounters: [{ counterSet: 'set', counters: { slots: { value: '3' } } }] };
    const slots = { sharedCounters: [{ name: 'set', counters: { slots: { value: '2' } } }] };
    const tight = [nodeSlice('n', gpus(2, counted), slots), nodeSlice('m', gpus(1), { nodeName: 'n' })];
    const one = claim('first', {}, heldOn('n', ['gpu-0'], [user(there)]));
    const from = (poolName: string) => ({
      devices: [given([gpu(poolName === 'n' ? 'gpu-1' : 'gpu-0', { pool: poolName })])],
    });
    const cluster = { resourceClaims: [one], resourceSlices: tight, pods: [a, there] };
    expect(judged(cluster, from('m'))).toEqual([]);
    expect(judged(cluster, from('n'))).toEqual([`devices the pool of ${id} is short of counter set/slots`]);
  });

  describe('and that only node m reaches', () => {
    const onlyM = heldOn('m', [], []).allocation?.nodeSelector;
    const held = holding({ allocation: { ...allocation, ...(onlyM === undefined ? {} : { nodeSelector: onlyM }) } });
    const m = node('m', 8, 32);
    const its = (metadata: Partial<NodeClaim['metadata']>, status?: NodeClaim['status']): NodeClaim => ({
      metadata: { name: 'm', ...metadata },
      spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
      ...(status === undefined ? {} : { status }),
    });
    const says = (type: string, status: string) =>
      its(
        { name: 'k' },
        {
          nodeName: 'm',
          conditions: [
            { type: 'Launched', status: 'True' },
            { type, status },
          ],
        },
      );
    const tainted: Node = { ...m, spec: { taints: [{ key: 'own', effect: 'NoSchedule' }] } };
    const disrupted: Node = { ...m, spec: { taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] } };

    test.each<readonly [string, Judged['cluster']]>([
      ['is there', { nodes: [n, m] }],
      ['has a taint of its own', { nodes: [n, tainted] }],
      ['has a claim that says nothing', { nodes: [n, m], nodeClaims: [its({})] }],
      ['has a machine that stays', { nodes: [n, m], nodeClaims: [says('InstanceTerminating', 'False')] }],
      ['has a claim that says other things', { nodes: [n, m], nodeClaims: [says('Ready', 'True')] }],
    ])('is taken when it %s', (_what, cluster) => {
      expect(judged({ ...held, ...cluster })).toEqual(twice);
    });

    test.each<readonly [string, Judged['cluster']]>([
      ['is not there', {}],
      ['is being deleted', { nodes: [n, { ...m, metadata: { ...m.metadata, deletionTimestamp: going } }] }],
      ['is being replaced', { nodes: [n, disrupted] }],
      [
        'has a claim of its name that is being deleted',
        { nodes: [n, m], nodeClaims: [its({ deletionTimestamp: going })] },
      ],
      [
        'has a claim that is being deleted',
        { nodes: [n, m], nodeClaims: [its({ name: 'k', deletionTimestamp: going }, { nodeName: 'm' })] },
      ],
      ['has a machine that is being taken back', { nodes: [n, m], nodeClaims: [says('InstanceTerminating', 'True')] }],
    ])('is free when it %s', (_what, cluster) => {
      expect(judged({ ...held, ...cluster })).toEqual([]);
    });

    test('is free when only a node that the plan opens has that name', () => {
      const planned0 = heldOn('planned-0', [], []).allocation?.nodeSelector;
      const opened = { allocation: { ...allocation, ...(planned0 === undefined ? {} : { nodeSelector: planned0 }) } };
      expect(judged({ ...holding(opened), pods: [a, other] }, { claims: [claimFor([other])] })).toEqual([]);
    });
  });
});

test('a pod may go where the devices of its claim are, and nowhere else', () => {
  const m = node('m', 8, 32);
  const uses = (status: NonNullable<ResourceClaim['status']>, where: string) =>
    judged(
      { nodes: [n, m], shapes: [shape(using('held'))], resourceClaims: [claim('held', {}, status)] },
      { nominations: [onto(where, [a])], devices: [] },
    );
  const status = heldOn('n', ['gpu-0'], []);
  expect(uses(status, 'n')).toEqual([]);
  expect(uses(status, 'm')).toEqual([
    'devices claim default/held of pod s0-0000 on node/m: its devices are not reached from there',
  ]);
  expect(uses({ allocation: {} }, 'm')).toEqual([]);
});

test('pods with claims that are left need no devices', () => {
  expect(judged({}, { nominations: [], devices: [], left: [a] })).toEqual([]);
});

describe('a device that is given to two', () => {
  const b = waiting(0, 1);
  const both = (requests: Parameters<typeof template>[1], name: string) =>
    judged(
      { pods: [a, b], resourceClaimTemplates: [template('one', requests)] },
      {
        nominations: [onto('n', [a, b])],
        devices: [
          given([gpu('gpu-0', { request: name })]),
          given([gpu('gpu-0', { request: name })], { claim: 'default/s0-0001/my-one', pods: ['s0-0001'] }),
        ],
      },
    );
  const alternatives = (adminAccess: boolean) => ({
    requests: [
      {
        name: 'gpu',
        firstAvailable: [
          { name: 'none', deviceClassName: 'gpu', adminAccess: !adminAccess },
          { name: 'one', deviceClassName: 'gpu', adminAccess },
        ],
      },
    ],
  });
  const twice = [`devices device ${id} is held by 2 requests`];

  test('is held twice, by requests and by alternatives of these', () => {
    expect(both({ requests: [request('gpu')] }, 'gpu')).toEqual(twice);
    expect(both(alternatives(false), 'gpu/one')).toEqual(twice);
  });

  test('is not held by administrators', () => {
    expect(both({ requests: [request('gpu', { adminAccess: true })] }, 'gpu')).toEqual([]);
    expect(both(alternatives(true), 'gpu/one')).toEqual([]);
  });
});

test('all devices that a claim is given must be within its reach', () => {
  const two = { resourceClaimTemplates: [template('one', { requests: [request('gpu', { count: 2 })] })] };
  expect(judged(two, { devices: [given([gpu(), gpu('gpu-1')])] })).toEqual([]);
  expect(judged(two, { devices: [given([gpu(), gpu('gpu-2')])] })).toEqual(unreached());
});

test('a claim for all devices needs none that its node does not reach', () => {
  const resourceSlices = [nodeSlice('n', gpus(1)), sharedSlice('far', gpus(1), { nodeSelector: inZone(z2) })];
  const all = { resourceClaimTemplates: [template('one', { requests: [request('gpu', { allocationMode: 'All' })] })] };
  expect(judged({ ...all, resourceSlices }, { devices: [given([gpu()])] })).toEqual([]);
  const near = [nodeSlice('n', gpus(1)), sharedSlice('far', gpus(1), { nodeSelector: inZone(z1) })];
  expect(judged({ ...all, resourceSlices: near }, { devices: [given([gpu()])] })).toEqual(
    wrong('request gpu gets 1 devices'),
  );
});

test('devices of a pool draw on its counters together', () => {
  const counted = { consumesCounters: [{ counterSet: 'set', counters: { slots: { value: '2' } } }] };
  const slots = (value: string) => ({ sharedCounters: [{ name: 'set', counters: { slots: { value } } }] });
  const two = (value: string) =>
    judged(
      {
        resourceSlices: [nodeSlice('n', gpus(2, counted), slots(value))],
        resourceClaimTemplates: [template('one', { requests: [request('gpu', { count: 2 })] })],
      },
      { devices: [given([gpu(), gpu('gpu-1')])] },
    );
  expect(two('4')).toEqual([]);
  expect(two('3')).toEqual([`devices the pool of ${id} is short of counter set/slots`]);
});

describe('what a node publishes', () => {
  const ours = (more: Readonly<Record<string, string>> = {}): Node => ({
    ...node('n', 8, 32, { [labelKey.zone]: z1, ...more }),
    spec: { providerID: 'azure://n' },
  });
  const its = (name: string, status?: NodeClaim['status']): NodeClaim => ({
    metadata: { name },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    ...(status === undefined ? {} : { status }),
  });
  const inPool = { [labelKey.nodePool]: 'general' };
  const ready = { [labelKey.initialized]: 'true' };
  const bare: Node = { ...n, spec: {} };
  const { spec: _, ...without } = n;

  test.each<readonly [string, Judged['cluster']]>([
    ['is not ours', { nodes: [ours()] }],
    ['is ours and ready', { nodes: [ours({ ...inPool, ...ready })], nodeClaims: [its('n')] }],
    [
      'is not ours, though a claim has another machine',
      { nodes: [ours()], nodeClaims: [its('k', { providerID: 'azure://k' })] },
    ],
    ['is not ours, though a claim has no machine yet', { nodes: [bare], nodeClaims: [its('k')] }],
    ['says nothing of its machine', { nodes: [without], nodeClaims: [its('k', { providerID: 'azure://k' })] }],
  ])('is there for pods when it %s', (_what, cluster) => {
    expect(judged(cluster)).toEqual([]);
  });

  test.each<readonly [string, Judged['cluster']]>([
    ['is of a pool', { nodes: [ours(inPool)] }],
    ['says that it is not ready', { nodes: [ours({ ...inPool, [labelKey.initialized]: 'false' })] }],
    ['is the machine of a claim', { nodes: [ours()], nodeClaims: [its('k', { providerID: 'azure://n' })] }],
    ['is the node of a claim', { nodes: [ours()], nodeClaims: [its('k', { nodeName: 'n' })] }],
    ['has the name of a claim', { nodes: [ours()], nodeClaims: [its('n')] }],
    [
      'is the machine of the second claim',
      { nodes: [ours()], nodeClaims: [its('j'), its('k', { providerID: 'azure://n' })] },
    ],
  ])('may change until it is ready, when it is ours: it %s', (_what, cluster) => {
    expect(judged(cluster)).toEqual(unreached());
  });

  test('will be what its size publishes, until it is ready', () => {
    const sized = { ...inPool, [labelKey.instanceType]: D4.name };
    const devices = planned({ [D4.name]: [sliceSpec('to-come', gpus(1))] });
    const toCome = { devices: [given([gpu('gpu-0', { pool: 'to-come' })])] };
    expect(judged({ nodes: [ours(sized)], devices, resourceSlices: [] }, toCome)).toEqual([]);
    expect(judged({ nodes: [ours({ ...sized, ...ready })], devices, resourceSlices: [] }, toCome)).toEqual(unreached());
    expect(
      judged({ nodes: [ours({ ...sized, [labelKey.instanceType]: D8.name })], devices, resourceSlices: [] }, toCome),
    ).toEqual(unreached());
  });
});

describe('a node that the plan opens', () => {
  const on = (type: string, zone: string) => `planned/0 as ${type} ${zone} on-demand`;
  const four = [sliceSpec('to-come', gpus(1))];
  const toCome = gpu('gpu-0', { pool: 'to-come' });
  const opening = (
    cluster: Judged['cluster'],
    {
      parts = {},
      devices = [given([toCome])],
    }: { parts?: Parameters<typeof claimFor>[1]; devices?: ReadonlyArray<DeviceAssignment> } = {},
  ) =>
    judged({ nodes: [], resourceSlices: [], ...cluster }, { nominations: [], claims: [claimFor([a], parts)], devices });

  test('has what its size will publish, whichever of its offerings it becomes', () => {
    const fallbacks = [offered(D8.name)];
    expect(opening({ devices: planned({ [D4.name]: four }) })).toEqual([]);
    expect(opening({ devices: planned({ [D8.name]: four }) })).toEqual(unreached(on(D4.name, z1)));
    expect(opening({ devices: planned({ [D4.name]: four, [D8.name]: four }) }, { parts: { fallbacks } })).toEqual([]);
    expect(opening({ devices: planned({ [D4.name]: four }) }, { parts: { fallbacks } })).toEqual(
      unreached(on(D8.name, z1)),
    );
  });

  test('may be given other devices where it becomes another size', () => {
    const eight = [sliceSpec('other', gpus(1))];
    const devices = [
      given([toCome], { instanceTypes: [D4.name] }),
      given([gpu('gpu-0', { pool: 'other' })], { instanceTypes: [D8.name] }),
    ];
    const templates = { devices: planned({ [D4.name]: four, [D8.name]: eight }) };
    const parts = { fallbacks: [offered(D8.name)] };
    expect(opening(templates, { parts, devices })).toEqual([]);
    expect(opening(templates, { parts, devices: devices.slice(0, 1) })).toEqual(
      wrong('it is given no devices', on(D8.name, z1)),
    );
  });

  const shared = (nodeSelector: ReturnType<typeof inZone>): ReadonlyArray<ResourceSlice> => [
    sharedSlice('n', gpus(1), { nodeSelector }),
  ];

  test('reaches what its zone reaches, each of its offerings from its own', () => {
    const devices = [given()];
    const fallbacks = [offered(D4.name, { zone: z2 })];
    expect(opening({ resourceSlices: shared(inZone(z1)) }, { devices })).toEqual([]);
    expect(opening({ resourceSlices: shared(inZone(z2)) }, { devices })).toEqual(unreached(on(D4.name, z1)));
    expect(opening({ resourceSlices: shared(inZone(z1, z2)) }, { devices, parts: { fallbacks } })).toEqual([]);
    expect(opening({ resourceSlices: shared(inZone(z1)) }, { devices, parts: { fallbacks } })).toEqual(
      unreached(on(D4.name, z2)),
    );
  });

  test('reaches what its labels reach: those of its pool, and those that the plan gives it', () => {
    const wanting = (key: string) => ({
      nodeSelectorTerms: [{ matchExpressions: [requirement(key, 'In', 'red')] }],
    });
    const red = { 'example.com/pool': 'red' };
    const teams = [onDemand, requirement('team', 'In', 'red', 'blue')];
    const nodePools = [pool('first'), pool('general', { labels: red, requirements: teams })];
    const from = (key: string, team: string) =>
      opening({ nodePools, resourceSlices: shared(wanting(key)) }, { devices: [given()], parts: { labels: { team } } });
    expect(from('example.com/pool', 'red')).toEqual([]);
    expect(from('team', 'red')).toEqual([]);
    expect(from('team', 'blue')).toEqual(unreached(on(D4.name, z1)));
  });

  test('publishes nothing yet, whatever is published in its name', () => {
    const resourceSlices = [nodeSlice('n', gpus(1), { nodeName: 'planned-0' })];
    expect(opening({ resourceSlices }, { devices: [given()] })).toEqual(unreached(on(D4.name, z1)));
  });
});
