import { describe, expect, test } from 'vitest';
import { resumeNow } from '../../../../shared/app/commit/commit-plan.ts';
import { createUnwantedSince } from '../../../../shared/app/ports/unwanted-since.ts';
import type { Ports } from '../../../../shared/app/ports/ports.ts';
import { provision } from '../../../../shared/app/provision/provision.ts';
import { UNWANTED_MS } from '../../../../shared/app/provision/withdraw-unwanted.ts';
import { RetryableError } from '../../../../shared/ports/errors.ts';
import { decisionOf, denying, since, smallCluster, START } from '../../../kit/app/small-cluster.ts';

type Fields = Readonly<Record<string, unknown>>;

/** So long after the first look somebody is sure to look again. */
const AGAIN_MS = UNWANTED_MS + 2_000;

/** A claim in flight, `general-1`, that was decided on for the pod `a`. */
async function inFlight() {
  const cluster = smallCluster();
  const { ports, clock, server } = cluster;
  cluster.addClass('True');
  cluster.addPool();
  const decision = decisionOf(['general-1'], [cluster.addPod('a')]);
  await ports.decisions.put(decision);
  await ports.ledger.commit(await ports.ledger.read(), decision.name);
  await resumeNow(ports);
  clock.advance(20_000);
  const logged: Array<Fields> = [];
  const told: Ports = { ...ports, log: (event, facts) => void logged.push({ event, ...facts }) };
  /** Looks, and once more when it has been so for long enough. */
  const lookTwice = async (with_: Ports = told): Promise<string> => {
    await provision(with_);
    clock.advance(AGAIN_MS);
    return (await provision(with_)).kind;
  };
  return {
    ...cluster,
    told,
    lookTwice,
    logged: (event: string) => logged.filter((one) => one['event'] === event),
    generation: async () => (await ports.ledger.read()).generation,
    eventsOn: (name: string) =>
      (server.list('events') as unknown as ReadonlyArray<Record<string, Fields>>).flatMap(
        ({ involvedObject, reason, message }) =>
          involvedObject?.['name'] === name ? [`${String(reason)}: ${String(message)}`] : [],
      ),
  };
}

/** The node of another's, with room for eight pods of one core. */
function addRoom({ addNode }: Pick<ReturnType<typeof smallCluster>, 'addNode'>): void {
  const room = { cpu: '8', memory: '32Gi', pods: '30' };
  const labels = { 'karpenter.sh/nodepool': 'general', 'karpenter.sh/initialized': 'true' };
  addNode('there', { labels, status: { allocatable: room, capacity: room } });
}

