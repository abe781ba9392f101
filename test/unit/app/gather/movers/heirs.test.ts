import { describe, expect, test } from 'vitest';
import { disrupt } from '../../../../../shared/app/disrupt/disrupt.ts';
import { follow } from '../../../../../shared/app/follow/follow.ts';
import { withoutHeldUp } from '../../../../../shared/app/gather/movers/heirs.ts';
import { provision } from '../../../../../shared/app/provision/provision.ts';
import type { Fields } from '../../../../simulation/world/api-server.ts';
import { consolidated, emptied } from '../../../../kit/app/consolidated.ts';
import { denying, namesIn, since, START } from '../../../../kit/app/small-cluster.ts';

const MINUTE = 60_000;
const owned = (uid: string, labels: Fields = { app: uid }): Fields => ({
  labels,
  ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: uid, uid, controller: true }],
});
/** What Kubernetes gives a pod when it is bound. */
const OF_ITS_NODE = { 'topology.kubernetes.io/region': 'westeurope', 'topology.kubernetes.io/zone': 'westeurope-1' };
const requests = (cpu: string): Fields => ({ containers: [{ resources: { requests: { cpu, memory: '1Gi' } } }] });

/**
 * A large node with two pods of `shop`, for which a small node would do: it is marked to go, and its replacement has
 * joined. A look is one run of `follow` for that.
 */
async function moving() {
  const cluster = emptied({ types: 2 });
  const { server, ports } = cluster;
  cluster.addReady('large', 8);
  for (const name of ['a', 'b']) {
    cluster.addRunning(name, 'large', {
      metadata: owned('shop', { app: 'shop', ...OF_ITS_NODE }),
      spec: requests('500m'),
    });
  }
  expect(await disrupt(ports)).toMatchObject({ kind: 'begun', replacements: 1 });
  const claim = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'large')?.metadata.name ?? '';
  const status = { providerID: `azure://${claim}`, conditions: [since(START, 'Launched')] };
  server.patch('nodeclaims', claim, { status }, 'status');
  return joined(cluster, claim);
}

/** The same where the pods may share the new node only once the other has gone. */
async function movingHeldBack() {
  const cluster = await moving();
  const { ports, server, claim } = cluster;
  const name = server.get('nodeclaims', claim)?.metadata.annotations?.['nodewright.dev/decision'] ?? '';
  const decision = await ports.decisions.get(name);
  if (decision === null) throw new Error('there is no decision');
  await ports.decisions.put({ ...decision, crowds: [] });
  return cluster;
}

/** As `begin` says, with a budget of pods that covers `shop`. */
async function movingByBudget(begin: typeof moving) {
  const cluster = await begin();
  const { server } = cluster;
  server.create('poddisruptionbudgets', {
    metadata: { name: 'shop', namespace: 'default' },
    spec: { selector: { matchLabels: { app: 'shop' } } },
  });
  return {
    ...cluster,
    allow: (disruptionsAllowed: number) =>
      server.patch('poddisruptionbudgets', 'default/shop', { status: { disruptionsAllowed } }, 'status'),
  };
}

/** The same for a node that is deleted while a pod of `shop` waits: its replacement is planned for that pod, too. */
async function movingBesideOneThatWaits() {
  const cluster = consolidated({ types: 2 });
  const { server, ports, clock } = cluster;
  for (const name of ['a', 'b']) cluster.addRunning(name, 'used', { metadata: owned('shop'), spec: requests('250m') });
  server.remove('pods', 'default/web');
  server.remove('nodes', 'aks-spare');
  server.remove('nodeclaims', 'spare');
  addWaitingTo(cluster, 'c', owned('shop'), '250m');
  server.delete('nodeclaims', 'used');
  clock.advance(11_000);
  expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
  const claim = server.list('nodeclaims').find(({ metadata }) => metadata.name !== 'used')?.metadata.name ?? '';
  const status = { providerID: `azure://${claim}`, conditions: [since(START, 'Launched')] };
  server.patch('nodeclaims', claim, { status }, 'status');
  return joined(cluster, claim);
}

