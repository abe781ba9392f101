import { describe, expect, test } from 'vitest';
import type { Node } from '../../../../sandbox/kubernetes/client/objects.ts';
import { dueTaints, takenOffSentences } from '../../../../sandbox/world/aks-components.ts';

const CILIUM = { key: 'node.cilium.io/agent-not-ready', value: 'true', effect: 'NoExecute' };
const DISK = { key: 'disk.csi.azure.com/agent-not-ready', effect: 'NoExecute' };
const OWN = { key: 'example.com/agent-not-ready', effect: 'NoSchedule' };

const network = { plugin: 'azure', pluginMode: 'overlay', dataplane: 'cilium' };

function node(name: string, ...taints: ReadonlyArray<object>): Node {
  const metadata = { name, uid: name, resourceVersion: '1', creationTimestamp: '2026-11-21T12:00:00Z' };
  return { metadata, spec: { taints } } as Node;
}

function keys(
  nodes: ReadonlyArray<Node>,
  changes: Partial<Parameters<typeof dueTaints>[1]> = {},
): ReadonlyArray<string> {
  const readySince = new Map([['a', 0]]);
  return dueTaints(nodes, { network, readySince, nowMs: 60_000, ...changes }).map(
    ({ node: { metadata }, taint }) => `${metadata.name} ${taint.key}`,
  );
}

describe('components of AKS', () => {
  test('take off their own startup taints, and no other', () => {
    expect(keys([node('a', CILIUM, OWN, DISK)])).toEqual([`a ${CILIUM.key}`, `a ${DISK.key}`]);
  });

  test('start a while after a node is ready, and on no node that is not', () => {
    expect(keys([node('a', CILIUM)], { nowMs: 2_999 })).toEqual([]);
    expect(keys([node('a', CILIUM)], { nowMs: 3_000 })).toEqual([`a ${CILIUM.key}`]);
    expect(keys([node('b', CILIUM)])).toEqual([]);
  });

  test('are those of the cluster: without Cilium nobody takes off its taint', () => {
    expect(keys([node('a', CILIUM, DISK)], { network: { ...network, dataplane: '' } })).toEqual([`a ${DISK.key}`]);
  });

  test('tell in one sentence what they did on many nodes', () => {
    const on = (...names: ReadonlyArray<string>) =>
      takenOffSentences(names.map((name) => ({ node: node(name), component: "Cilium's agent", taint: CILIUM })));
    const off = 'has taken off the startup taint node.cilium.io/agent-not-ready.';
    expect(on('aks-a')).toEqual([`Cilium's agent is ready on aks-a and ${off}`]);
    expect(on('aks-a', 'aks-b')).toEqual([`Cilium's agent is ready on 2 nodes and ${off}`]);
  });
});
