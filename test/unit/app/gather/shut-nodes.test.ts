import { expect, test } from 'vitest';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { START, decisionOf, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const labels = {
  'karpenter.sh/nodepool': 'general',
  'karpenter.sh/registered': 'true',
  'karpenter.sh/capacity-type': 'on-demand',
  'node.kubernetes.io/instance-type': 'Standard_D2_v5',
  'topology.kubernetes.io/zone': 'westeurope-1',
  'kubernetes.io/hostname': 'aks-c',
};
const amounts = { cpu: '2', memory: '8Gi', pods: '110' };
const dedicated = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };

/**
 * A node that is kept for a pod, which has come, and whose claim has these conditions. Another pod waits, for which
 * there is room: is it let in?
 */
async function isLetIn(...types: ReadonlyArray<string>): Promise<boolean> {
  const cluster = smallCluster();
  const { ports, server, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(['c'], [cluster.addRunning('there', 'c')]);
  await ports.decisions.put(decision);
  cluster.addClaim('c', {
    labels,
    annotations: { 'nodewright.dev/decision': decision.name },
    status: {
      providerID: 'azure://c',
      nodeName: 'aks-c',
      allocatable: amounts,
      capacity: amounts,
      conditions: ['Launched', ...types].map((type) => since(START, type)),
    },
  });
  cluster.addNode('c', { labels, taints: [dedicated], status: { allocatable: amounts, capacity: amounts } });
  cluster.addPod('other', '100m');
  clock.advance(10_000);
  await provision(ports);
  expect(server.list('nodeclaims')).toHaveLength(1);
  return (server.get('pods', 'default/other')?.spec?.['tolerations'] ?? []).length > 0;
}

test('who waits is let in to a node with room that cannot be opened, as its claim says, once that has registered', async () => {
  expect(await isLetIn('Registered', 'WriteDenied')).toBe(true);
  expect(await isLetIn('Registered')).toBe(false);
  expect(await isLetIn('WriteDenied')).toBe(false);
});
