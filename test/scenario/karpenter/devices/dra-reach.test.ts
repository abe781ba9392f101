import { describe, expect, test } from 'vitest';
import { auditPlan } from '../../../../shared/core/audit/audit-plan.ts';
import type { Plan } from '../../../../shared/core/model/plan.ts';
import type { NodeClaim } from '../../../../shared/kubernetes/manifest.ts';
import { node, pods, pool, requirement, shape, size, spec, zones } from '../../../kit/core/build.ts';
import {
  claim,
  driver,
  fromTemplates,
  gpus,
  heldOn,
  inZone,
  nodeSlice,
  planned as on,
  request,
  sharedSlice,
  sliceSpec,
  template,
  using,
} from '../../../kit/core/build-devices.ts';
import { planned, renderPlan } from '../../../kit/core/render.ts';
import { given, planOf, reasonOf, types } from '../kit/dra-kit.ts';

describe('[I16] claims that several pods share [M06]', () => {
  test('pods that share a claim for a node’s device go to that node', () => {
    const cluster = given({
      nodes: [node('a', 2, 32), node('b', 4, 32)],
      resourceSlices: [nodeSlice('a', gpus(2)), nodeSlice('b', gpus(2))],
      resourceClaims: [claim('ours')],
      shapes: [shape(using('ours'))],
      pods: pods(0, 3),
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0 s0-1', 'leave s0-2: devices-elsewhere']);
  });

  test('a claim that holds devices binds the pod to their node', () => {
    const running = pods(1, 1, { nodeName: 'b' });
    const cluster = given({
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(2)), nodeSlice('b', gpus(2))],
      resourceClaims: [claim('ours', {}, heldOn('b', ['gpu-1'], running))],
      shapes: [shape(using('ours')), shape(using('ours'))],
      pods: [...pods(0, 2), ...running],
    });
    expect(planned(cluster)).toEqual(['nominate to node b: s0-0 s0-1']);
    expect(planOf(cluster).devices).toEqual([]);
  });

  test('an allocation whose node has gone is given up when all its users wait', () => {
    const waiting = pods(0, 1);
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      resourceClaims: [claim('ours', {}, heldOn('gone', ['gpu-0'], waiting))],
      shapes: [shape(using('ours'))],
      pods: waiting,
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0']);
  });

  test('a claim that was made for a pod from its template is that pod’s alone', () => {
    const [first] = pods(0, 1);
    const made = {
      ...claim('s0-0000-my-one-x7k2p', {}, heldOn('b', ['gpu-0'], first === undefined ? [] : [first])),
      metadata: {
        name: 's0-0000-my-one-x7k2p',
        namespace: 'default',
        annotations: { 'resource.kubernetes.io/pod-claim-name': 'my-one' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 's0-0000', uid: 's0-0000' }],
      },
    };
    const cluster = given({
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1)), nodeSlice('b', gpus(1))],
      resourceClaims: [made],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 2),
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-1', 'nominate to node b: s0-0']);
  });
});

