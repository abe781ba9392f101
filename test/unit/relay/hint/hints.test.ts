import { describe, expect, test } from 'vitest';
import type { Hint } from '../../../../relay/hint/hints.ts';
import { ownAnnotations } from '../../../../shared/contract/names.ts';
import { openCluster } from '../../../kit/relay/open-cluster.ts';

function render(hint: Hint): string {
  const delay = hint.kind !== 'signal' && hint.delayMs > 0 ? ` after ${hint.delayMs} ms` : '';
  if (hint.kind === 'pods') return `pods ${hint.reason}${delay}`;
  if (hint.kind === 'signal') return `signal ${hint.signal.event} ${hint.signal.nodeName}`;
  return `${hint.object.kind}/${hint.object.name} ${hint.reason}${delay}`;
}

interface PodDraft {
  readonly name?: string;
  readonly node?: string;
  readonly unschedulable?: boolean;
  readonly owner?: string;
  readonly ownerVersion?: string;
  readonly nominated?: string;
  readonly deleting?: boolean;
  readonly phase?: string;
  readonly labels?: Readonly<Record<string, string>>;
}

function pod(draft: PodDraft = {}): unknown {
  return {
    metadata: {
      name: draft.name ?? 'a',
      namespace: 'default',
      ...(draft.labels === undefined ? {} : { labels: draft.labels }),
      ...(draft.deleting === true ? { deletionTimestamp: '2026-11-21T00:00:00Z' } : {}),
      ownerReferences:
        draft.owner === undefined
          ? []
          : [{ apiVersion: draft.ownerVersion ?? 'apps/v1', kind: draft.owner, name: 'o', uid: 'u', controller: true }],
    },
    spec: { containers: [{}], ...(draft.node === undefined ? {} : { nodeName: draft.node }) },
    status: {
      phase: draft.phase ?? 'Pending',
      ...(draft.nominated === undefined ? {} : { nominatedNodeName: draft.nominated }),
      conditions:
        draft.unschedulable === true ? [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }] : [],
    },
  };
}

const waiting = pod({ unschedulable: true });

interface Draft {
  readonly labels?: Readonly<Record<string, string>>;
  readonly annotations?: Readonly<Record<string, string>>;
  readonly finalizers?: ReadonlyArray<string>;
  readonly generation?: number;
  readonly deletionTimestamp?: string;
  readonly ownerReferences?: ReadonlyArray<unknown>;
  readonly spec?: object;
  readonly status?: object;
}

const gone = '2026-11-21T00:00:00Z';

function object(name: string, { spec = {}, status = {}, ...metadata }: Draft): unknown {
  return { metadata: { name, ...metadata }, spec, status };
}

const vm = (name: string): string =>
  `azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/${name}`;

function node(draft: Draft = {}, name = 'aks-c1'): unknown {
  return object(name, { spec: { providerID: vm(name) }, ...draft });
}

const classRef = { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' };

function claim(draft: Draft = {}): unknown {
  return object('c1', { ...draft, spec: { nodeClassRef: classRef, requirements: [], ...draft.spec } });
}

function pool(draft: Draft = {}, name = 'general'): unknown {
  const spec = { template: { spec: { nodeClassRef: classRef, requirements: [] } }, ...draft.spec };
  return object(name, { ...draft, spec });
}

const readyIs = (status: string): object => ({ conditions: [{ type: 'Ready', status }] });

describe('hints about pods', () => {
  test('a pod that the scheduler found no room for is worth a plan', () => {
    expect(openCluster(render).put('pods', waiting)).toEqual(['pods pods-unschedulable']);
  });

  test('a pod that the scheduler has not looked at yet is not', () => {
    expect(openCluster(render).put('pods', pod())).toEqual([]);
  });

  test.each([
    ['bound', { node: 'n' }],
    ['nominated to a node', { nominated: 'n' }],
    ['owned by a daemonset', { owner: 'DaemonSet' }],
    ['owned by a node', { owner: 'Node', ownerVersion: 'v1' }],
    ['at its end', { phase: 'Failed' }],
  ])('an unschedulable pod that is %s is not', (_, draft) => {
    expect(openCluster(render).put('pods', pod({ ...draft, unschedulable: true }))).toEqual([]);
  });

  test('a pod that waits on is told once', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    expect(cluster.put('pods', waiting)).toEqual([]);
    expect(cluster.put('pods', pod({ unschedulable: true, labels: { a: 'b' } }))).toEqual([]);
  });

  test('a pod that was bound and lost its place counts anew', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    cluster.put('pods', pod({ node: 'n' }));
    expect(cluster.put('pods', waiting)).toEqual(['pods pods-unschedulable']);
  });

  test('a pod that leaves, or is bound, is no reason to plan', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    expect(cluster.put('pods', pod({ node: 'n' }))).toEqual([]);
    expect(cluster.remove('pods', 'default/a')).toEqual([]);
  });
});

