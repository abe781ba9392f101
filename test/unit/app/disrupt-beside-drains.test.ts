import { expect, test } from 'vitest';
import { disrupt } from '../../../shared/app/disrupt/disrupt.ts';
import { consolidated } from './consolidated.ts';

test('room for a pod that may not be disrupted, on a node that is being removed, stays; what is empty beside it goes [L10]', async () => {
  const { ports, server, addReady, addRunning, marks } = consolidated();
  addReady('stuck');
  addRunning('kept', 'stuck', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } });
  server.delete('nodeclaims', 'stuck');
  addReady('other');
  // Both are empty, and one of them is the pod's new place as soon as somebody lets it go.
  expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1 });
  expect([marks('spare'), marks('other')].filter(({ tainted }) => tainted)).toHaveLength(1);
});
