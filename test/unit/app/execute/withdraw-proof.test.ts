import { describe, expect, test } from 'vitest';
import { toDecision } from '../../../../shared/app/commit/commit-plan.ts';
import { gather } from '../../../../shared/app/gather/gather.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { UNWANTED_MS } from '../../../../shared/app/provision/withdraw-unwanted.ts';
import { emptyPlan } from '../../../../shared/core/recovery/empty-plan.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import type { Decision } from '../../../../shared/ports/store.ts';
import { decisionOf, smallCluster } from '../../../kit/app/small-cluster.ts';

/** So long after the first look somebody is sure to look again. */
const AGAIN_MS = UNWANTED_MS + 2_000;

const labels = { 'karpenter.sh/nodepool': 'general' };

/** Claims on their way, each made by a decision for one pod, which is gone, unless `change` says otherwise. */
async function unwanted(names: ReadonlyArray<string> = ['general-1'], change: (made: Decision) => object = () => ({})) {
  const cluster = smallCluster();
  const { ports, clock, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  for (const name of names) {
    const decision = { ...decisionOf([name], [{ name: `default/${name}`, uid: name }]), name: `made-${name}` };
    await ports.decisions.put({ ...decision, ...change(decision) });
    cluster.addClaim(name, { labels, annotations: { 'nodewright.dev/decision': decision.name } });
  }
  clock.advance(20_000);
  let plans = 0;
  const counted: Ports = {
    ...ports,
    planner: (input, now) => {
      plans += 1;
      return ports.planner(input, now);
    },
  };
  /** Looks, and once more when it has been so for long enough. */
  const lookTwice = async (with_: Ports = counted): Promise<string> => {
    await provision(with_);
    clock.advance(AGAIN_MS);
    return (await provision(with_)).kind;
  };
  /** Of these pods the scheduler has said nothing yet. */
  const addUnjudged = (name: string): void => {
    cluster.addPod(name);
    server.patch('pods', `default/${name}`, { status: { conditions: [] } }, 'status');
  };
  return { ...cluster, ports: counted, lookTwice, addUnjudged, plans: () => plans };
}

/** With room for `cpu` cores, and open to all. */
function addRoom({ addNode }: Pick<ReturnType<typeof smallCluster>, 'addNode'>, name: string, cpu: string): void {
  const room = { cpu, memory: '32Gi', pods: '30' };
  const inUse = { ...labels, 'karpenter.sh/initialized': 'true' };
  addNode(name, { labels: inUse, status: { allocatable: room, capacity: room } });
}

describe('a claim that nobody waits for', () => {
  test('is kept where pods have no place without it, and that is not asked again for a while', async () => {
    const { stateOf, lookTwice, addUnjudged, plans, clock, ports } = await unwanted();
    addUnjudged('b');
    await lookTwice();
    expect([stateOf('general-1'), plans()]).toEqual(['there', 1]);
    clock.advance(5_000);
    await provision(ports);
    expect(plans()).toBe(1);
    clock.advance(16_000);
    await provision(ports);
    expect([stateOf('general-1'), plans()]).toEqual(['there', 2]);
  });

  test('is kept where a limit lets nothing come in its place', async () => {
    const { stateOf, lookTwice, addUnjudged, server } = await unwanted();
    server.patch('nodepools', 'general', { spec: { limits: { cpu: '2' } } }, 'object');
    addUnjudged('b');
    await lookTwice();
    expect(stateOf('general-1')).toBe('there');
  });

  test('counts against limits until it is gone: for whom it keeps others from is not waited', async () => {
    const { stateOf, lookTwice, server, clock } = await unwanted();
    server.patch('nodepools', 'general', { spec: { limits: { cpu: '2' } } }, 'object');
    server.patch('nodeclaims', 'general-1', { status: { capacity: { cpu: '2', memory: '8Gi' } } }, 'status');
    const requests = { cpu: '1', memory: '1Gi' };
    const nodeSelector = { 'topology.kubernetes.io/zone': 'westeurope-2' };
    const metadata = { name: 'b', namespace: 'default' };
    server.create('pods', { metadata, spec: { nodeSelector, containers: [{ resources: { requests } }] } });
    const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
    server.patch('pods', 'default/b', { status: { phase: 'Pending', conditions: [unschedulable] } }, 'status');
    clock.advance(11_000);
    expect([await lookTwice(), stateOf('general-1')]).toEqual(['nothing-to-launch', 'leaving']);
  });

  test('is kept where the plan without it is refused, whatever takes the place of that plan', async () => {
    const cluster = await unwanted();
    const { stateOf, lookTwice, ports, addPod, clock } = cluster;
    addRoom(cluster, 'room', '8');
    addPod('b', '3');
    clock.advance(11_000);
    const planner: Ports['planner'] = (input, now) => {
      if (input.cluster.nodeClaims.length === 0) throw new Error('a fault of ours');
      return ports.planner(input, now);
    };
    expect([await lookTwice({ ...ports, planner }), stateOf('general-1')]).toEqual(['nothing-to-launch', 'there']);
  });

  test('is kept for pods of a node that goes, which have no other place', async () => {
    const cluster = await unwanted();
    const { stateOf, lookTwice, server, addClaim, addNode, addRunning, clock } = cluster;
    addClaim('old', { labels, status: { providerID: 'azure://old', nodeName: 'aks-old' } });
    addNode('old', { labels: { ...labels, 'karpenter.sh/initialized': 'true' }, finalizers: ['karpenter.sh/x'] });
    const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };
    addRunning('r', 'old', { metadata: { ownerReferences: [owner] } });
    server.delete('nodeclaims', 'old');
    clock.advance(11_000);
    expect([await lookTwice(), stateOf('general-1')]).toEqual(['nothing-to-launch', 'there']);
  });

  test('is not kept for pods with gates, which wait for something else', async () => {
    const { stateOf, lookTwice, server } = await unwanted();
    const requests = { cpu: '1', memory: '1Gi' };
    const spec = { schedulingGates: [{ name: 'example.com/later' }], containers: [{ resources: { requests } }] };
    server.create('pods', { metadata: { name: 'gated', namespace: 'default' }, spec });
    await lookTwice();
    expect(stateOf('general-1')).toBe('leaving');
  });

  test('is withdrawn while others wait for claims of theirs', async () => {
    const cluster = await unwanted(['general-0', 'general-1'], ({ name }) =>
      name === 'made-general-0' ? { plan: { claims: [] } } : {},
    );
    const { stateOf, lookTwice, ports, addPod } = cluster;
    const own = decisionOf(['general-0'], [addPod('b')]);
    await ports.decisions.put({ ...own, name: 'made-for-b' });
    cluster.server.patch(
      'nodeclaims',
      'general-0',
      { metadata: { annotations: { 'nodewright.dev/decision': 'made-for-b' } } },
      'object',
    );
    expect([await lookTwice(), stateOf('general-0'), stateOf('general-1')]).toEqual(['expected', 'there', 'leaving']);
  });

  test('is kept where it was made for pods that run too, or for the room of a buffer', async () => {
    const mover = { uid: 'general-1', owner: 'web', shape: 'x' };
    const moved = await unwanted(['general-1'], () => ({ movers: [mover] }));
    await moved.lookTwice();
    expect(moved.stateOf('general-1')).toBe('there');
    const room = { name: 'default/spare', uid: 'spare', claims: [{ claim: 0, pods: [{ name: 'spare-0', uid: 's' }] }] };
    const held = await unwanted(['general-1'], ({ plan }) => ({ plan: { ...plan, buffers: [room] } }));
    await held.lookTwice();
    expect(held.stateOf('general-1')).toBe('there');
  });
});

