import { expect, test } from 'vitest';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { emptied } from '../../../../kit/app/consolidated.ts';
import { machine, since } from '../../../../kit/app/small-cluster.ts';

test('a claim that was noted as given up and not deleted, and whose node has joined since, is given up no more', async () => {
  const { ports, server, clock, outside, azure, addClaim, addNode } = emptied();
  const labels = {
    'karpenter.sh/nodepool': 'general',
    'karpenter.sh/capacity-type': 'on-demand',
    'node.kubernetes.io/instance-type': 'Standard_D2_v5',
    'topology.kubernetes.io/zone': 'westeurope-1',
  };
  const amounts = { cpu: '2', memory: '8Gi', pods: '110' };
  azure.machines.set('c', machine('c'));
  const conditions = [since(clock.now(), 'Launched')];
  addClaim('c', { labels, status: { providerID: 'azure://c', allocatable: amounts, capacity: amounts, conditions } });
  clock.advance(16 * 60_000);
  outside.onRequest = ({ method, path }) => {
    if (method === 'DELETE' && path.includes('/nodeclaims/c')) throw new RetryableError('not reached');
  };
  await expect(follow(ports, { kind: 'NodeClaim', name: 'c' })).rejects.toThrow('not reached');
  outside.onRequest = () => undefined;
  const taints = [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }];
  addNode('c', { labels, taints, status: { allocatable: amounts, capacity: amounts } });
  for (let n = 0; n < 6; n++) {
    await follow(ports, { kind: 'NodeClaim', name: 'c' });
    clock.advance(60_000);
  }
  // In use, and with the note it takes no pods of any plan, is consolidated never, and drifts and expires for nothing.
  const found = server.get('nodeclaims', 'c');
  expect(JSON.stringify(found?.status?.['conditions'])).toContain('Initialized');
  expect(found?.metadata.annotations).not.toHaveProperty(['nodewright.dev/given-up']);
});
