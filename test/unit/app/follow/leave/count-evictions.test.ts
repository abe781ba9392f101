import { expect, test } from 'vitest';
import { countEvictions } from '../../../../../shared/app/follow/leave/count-evictions.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { parseDisruptionFigures } from '../../../../../shared/contract/figures/disruption-figures.ts';
import { START, machine, since, smallCluster } from '../../../../kit/app/small-cluster.ts';

/** What drains leave behind for the relay to show [K08]. */

/** A claim `c` that is being deleted, with its node; it says for which reason, if for any. */
function leaving(reason: string | null) {
  const cluster = smallCluster();
  const why = reason === null ? [] : [{ ...since(START, 'DisruptionReason'), reason }];
  const conditions = [...['Launched', 'Registered', 'Initialized'].map((type) => since(START, type)), ...why];
  cluster.addClaim('c', { finalizers: ['karpenter.sh/termination'], status: { providerID: 'azure://c', conditions } });
  cluster.azure.machines.set('c', machine('c'));
  cluster.addNode('c', { id: 'c', ready: 'True' });
  cluster.server.delete('nodeclaims', 'c');
  return {
    ...cluster,
    look: () => follow(cluster.ports, { kind: 'NodeClaim', name: 'c' }),
    totals: () => {
      const blob = cluster.blobs.readNow('small/disruption-figures');
      return blob === null ? null : parseDisruptionFigures(new TextDecoder().decode(blob.bytes))?.totals;
    },
  };
}

test('pods that are evicted are counted by the reason for which their node goes, and the answers by their code', async () => {
  const { look, addRunning, totals } = leaving('Underutilized');
  addRunning('a', 'c');
  addRunning('b', 'c');
  addRunning('kept', 'c', { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } });
  await look();
  expect(totals()).toEqual([
    { counter: 'pods_eviction_requests_total', labels: { code: '200' }, by: 2 },
    { counter: 'pods_drained_total', labels: { reason: 'Underutilized' }, by: 2 },
  ]);
});

test('a node that goes for no reason of its own drains forcefully', async () => {
  const { look, addRunning, totals } = leaving(null);
  addRunning('a', 'c');
  await look();
  expect(totals()).toContainEqual({ counter: 'pods_drained_total', labels: { reason: 'Forceful Termination' }, by: 1 });
});

test('evictions that are refused, or come too late, drain nobody', async () => {
  const { ports, server, totals } = leaving(null);
  const claim = server.get('nodeclaims', 'c');
  await countEvictions(ports, claim as never, [429, 404, 429]);
  expect(totals()).toEqual([
    { counter: 'pods_eviction_requests_total', labels: { code: '429' }, by: 2 },
    { counter: 'pods_eviction_requests_total', labels: { code: '404' }, by: 1 },
  ]);
});

test('a pass that asks nobody to leave writes nothing', async () => {
  const { look, totals } = leaving(null);
  await look();
  expect(totals()).toBeNull();
});

test('all that the API server grants are told under one code, whatever the code is', async () => {
  const { ports, server, totals } = leaving(null);
  await countEvictions(ports, server.get('nodeclaims', 'c') as never, [200, 201]);
  expect(totals()).toContainEqual({ counter: 'pods_eviction_requests_total', labels: { code: '200' }, by: 2 });
});

test('two claims of one name are counted both, as one that is made again at once', async () => {
  const { ports, totals } = leaving(null);
  for (const uid of ['first', 'second']) await countEvictions(ports, { metadata: { name: 'c', uid } } as never, [429]);
  expect(totals()).toEqual([{ counter: 'pods_eviction_requests_total', labels: { code: '429' }, by: 2 }]);
});