describe('an owner of pods in the namespace', () => {
  const owner = { apiVersion: 'apps/v1', kind: 'StatefulSet', name: 'db', uid: '', controller: true };

  test.each([
    ['keeps a claim while a pod of it goes, whose successor comes', true, 'there'],
    ['keeps no claim while it has all its pods', false, 'leaving'],
  ])('%s', async (_, isGoing, expected) => {
    const cluster = await unwanted();
    const { stateOf, lookTwice, server, addRunning } = cluster;
    addRoom(cluster, 'room', '8');
    server.create('statefulsets', { metadata: { name: 'db', namespace: 'default' }, spec: { replicas: 1 } });
    const uid = server.get('statefulsets', 'default/db')?.metadata.uid ?? '';
    addRunning('db-0', 'room', { metadata: { ownerReferences: [{ ...owner, uid }], finalizers: ['example.com/x'] } });
    if (isGoing) server.delete('pods', 'default/db-0');
    await lookTwice();
    expect(stateOf('general-1')).toBe(expected);
  });
});

describe('what the view does not know', () => {
  /** At the second look somebody comes after the view was taken, and the relay says so in what `publish` returns. */
  async function after(
    come: (cluster: Awaited<ReturnType<typeof unwanted>>) => void,
    publish: (newest: Seen, before: Seen) => Seen = (newest) => newest,
  ): Promise<string> {
    const cluster = await unwanted();
    const { ports, clock, stateOf } = cluster;
    await provision(ports);
    clock.advance(AGAIN_MS);
    const before = await ports.snapshots.latest();
    let reads = 0;
    const latest = async (): Promise<Seen> => {
      reads += 1;
      if (reads === 1) return asPublished(before);
      come(cluster);
      clock.advance(500);
      return publish(asPublished(await ports.snapshots.latest()), before);
    };
    await provision({ ...ports, snapshots: { ...ports.snapshots, latest } });
    return stateOf('general-1');
  }

  test('keeps a claim where a pod has come that waits, and not where it has come to a node', async () => {
    expect(await after(({ addPod }) => void addPod('b'))).toBe('there');
    expect(
      await after((cluster) => {
        addRoom(cluster, 'room', '8');
        cluster.addRunning('b', 'room');
      }),
    ).toBe('leaving');
  });

  test('keeps a claim where another relay says so whose clock is behind', async () => {
    const behind = (newest: Seen, before: Seen): Seen =>
      newest === null || before === null ? null : { ...newest, version: '2-1', takenAtMs: before.takenAtMs - 2_000 };
    expect(await after(({ addPod }) => void addPod('b'), behind)).toBe('there');
  });

  test('keeps all claims while the relay may have died: it has said nothing for two heartbeats', async () => {
    const { ports, clock, stateOf, addPod } = await unwanted();
    const seen = await ports.snapshots.latest();
    const takenAtMs = clock.now();
    const silent = (heldMs: number | null): Ports => ({
      ...ports,
      snapshots: {
        ...ports.snapshots,
        latest: () => Promise.resolve(asPublished(seen)),
        heartbeatMs: () => Promise.resolve(heldMs ?? takenAtMs),
        heldMs: () => Promise.resolve(heldMs),
      },
    });
    clock.advance(15_000);
    await provision(silent(null));
    addPod('b');
    clock.advance(AGAIN_MS);
    await provision(silent(null));
    expect(stateOf('general-1')).toBe('there');
    await provision(silent(clock.now() - 10_000));
    expect(stateOf('general-1')).toBe('leaving');
  });
});