type Consolidated = ReturnType<typeof consolidated>;

/** A pod that waits, of this owner. */
function addWaitingTo({ server }: Consolidated, name: string, metadata: Fields, cpu: string): void {
  server.create('pods', { metadata: { name, namespace: 'default', ...metadata }, spec: requests(cpu) });
  const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
  server.patch('pods', `default/${name}`, { status: { phase: 'Pending', conditions: [unschedulable] } }, 'status');
}

/** The claim's node has joined and was looked at. */
async function joined(cluster: Consolidated, claim: string) {
  const { server, ports } = cluster;
  const allocatable = { cpu: '2', memory: '8Gi', pods: '110' };
  cluster.addNode(claim, {
    taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    labels: {
      'karpenter.sh/nodepool': 'general',
      'karpenter.sh/capacity-type': 'on-demand',
      'node.kubernetes.io/instance-type': 'Standard_D2_v5',
      'topology.kubernetes.io/zone': 'westeurope-1',
    },
    status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable, capacity: allocatable },
  });
  const look = () => follow(ports, { kind: 'NodeClaim', name: claim });
  await look();
  return {
    ...cluster,
    claim,
    look,
    addWaiting: (name: string, metadata: Fields, cpu = '500m') => {
      addWaitingTo(cluster, name, metadata, cpu);
    },
    isKept: () =>
      ((server.get('nodes', `aks-${claim}`)?.spec?.['taints'] ?? []) as ReadonlyArray<Fields>).some(
        ({ key }) => key === 'nodewright.dev/reserved',
      ),
    isLetIn: (pod: string) =>
      ((server.get('pods', `default/${pod}`)?.spec?.['tolerations'] ?? []) as ReadonlyArray<Fields>).some(
        ({ key, value }) => key === 'nodewright.dev/reserved' && value === claim,
      ),
    bind: (pod: string, node = claim) =>
      server.patch('pods', `default/${pod}`, { spec: { nodeName: `aks-${node}` } }, 'object'),
  };
}

