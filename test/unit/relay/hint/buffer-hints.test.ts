import { describe, expect, test } from 'vitest';
import type { Hint } from '../../../../relay/hint/hints.ts';
import { watchedResources } from '../../../../relay/watch/resources.ts';
import { snapshotResources } from '../../../../shared/contract/snapshot/builder.ts';
import { openCluster } from '../../../kit/relay/open-cluster.ts';

function render(hint: Hint): string {
  if (hint.kind !== 'pods') return hint.kind;
  return hint.delayMs > 0 ? `${hint.reason} after ${hint.delayMs} ms` : hint.reason;
}

const named = (name: string, more: object = {}) => ({ metadata: { name, namespace: 'default', uid: name, ...more } });
const buffer = (spec: object = {}, status: object = {}) => ({
  ...named('spare'),
  spec: { scalableRef: { kind: 'Deployment', name: 'web' }, ...spec },
  status,
});
const pod = (nodeName?: string) => ({
  ...named('p'),
  spec: { containers: [{}], ...(nodeName === undefined ? {} : { nodeName }) },
});
const deployment = (name: string, replicas: number) => ({
  ...named(name),
  spec: { replicas, template: { spec: { containers: [{}] } } },
});
const node = { metadata: { name: 'n' }, spec: {} };

describe('a buffer [M05]', () => {
  test('is worth a plan when it is new or changed, not when its status is, and not when it goes', () => {
    const cluster = openCluster(render);
    expect(cluster.put('capacitybuffers', buffer())).toEqual(['buffer-changed']);
    expect(cluster.put('capacitybuffers', buffer({}, { replicas: 3 }))).toEqual([]);
    expect(cluster.put('capacitybuffers', buffer({ percentage: 5 }, { replicas: 3 }))).toEqual(['buffer-changed']);
    expect(cluster.remove('capacitybuffers', 'default/spare')).toEqual([]);
  });

  test('is published at once when it is changed, its status in a while', () => {
    const cluster = openCluster(render);
    expect(cluster.urgency('capacitybuffers', buffer())).toBe('urgent');
    expect(cluster.urgency('capacitybuffers', buffer({}, { replicas: 3 }))).toBe('lazy');
  });

  test('is worth a plan when what it refers to changes, and nothing else of that kind is', () => {
    const cluster = openCluster(render);
    cluster.put('capacitybuffers', buffer());
    expect(cluster.put('deployments', deployment('web', 1))).toEqual(['buffer-template-changed after 1000 ms']);
    expect(cluster.put('deployments', deployment('web', 2))).toEqual(['buffer-template-changed after 1000 ms']);
    expect(cluster.put('deployments', deployment('web', 2))).toEqual([]);
    expect(cluster.put('deployments', deployment('other', 2))).toEqual([]);
  });

  test('wants its room back when a pod has come to a node, and when a node is gone', () => {
    const cluster = openCluster(render);
    cluster.put('capacitybuffers', buffer());
    expect(cluster.put('pods', pod())).toEqual([]);
    expect(cluster.put('pods', pod('n'))).toEqual(['room-taken after 1000 ms']);
    expect(cluster.put('pods', { ...pod('n'), status: { phase: 'Running' } })).toEqual([]);
    expect(cluster.remove('pods', 'default/p')).toEqual([]);
    cluster.put('nodes', node);
    expect(cluster.remove('nodes', 'n')).toEqual(['node-lost']);
  });

  test('is told of by a relay that begins to publish', () => {
    const cluster = openCluster(render);
    expect(cluster.onStart()).toEqual([]);
    cluster.put('capacitybuffers', buffer());
    expect(cluster.onStart()).toEqual(['relay-started']);
  });
});

test('without buffers pods that come to a node, and nodes that go, are no news to them', () => {
  const cluster = openCluster(render);
  cluster.put('nodes', node);
  expect(cluster.put('pods', pod('n'))).toEqual([]);
  expect(cluster.remove('nodes', 'n')).toEqual([]);
});

test('the relay watches what a snapshot is made from, buffers only where they are filled', () => {
  for (const buffers of [false, true]) {
    const watched = watchedResources({ buffers }).map(({ resource }) => resource);
    expect(watched.toSorted()).toEqual([...snapshotResources({ buffers })].toSorted());
  }
});