type Seen = Awaited<ReturnType<Ports['snapshots']['latest']>>;

function asPublished(seen: Seen): Seen {
  return seen === null ? null : { ...seen, source: 'relay' };
}

describe('a deletion', () => {
  test('that gets no answer keeps nobody from deciding for long, and all others wait for a minute', async () => {
    const names = Array.from({ length: 20 }, (_, index) => `general-${index + 10}`);
    const { ports, clock, outside, lookTwice, stateOf } = await unwanted(names);
    let deletions = 0;
    outside.onRequest = ({ method, path }) => {
      if (method !== 'DELETE' || !path.includes('/nodeclaims/')) return;
      deletions += 1;
      clock.advance(5_000);
      throw new RetryableError('no answer');
    };
    await lookTwice();
    const tried = deletions;
    expect(tried).toBeLessThanOrEqual(8);
    clock.advance(30_000);
    await provision(ports);
    expect(deletions).toBe(tried);
    outside.onRequest = () => undefined;
    clock.advance(31_000);
    await lookTwice();
    expect(names.map(stateOf)).toEqual(names.map(() => 'leaving'));
  });

  test('leaves a claim of the same name that somebody has made since', async () => {
    const { ports, clock, server, addClaim, stateOf } = await unwanted();
    await provision(ports);
    clock.advance(AGAIN_MS);
    const commit: Ports['ledger']['commit'] = (base, name) => {
      server.remove('nodeclaims', 'general-1');
      addClaim('general-1', { labels });
      return ports.ledger.commit(base, name);
    };
    await provision({ ...ports, ledger: { ...ports.ledger, commit } });
    expect(stateOf('general-1')).toBe('there');
  });

  test('that somebody else was faster with is what the next plan must know all the same', async () => {
    const { ports, clock, server, stateOf } = await unwanted();
    await provision(ports);
    clock.advance(AGAIN_MS);
    const commit: Ports['ledger']['commit'] = (base, name) => {
      server.delete('nodeclaims', 'general-1');
      return ports.ledger.commit(base, name);
    };
    await provision({ ...ports, ledger: { ...ports.ledger, commit } });
    const going = server.get('nodeclaims', 'general-1')?.metadata.resourceVersion;
    expect([stateOf('general-1'), (await ports.ledger.read()).claimsResourceVersion]).toEqual(['leaving', going]);
  });
});

test('two decisions of one view that withdraw other claims have other names', async () => {
  const { ports } = await unwanted();
  const gathered = await gather(ports, await ports.ledger.read(), true);
  if (gathered === null) throw new Error('there is a view');
  const nameOf = (uid: string): string =>
    toDecision(ports, gathered, emptyPlan(), 'test', { withdrawn: [{ name: 'general-1', uid }] }).name;
  expect(nameOf('a')).not.toBe(nameOf('b'));
});

test('pods that are given up before a machine can boot, and made again, get one all the same', async () => {
  const [lifeS, gapS, bootS] = [45, 15, 60];
  const { ports, clock, server, addClass, addPool, addPod } = smallCluster();
  addClass('True');
  addPool();
  const madeS = new Map<string, number>();
  const waitingWhenReady = new Set<string>();
  for (let nowS = 0; nowS < 200; nowS++) {
    const phaseS = nowS % (lifeS + gapS);
    if (phaseS === 0) addPod(`p${nowS}`);
    if (phaseS === lifeS) server.remove('pods', `default/p${nowS - lifeS}`);
    clock.advance(1_000);
    for (const { metadata } of server.list('nodeclaims')) {
      if (metadata.deletionTimestamp !== undefined) server.remove('nodeclaims', metadata.name);
      const sinceS = madeS.get(metadata.name) ?? nowS;
      madeS.set(metadata.name, sinceS);
      if (nowS - sinceS >= bootS && phaseS < lifeS) waitingWhenReady.add(metadata.name);
    }
    await provision(ports);
  }
  expect(waitingWhenReady.size).toBe(1);
  expect(madeS.size).toBe(2);
});