describe('what may let waiting pods in', () => {
  const slicePool = { name: 'n', generation: 1, resourceSliceCount: 1 };
  const slice = object('slice', { spec: { driver: 'gpu.example.com', pool: slicePool } });

  test.each([
    ['a new pool', 'nodepools', pool(), 'pool-changed'],
    ['a new node class', 'aksnodeclasses', object('default', {}), 'class-changed'],
    ['a volume claim', 'persistentvolumeclaims', object('data', {}), 'volume-changed after 1000 ms'],
    ['a device slice', 'resourceslices', slice, 'devices-changed after 1000 ms'],
    ['a device class', 'deviceclasses', object('gpu', {}), 'devices-changed after 1000 ms'],
    ['a storage class', 'storageclasses', object('premium', {}), 'volume-changed after 1000 ms'],
  ] as const)('%s is worth a plan while pods wait, and only then', (_, resource, raw, reason) => {
    const cluster = openCluster(render);
    expect(cluster.put(resource, raw).filter((hint) => hint.startsWith('pods'))).toEqual([]);
    cluster.remove(resource, (raw as { metadata: { name: string } }).metadata.name);
    cluster.put('pods', waiting);
    expect(cluster.put(resource, raw)).toContain(`pods ${reason}`);
  });

  test('an overlay whose spec changes always is, for its status tells whether it agrees with others', () => {
    const cluster = openCluster(render);
    const cheap = (status: object) => object('cheap', { spec: { requirements: [] }, status });
    expect(cluster.put('nodeoverlays', cheap({}))).toEqual(['pods overlay-changed']);
    const conditions = [{ type: 'Ready', status: 'True' }];
    expect(cluster.put('nodeoverlays', cheap({ conditions }))).toEqual([]);
    expect(cluster.remove('nodeoverlays', 'cheap')).toEqual(['pods overlay-changed']);
  });

  test('a pool that becomes ready is, one whose other conditions change is not', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    cluster.put('nodepools', pool({ generation: 1 }));
    expect(
      cluster.put('nodepools', pool({ generation: 1, status: { conditions: [{ type: 'X', status: 'True' }] } })),
    ).toEqual([]);
    expect(cluster.put('nodepools', pool({ generation: 1, status: readyIs('True') }))).toEqual(['pods pool-changed']);
  });

  test('a node that is lost is, and a claim that is lost is', () => {
    const cluster = openCluster(render);
    cluster.put('nodes', node());
    cluster.put('nodeclaims', claim());
    cluster.put('pods', waiting);
    expect(cluster.remove('nodeclaims', 'c1')).toEqual(['pods claim-lost']);
    expect(cluster.remove('nodes', 'aks-c1')).toEqual(['pods node-lost']);
  });

  test('a claim that is deleted is, before it is gone: nothing is planned onto it', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    cluster.put('pods', waiting);
    const deletionTimestamp = '2026-11-26T00:00:00Z';
    expect(cluster.put('nodeclaims', claim({ deletionTimestamp }))).toEqual([
      'NodeClaim/c1 claim-deleted',
      'pods claim-lost',
    ]);
  });

  test('a node that becomes initialized is: what was planned for it and did not fit needs another', () => {
    const cluster = openCluster(render);
    cluster.put('nodes', node());
    cluster.put('pods', waiting);
    expect(cluster.put('nodes', node({ labels: { 'karpenter.sh/initialized': 'true' } }))).toEqual([
      'pods node-initialized',
    ]);
  });

  test('a node that is tainted for disruption is, whether or not pods wait', () => {
    const cluster = openCluster(render);
    cluster.put('nodes', node());
    const taints = [{ key: 'karpenter.sh/disrupted', effect: 'NoSchedule' }];
    expect(cluster.put('nodes', node({ spec: { providerID: vm('aks-c1'), taints } }))).toEqual(['pods node-disrupted']);
    expect(cluster.put('nodes', node({ labels: { a: 'b' }, spec: { providerID: vm('aks-c1'), taints } }))).toEqual([]);
  });

  test('a static pool wants nodes without pods: it, and the loss of one of its claims, are worth a plan', () => {
    const cluster = openCluster(render);
    expect(cluster.put('nodepools', pool({ spec: { replicas: 3 } }))).toEqual([
      'NodePool/general pool-created',
      'pods pool-changed',
    ]);
    cluster.put('nodeclaims', claim({ labels: { 'karpenter.sh/nodepool': 'general' } }));
    expect(cluster.remove('nodeclaims', 'c1')).toEqual(['pods claim-lost']);
  });
});

