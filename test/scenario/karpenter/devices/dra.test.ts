import { describe, expect, test } from 'vitest';
import type { PublishedDevice } from '../../../../shared/kubernetes/device-manifest.ts';
import { daemonSet, input, node, pods, shape, spec } from '../../../kit/core/build.ts';
import {
  claim,
  deviceClass,
  driver,
  fromTemplates,
  gpus,
  heldOn,
  nodeSlice,
  planned as on,
  request,
  sharedSlice,
  template,
  using,
} from '../../../kit/core/build-devices.ts';
import { planned } from '../../../kit/core/render.ts';
import { given, nodePools, planOf, reasonOf, types } from '../kit/dra-kit.ts';

const withClaim = { resources: { requests: { cpu: '1', memory: '1Gi' }, claims: [{ name: 'my-one' }] } };
const entry = { name: 'my-one', resourceClaimTemplateName: 'one' };

describe('[I16] while IGNORE_DRA_REQUESTS is true', () => {
  const ignored = { types, nodePools, deviceClasses: [deviceClass()], resourceClaimTemplates: [template('one')] };

  test.each([
    ['its containers', { containers: [withClaim], resourceClaims: [entry] }],
    ['its init containers', { containers: [{}], initContainers: [withClaim], resourceClaims: [entry] }],
    ['both', { containers: [withClaim], initContainers: [withClaim], resourceClaims: [entry] }],
  ])('a pod with resource claims in %s is left with a reason that names the setting', (_, podSpec) => {
    const cluster = input({ ...ignored, shapes: [shape(podSpec)], pods: pods(0, 1) });
    expect(reasonOf(cluster)).toMatch(/^claims-ignored: .*IGNORE_DRA_REQUESTS is true$/);
  });

  test('a pod without resource claims is placed beside it', () => {
    const shapes = [shape(fromTemplates('one')), shape(spec('1', '1Gi'))];
    const cluster = input({ ...ignored, shapes, pods: [...pods(0, 1), ...pods(1, 1)] });
    expect(planned(cluster)).toEqual([
      'launch Standard_D4_v5 on-demand of general: s1-0',
      'leave s0-0: claims-ignored',
    ]);
  });

  test('a daemonset with resource claims takes nothing from new nodes, and does once claims are planned for', () => {
    const daemonSets = [daemonSet('agent', spec('2', '1Gi', { resourceClaims: [entry] }))];
    const parts = { ...ignored, daemonSets, shapes: [shape(spec('3', '1Gi'))], pods: pods(0, 1) };
    expect(planned(input(parts))).toEqual(['launch Standard_D4_v5 on-demand of general: s0-0']);
    expect(planned(input({ ...parts, devices: on() }))).toEqual(['launch Standard_N8_v5 on-demand of general: s0-0']);
  });
});

