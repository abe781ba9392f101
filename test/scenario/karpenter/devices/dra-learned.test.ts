import { describe, expect, test } from 'vitest';
import { knownDevices } from '../../../../shared/app/gather/known-devices.ts';
import type { NodePool } from '../../../../shared/kubernetes/manifest.ts';
import { node, pods, pool, requirement, shape } from '../../../kit/core/build.ts';
import {
  claim,
  driver,
  fromTemplates,
  gpus,
  heldOn,
  nodeSlice,
  planned as on,
  request,
  template,
  using,
} from '../../../kit/core/build-devices.ts';
import { planned } from '../../../kit/core/render.ts';
import { given, planOf } from '../kit/dra-kit.ts';

const SIZE = 'Standard_N8_v5';

/** As the app sees it: what nodes publish and pools state are the templates of nodes to come. */
function seen(parts: Parameters<typeof given>[0]): ReturnType<typeof given> {
  const cluster = given(parts);
  const { templates } = knownDevices(cluster.cluster, new Map());
  return { ...cluster, devices: { ...on(), templates } as typeof cluster.devices };
}

/** An initialized node of the size, in the pool. */
function nodeOf(name: string, nodePool: string, more: Readonly<Record<string, string>> = {}) {
  return node(name, 8, 32, {
    'karpenter.sh/nodepool': nodePool,
    'karpenter.sh/registered': 'true',
    'karpenter.sh/initialized': 'true',
    'node.kubernetes.io/instance-type': SIZE,
    ...more,
  });
}

function stating(count: number): NodePool {
  const general = pool('general');
  const content = { [SIZE]: [{ driver, devices: gpus(count) }] };
  const annotations = { 'nodewright.dev/resource-slices': JSON.stringify(content) };
  return { ...general, metadata: { ...general.metadata, annotations } };
}

const shapes = [shape(fromTemplates('one')), shape(using('theirs'))];
const running = pods(1, 1, { nodeName: 'n' });
const full = {
  nodes: [nodeOf('n', 'general')],
  resourceSlices: [nodeSlice('n', gpus(2))],
  resourceClaims: [claim('theirs', {}, heldOn('n', ['gpu-0', 'gpu-1'], running))],
};

describe('[I16] what nodes publish is what others like them will', () => {
  test('where all devices of a node are held, a second node of its kind is launched, and waits for its driver', () => {
    const cluster = seen({ ...full, shapes, pods: [...pods(0, 2), ...running] });
    expect(planned(cluster)).toEqual([`launch ${SIZE} on-demand of general: s0-0 s0-1`]);
    expect(planOf(cluster).claims[0]?.annotations).toEqual({ 'karpenter.sh/requested-dra-drivers': driver });
  });

  test('not in another pool, whose taints and labels may keep the driver from its nodes', () => {
    const other = pool('other', { weight: 100 });
    const cluster = seen({
      ...full,
      nodePools: [other, pool('general')],
      shapes,
      pods: [...pods(0, 1), ...running],
    });
    expect(planned(cluster)).toEqual([`launch ${SIZE} on-demand of general: s0-0`]);
    const closed = pool('general', { requirements: [requirement('karpenter.azure.com/sku-cpu', 'In', '4')] });
    const without = seen({ ...full, nodePools: [other, closed], shapes, pods: [...pods(0, 1), ...running] });
    expect(planned(without)).toEqual(['leave s0-0: devices-short']);
  });

  test('a claim for the id of one device brings at most one node in vain', () => {
    const expression = `device.attributes["${driver}"].uuid == "n-gpu-0"`;
    const resourceClaimTemplates = [
      template('one', { requests: [request('gpu', { selectors: [{ cel: { expression } }] })] }),
    ];
    const slice = (name: string) => nodeSlice(name, gpus(1, { attributes: { uuid: { string: `${name}-gpu-0` } } }));
    const parts = {
      resourceClaimTemplates,
      resourceClaims: [claim('theirs', {}, heldOn('n', ['gpu-0'], running))],
      shapes,
      pods: [...pods(0, 1), ...running],
    };
    const first = seen({ ...parts, nodes: full.nodes, resourceSlices: [slice('n')] });
    expect(planned(first)).toEqual([`launch ${SIZE} on-demand of general: s0-0`]);
    const after = seen({
      ...parts,
      nodes: [...full.nodes, nodeOf('m', 'general')],
      resourceSlices: [slice('n'), slice('m')],
    });
    expect(planned(after)).toEqual(['leave s0-0: devices-short']);
  });
});

describe('[I16] what a pool states of its nodes', () => {
  const four = template('four', { requests: [request('gpu', { count: 4 })] });
  const parts = { nodePools: [stating(4)], resourceClaimTemplates: [four], shapes: [shape(fromTemplates('four'))] };

  test('brings the first node', () => {
    const cluster = seen({ ...parts, pods: pods(0, 1) });
    expect(planned(cluster)).toEqual([`launch ${SIZE} on-demand of general: s0-0`]);
  });

  test('counts no more once a node has published less, so that no second node is made in vain', () => {
    const cluster = seen({
      ...parts,
      nodes: full.nodes,
      resourceSlices: full.resourceSlices,
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual(['leave s0-0: devices-short']);
  });

  test('counts while the driver of a node is still publishing', () => {
    const half = { pool: { name: 'n', generation: 1, resourceSliceCount: 2 } };
    const cluster = seen({
      ...parts,
      nodes: full.nodes,
      resourceSlices: [nodeSlice('n', gpus(2), half)],
      pods: pods(0, 1),
    });
    expect(planned(cluster)).toEqual([`launch ${SIZE} on-demand of general: s0-0`]);
  });
});