const registered = { 'karpenter.sh/registered': 'true' };
const startup = { key: 'example.com/starting', effect: 'NoSchedule' };
const kept = { key: 'nodewright.dev/reserved', value: 'c1', effect: 'NoSchedule' };
const notReady = { key: 'node.kubernetes.io/not-ready', effect: 'NoSchedule' };
const machine = { providerID: vm('aks-c1') };
const isReady = { status: readyIs('True') };

describe('hints about claims', () => {
  test('a claim is told when it is created, when others change it, and when it is to go', () => {
    const cluster = openCluster(render);
    expect(cluster.put('nodeclaims', claim())).toEqual(['NodeClaim/c1 claim-created']);
    expect(cluster.put('nodeclaims', claim({ spec: { expireAfter: '1h' } }))).toEqual(['NodeClaim/c1 claim-changed']);
    const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
    expect(cluster.put('nodeclaims', claim({ spec: { expireAfter: '1h' }, annotations }))).toEqual([
      'NodeClaim/c1 claim-changed',
    ]);
    expect(
      cluster.put('nodeclaims', claim({ spec: { expireAfter: '1h' }, annotations, deletionTimestamp: gone })),
    ).toEqual(['NodeClaim/c1 claim-deleted']);
  });

  test.each([
    ['its status', { status: { providerID: 'x', conditions: [{ type: 'Launched', status: 'True' }] } }],
    ['annotations of our own', { annotations: Object.fromEntries([...ownAnnotations].map((key) => [key, 'x'])) }],
    ['the mark that it is to go', { annotations: { 'nodewright.dev/disruption': '000000002-abc' } }],
    ['what it costs', { annotations: { 'nodewright.dev/price-per-hour': '0.388 USD' } }],
    ['annotations that no decision reads', { annotations: { 'example.com/a': 'b' } }],
    ['labels that the launch chose', { labels: { 'topology.kubernetes.io/zone': '1' } }],
  ])('a change of %s is no news', (_, draft) => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    expect(cluster.put('nodeclaims', claim(draft))).toEqual([]);
  });

  test('once a claim is registered its labels are synced, so a change of them is news', () => {
    const cluster = openCluster(render);
    const status = { conditions: [{ type: 'Registered', status: 'True' }] };
    cluster.put('nodeclaims', claim({ status }));
    expect(cluster.put('nodeclaims', claim({ status, labels: { team: 'a' } }))).toEqual(['NodeClaim/c1 claim-changed']);
  });

  test.each([
    ['appears and is ready', null, node({ status: readyIs('True') }), 'node-appeared'],
    ['becomes ready', node({ status: readyIs('False') }), node({ status: readyIs('True') }), 'node-ready'],
    ['stops being ready', node({ status: readyIs('True') }), node({ status: readyIs('Unknown') }), 'node-ready'],
    [
      'shows, on its way to being initialized, what can be allocated',
      node({ labels: registered }),
      node({ labels: registered, status: { allocatable: { cpu: '4' } } }),
      'node-allocatable',
    ],
    [
      'loses a startup taint',
      node({ labels: registered, spec: { ...machine, taints: [startup] } }),
      node({ labels: registered }),
      'node-taints',
    ],
    [
      'loses a startup taint while it is kept for its pods',
      node({ labels: registered, spec: { ...machine, taints: [startup, kept] } }),
      node({ labels: registered, spec: { ...machine, taints: [kept] } }),
      'node-taints',
    ],
    [
      'loses the taint of its condition after it was opened',
      node({ labels: registered, spec: { ...machine, taints: [notReady] } }),
      node({ labels: registered }),
      'node-taints',
    ],
    ['is being deleted', node(), node({ deletionTimestamp: gone }), 'node-deleted'],
  ])('a claim is told when its node %s', (_, before, after, reason) => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    if (before !== null) cluster.put('nodes', before);
    expect(cluster.put('nodes', after)).toEqual([`NodeClaim/c1 ${reason}`]);
  });

  const initialized = { ...registered, 'karpenter.sh/initialized': 'true' };
  const ours = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' };
  test.each([
    ['that appears before it is ready', null, node({ spec: { ...machine, taints: [ours] } })],
    ['that is registered by us', node({ spec: { ...machine, taints: [ours] } }), node({ labels: registered })],
    [
      'that we open to all',
      node({ labels: registered, spec: { ...machine, taints: [kept] } }),
      node({ labels: initialized }),
    ],
    [
      'that is kept for its pods and loses the taint of its condition',
      node({ labels: registered, spec: { ...machine, taints: [notReady, kept] } }),
      node({ labels: registered, spec: { ...machine, taints: [kept] } }),
    ],
    ['whose labels change', node({ labels: registered }), node({ labels: { ...registered, a: 'b' } })],
    [
      'at rest that somebody taints',
      node({ labels: initialized }),
      node({ labels: initialized, spec: { ...machine, taints: [startup] } }),
    ],
    [
      'that is not registered and changes what can be allocated',
      node(),
      node({ status: { allocatable: { cpu: '4' } } }),
    ],
  ])('of a node %s its claim is not told: nothing follows from it', (_, before, after) => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    if (before !== null) cluster.put('nodes', before);
    expect(cluster.put('nodes', after)).toEqual([]);
  });

  test('a claim is told of pods that come to its node while that is kept for them, and not once it is open', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    cluster.put('nodes', node({ labels: registered, spec: { ...machine, taints: [kept] } }));
    cluster.put('pods', pod({}));
    expect(cluster.put('pods', pod({ node: 'aks-c1' }))).toEqual(['NodeClaim/c1 pods-came after 250 ms']);
    cluster.put('nodes', node({ labels: initialized }));
    cluster.put('pods', pod({}));
    expect(cluster.put('pods', pod({ node: 'aks-c1' }))).toEqual([]);
  });

  test('a claim that knows how many are to come is told at once when all have, and after a while when only some have', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim({ annotations: { 'nodewright.dev/planned-pods': '3' } }));
    cluster.put('nodes', node({ labels: registered, spec: { ...machine, taints: [kept] } }));
    cluster.put('pods', pod({ name: 'agent', node: 'aks-c1', owner: 'DaemonSet' }));
    const came = (name: string) => cluster.put('pods', pod({ name, node: 'aks-c1' }));
    const [soon, later] = [['NodeClaim/c1 pods-came after 250 ms'], ['NodeClaim/c1 pods-came after 3000 ms']];
    expect([came('a'), came('b')]).toEqual([later, later]);
    cluster.remove('pods', 'default/b');
    expect([came('c'), came('d'), came('e')]).toEqual([later, soon, soon]);
  });

  test('a claim that a decision made is hinted at by whoever carried that out, and by nobody else', () => {
    const cluster = openCluster(render);
    const annotations = { 'nodewright.dev/decision': '000000002-abc' };
    expect(cluster.put('nodeclaims', claim({ annotations }))).toEqual([]);
  });

  test('that a claim is registered is our doing, and no news of its labels', () => {
    const cluster = openCluster(render);
    const labels = { 'topology.kubernetes.io/zone': '1' };
    cluster.put('nodeclaims', claim({ labels }));
    const status = { conditions: [{ type: 'Registered', status: 'True' }] };
    expect(cluster.put('nodeclaims', claim({ labels, status }))).toEqual([]);
  });

  test('a claim whose providerID somebody changes is told, and not when it gets one', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    expect(cluster.put('nodeclaims', claim({ status: { providerID: 'azure://a' } }))).toEqual([]);
    expect(cluster.put('nodeclaims', claim({ status: { providerID: 'azure://b' } }))).toEqual([
      'NodeClaim/c1 claim-provider-id',
    ]);
  });

  test('a class that is to go is told of each of its claims that has gone', () => {
    const cluster = openCluster(render);
    cluster.put('aksnodeclasses', object('default', {}));
    cluster.put('nodeclaims', claim());
    expect(cluster.remove('nodeclaims', 'c1')).toEqual([]);
    cluster.put('nodeclaims', claim());
    cluster.put('aksnodeclasses', object('default', { deletionTimestamp: gone }));
    expect(cluster.remove('nodeclaims', 'c1')).toEqual(['AKSNodeClass/default claim-gone']);
  });

  test('a claim is told when its node is gone', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    cluster.put('nodes', node());
    expect(cluster.remove('nodes', 'aks-c1')).toEqual(['NodeClaim/c1 node-gone']);
  });

  test("a node's heartbeat is no news", () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    const at = (time: string): unknown =>
      node({
        status: {
          conditions: [{ type: 'Ready', status: 'True', lastHeartbeatTime: time, message: time }],
          images: [time],
        },
      });
    cluster.put('nodes', at('1'));
    expect(cluster.put('nodes', at('2'))).toEqual([]);
  });

  test.each([
    [
      'its owner',
      node({ ...isReady, ownerReferences: [{ apiVersion: 'v1', kind: 'NodeClaim', name: 'c1', uid: 'u' }] }, 'other'),
    ],
    ['its VM', node({ ...isReady, spec: { providerID: vm('AKS-c1') } }, 'other')],
    ['its name, before it has a VM', node({ ...isReady, spec: {} })],
  ])('a node finds its claim by %s', (_, raw) => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    expect(cluster.put('nodes', raw)).toEqual(['NodeClaim/c1 node-appeared']);
  });

  test('nodes of AKS itself have no claim', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    const instance = vm('x').replace('virtualMachines/x', 'virtualMachineScaleSets/aks-system-vmss/virtualMachines/0');
    expect(cluster.put('nodes', node({ spec: { providerID: instance } }, 'aks-system-vmss000000'))).toEqual([]);
  });

  test.each([
    [
      'the node',
      (cluster: ReturnType<typeof openCluster>) => void cluster.put('nodes', node({ deletionTimestamp: gone })),
    ],
    [
      'the claim',
      (cluster: ReturnType<typeof openCluster>) => void cluster.put('nodeclaims', claim({ deletionTimestamp: gone })),
    ],
  ])('while %s is being deleted, each pod that leaves brings the drain on', (_, remove) => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    cluster.put('nodes', node());
    cluster.put('pods', pod({ node: 'aks-c1', phase: 'Running' }));
    remove(cluster);
    const left = 'NodeClaim/c1 pods-left after 250 ms';
    expect(cluster.put('pods', pod({ node: 'aks-c1', phase: 'Running', deleting: true }))).toEqual([left]);
    expect(cluster.put('pods', pod({ node: 'aks-c1', phase: 'Succeeded' }))).toEqual([left]);
  });

  test('pods that leave a node that stays are no news to its claim', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    cluster.put('nodes', node());
    cluster.put('pods', pod({ node: 'aks-c1' }));
    expect(cluster.remove('pods', 'default/a')).toEqual([]);
  });
});