describe('a node that is to take the pods of one that goes', () => {
  test('is in use as soon as it has joined, and kept for them', async () => {
    const { claim, isKept, conditionOf, server, ports } = await moving();
    expect([isKept(), conditionOf(claim, 'Initialized')?.['status']]).toEqual([true, 'True']);
    expect(server.get('nodes', `aks-${claim}`)?.metadata.labels?.['karpenter.sh/initialized']).toBe('true');
    const lines: Array<string> = [];
    await follow({ ...ports, log: (event) => void lines.push(event) }, { kind: 'NodeClaim', name: claim });
    // It became so once.
    expect(lines).not.toContain('nodeclaim-initialized');
  });

  test('lets the other go, whose pods have their place on it', async () => {
    const { ports, clock, stateOf } = await moving();
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf('large')).toBe('leaving');
  });

  test('is open to all after 15 s where a budget of pods lets one of them not leave, as it may wait for others', async () => {
    const { look, isKept, clock, allow } = await movingByBudget(moving);
    allow(0);
    clock.advance(15_000 - 1);
    await look();
    expect(isKept()).toBe(true);
    allow(1);
    clock.advance(1);
    await look();
    expect(isKept()).toBe(true);
    allow(0);
    await look();
    expect(isKept()).toBe(false);
  });

  test('stays kept where one of them has gone and the successor waits, whatever a budget says of the others', async () => {
    const { server, look, isKept, clock, allow, addWaiting, isLetIn } = await movingByBudget(moving);
    allow(0);
    server.remove('pods', 'default/a');
    addWaiting('a2', owned('shop'));
    clock.advance(15_000);
    await look();
    expect([isKept(), isLetIn('a2')]).toEqual([true, true]);
  });

  test('stays kept where the pods leave in turn, as each may come only when another has gone', async () => {
    const { look, isKept, clock, allow } = await movingByBudget(movingHeldBack);
    allow(0);
    clock.advance(60_000);
    await look();
    expect(isKept()).toBe(true);
  });

  test('stays kept while they are where they were, and for three minutes at most', async () => {
    const { look, isKept, clock } = await moving();
    clock.advance(3 * MINUTE - 1);
    expect(await look()).toMatchObject({ kind: 'wait', for: 'the successors of pods that move to its node' });
    expect(isKept()).toBe(true);
    clock.advance(1);
    await look();
    expect(isKept()).toBe(false);
  });

  /** One of the pods has gone, its successor has come, and the relay tells of it. */
  async function comeToIt({ ports, clock, server, claim, addWaiting, bind }: Awaited<ReturnType<typeof moving>>) {
    server.remove('pods', 'default/a');
    addWaiting('a2', owned('shop'));
    bind('a2');
    await follow(ports, { kind: 'NodeClaim', name: claim, podEventMs: clock.now() });
  }

  /** The other drains; of its two pods one has come, and a budget lets the second not leave from now on. */
  async function drainingByBudget() {
    const cluster = await movingByBudget(moving);
    const { ports, clock, allow } = cluster;
    allow(1);
    clock.advance(6_000);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    clock.advance(10_000);
    await comeToIt(cluster);
    allow(0);
    return cluster;
  }

  test('is open to all 15 s after the last has come where a budget of pods lets the others not leave', async () => {
    const { look, isKept, clock } = await drainingByBudget();
    clock.advance(15_000 - 1);
    await look();
    expect(isKept()).toBe(true);
    clock.advance(1);
    await look();
    expect(isKept()).toBe(false);
  });

  test('stays kept where the budget lets them leave by then', async () => {
    const { look, isKept, clock, allow } = await drainingByBudget();
    allow(1);
    clock.advance(59_999);
    await look();
    expect(isKept()).toBe(true);
  });

  test('stays kept for a minute after the last has come where something else holds the drain of their node up', async () => {
    const cluster = await moving();
    const { ports, look, isKept, clock } = cluster;
    clock.advance(6_000);
    await disrupt(ports);
    clock.advance(50_000);
    await comeToIt(cluster);
    clock.advance(59_000);
    await look();
    expect(isKept()).toBe(true);
    clock.advance(1_000);
    await look();
    expect(isKept()).toBe(false);
  });

  test('is not kept where the drain has taken a minute when it joins, but for its own first minute', async () => {
    const { ports, look, isKept, clock } = await moving();
    clock.advance(6_000);
    await disrupt(ports);
    clock.advance(59_999);
    await look();
    expect(isKept()).toBe(true);
    clock.advance(1);
    await look();
    expect(isKept()).toBe(false);
  });

  test('stays kept however long the drain takes where its pods may come only once the other has gone', async () => {
    const { ports, look, isKept, clock } = await movingHeldBack();
    clock.advance(6_000);
    await disrupt(ports);
    clock.advance(5 * MINUTE);
    await look();
    expect(isKept()).toBe(true);
  });

  test('stays kept for fifteen minutes where they may share it only once the other has gone', async () => {
    const { look, isKept, clock } = await movingHeldBack();
    expect(await look()).toMatchObject({ lookAgainMs: START + 5_000 });
    clock.advance(5 * MINUTE);
    expect(await look()).toMatchObject({ lookAgainMs: START + 5 * MINUTE + 10_000 });
    clock.advance(10 * MINUTE - 1);
    expect(await look()).toMatchObject({ lookAgainMs: START + 15 * MINUTE });
    clock.advance(1);
    await look();
    expect(isKept()).toBe(false);
  });

  test('is kept for nobody while nobody has published what runs where', async () => {
    const { ports, claim, isKept } = await moving();
    const snapshots = { ...ports.snapshots, latest: () => Promise.resolve(null) };
    await follow({ ...ports, snapshots }, { kind: 'NodeClaim', name: claim });
    expect(isKept()).toBe(false);
  });

  test('lets their successors in, each as they come, and nobody else, and is open when all have come', async () => {
    const { look, server, addWaiting, isKept, isLetIn, bind } = await moving();
    server.remove('pods', 'default/a');
    addWaiting('stranger', owned('bank'));
    addWaiting('other-shape', owned('shop'), '250m');
    addWaiting('other-labels', owned('shop', { app: 'shop', canary: 'yes' }));
    addWaiting('bare', {});
    await look();
    const all = ['stranger', 'other-shape', 'other-labels', 'bare'];
    expect([isKept(), all.filter(isLetIn)]).toEqual([true, []]);
    addWaiting('a2', owned('shop'));
    addWaiting('a3', owned('shop'));
    await look();
    // One has gone, so one may come: the third is more than there were.
    expect(['a2', 'a3'].filter(isLetIn)).toHaveLength(1);
    bind('a2');
    await look();
    expect([isKept(), isLetIn('a3')]).toEqual([true, false]);
    server.remove('pods', 'default/b');
    await look();
    expect(isLetIn('a3')).toBe(true);
    bind('a3');
    await look();
    expect([isKept(), all.filter(isLetIn)]).toEqual([false, []]);
  });

  test('does not count as a place for pods of yet another node while it is kept', async () => {
    const { ports, server, clock, addReady, addRunning, addWaiting, bind, look, isKept, stateOf } = await moving();
    clock.advance(6_000);
    await disrupt(ports);
    addReady('extra');
    addRunning('x', 'extra', { metadata: owned('bank'), spec: requests('250m') });
    await follow(ports, { kind: 'NodePool', name: 'general' });
    expect(await disrupt(ports)).toMatchObject({ kind: 'begun', nodes: 1, replacements: 0 });
    clock.advance(6_000);
    expect(await disrupt(ports)).toEqual({ kind: 'waiting', for: '1 nodes to start' });
    for (const name of ['a', 'b']) {
      server.remove('pods', `default/${name}`);
      addWaiting(`${name}2`, owned('shop'));
      bind(`${name}2`);
    }
    await look();
    expect(isKept()).toBe(false);
    expect(await disrupt(ports)).toMatchObject({ kind: 'finished', removed: 1 });
    expect(stateOf('extra')).toBe('leaving');
  });

  test('takes a pod that is on its way out for gone', async () => {
    const { look, server, addWaiting, isLetIn } = await moving();
    server.patch('pods', 'default/a', { metadata: { finalizers: ['hold'] } }, 'object');
    server.delete('pods', 'default/a');
    addWaiting('a2', owned('shop'));
    await look();
    expect(isLetIn('a2')).toBe(true);
  });

  test('does not wait for a successor that has found room elsewhere for the place of another', async () => {
    const { look, server, addWaiting, bind, isLetIn } = await moving();
    server.remove('pods', 'default/a');
    addWaiting('a2', owned('shop'));
    bind('a2', 'large');
    addWaiting('a3', owned('shop'));
    await look();
    expect(isLetIn('a3')).toBe(true);
  });
});

