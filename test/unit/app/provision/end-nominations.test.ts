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
  /** What changes in the cluster before the look. */
  readonly before?: (cluster: ReturnType<typeof smallCluster>) => void;
  /** Whether the API server fails while the pod is read. */
  readonly fails?: boolean;
}

type Server = ReturnType<typeof smallCluster>['server'];

function schedulable(server: Server): void {
  server.patch('pods', 'default/large', { status: { conditions: [] } }, 'status');
}

function nominate(server: Server, nominatedNodeName: string): void {
  server.patch('pods', 'default/large', { status: { nominatedNodeName } }, 'status');
}

/** A pod that was nominated to a node that has too little room for it: where is it nominated after a look? */
async function nominatedAfter({
  isOurs = true,
  isKept = false,
  isEmptying = false,
  ageMs = 25_000,
  before = () => undefined,
  fails = false,
}: Given) {
  const cluster = smallCluster();
  const { ports, server, clock, outside, addClass, addPool, addClaim, addNode, addPod, addRunning } = cluster;
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
  nominate(server, 'aks-c');
  clock.advance(ageMs);
  before(cluster);
  cluster.trace.length = 0;
  if (fails)
    outside.onRequest = ({ method, path }) => {
      if (method === 'PATCH' && path.includes('/pods/')) throw new RetryableError('not reached');
    };
  const outcome = await provision(ports);
  const nodeNow = (): unknown => server.get('pods', 'default/large')?.status?.['nominatedNodeName'];
  const asked = cluster.trace.filter((step) => step === 'GET /api/v1/namespaces/default/pods/large').length;
  return { ...cluster, outcome, node: nodeNow(), nodeNow, asked };
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
  ['the node is in use for twenty seconds and no more', { ageMs: 20_000 }],
  ['the scheduler has not said that it fits nowhere', { before: ({ server }) => schedulable(server) }],
  [
    'its node is not initialized any more',
    {
      before: ({ server }) => {
        const conditions = [since(START, 'Initialized', 'Unknown')];
        server.patch('nodeclaims', 'c', { status: { conditions } }, 'status');
      },
    },
  ],
])('it stays nominated where %s', async (_, given) => {
  expect((await nominatedAfter(given)).node).toBe('aks-c');
});

test('a write that fails stops no look', async () => {
  const { outcome, node } = await nominatedAfter({ fails: true });
  expect([outcome.kind, node]).toEqual(['idle', 'aks-c']);
});

test('it stays nominated where the scheduler nominates it elsewhere while it is asked', async () => {
  const { server, ports, outside, clock, nodeNow } = await nominatedAfter({ ageMs: 15_000 });
  outside.onRequest = ({ method, path }) => {
    if (method === 'GET' && path.endsWith('/pods/large')) nominate(server, 'aks-other');
  };
  clock.advance(10_000);
  await provision(ports);
  expect(nodeNow()).toBe('aks-other');
});

test('a pod is asked once a minute, as the scheduler may nominate it for long, and never while it is being deleted', async () => {
  const { server, ports, clock, nodeNow } = await nominatedAfter({});
  const nodes: Array<unknown> = [];
  for (const elapsed of [59_999, 1]) {
    nominate(server, 'aks-c');
    clock.advance(elapsed);
    await provision(ports);
    nodes.push(nodeNow());
  }
  expect(nodes).toEqual(['aks-c', undefined]);
  const deleted = { metadata: { deletionTimestamp: '2026-12-01T00:00:00Z' } };
  const leaving = await nominatedAfter({
    before: (given) => given.server.patch('pods', 'default/large', deleted, 'object'),
  });
  expect([leaving.node, leaving.asked]).toEqual(['aks-c', 0]);
});