describe('hints about pools and node classes', () => {
  test('a pool is told when it is created, changed, to go, and gone; not of its own status', () => {
    const cluster = openCluster(render);
    expect(cluster.put('nodepools', pool({ generation: 1 }))).toEqual(['NodePool/general pool-created']);
    expect(cluster.put('nodepools', pool({ generation: 1, status: readyIs('True') }))).toEqual([]);
    expect(cluster.put('nodepools', pool({ generation: 2 }))).toEqual(['NodePool/general pool-changed']);
    expect(cluster.put('nodepools', pool({ generation: 2, deletionTimestamp: gone }))).toEqual([
      'NodePool/general pool-deleted',
    ]);
    expect(cluster.remove('nodepools', 'general')).toEqual(['NodePool/general pool-gone']);
  });

  test('a pool that states other devices of its nodes has changed', () => {
    const cluster = openCluster(render);
    const stating = (content: string): Draft => ({ annotations: { 'nodewright.dev/resource-slices': content } });
    cluster.put('nodepools', pool(stating('{}')));
    expect(cluster.put('nodepools', pool(stating('{"N8":[]}')))).toEqual(['NodePool/general pool-changed']);
  });

  test('a pool that says another cost of evictions has changed', () => {
    const cluster = openCluster(render);
    const stating = (cost: string): Draft => ({ annotations: { 'nodewright.dev/eviction-cost': cost } });
    cluster.put('nodepools', pool());
    expect(cluster.put('nodepools', pool(stating('2h')))).toEqual(['NodePool/general pool-changed']);
    expect(cluster.put('nodepools', pool(stating('2h')))).toEqual([]);
  });

  test('a pool that says another cost of moves has changed: a mistake in it is to be told', () => {
    const cluster = openCluster(render);
    const stating = (cost: string): Draft => ({ annotations: { 'nodewright.dev/move-cost': cost } });
    cluster.put('nodepools', pool());
    expect(cluster.put('nodepools', pool(stating('dear')))).toEqual(['NodePool/general pool-changed']);
    expect(cluster.put('nodepools', pool(stating('dear')))).toEqual([]);
  });

  test('a pool or class whose hash somebody else wrote is told, one that is stamped for the first time is not', () => {
    const cluster = openCluster(render);
    const stamped = (hash: string): Draft => ({ annotations: { 'karpenter.sh/nodepool-hash': hash } });
    cluster.put('nodepools', pool());
    expect(cluster.put('nodepools', pool(stamped('1')))).toEqual([]);
    expect(cluster.put('nodepools', pool(stamped('1')))).toEqual([]);
    expect(cluster.put('nodepools', pool(stamped('2')))).toEqual(['NodePool/general pool-restamped']);
    expect(cluster.put('nodepools', pool())).toEqual(['NodePool/general pool-restamped']);
    const ofClass = (hash: string): unknown =>
      object('default', { annotations: { 'karpenter.azure.com/aksnodeclass-hash': hash } });
    cluster.put('aksnodeclasses', ofClass('1'));
    expect(cluster.put('aksnodeclasses', ofClass('2'))).toEqual(['AKSNodeClass/default class-restamped']);
  });

  test('a pool is told in a while when the number of its nodes changed', () => {
    const cluster = openCluster(render);
    const labels = { 'karpenter.sh/nodepool': 'general' };
    expect(cluster.put('nodes', node({ labels }))).toEqual(['NodePool/general node-count after 5000 ms']);
    expect(cluster.put('nodes', node({ labels: { ...labels, a: 'b' } }))).toEqual([]);
    expect(cluster.remove('nodes', 'aks-c1')).toEqual(['NodePool/general node-count after 5000 ms']);
  });

  test('a node class tells itself of its changes, and its pools of its readiness', () => {
    const cluster = openCluster(render);
    cluster.put('nodepools', pool());
    expect(cluster.put('aksnodeclasses', object('default', { generation: 1 }))).toEqual([
      'AKSNodeClass/default class-created',
      'NodePool/general class-ready',
    ]);
    expect(cluster.put('aksnodeclasses', object('default', { generation: 1, status: readyIs('True') }))).toEqual([
      'NodePool/general class-ready',
    ]);
    expect(cluster.put('aksnodeclasses', object('default', { generation: 2, status: readyIs('True') }))).toEqual([
      'AKSNodeClass/default class-changed',
    ]);
  });
});