test('who runs on a node that drains is held up, whether its Node or its claim says so, but for who is on the way out', () => {
  const movers = ['a', 'b', 'c', 'd'].map((uid) => ({ uid, owner: 'shop', shape: 's' }));
  const pods = [
    { uid: 'a', nodeName: 'n', deleting: false },
    { uid: 'b', nodeName: 'n', deleting: true },
    { uid: 'c', nodeName: 'other', deleting: false },
    { uid: 'd', nodeName: 'of-claim', deleting: false },
  ];
  const deletionTimestamp = new Date(START).toISOString();
  const present = {
    pods,
    nodes: [{ metadata: { name: 'n', deletionTimestamp } }, { metadata: { name: 'other' } }],
    nodeClaims: [{ metadata: { name: 'claim', deletionTimestamp }, status: { nodeName: 'of-claim' } }],
  } as unknown as Parameters<typeof withoutHeldUp>[1];
  const left = (beganMs: number) => withoutHeldUp(movers, present, beganMs).map(({ uid }) => uid);
  expect([left(START - 1), left(START)]).toEqual([
    ['a', 'b', 'c', 'd'],
    ['b', 'c'],
  ]);
});

describe('successors that wait', () => {
  test('have the room of those before them in every plan, and the node is told to let them in', async () => {
    const { ports, server, clock, claim, addWaiting, sent } = await moving();
    clock.advance(6_000);
    await disrupt(ports);
    server.remove('pods', 'default/a');
    server.remove('pods', 'default/b');
    // First in any order of names and times: it would take the room.
    addWaiting('0-stranger', owned('bank'), '1500m');
    addWaiting('a2', owned('shop'));
    addWaiting('b2', owned('shop'));
    clock.advance(11_000);
    await follow(ports, { kind: 'NodePool', name: 'general' });
    sent.length = 0;
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
    const { decision: latest } = await ports.ledger.read();
    const decision = await ports.decisions.get(latest ?? '');
    expect(decision?.plan.claims.flatMap(({ pods }) => pods.map(({ name }) => name))).toEqual(['default/0-stranger']);
    expect(sent.flatMap(({ hint }) => (hint.kind === 'objects' ? namesIn(hint) : []))).toContain(claim);
  });

  test('need no plan of their own', async () => {
    const { ports, server, clock, claim, addWaiting, sent } = await moving();
    clock.advance(6_000);
    await disrupt(ports);
    server.remove('nodes', 'aks-large');
    server.remove('nodeclaims', 'large');
    server.remove('pods', 'default/a');
    server.remove('pods', 'default/b');
    addWaiting('a2', owned('shop'));
    sent.length = 0;
    expect(await provision(ports)).toEqual({ kind: 'expected' });
    expect(sent.map(({ hint }) => namesIn(hint))).toEqual([[claim]]);
  });
});