describe('[I16] on nodes that publish devices [M06]', () => {
  test('a pod goes to the node whose device its claim gets', () => {
    const cluster = given({
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('b', gpus(1))],
      resourceClaims: [claim('mine')],
      shapes: [shape(using('mine'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['nominate to node b: s0-0']);
    expect(planOf(cluster).devices).toEqual([
      {
        claim: 'default/mine',
        pods: ['s0-0000'],
        instanceTypes: null,
        devices: [{ request: 'gpu', driver, pool: 'b', device: 'gpu-0' }],
      },
    ]);
  });

  test('each pod of a template gets devices of its own, as many pods as there are devices', () => {
    const cluster = given({
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(2)), nodeSlice('b', gpus(1))],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 4),
    });
    expect(planned(cluster)).toEqual([
      'nominate to node a: s0-0 s0-1',
      'nominate to node b: s0-2',
      'leave s0-3: devices-short',
    ]);
    expect(reasonOf(cluster)).toBe(
      'devices-short: request gpu of default/s0-0003/my-one asks for 1 of class gpu: 3 in the cluster match, 0 are free, ' +
        'and no size of the NodePools is known to bring enough',
    );
  });

  test('a pod with several claims gets all of them on one node', () => {
    const cluster = given({
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1)), nodeSlice('b', gpus(2))],
      shapes: [shape(fromTemplates('one', 'one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['nominate to node b: s0-0']);
  });

  test('a device that a claim of another pod holds is not given again', () => {
    const running = pods(1, 1, { nodeName: 'a' });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      resourceClaims: [claim('theirs', {}, heldOn('a', ['gpu-0'], running))],
      shapes: [shape(fromTemplates('one')), shape(using('theirs'))],
      pods: [...pods(0, 1), ...running],
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-short']);
  });

  test('a device whose users are all being deleted is free', () => {
    const running = pods(1, 1, { nodeName: 'a', deleting: true });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      resourceClaims: [claim('theirs', {}, heldOn('a', ['gpu-0'], running))],
      shapes: [shape(fromTemplates('one')), shape(using('theirs'))],
      pods: [...pods(0, 1), ...running],
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0']);
  });

  test('a device that one of two users keeps is not free', () => {
    const going = pods(1, 1, { nodeName: 'a', deleting: true });
    const staying = pods(2, 1, { nodeName: 'a' });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      resourceClaims: [claim('theirs', {}, heldOn('a', ['gpu-0'], [...going, ...staying]))],
      shapes: [shape(fromTemplates('one')), shape(using('theirs')), shape(using('theirs'))],
      pods: [...pods(0, 1), ...going, ...staying],
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-short']);
  });

  test('a mode All request takes every device that matches, or none', () => {
    const all = template('all', { requests: [request('gpu', { allocationMode: 'All' })] });
    const parts = {
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(2)), nodeSlice('b', gpus(3))],
      resourceClaimTemplates: [template('one'), all],
      shapes: [shape(fromTemplates('one')), shape(fromTemplates('all'))],
    };
    expect(planned(given({ ...parts, pods: [...pods(0, 1), ...pods(1, 1)] }))).toEqual([
      'nominate to node a: s0-0',
      'nominate to node b: s1-0',
    ]);
    expect(planned(given({ ...parts, pods: pods(1, 3) })).at(-1)).toBe('leave s1-2: devices-short');
  });

  test('a mode All request waits while a pool is being updated', () => {
    const half = { pool: { name: 'a', generation: 2, resourceSliceCount: 2 } };
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(2), half)],
      resourceClaimTemplates: [template('one', { requests: [request('gpu', { allocationMode: 'All' })] })],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-together']);
  });

  test('a mode All request waits while any pool of the node is being updated', () => {
    const half = sharedSlice('net', gpus(1), {
      allNodes: true,
      pool: { name: 'net', generation: 1, resourceSliceCount: 2 },
    });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(2)), half],
      resourceClaimTemplates: [template('one', { requests: [request('gpu', { allocationMode: 'All' })] })],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-together']);
  });

  test('of two generations of a pool only the newer counts', () => {
    const old = nodeSlice('a', gpus(4));
    const newer = nodeSlice('a', gpus(1), { pool: { name: 'a', generation: 2, resourceSliceCount: 1 } });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [old, { ...newer, metadata: { name: 'newer' } }],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 2),
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0', 'leave s0-1: devices-short']);
  });

  test('selectors of the class and of the request both decide', () => {
    const of = (name: string, model: string, index: number): PublishedDevice => ({
      name,
      attributes: { model: { string: model }, index: { int: index } },
    });
    const wish = `device.attributes["${driver}"].index > 0`;
    const cluster = given({
      nodes: [node('a', 8, 32), node('b', 8, 32)],
      deviceClasses: [deviceClass('gpu', `device.attributes["${driver}"].model == "a100"`)],
      resourceSlices: [nodeSlice('a', [of('x', 'h100', 1), of('y', 'a100', 0)]), nodeSlice('b', [of('z', 'a100', 2)])],
      resourceClaimTemplates: [
        template('one', { requests: [request('gpu', { selectors: [{ cel: { expression: wish } }] })] }),
      ],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['nominate to node b: s0-0']);
  });

  test('a selector that reads what a device does not have leaves the pod, with the text of the error', () => {
    const expression = `device.attributes["${driver}"].nope == 1`;
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      resourceClaimTemplates: [
        template('one', { requests: [request('gpu', { selectors: [{ cel: { expression } }] })] }),
      ],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(reasonOf(cluster)).toContain('the selector of request gpu cannot be evaluated for device');
  });

  const numa = (name: string, index: number): PublishedDevice => ({ name, attributes: { numa: { int: index } } });
  const onNuma = [numa('g0', 0), numa('g1', 1), numa('g2', 0), numa('g3', 1)];

  test('a MatchAttribute constraint gives devices that agree', () => {
    const pair = template('one', {
      requests: [request('gpu', { count: 2 })],
      constraints: [{ matchAttribute: `${driver}/numa` }],
    });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', onNuma)],
      resourceClaimTemplates: [pair],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 3),
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0 s0-1', 'leave s0-2: devices-short']);
    expect(planOf(cluster).devices.map(({ devices }) => devices.map(({ device }) => device))).toEqual([
      ['g0', 'g2'],
      ['g1', 'g3'],
    ]);
  });

  test('a constraint concerns the requests that it names', () => {
    const mixed = template('one', {
      requests: [request('x'), request('y'), request('z', { count: 2 })],
      constraints: [{ requests: ['x', 'y'], matchAttribute: `${driver}/numa` }],
    });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', onNuma)],
      resourceClaimTemplates: [mixed],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0']);
  });

  test('a distinctAttribute constraint gives devices that all differ', () => {
    const apart = (count: number) =>
      template('one', {
        requests: [request('gpu', { count })],
        constraints: [{ distinctAttribute: `${driver}/numa` }],
      });
    const parts = { nodes: [node('a', 8, 32)], resourceSlices: [nodeSlice('a', onNuma)] };
    const shapes = [shape(fromTemplates('one'))];
    const cluster = given({ ...parts, resourceClaimTemplates: [apart(2)], shapes, pods: pods(0, 1) });
    expect(planOf(cluster).devices[0]?.devices.map(({ device }) => device)).toEqual(['g0', 'g1']);
    expect(planned(given({ ...parts, resourceClaimTemplates: [apart(3)], shapes, pods: pods(0, 1) }))).toEqual([
      'leave s0-0: devices-together',
    ]);
  });

  test('FirstAvailable takes the first alternative that can be had', () => {
    const one = (name: string, expression: string) => ({
      name,
      deviceClassName: 'gpu',
      selectors: [{ cel: { expression } }],
    });
    const either = template('one', {
      requests: [{ name: 'gpu', firstAvailable: [one('first', onIndex(9)), one('second', onIndex(1))] }],
    });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', [{ name: 'g', attributes: { index: { int: 1 } } }])],
      resourceClaimTemplates: [either],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planOf(cluster).devices[0]?.devices.map(({ request: name }) => name)).toEqual(['gpu/second']);
  });

  test('a device with a taint goes to claims that tolerate it', () => {
    const tainted = gpus(1, { taints: [{ key: 'sick', effect: 'NoSchedule' }] });
    const tolerant = request('gpu', { tolerations: [{ key: 'sick', operator: 'Exists' }] });
    const parts = { nodes: [node('a', 8, 32)], resourceSlices: [nodeSlice('a', tainted)] };
    const shapes = [shape(fromTemplates('one'))];
    expect(planned(given({ ...parts, shapes, pods: pods(0, 1) }))).toEqual(['leave s0-0: devices-together']);
    const resourceClaimTemplates = [template('one', { requests: [tolerant] })];
    expect(planned(given({ ...parts, resourceClaimTemplates, shapes, pods: pods(0, 1) }))).toEqual([
      'nominate to node a: s0-0',
    ]);
  });

  test('administrative access takes no device from anybody', () => {
    const running = pods(1, 1, { nodeName: 'a' });
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      resourceClaims: [claim('theirs', {}, heldOn('a', ['gpu-0'], running))],
      resourceClaimTemplates: [template('one', { requests: [request('gpu', { adminAccess: true })] })],
      shapes: [shape(fromTemplates('one')), shape(using('theirs'))],
      pods: [...pods(0, 2), ...running],
    });
    expect(planned(cluster)).toEqual(['nominate to node a: s0-0 s0-1']);
  });

  test('no claim gets more than 32 devices', () => {
    const cluster = given({
      nodes: [node('a', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(40))],
      resourceClaimTemplates: [
        template('one', { requests: [request('x', { count: 20 }), request('y', { count: 13 })] }),
      ],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-together']);
  });

  test('a node that has the devices but no room is named in the reason', () => {
    const cluster = given({
      nodes: [node('a', 0, 32), node('b', 8, 32)],
      resourceSlices: [nodeSlice('a', gpus(1))],
      shapes: [shape(fromTemplates('one'))],
      pods: pods(0, 1),
    });
    expect(reasonOf(cluster)).toBe(
      'devices-elsewhere: devices for its claims are on a only, where the pod has no room or is not let in',
    );
  });
});

