import { expect, test } from 'vitest';
import { hintClaims } from '../../../../../shared/app/claims/node-claim.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import type { NodeClaim } from '../../../../../shared/kubernetes/manifest.ts';
import { DEFINITIONS_AGE_MS } from '../../../../../shared/ports/kubernetes.ts';
import { namesIn, smallCluster } from '../../../../kit/app/small-cluster.ts';

test('claims that follow a change of what they were made from are looked at when nobody has the old one any more', async () => {
  const { ports, sent, clock, addClaim, server } = smallCluster();
  for (const name of ['a', 'b']) addClaim(name);
  clock.advance(123);
  await hintClaims(ports, server.list('nodeclaims') as unknown as ReadonlyArray<NodeClaim>, 'occasion');
  expect(sent.map(({ hint, atMs }) => [hint.kind, namesIn(hint), atMs])).toEqual([
    ['objects', ['a', 'b'], clock.now() + DEFINITIONS_AGE_MS],
  ]);
});

test('the claims of a pool whose spec has changed are looked at a second later', async () => {
  const { ports, sent, clock, addClass, addPool, server } = smallCluster();
  addClass('True');
  addPool();
  const labels = { 'karpenter.sh/nodepool': 'general' };
  const spec = { nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' } };
  server.create('nodeclaims', { metadata: { name: 'a', labels }, spec });
  await follow(ports, { kind: 'NodePool', name: 'general' });
  expect(sent).toEqual([]);

  server.patch('nodepools', 'general', { spec: { template: { metadata: { labels: { team: 'red' } } } } }, 'object');
  clock.advance(5_000);
  await follow(ports, { kind: 'NodePool', name: 'general' });
  expect(sent.map(({ hint, atMs }) => [namesIn(hint), atMs])).toEqual([[['a'], clock.now() + 1_000]]);
});