describe('hints about pools of other providers', () => {
  const theirs = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };
  const spec = { replicas: 3, template: { spec: { nodeClassRef: theirs, requirements: [] } } };

  test('there are none: neither when they change, nor when a class of ours with that name does', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    expect(cluster.put('nodepools', pool({ spec }))).toEqual([]);
    expect(cluster.put('nodepools', pool({ spec, generation: 2 }))).toEqual([]);
    expect(cluster.put('aksnodeclasses', object('default', { status: readyIs('True') }))).toEqual([
      'AKSNodeClass/default class-created',
      'pods class-changed',
    ]);
    expect(cluster.onStart()).toEqual(['pods relay-started', 'AKSNodeClass/default relay-started']);
    expect(cluster.remove('nodepools', 'general')).toEqual([]);
  });

  test('their static pools want no nodes of ours, and their claims hold no class of ours', () => {
    const cluster = openCluster(render);
    cluster.put('nodepools', pool({ spec }));
    cluster.put('aksnodeclasses', object('default', { deletionTimestamp: gone }));
    const labels = { 'karpenter.sh/nodepool': 'general' };
    cluster.put('nodeclaims', claim({ labels, spec: { nodeClassRef: theirs } }));
    expect(cluster.remove('nodeclaims', 'c1')).toEqual([]);
  });
});

