import { expect, test } from 'vitest';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { NODE_LABELS, START, decisionOf, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const amounts = { cpu: '2', memory: '8Gi', pods: '110' };

/**
 * A pod waits for the node of a claim with these conditions, so many minutes after the claim was made: is another made
 * for it?
 */
async function isPlannedAnew(minutes: number, types: ReadonlyArray<string>, hasNode = false): Promise<boolean> {
  const cluster = smallCluster();
  const { ports, server, clock } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(['c'], [cluster.addPod('web', '1')]);
  await ports.decisions.put(decision);
  const conditions = types.map((type) => since(START, type));
  cluster.addClaim('c', {
    labels: NODE_LABELS,
    annotations: { 'nodewright.dev/decision': decision.name },
    status: { providerID: 'azure://c', nodeName: 'aks-c', allocatable: amounts, capacity: amounts, conditions },
  });
  if (hasNode) cluster.addNode('c', { labels: NODE_LABELS, status: { allocatable: amounts, capacity: amounts } });
  clock.advance(minutes * 60_000);
  await provision(ports);
  return server.list('nodeclaims').length > 1;
}

test('nobody waits for a claim whose node is missing for too long, and that may not be written', async () => {
  expect(await isPlannedAnew(18, ['Launched', 'WriteDenied'])).toBe(true);
});

test.each([
  ['before its time is over', 16, ['Launched', 'WriteDenied'], false],
  ['that may be written, and so will be given up', 18, ['Launched'], false],
  ['whose node is there', 18, ['Launched', 'WriteDenied'], true],
  ['that says that its node has registered', 18, ['Launched', 'Registered', 'WriteDenied'], false],
])('who waits for a claim %s is not planned anew', async (_, minutes, types, hasNode) => {
  expect(await isPlannedAnew(minutes, types, hasNode)).toBe(false);
});
