import { expect, test } from 'vitest';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { START, decisionOf, since, smallCluster } from '../../../kit/app/small-cluster.ts';

const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.sh/registered': 'true' };
const amounts = { cpu: '1', memory: '8Gi', pods: '110' };
const dedicated = { key: 'nodewright.dev/reserved', value: 'c', effect: 'NoSchedule' };

interface Given {
  /** Whether the decision that made the node planned the pod for it. */
  readonly isOurs?: boolean;
  readonly isKept?: boolean;
  /** Whether a pod is being deleted there. */
  readonly isEmptying?: boolean;
  readonly ageMs?: number;
  /** Whether the API server fails while the pod is read. */
  readonly fails?: boolean;
}

/** A pod that was nominated to a node that has too little room for it: where is it nominated after a look? */
async function nominatedAfter({
  isOurs = true,
  isKept = false,
  isEmptying = false,
  ageMs = 25_000,
  fails = false,
}: Given) {
  const { ports, server, clock, outside, addClass, addPool, addClaim, addNode, addPod, addRunning } = smallCluster();
  addClass('True');
  addPool();
  const conditions = ['Launched', 'Registered', 'Initialized'].map((type) => since(START, type));
  const pod = addPod('large', '1500m');
  const decision = decisionOf(['c'], isOurs ? [pod] : []);
  await ports.decisions.put(decision);
  addClaim('c', {
    labels,
    annotations: { 'nodewright.dev/decision': decision.name },
    status: { providerID: 'azure://c', nodeName: 'aks-c', allocatable: amounts, capacity: amounts, conditions },
  });
  addNode('c', { labels, taints: isKept ? [dedicated] : [], status: { allocatable: amounts, capacity: amounts } });
  if (isEmptying) {
    addRunning('victim', 'c');
    server.delete('pods', 'default/victim', {});
  }
  server.patch('pods', 'default/large', { status: { nominatedNodeName: 'aks-c' } }, 'status');
  clock.advance(ageMs);
  if (fails)
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/pods/')) throw new RetryableError('not reached');
    };
  const outcome = await provision(ports);
  return { outcome, node: server.get('pods', 'default/large')?.status?.['nominatedNodeName'], ports, clock };
}

test('who was nominated by us to a node that is open and too small is nominated no more, and planned for', async () => {
  const { node, ports, clock } = await nominatedAfter({});
  expect(node).toBeUndefined();
  clock.advance(20_000);
  expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
});

test.each<readonly [string, Given]>([
  ['the scheduler nominated it', { isOurs: false }],
  ['the node is kept for it', { isKept: true }],
  ['a pod leaves the node', { isEmptying: true }],
  ['the node was opened a moment ago', { ageMs: 15_000 }],
])('it stays nominated where %s', async (_, given) => {
  expect((await nominatedAfter(given)).node).toBe('aks-c');
});

test('a write that fails stops no look', async () => {
  const { outcome, node } = await nominatedAfter({ fails: true });
  expect([outcome.kind, node]).toEqual(['idle', 'aks-c']);
});
