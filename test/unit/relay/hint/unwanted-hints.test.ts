import { describe, expect, test } from 'vitest';
import type { Hint } from '../../../../relay/hint/hints.ts';
import { openCluster } from '../../../kit/relay/open-cluster.ts';

/** Only what is about claims that nobody waits for. */
function render(hint: Hint): string {
  return hint.kind === 'pods' && hint.reason === 'pod-waits-no-more' ? `after ${hint.delayMs} ms` : '';
}

const HINT = 'after 1500 ms';
const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };

function pod(name: string, nodeName?: string, metadata: object = {}) {
  return {
    metadata: { name, namespace: 'default', uid: name, ...metadata },
    spec: { containers: [{}], ...(nodeName === undefined ? {} : { nodeName }) },
    status: { phase: 'Pending', conditions: nodeName === undefined ? [unschedulable] : [] },
  };
}

function claim(registered: string, metadata: object = {}) {
  const annotations = { 'nodewright.dev/decision': '000000001-d' };
  const nodeClassRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };
  return {
    metadata: { name: 'c', annotations, ...metadata },
    spec: { nodeClassRef, requirements: [] },
    status: { conditions: [{ type: 'Registered', status: registered }] },
  };
}

/** In use and open to all, unless said. */
function node(name: string, { isInUse = true, isKept = false } = {}) {
  return {
    metadata: { name, labels: { 'karpenter.sh/initialized': String(isInUse) } },
    spec: { taints: isKept ? [{ key: 'nodewright.dev/reserved', value: 'x', effect: 'NoSchedule' }] : [] },
  };
}

/** A cluster with pods `a` and `b` that wait, and a claim `c` whose node has registered or not. */
function open(made: object | null = claim('Unknown')) {
  const cluster = openCluster(render);
  if (made !== null) cluster.put('nodeclaims', made);
  cluster.put('pods', pod('a'));
  cluster.put('pods', pod('b'));
  const told = (hints: ReadonlyArray<string>): ReadonlyArray<string> => hints.filter((text) => text !== '');
  return {
    put: (resource: 'pods' | 'nodes' | 'nodeclaims', raw: unknown) => told(cluster.put(resource, raw)),
    remove: (key: string) => told(cluster.remove('pods', key)),
  };
}

describe('while a node is on its way, a look is worth it once', () => {
  test('a pod that waited is gone, or is told to go', () => {
    expect(open().remove('default/a')).toEqual([HINT]);
    const { put, remove } = open();
    const going = pod('a', undefined, { deletionTimestamp: '2026-11-27T12:00:00Z' });
    expect([put('pods', going), remove('default/a')]).toEqual([[HINT], []]);
  });

  test('a pod that waited has come to a node of others, or to one of ours that is in use', () => {
    expect(open().put('pods', pod('a', 'vmss-1'))).toEqual([HINT]);
    const { put } = open();
    put('nodes', node('aks-d'));
    expect(put('pods', pod('a', 'aks-d'))).toEqual([HINT]);
  });

  test('the last that waited has come to a node of theirs, as where another of those is not needed any more', () => {
    const { put } = open();
    put('nodes', node('aks-d', { isKept: true }));
    expect(put('pods', pod('a', 'aks-d'))).toEqual([]);
    expect(put('pods', pod('b', 'aks-d'))).toEqual([HINT]);
  });
});

describe('no look is worth it', () => {
  test('as a burst of pods comes to the nodes made for it', () => {
    const { put } = open();
    put('nodes', node('aks-d', { isKept: true }));
    put('nodes', node('aks-e', { isInUse: false }));
    expect(put('pods', pod('a', 'aks-d'))).toEqual([]);
    put('pods', pod('f'));
    expect(put('pods', pod('f', 'aks-e'))).toEqual([]);
    // By the time that the last has come, all nodes have registered.
    put('nodeclaims', claim('True'));
    expect(put('pods', pod('b', 'aks-d'))).toEqual([]);
  });

  test('where no node is on its way that a decision has made', () => {
    for (const made of [
      null,
      claim('True'),
      claim('False', { deletionTimestamp: '2026-11-27T12:00:00Z' }),
      claim('False', { annotations: {} }),
    ])
      expect(open(made).remove('default/a')).toEqual([]);
  });

  test('where a pod goes that did not wait, waits on, or has been nominated', () => {
    const { put, remove } = open();
    put('pods', pod('r', 'vmss-1'));
    expect(remove('default/r')).toEqual([]);
    expect(put('pods', pod('a', undefined, { labels: { new: 'yes' } }))).toEqual([]);
    const nominated = pod('a');
    const status = { ...nominated.status, nominatedNodeName: 'vmss-1' };
    expect(put('pods', { ...nominated, status })).toEqual([]);
  });
});
