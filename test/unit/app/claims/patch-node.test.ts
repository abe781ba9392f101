import { expect, test } from 'vitest';
import { closeNode } from '../../../../shared/app/claims/patch-node.ts';
import type { Fields } from '../../../simulation/world/api-server.ts';
import { smallCluster } from '../../../kit/app/small-cluster.ts';

const own = { key: 'team', effect: 'NoSchedule' };
const other = { key: 'node.kubernetes.io/unreachable', effect: 'NoExecute' };
const closed = { key: 'karpenter.sh/disrupted', effect: 'NoSchedule' };

/** A node with a taint of its own, as it was read. */
async function nodeWithTaint() {
  const cluster = smallCluster();
  cluster.addNode('a', { taints: [own] });
  const read = await cluster.ports.kubernetes.get('Node', { name: 'aks-a', namespace: null });
  if (read === null) throw new Error('the node is not there');
  return { ...cluster, read, taints: (): unknown => cluster.server.get('nodes', 'aks-a')?.spec?.['taints'] };
}

test('a node is closed once, and its other taints stay', async () => {
  const { ports, read, taints } = await nodeWithTaint();
  const node = await closeNode(ports, read);
  expect(taints()).toEqual([own, closed]);
  await closeNode(ports, node ?? read);
  expect(taints()).toEqual([own, closed]);
});

test('a taint that comes between the read and the write, or during it, stays', async () => {
  const { ports, read, taints, server, outside } = await nodeWithTaint();
  let writes = 0;
  outside.onRequest = ({ method }) => {
    if (method !== 'PATCH' || writes++ > 0) return;
    const spec: Fields = { taints: [own, other] };
    server.patch('nodes', 'aks-a', { spec }, 'object');
  };
  await closeNode(ports, read);
  expect(taints()).toEqual([own, other, closed]);
  expect(writes).toBe(2);
});

test('a node that has changed and then gone is no more', async () => {
  const { ports, read, server, outside } = await nodeWithTaint();
  outside.onRequest = ({ method }) => {
    if (method === 'PATCH') server.patch('nodes', 'aks-a', { spec: { taints: [other] } }, 'object');
    else server.remove('nodes', 'aks-a');
  };
  expect(await closeNode(ports, read)).toBeNull();
});