describe('a claim on its way whose pods are gone', () => {
  test('is deleted, which its log line and an event say, and the next plan knows it', async () => {
    const { server, stateOf, lookTwice, logged, eventsOn, generation, ports, sent } = await inFlight();
    server.remove('pods', 'default/a');
    expect([await lookTwice(), stateOf('general-1')]).toEqual(['idle', 'leaving']);
    expect(logged('nodeclaim-withdrawn')).toEqual([
      { event: 'nodeclaim-withdrawn', claim: 'general-1', nodePool: 'general', decision: '000000001-d' },
    ]);
    expect(eventsOn('general-1')).toEqual([
      'Withdrawn: Deleted before its node came: its pods run elsewhere or are gone, and no other waits for it',
    ]);
    expect(await generation()).toBe(2);
    const { claimsResourceVersion, executed } = await ports.ledger.read();
    expect([claimsResourceVersion, executed]).toEqual([
      server.get('nodeclaims', 'general-1')?.metadata.resourceVersion,
      true,
    ]);
    expect(sent.at(-1)?.hint).toMatchObject({
      kind: 'objects',
      objects: [{ name: 'general-1' }],
      reason: 'withdrawn',
    });
  });

  test('is not deleted by the first look: who makes its pods anew does so within seconds', async () => {
    const { server, stateOf, clock, sent, told, addPod } = await inFlight();
    server.remove('pods', 'default/a');
    await provision(told);
    expect(sent.at(-1)).toMatchObject({ hint: { kind: 'pods', reason: 'claims-unwanted' } });
    clock.advance(UNWANTED_MS - 1);
    await provision(told);
    expect(stateOf('general-1')).toBe('there');
    addPod('b');
    clock.advance(AGAIN_MS);
    // The new pod has its place there, and the time begins anew when it is gone.
    expect(await provision(told)).toMatchObject({ kind: 'nothing-to-launch' });
    server.remove('pods', 'default/b');
    await provision(told);
    expect(stateOf('general-1')).toBe('there');
    clock.advance(UNWANTED_MS);
    await provision(told);
    expect(stateOf('general-1')).toBe('leaving');
  });

  test('is deleted by a process of its own knowledge: another begins to count', async () => {
    const { server, stateOf, lookTwice, told } = await inFlight();
    server.remove('pods', 'default/a');
    await provision({ ...told, unwanted: createUnwantedSince() });
    await provision({ ...told, unwanted: createUnwantedSince() });
    expect(stateOf('general-1')).toBe('there');
    await lookTwice();
    expect(stateOf('general-1')).toBe('leaving');
  });

  test('is kept while disruption is switched off', async () => {
    const { server, stateOf, lookTwice, told } = await inFlight();
    server.remove('pods', 'default/a');
    await lookTwice({ ...told, disruption: { ...told.disruption, isOn: false } });
    expect(stateOf('general-1')).toBe('there');
  });

  test('is kept for a pod that is planned to it, and for one that the scheduler has not looked at and needs it', async () => {
    for (const isJudged of [true, false]) {
      const { server, stateOf, lookTwice, addPod } = await inFlight();
      server.remove('pods', 'default/a');
      addPod('b');
      if (!isJudged) server.patch('pods', 'default/b', { status: { conditions: [] } }, 'status');
      await lookTwice();
      expect([isJudged, stateOf('general-1')]).toEqual([isJudged, 'there']);
    }
  });

  test('is deleted beside pods that wait and have a place elsewhere, or none', async () => {
    for (const cpu of ['3', '64']) {
      const cluster = await inFlight();
      const { server, stateOf, lookTwice, addPod, clock } = cluster;
      addRoom(cluster);
      server.remove('pods', 'default/a');
      addPod('b', cpu);
      // Until then others may come with it.
      clock.advance(11_000);
      expect([await lookTwice(), stateOf('general-1')]).toEqual(['nothing-to-launch', 'leaving']);
    }
  });

  test('is no reason to decide anything once a node of its name is there, whichever machine that is on', async () => {
    const { server, stateOf, lookTwice, addNode, generation } = await inFlight();
    server.remove('pods', 'default/a');
    addNode('general-1', { id: 'another' });
    await lookTwice();
    expect([stateOf('general-1'), await generation()]).toEqual(['there', 1]);
  });

  test('is kept while an owner in its namespace wants more pods than it has', async () => {
    const { server, stateOf, lookTwice } = await inFlight();
    server.remove('pods', 'default/a');
    server.create('replicasets', { metadata: { name: 'web', namespace: 'default' }, spec: { replicas: 1 } });
    await lookTwice();
    expect(stateOf('general-1')).toBe('there');
    server.patch('replicasets', 'default/web', { spec: { replicas: 0 } }, 'object');
    await lookTwice();
    expect(stateOf('general-1')).toBe('leaving');
  });

  test('is kept where a pod has come since the view was taken', async () => {
    const { server, stateOf, lookTwice, told, clock, addPod } = await inFlight();
    server.remove('pods', 'default/a');
    await provision(told);
    clock.advance(AGAIN_MS);
    const { latest } = told.snapshots;
    let reads = 0;
    const snapshots = {
      ...told.snapshots,
      latest: () => {
        reads += 1;
        if (reads === 2) {
          addPod('b');
          clock.advance(500);
        }
        return latest();
      },
    };
    expect(await provision({ ...told, snapshots })).toEqual({ kind: 'idle' });
    expect([reads, stateOf('general-1')]).toEqual([2, 'there']);
    server.remove('pods', 'default/b');
    clock.advance(20_000);
    await lookTwice();
    expect(stateOf('general-1')).toBe('leaving');
  });
});