describe('a pod that waits when the move is planned, of the same owner and shape', () => {
  test('takes nobody’s place: all who move have their successors let in', async () => {
    const { look, server, addWaiting, bind, isKept, isLetIn } = await movingBesideOneThatWaits();
    expect(isLetIn('c')).toBe(true);
    bind('c');
    for (const name of ['a', 'b']) {
      server.remove('pods', `default/${name}`);
      addWaiting(`${name}2`, owned('shop'), '250m');
      await look();
      expect([isKept(), isLetIn(`${name}2`)]).toEqual([true, true]);
      bind(`${name}2`);
    }
    await look();
    expect(isKept()).toBe(false);
  });

  test('keeps no successor from being called', async () => {
    const { ports, server, addWaiting, bind, sent, claim } = await movingBesideOneThatWaits();
    bind('c');
    server.remove('pods', 'default/a');
    addWaiting('a2', owned('shop'), '250m');
    sent.length = 0;
    await provision(ports);
    expect(sent.flatMap(({ hint }) => (hint.kind === 'objects' ? namesIn(hint) : []))).toContain(claim);
  });
});

describe('a pod that waits, of the same owner and shape, whose place is on another node of the decision', () => {
  /** Nodes are deleted while pods wait that fill a new one each, so that others come: one of them for such a pod. */
  async function besideAnother(going: ReadonlyArray<string> = ['one']) {
    const cluster = emptied({ types: 1 });
    const { server, ports, clock } = cluster;
    for (const name of ['one', 'two']) {
      cluster.addReady(name);
      cluster.addRunning(`on-${name}`, name, { metadata: owned('shop'), spec: requests('1500m') });
    }
    addWaitingTo(cluster, 'c', owned('shop'), '1500m');
    addWaitingTo(cluster, 'other', owned('shop'), '1600m');
    for (const name of going) server.delete('nodeclaims', name);
    clock.advance(11_000);
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 2 + going.length });
    const { decision: name } = await ports.ledger.read();
    const made = await ports.decisions.get(name ?? '');
    const claimOf = (pod: string): string =>
      made?.claimNames.find((_, index) => made.plan.claims[index]?.pods.some((own) => own.name === `default/${pod}`)) ??
      '';
    const claim = claimOf('on-one');
    const status = { providerID: `azure://${claim}`, conditions: [since(START, 'Launched')] };
    server.patch('nodeclaims', claim, { status }, 'status');
    expect(claimOf('c')).not.toBe(claim);
    return { ...(await joined(cluster, claim)), claimOf };
  }

  test('is let in for one that has not left yet, so that it need not wait for its own node; no other is', async () => {
    const { look, isLetIn, isKept } = await besideAnother();
    await look();
    expect([isKept(), isLetIn('c'), isLetIn('other')]).toEqual([true, true, false]);
  });

  test('is let in too where it is the successor of who was to move to that other node; who is neither is not', async () => {
    const { look, isLetIn, isKept, server, claim, addWaiting, bind, claimOf } = await besideAnother(['one', 'two']);
    const theirs = claimOf('on-two');
    expect([theirs, claimOf('c')]).not.toContain(claim);
    bind('c', claimOf('c'));
    server.remove('pods', 'default/on-two');
    addWaiting('office', owned('office'), '1500m');
    addWaiting('on-two-2', owned('shop'), '1500m');
    await look();
    expect([isKept(), isLetIn('on-two-2'), isLetIn('office')]).toEqual([true, true, false]);
    // Nobody has left for it, here or there.
    addWaiting('scaled-up', owned('shop'), '1500m');
    await look();
    expect(isLetIn('scaled-up')).toBe(false);
  });

  test('is not where its own successor waits: that one is nobody else’s', async () => {
    const { look, isLetIn, server, claim, addWaiting, bind, claimOf } = await besideAnother(['one', 'two']);
    bind('c', claimOf('c'));
    server.remove('pods', 'default/on-one');
    addWaiting('on-one-2', owned('shop'), '1500m');
    await look();
    expect([isLetIn('on-one-2'), claimOf('on-one')]).toEqual([true, claim]);
  });

  test('is not promised that node where it may not be changed: it has its own', async () => {
    const { look, isLetIn, isKept, server, outside } = await besideAnother();
    outside.deny = denying('PATCH', '/pods/c');
    await look();
    expect([isKept(), isLetIn('c')]).toEqual([true, false]);
    expect(server.get('pods', 'default/c')).not.toHaveProperty('status.nominatedNodeName');
  });

  test('is not where all have left: their successors come', async () => {
    const { look, isLetIn, isKept, server } = await besideAnother();
    server.remove('pods', 'default/on-one');
    await look();
    expect([isKept(), isLetIn('c')]).toEqual([true, false]);
  });
});

test('a node that is to take nobody who runs elsewhere is in use when it is open, as before', async () => {
  const { ports, addPod, server, addNode, conditionOf, clock } = consolidated({ types: 2 });
  addPod('p', '4');
  clock.advance(11_000);
  expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 1 });
  const claim = server.list('nodeclaims').find(({ metadata }) => !['used', 'spare'].includes(metadata.name));
  const name = claim?.metadata.name ?? '';
  const status = { providerID: `azure://${name}`, conditions: [since(START, 'Launched')] };
  server.patch('nodeclaims', name, { status }, 'status');
  addNode(name, {
    taints: [{ key: 'karpenter.sh/unregistered', effect: 'NoExecute' }],
    status: { conditions: [{ type: 'Ready', status: 'True' }], allocatable: { cpu: '2' } },
  });
  await follow(ports, { kind: 'NodeClaim', name });
  expect(conditionOf(name, 'Initialized')?.['status']).not.toBe('True');
});