describe('signals', () => {
  const notice = (message: string, type = 'PreemptionScheduled', status = 'True'): unknown =>
    node({ status: { conditions: [{ type, status, reason: 'SpotEvictionIncoming', message }] } });
  const preempt = 'Preempt Scheduled: Sat, 21 Nov 2026 05:41:02 GMT. EventId: 0D5A3F0A-1111-4222-8333-444455556666';

  test('a notice is told once, however its condition is rewritten', () => {
    const cluster = openCluster(render);
    expect(cluster.put('nodes', notice(preempt))).toEqual(['signal preempt aks-c1']);
    expect(cluster.put('nodes', notice(`${preempt} `))).toEqual([]);
  });

  test('advice that turns into a notice changes only the message, and counts', () => {
    const cluster = openCluster(render);
    expect(cluster.put('nodes', notice('SpotRebalanceRecommendation Advisory: the risk is high.'))).toEqual([]);
    expect(cluster.put('nodes', notice(preempt))).toEqual(['signal preempt aks-c1']);
  });

  test('a condition that is not True announces nothing, nor does one of another type', () => {
    const cluster = openCluster(render);
    expect(cluster.put('nodes', notice(preempt, 'PreemptionScheduled', 'False'))).toEqual([]);
    expect(cluster.put('nodes', notice(preempt, 'KubeletProblem'))).toEqual([]);
  });
});