describe('a claim that is to be withdrawn', () => {
  test('is left alone where somebody has decided meanwhile, and looked at again', async () => {
    const { server, stateOf, told, clock, sent, generation } = await inFlight();
    server.remove('pods', 'default/a');
    await provision(told);
    clock.advance(AGAIN_MS);
    const commit: Ports['ledger']['commit'] = async (base, name) => {
      await told.ledger.commit(base, '000000002-other');
      return told.ledger.commit(base, name);
    };
    expect(await provision({ ...told, ledger: { ...told.ledger, commit } })).toEqual({ kind: 'idle' });
    expect([stateOf('general-1'), await generation()]).toEqual(['there', 2]);
    expect(sent.at(-1)?.hint).toMatchObject({ kind: 'pods', reason: 'lost' });
    server.delete('leases', 'nodewright-system/nodewright-generation');
    await provision(told);
    expect(stateOf('general-1')).toBe('leaving');
  });

  test('is withdrawn by whoever comes next where the process dies after the commit, and once', async () => {
    const { server, stateOf, told, ports, clock, logged } = await inFlight();
    server.remove('pods', 'default/a');
    await provision(told);
    clock.advance(AGAIN_MS);
    const list = (() => Promise.reject(new Error('dies'))) as unknown as Ports['kubernetes']['list'];
    await expect(provision({ ...told, kubernetes: { ...told.kubernetes, list } })).rejects.toThrow('dies');
    expect([stateOf('general-1'), (await ports.ledger.read()).executed]).toEqual(['there', false]);
    clock.advance(8_000);
    await Promise.all([provision(told), provision(told)]);
    expect([stateOf('general-1'), logged('nodeclaim-withdrawn').length]).toEqual(['leaving', 1]);
    expect(await ports.ledger.read()).toMatchObject({ executed: true, generation: 2 });
  });

  test.each([
    ['has registered by then', (patch: Patch) => patch({ status: { conditions: [since(START, 'Registered')] } })],
    [
      'is to stay by then',
      (patch: Patch) => patch({ metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } }),
    ],
    ['has a node by then', (_: Patch, addNode: (claim: string) => void) => addNode('general-1')],
  ])('stays where it %s', async (_, meanwhile) => {
    const { server, stateOf, told, clock, logged, addNode, ports } = await inFlight();
    server.remove('pods', 'default/a');
    await provision(told);
    clock.advance(AGAIN_MS);
    const commit: Ports['ledger']['commit'] = (base, name) => {
      meanwhile(
        (change) => server.patch('nodeclaims', 'general-1', change, 'status' in change ? 'status' : 'object'),
        addNode,
      );
      return told.ledger.commit(base, name);
    };
    await provision({ ...told, ledger: { ...told.ledger, commit } });
    expect([stateOf('general-1'), logged('nodeclaim-withdrawn')]).toEqual(['there', []]);
    expect((await ports.ledger.read()).executed).toBe(true);
  });

  test('is withdrawn where its follower writes it at that moment', async () => {
    const { server, outside, stateOf, lookTwice } = await inFlight();
    server.remove('pods', 'default/a');
    let writes = 0;
    outside.onRequest = ({ method, path }) => {
      if (method !== 'DELETE' || !path.includes('general-1') || writes > 0) return;
      writes += 1;
      server.patch('nodeclaims', 'general-1', { status: { conditions: [since(START, 'Launched')] } }, 'status');
    };
    await lookTwice();
    expect([writes, stateOf('general-1')]).toEqual([1, 'leaving']);
  });

  test('says so where a policy denies its deletion, keeps no other, and is tried again later', async () => {
    const { server, outside, stateOf, lookTwice, logged, eventsOn, clock, conditionOf, addClaim, ports } =
      await inFlight();
    const other = { ...decisionOf(['general-0'], [{ name: 'default/x', uid: 'x' }]), name: '000000000-e' };
    await ports.decisions.put(other);
    addClaim('general-0', {
      labels: { 'karpenter.sh/nodepool': 'general' },
      annotations: { 'nodewright.dev/decision': other.name },
    });
    server.remove('pods', 'default/a');
    outside.deny = denying('DELETE', '/nodeclaims/general-1');
    await lookTwice();
    expect([stateOf('general-0'), stateOf('general-1')]).toEqual(['leaving', 'there']);
    expect(logged('nodeclaim-not-withdrawn')).toMatchObject([{ claim: 'general-1' }]);
    expect(eventsOn('general-1').some((text) => text.startsWith('WriteDenied: '))).toBe(true);
    expect(conditionOf('general-1', 'WriteDenied')?.['status']).toBe('True');
    await lookTwice();
    expect(logged('nodeclaim-not-withdrawn')).toHaveLength(1);
    outside.deny = () => null;
    clock.advance(3 * 60_000);
    await lookTwice();
    expect(stateOf('general-1')).toBe('leaving');
  });

  test('keeps no decision waiting where its deletion fails for now', async () => {
    const { server, outside, stateOf, lookTwice, logged, ports, addPod, told, clock } = await inFlight();
    server.remove('pods', 'default/a');
    outside.onRequest = ({ method, path }) => {
      if (method === 'DELETE' && path.endsWith('/nodeclaims/general-1')) throw new RetryableError('no answer');
    };
    await lookTwice();
    expect([stateOf('general-1'), logged('nodeclaim-not-withdrawn').length]).toEqual(['there', 1]);
    expect((await ports.ledger.read()).executed).toBe(true);
    addPod('b');
    addPod('c', '2');
    clock.advance(11_000);
    expect(await provision(told)).toMatchObject({ kind: 'provisioned', claims: 1 });
  });

  test('is one of twenty at most', async () => {
    const names = Array.from({ length: 22 }, (_, index) => `general-${String(index).padStart(2, '0')}`);
    const cluster = smallCluster();
    const { ports, clock, stateOf } = cluster;
    cluster.addClass('True');
    cluster.addPool();
    for (const [index, name] of names.entries()) {
      const decision = { ...decisionOf([name], [{ name: `default/p${index}`, uid: `p${index}` }]), name: `d-${index}` };
      await ports.decisions.put(decision);
      cluster.addClaim(name, {
        labels: { 'karpenter.sh/nodepool': 'general' },
        annotations: { 'nodewright.dev/decision': `d-${index}` },
      });
    }
    await provision(ports);
    clock.advance(AGAIN_MS);
    await provision(ports);
    expect(names.filter((name) => stateOf(name) === 'leaving')).toHaveLength(20);
    clock.advance(AGAIN_MS);
    await provision(ports);
    expect(names.filter((name) => stateOf(name) === 'leaving')).toHaveLength(22);
  });
});

