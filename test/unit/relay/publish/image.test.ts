import { describe, expect, test } from 'vitest';
import { createImage } from '../../../../relay/publish/image.ts';
import { createMetrics } from '../../../../relay/measure/metrics.ts';
import { watchedResources } from '../../../../relay/watch/resources.ts';
import type { SnapshotChange } from '../../../../shared/contract/snapshot/builder.ts';
import { parseSnapshot } from '../../../../shared/contract/snapshot/parse.ts';

/** The cluster as the relay has seen it, and what it told of that, in order. */
function open() {
  const told: Array<string> = [];
  const metrics = createMetrics();
  const moment = () => ({ nowMs: 0, atMs: 1_000 });
  const image = createImage(
    { cluster: 'c', buffers: false },
    metrics,
    {
      changed: (urgency) => void told.push(`changed ${urgency}`),
      hint: (hint) => void told.push(`hint ${hint.kind}`),
      beatIn: (delayMs) => void told.push(`beat in ${delayMs} ms`),
    },
    moment,
  );
  const malformed = (): string => /malformed_total\{(.*)$/m.exec(metrics.render())?.[1] ?? 'none';
  return { image, told, malformed, nodes: image.sinkOf('nodes'), pods: image.sinkOf('pods') };
}

const node = (name: string, labels: object = {}, more: object = {}) => ({
  metadata: { name, uid: name, labels, ...more },
  spec: { providerID: `azure://${name}` },
  status: { allocatable: { cpu: '4' } },
});
const waiting = (name: string) => ({
  metadata: { name, namespace: 'default', uid: name, creationTimestamp: '2026-12-01T00:00:00Z' },
  spec: { containers: [{ resources: { requests: { cpu: '1' } } }] },
  status: { phase: 'Pending', conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] },
});

describe('what comes', () => {
  test('is in the image, and told of once', () => {
    const { nodes, image, told } = open();
    nodes.upsert(node('n'));
    nodes.upsert(node('n'));
    expect(image.gauges['nodes']?.()).toBe(1);
    expect(told.filter((text) => text.startsWith('changed'))).toHaveLength(1);
  });

  test('and says that pods wait is told as a hint', () => {
    const { pods, image, told } = open();
    pods.upsert(waiting('p'));
    expect(told).toContain('hint pods');
    expect(
      [image.gauges['pods'], image.gauges['pod_shapes'], image.gauges['waiting_pods']].map((read) => read?.()),
    ).toEqual([1, 1, 1]);
  });

  test('and closes a node that is to go asks for a heartbeat by which nobody has come for a while', () => {
    const { nodes, told } = open();
    const marked = (name: string) => ({
      ...node(name),
      spec: { providerID: `azure://${name}`, taints: [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }] },
    });
    const beats = (): ReadonlyArray<string> => told.filter((text) => text.startsWith('beat'));
    nodes.upsert(node('a'));
    expect(beats()).toEqual([]);
    nodes.upsert(marked('a'));
    nodes.upsert(marked('b'));
    expect(beats()).toEqual(['beat in 5000 ms', 'beat in 5000 ms']);
    nodes.upsert({ ...marked('a'), status: { allocatable: { cpu: '3' } } });
    nodes.upsert(node('a'));
    nodes.remove({ metadata: { name: 'b' } });
    expect(beats()).toHaveLength(2);
  });

  test('and cannot be read is counted and told to nobody', () => {
    const { nodes, told, malformed } = open();
    nodes.upsert({ metadata: {} });
    nodes.remove('nothing');
    expect(malformed()).toBe('resource="nodes"} 2');
    expect(told).toEqual([]);
  });

  test('is shown to whoever wants to see it', () => {
    const { nodes, image } = open();
    const seen: Array<SnapshotChange['kind']> = [];
    nodes.upsert(node('before'));
    image.observe((change) => void seen.push(change.kind));
    nodes.upsert(node('n'));
    expect(seen).toEqual(['object']);
    expect([...image.objects('nodes')].map(({ metadata }) => metadata.name).toSorted()).toEqual(['before', 'n']);
  });
});

describe('what goes', () => {
  test('is out of the image', () => {
    const { nodes, image } = open();
    nodes.upsert(node('n'));
    nodes.remove(node('n'));
    expect(image.gauges['nodes']?.()).toBe(0);
  });

  test('is what a list does not name any more', () => {
    const { nodes, image, told } = open();
    nodes.upsert(node('gone'));
    told.length = 0;
    nodes.beginListing();
    nodes.upsert(node('n'));
    nodes.finishListing();
    expect([...image.objects('nodes')].map(({ metadata }) => metadata.name)).toEqual(['n']);
    expect(told.filter((text) => text.startsWith('changed'))).toHaveLength(2);
  });
});

test('the snapshot has what was seen, up to the version that was seen', () => {
  const { nodes, image } = open();
  nodes.upsert(node('n'));
  nodes.setResourceVersion('42');
  const header = { version: '1-1', source: 'relay', term: 1, takenAtMs: 1_000 } as const;
  const snapshot = parseSnapshot(image.encode(header));
  expect(snapshot.nodes.map(({ metadata }) => metadata.name)).toEqual(['n']);
  expect(snapshot.resourceVersions['nodes']).toBe('42');
});

test('when it starts it looks at what there is', () => {
  const { image, pods } = open();
  expect(image.hintsOnStart()).toEqual([]);
  pods.upsert(waiting('p'));
  expect(image.hintsOnStart().map(({ kind }) => kind)).toContain('pods');
});

describe('what is watched', () => {
  const urls = (buffers: boolean) => watchedResources({ buffers }).map(({ group, resource }) => `${group}/${resource}`);

  test('is what plans are made from, nodes with their notices among it, and no events: those anybody may write', () => {
    const all = urls(false);
    expect(all).toContain('/api/v1/pods');
    expect(all).toContain('/apis/karpenter.azure.com/v1beta1/aksnodeclasses');
    expect(all.filter((url) => url.endsWith('/events'))).toEqual([]);
    expect(all).not.toContain('/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers');
  });

  test('has buffers and what they refer to, where these are used', () => {
    const more = urls(true).filter((url) => !urls(false).includes(url));
    expect(more).toEqual([
      '/apis/autoscaling.x-k8s.io/v1beta1/capacitybuffers',
      '/api/v1/podtemplates',
      '/apis/apps/v1/deployments',
    ]);
  });

  test('may be missing where it is not part of every Kubernetes', () => {
    const custom = watchedResources({ buffers: true }).filter(({ isCustom }) => isCustom);
    const groups = new Set(custom.map(({ group }) => group));
    expect([...groups].toSorted()).toEqual([
      '/apis/autoscaling.x-k8s.io/v1beta1',
      '/apis/karpenter.azure.com/v1beta1',
      '/apis/karpenter.sh/v1',
      '/apis/karpenter.sh/v1alpha1',
      '/apis/resource.k8s.io/v1',
    ]);
    const builtIn = watchedResources({ buffers: true }).filter(({ isCustom }) => !isCustom);
    expect(builtIn.every(({ group }) => !groups.has(group))).toBe(true);
  });
});