test('a relay that begins to publish tells of everything once: waiting pods, notices, classes, pools, claims', () => {
  const cluster = openCluster(render);
  cluster.put('nodepools', pool());
  cluster.put('nodeclaims', claim());
  cluster.put('aksnodeclasses', object('default', {}));
  cluster.put('pods', waiting);
  cluster.put(
    'nodes',
    node({ status: { conditions: [{ type: 'VMEventScheduled', status: 'True', message: 'Redeploy Scheduled: .' }] } }),
  );
  expect(cluster.onStart()).toEqual([
    'pods relay-started',
    'signal redeploy aks-c1',
    'AKSNodeClass/default relay-started',
    'NodePool/general relay-started',
    'NodeClaim/c1 relay-started',
  ]);
});

describe('urgency', () => {
  test('what provisioning waits for is published at once, steps of nodes and claims in a while', () => {
    const cluster = openCluster(render);
    expect(cluster.urgency('pods', waiting)).toBe('urgent');
    expect(cluster.urgency('pods', pod({ node: 'n' }))).toBe('lazy');
    expect(cluster.urgency('nodes', node())).toBe('lazy');
    expect(cluster.urgency('nodeclaims', claim())).toBe('lazy');
    expect(cluster.urgency('nodepools', pool())).toBe('urgent');
    expect(cluster.urgency('poddisruptionbudgets', object('p', {}))).toBe('lazy');
  });
});