type Patch = (change: Fields) => unknown;

describe('of claims that share a dedication', () => {
  test('none goes while one of their pods waits, as whichever node is ready first is taken', async () => {
    const cluster = smallCluster();
    const { ports, clock, server, stateOf } = cluster;
    cluster.addClass('True');
    cluster.addPool();
    const pods = [cluster.addPod('a', '1500m'), cluster.addPod('b', '1500m')];
    clock.advance(20_000);
    expect(await provision(ports)).toMatchObject({ kind: 'provisioned', claims: 2 });
    const [first = '', second = ''] = server.list('nodeclaims').map(({ metadata }) => metadata.name);
    expect(pods).toHaveLength(2);
    server.remove('pods', 'default/b');
    for (let look = 0; look < 2; look++) {
      clock.advance(AGAIN_MS);
      await provision(ports);
    }
    expect([stateOf(first), stateOf(second)]).toEqual(['there', 'there']);
    server.remove('pods', 'default/a');
    await provision(ports);
    clock.advance(AGAIN_MS);
    await provision(ports);
    expect([stateOf(first), stateOf(second)]).toEqual(['leaving', 'leaving']);
  });
});

describe('a record of a decision', () => {
  test('that withdraws claims and no longer finds them is executed all the same', async () => {
    const { ports, server } = await inFlight();
    server.remove('nodeclaims', 'general-1');
    const decision = {
      ...decisionOf([]),
      name: '000000002-w',
      generation: 2,
      withdrawn: [{ name: 'general-1', uid: 'u' }],
    };
    await ports.decisions.put(decision);
    await ports.ledger.commit(await ports.ledger.read(), decision.name);
    expect(await resumeNow(ports)).toMatchObject({ executed: true, generation: 2 });
  });
});