function onIndex(index: number): string {
  return `device.attributes["${driver}"].index == ${index}`;
}

describe('[I16] claims that cannot be read [M06]', () => {
  const shapes = [shape(using('mine'))];

  test('a claim that does not exist is named', () => {
    expect(reasonOf(given({ shapes, pods: pods(0, 1) }))).toBe(
      'resource-claim: the ResourceClaim default/mine does not exist',
    );
  });

  test('a template that does not exist is named', () => {
    expect(reasonOf(given({ shapes: [shape(fromTemplates('none'))], pods: pods(0, 1) }))).toBe(
      'resource-claim: the ResourceClaimTemplate default/none does not exist',
    );
  });

  test('a class that does not exist is named', () => {
    const resourceClaims = [claim('mine', { requests: [request('gpu', { deviceClassName: 'tpu' })] })];
    expect(reasonOf(given({ shapes, resourceClaims, pods: pods(0, 1) }))).toBe(
      'resource-claim: the ResourceClaim default/mine: request gpu names the device class tpu, which does not exist',
    );
  });

  test('a selector that is not CEL is named with what is wrong', () => {
    const selectors = [{ cel: { expression: 'device.driver ==' } }];
    const resourceClaims = [claim('mine', { requests: [request('gpu', { selectors })] })];
    expect(reasonOf(given({ shapes, resourceClaims, pods: pods(0, 1) }))).toContain('is not valid CEL');
  });

  test('a request of a later API than ours is not guessed at', () => {
    const resourceClaims = [claim('mine', { requests: [{ name: 'gpu' }] })];
    expect(reasonOf(given({ shapes, resourceClaims, pods: pods(0, 1) }))).toContain(
      'request gpu is of an unknown kind',
    );
  });
});