describe('while pods wait, no plan is worth', () => {
  test('what is taken away from them: a volume, a pool, a class', () => {
    const cluster = openCluster(render);
    cluster.put('persistentvolumeclaims', object('data', {}));
    cluster.put('nodepools', pool());
    cluster.put('aksnodeclasses', object('default', {}));
    cluster.put('pods', waiting);
    expect(cluster.remove('persistentvolumeclaims', 'data')).toEqual([]);
    expect(cluster.remove('nodepools', 'general')).toEqual(['NodePool/general pool-gone']);
    expect(cluster.remove('aksnodeclasses', 'default')).toEqual(['AKSNodeClass/default class-gone']);
  });

  test('what no pod asks for', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    expect(cluster.put('poddisruptionbudgets', object('budget', {}))).toEqual([]);
  });

  test('a node that is seen for the first time, initialized or not, and one that stays as it is', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    const ready = { labels: { 'karpenter.sh/initialized': 'true' } };
    expect(cluster.put('nodes', node(ready))).toEqual([]);
    expect(cluster.put('nodes', node({ labels: { ...ready.labels, a: 'b' } }))).toEqual([]);
    expect(cluster.put('nodes', node({}, 'aks-c2'))).toEqual([]);
    expect(cluster.put('nodes', node({ labels: { a: 'b' } }, 'aks-c2'))).toEqual([]);
  });

  test('a class whose other conditions change', () => {
    const cluster = openCluster(render);
    cluster.put('pods', waiting);
    cluster.put('aksnodeclasses', object('default', { generation: 1, status: readyIs('True') }));
    const conditions = [
      { type: 'Ready', status: 'True' },
      { type: 'X', status: 'True' },
    ];
    expect(cluster.put('aksnodeclasses', object('default', { generation: 1, status: { conditions } }))).toEqual([]);
  });
});

describe('the machine of a claim', () => {
  test('is news when it is another, and none when it is first named', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    expect(cluster.put('nodeclaims', claim({ status: { providerID: vm('a') } }))).toEqual([]);
    expect(cluster.put('nodeclaims', claim({ status: { providerID: vm('a'), imageID: 'x' } }))).toEqual([]);
    expect(cluster.put('nodeclaims', claim({ status: { providerID: vm('b') } }))).toEqual([
      'NodeClaim/c1 claim-provider-id',
    ]);
  });

  test('is news when its node names it at last', () => {
    const cluster = openCluster(render);
    cluster.put('nodeclaims', claim());
    cluster.put('nodes', node({ spec: {}, ...isReady }));
    expect(cluster.put('nodes', node({ ...isReady }))).toEqual(['NodeClaim/c1 node-provider-id']);
  });
});

test('labels of a claim are news only when it is registered before and after', () => {
  const cluster = openCluster(render);
  const is = (status: string) => ({ conditions: [{ type: 'Registered', status }] });
  cluster.put('nodeclaims', claim({ status: is('Unknown') }));
  expect(cluster.put('nodeclaims', claim({ status: is('True'), labels: { a: 'b' } }))).toEqual([]);
  expect(cluster.put('nodeclaims', claim({ status: is('False'), labels: { a: 'c' } }))).toEqual([]);
});

test('a node that comes while it goes already is told to its claim', () => {
  const cluster = openCluster(render);
  cluster.put('nodeclaims', claim());
  expect(cluster.put('nodes', node({ deletionTimestamp: gone }))).toEqual(['NodeClaim/c1 node-appeared']);
});
