import { expect, test } from 'vitest';
import { sweep } from '../../../../shared/app/sweep/sweep.ts';
import { START, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const labels = { 'karpenter.sh/nodepool': 'general' };
const conditions = ['Launched', 'Registered', 'Initialized', 'Ready'].map((type) => since(START, type));

/**
 * A static pool of one node. The snapshot that a sweep has read shows one too many, which has gone since; as the sweep
 * reads the claims anew there is another. Answers whether it stays. `isDecided`: as it was made by a decision, which
 * has been committed and executed meanwhile.
 */
async function stays({ isDecided }: { readonly isDecided: boolean }): Promise<boolean> {
  const cluster = smallCluster();
  const { server, outside, ports, stateOf } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  server.patch('nodepools', 'general', { spec: { replicas: 1 } }, 'object');
  cluster.addClaim('old', { labels, status: { providerID: 'azure://old', conditions } });
  cluster.addNode('old', { labels });
  cluster.addClaim('surplus', { labels });
  const snapshot = await ports.snapshots.list();
  server.remove('nodeclaims', 'surplus');
  let isMade = false;
  outside.onRequest = ({ method, path }) => {
    if (isMade || method !== 'GET' || !path.includes('/nodepools')) return;
    isMade = true;
    cluster.addClaim('other', { labels });
  };
  const read: typeof ports.ledger.read = async () => {
    const ledger = await ports.ledger.read();
    return isDecided && isMade ? { ...ledger, generation: ledger.generation + 1 } : ledger;
  };
  await sweep({
    ...ports,
    policy: { ...ports.policy, gates: { ...ports.policy.gates, staticCapacity: true } },
    snapshots: { ...ports.snapshots, latest: () => Promise.resolve(snapshot) },
    ledger: { ...ports.ledger, read },
  });
  return stateOf('other') === 'there';
}

test('a static pool keeps no surplus, unless it may come in the place of a node by what was decided while the sweep reads', async () => {
  expect(await stays({ isDecided: false })).toBe(false);
  expect(await stays({ isDecided: true })).toBe(true);
});

test('a static pool with one too many, which goes for a notice that nobody has acted on, loses that one alone', async () => {
  const cluster = smallCluster();
  const { server, ports, stateOf } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  server.patch('nodepools', 'general', { spec: { replicas: 2 } }, 'object');
  const annotations = { 'nodewright.dev/interruption': `preempt by then since ${new Date(START).toISOString()}` };
  for (const name of ['a', 'b', 'c']) {
    const status = { providerID: `azure://${name}`, conditions };
    cluster.addClaim(name, { labels, status, annotations: name === 'c' ? annotations : {} });
    cluster.addNode(name, { labels });
  }
  cluster.clock.advance(3 * 60_000);
  // It takes longer than the next step takes to read the claims.
  const slow: typeof ports.kubernetes = {
    ...ports.kubernetes,
    delete: async (...asked) => {
      await new Promise((done) => setTimeout(done, 20));
      return ports.kubernetes.delete(...asked);
    },
  };
  const gates = { ...ports.policy.gates, staticCapacity: true };
  await sweep({ ...ports, kubernetes: slow, policy: { ...ports.policy, gates } });
  expect(['a', 'b', 'c'].map((name) => stateOf(name))).toEqual(['there', 'there', 'leaving']);
});