describe('[I16] devices that nodes reach over the network [M06]', () => {
  const far = (count: number, zone: string) => sharedSlice(`net-${zone}`, gpus(count), { nodeSelector: inZone(zone) });

  test('a new node is launched in the zone from which the device is reached', () => {
    const cluster = given({
      resourceSlices: [far(1, zones[1])],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual([`launch Standard_D4_v5 on-demand in ${zones[1]} of general: s0-0`]);
  });

  test('a claim stays where its device is: other zones, where it would get another, are left to others', () => {
    const cluster = given({
      types: [size('Standard_D2_v5', 1, 8, 100_000)],
      resourceSlices: [far(1, zones[0]), far(1, zones[1])],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 2),
    });
    expect(planned(cluster)).toEqual([
      `launch Standard_D2_v5 on-demand in ${zones[0]} of general: s0-0`,
      `launch Standard_D2_v5 on-demand in ${zones[1]} of general: s0-1`,
    ]);
  });

  test('a pod that must be in another zone than its device is left', () => {
    const podSpec = { ...fromTemplates('one'), nodeSelector: { 'topology.kubernetes.io/zone': zones[0] } };
    const cluster = given({ resourceSlices: [far(1, zones[1])], shapes: [shape(podSpec)], pods: pods(0, 1) });
    expect(planOf(cluster).left).toHaveLength(1);
  });

  test('two claims of a pod whose devices no one zone reaches leave it', () => {
    const two = template('two', { requests: [request('gpu', { count: 2 })] });
    const cluster = given({
      resourceSlices: [far(1, zones[0]), far(1, zones[1])],
      resourceClaimTemplates: [two],
      shapes: [shape(fromTemplates('two'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-together']);
  });

  test('devices of the cluster are given once, whatever nodes are launched', () => {
    const cluster = given({
      resourceSlices: [sharedSlice('net', gpus(2), { allNodes: true })],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 3),
    });
    expect(planned(cluster)).toEqual([
      'launch Standard_D4_v5 on-demand of general: s0-0 s0-1',
      'leave s0-2: devices-short',
    ]);
  });

  test('pods that share a device of the network may be on several nodes', () => {
    const cluster = given({
      types: [size('Standard_D2_v5', 2, 8, 100_000)],
      resourceSlices: [sharedSlice('net', gpus(1), { allNodes: true })],
      resourceClaims: [claim('ours')],
      shapes: [shape(using('ours'))],
      pods: pods(0, 4),
    });
    expect(planned(cluster)).toEqual([
      'launch Standard_D2_v5 on-demand of general: s0-0 s0-1',
      'launch Standard_D2_v5 on-demand of general: s0-2 s0-3',
    ]);
  });

  test('each device may say for itself which nodes reach it', () => {
    const devices = [
      { name: 'near', nodeName: 'a' },
      { name: 'far', nodeName: 'b' },
    ];
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [sharedSlice('net', devices, { perDeviceNodeSelection: true })],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 2),
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0', 'leave s0-1: devices-together']);
  });
});

describe('[I16] nodes to come', () => {
  const withGpus = on({ Standard_N8_v5: [sliceSpec('local', gpus(2))] });
  const shapes = [shape(fromTemplates('one'))];

  test('a pod opens a claim of a size that will publish its device, and the claim names the driver', () => {
    const cluster = given({ devices: withGpus, shapes, pods: pods(0, 3) });
    expect(planned(cluster)).toEqual([
      'launch Standard_N8_v5 on-demand of general: s0-0 s0-1',
      'launch Standard_N8_v5 on-demand of general: s0-2',
    ]);
    expect(planOf(cluster).claims.map(({ annotations }) => annotations)).toEqual([
      { 'karpenter.sh/requested-dra-drivers': driver },
      { 'karpenter.sh/requested-dra-drivers': driver },
    ]);
  });

  test('without a size that is known to publish it, the reason says so', () => {
    expect(reasonOf(given({ shapes, pods: pods(0, 1) }))).toBe(
      'devices-short: request gpu of default/s0-0000/my-one asks for 1 of class gpu: 0 in the cluster match, 0 are free, ' +
        'and no size of the NodePools is known to bring enough',
    );
  });

  test('devices in the cluster come first', () => {
    const cluster = given({
      devices: withGpus,
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      shapes,
      pods: pods(0, 2),
    });
    expect(planned(cluster)).toEqual(['launch Standard_N8_v5 on-demand of general: s0-1', 'nominate to node a: s0-0']);
  });

  test('a size that lacks the devices is no fallback for one that has them', () => {
    const more = [...types, size('Standard_N16_v5', 16, 64, 1_800_000)];
    const devices = on({
      Standard_N8_v5: [sliceSpec('local', gpus(2))],
      Standard_N16_v5: [sliceSpec('local', gpus(4))],
    });
    const [planned1] = planOf(given({ types: more, devices, shapes, pods: pods(0, 1) })).claims;
    expect(new Set(planned1?.fallbacks.map(({ instanceType }) => instanceType))).toEqual(
      new Set(['Standard_N8_v5', 'Standard_N16_v5']),
    );
  });

  test('a cheaper size that lacks the devices was not chosen for that', () => {
    const [launched] = planOf(given({ devices: withGpus, shapes, pods: pods(0, 1) })).claims;
    expect(launched?.cheaper.map(({ reason, example }) => [reason.kind, example.instanceType])).toEqual([
      ['devices', 'Standard_D4_v5'],
    ]);
  });

  test('pods that share a claim for a device to come share the node', () => {
    const cluster = given({
      devices: withGpus,
      resourceClaims: [claim('ours')],
      shapes: [shape(using('ours'))],
      pods: pods(0, 3),
    });
    expect(planned(cluster)).toEqual(['launch Standard_N8_v5 on-demand of general: s0-0 s0-1 s0-2']);
  });

  test('plain pods fill up what pods with devices leave of the node', () => {
    const cluster = given({
      devices: withGpus,
      shapes: [...shapes, shape(spec('3', '1Gi'))],
      pods: [...pods(0, 1), ...pods(1, 2)],
    });
    expect(planned(cluster)).toEqual(['launch Standard_N8_v5 on-demand of general: s0-0 s1-0 s1-1']);
  });

  const claimed: NodeClaim = {
    metadata: {
      name: 'general-1',
      labels: { 'karpenter.sh/nodepool': 'general', 'node.kubernetes.io/instance-type': 'Standard_N8_v5' },
    },
    spec: { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' }, requirements: [] },
    status: { nodeName: 'n', allocatable: { cpu: '8', memory: '32Gi', pods: '30' } },
  };
  const starting = node('n', 8, 32, {
    'karpenter.sh/nodepool': 'general',
    'karpenter.sh/registered': 'true',
    'node.kubernetes.io/instance-type': 'Standard_N8_v5',
  });

  test('a node that is not initialized has what its size publishes, not what it has published so far', () => {
    const cluster = given({
      devices: withGpus,
      nodePools: [pool('general', { requirements: [requirement('karpenter.azure.com/sku-cpu', 'In', '4')] })],
      nodes: [starting],
      nodeClaims: [claimed],
      resourceSlices: [nodeSlice('n', gpus(1))],
      shapes,
      pods: pods(0, 3),
    });
    expect(planned(cluster)).toEqual(['nominate to node n: s0-0 s0-1', 'leave s0-2: devices-together']);
  });

  test('a pod that loses the place that it was promised gives its devices back', () => {
    const labelSelector = { matchLabels: { app: 'noisy' } };
    const antiAffinity = [{ topologyKey: 'kubernetes.io/hostname', labelSelector }];
    const shy = {
      ...fromTemplates('one'),
      affinity: { podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: antiAffinity } },
    };
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      shapes: [shape(shy), shape(fromTemplates('one')), shape(spec('1', '1Gi'), { app: 'noisy' })],
      pods: [
        ...pods(0, 1, { nominatedNodeName: 'a' }),
        ...pods(1, 1, { createdAtMs: 2_000 }),
        ...pods(2, 1, { nodeName: 'a' }),
      ],
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s1-0', 'leave s0-0: devices-short']);
  });

  test('pods that were promised a node in flight keep it and its devices', () => {
    const inFlight = new Map([
      [
        'general-1',
        { pods: ['s0-0001'], instanceType: 'Standard_N8_v5', zone: zones[0], capacityType: 'on-demand' as const },
      ],
    ]);
    const cluster = given({
      devices: withGpus,
      inFlight,
      nodeClaims: [{ ...claimed, status: {} }],
      shapes,
      pods: pods(0, 3),
    });
    expect(planned(cluster)).toEqual([
      'launch Standard_N8_v5 on-demand of general: s0-2',
      'nominate to claim general-1: s0-0 s0-1',
    ]);
  });
});

describe('[I16] the audit', () => {
  const cluster = given({
    nodes: [node('a', 8, 32), node('b', 8, 32)],
    resourceSlices: [nodeSlice('a', gpus(2)), nodeSlice('b', gpus(2))],
    shapes: [shape(fromTemplates('one'))],
    pods: pods(0, 2),
  });
  const findingsOn = (change: (plan: Plan) => Plan): ReadonlyArray<string> =>
    auditPlan(change(planOf(cluster)), cluster).map(({ text }) => text);
  const changed = (device: Partial<Plan['devices'][number]['devices'][number]>) => (plan: Plan) => ({
    ...plan,
    devices: plan.devices.map((one) => ({ ...one, devices: one.devices.map((held) => ({ ...held, ...device })) })),
  });

  test('says when one device is given twice', () => {
    expect(findingsOn(changed({ device: 'gpu-0' }))).toEqual(['device gpu.example.com/a/gpu-0 is held by 2 requests']);
  });

  test('says when a device is another node’s', () => {
    expect(findingsOn(changed({ pool: 'b' }))).toHaveLength(2);
  });

  test('says when a claim gets nothing', () => {
    expect(findingsOn((plan) => ({ ...plan, devices: plan.devices.slice(1) }))).toEqual([
      expect.stringContaining('it is given no devices'),
    ]);
  });

  test('says when a claim that holds devices is given others', () => {
    const running = pods(1, 1, { nodeName: 'a' });
    const bound = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(2))],
      resourceClaims: [claim('ours', {}, heldOn('a', ['gpu-0'], running))],
      shapes: [shape(using('ours')), shape(using('ours'))],
      pods: [...pods(0, 1), ...running],
    });
    const plan = planOf(bound);
    const other = [{ request: 'gpu', driver, pool: 'a', device: 'gpu-1' }];
    const devices = [{ claim: 'default/ours', pods: ['s0-0000'], instanceTypes: null, devices: other }];
    expect(auditPlan({ ...plan, devices }, bound).map(({ text }) => text)).toEqual([
      'claim default/ours holds devices already',
    ]);
  });

  test('says when a plan was made although claims are ignored', () => {
    const ignored = { ...cluster, devices: { kind: 'ignored' } as const };
    expect(auditPlan(planOf(cluster), ignored).map(({ rule }) => rule)).toEqual(['devices']);
  });

  test('renders plans as before where nobody asks for devices', () => {
    const plain = given({ shapes: [shape(spec('1', '1Gi'))], pods: pods(0, 1) });
    const plan = planOf(plain);
    expect(plan.devices).toEqual([]);
    expect(renderPlan(plan)).toEqual(['launch Standard_D4_v5 on-demand of general: s0-0']);
  });
});
