import { describe, expect, test } from 'vitest';
import { ApiServer, type Fields } from '../../../../simulation/world/api-server.ts';
import { answer } from '../../../../simulation/world/api-transport.ts';
import { VirtualClock } from '../../../../../sandbox/base/clock.ts';
import { createKubernetes } from '../../../../../shared/adapters/kubernetes/kubernetes.ts';
import type { ApiRequest } from '../../../../../shared/adapters/kubernetes/transport.ts';
import { RetryableError } from '../../../../../shared/ports/errors.ts';
import { type DrainRules, drain } from '../../../../../shared/app/follow/leave/drain.ts';
import type { Ports } from '../../../../../shared/app/ports/ports.ts';

const START = Date.UTC(2026, 0, 1);

const AT_LEISURE: DrainRules = { deadlineMs: null, mayEvict: true, notice: null };

/** A node `n` with `pods`, and one drain pass over it. */
function nodeWith(pods: Readonly<Record<string, Fields>>) {
  const clock = new VirtualClock(START);
  const server = new ApiServer(clock);
  for (const [name, parts] of Object.entries(pods)) {
    const { metadata = {}, spec = {}, status = {} } = parts as { metadata?: Fields; spec?: Fields; status?: Fields };
    server.create('pods', {
      metadata: { name, namespace: 'default', ...metadata },
      spec: { nodeName: 'n', containers: [], ...spec },
    });
    const ready = { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] };
    server.patch('pods', `default/${name}`, { status: { ...ready, ...status } }, 'status');
  }
  const onRequest: { current: (request: ApiRequest) => void } = { current: () => undefined };
  const kubernetes = createKubernetes((request) => {
    onRequest.current(request);
    return Promise.resolve(answer(server, request));
  });
  const ports = { kubernetes, now: () => clock.now() } as unknown as Ports;
  return {
    clock,
    server,
    /** Before a request is answered. */
    onRequest,
    mostEvictionsAtOnce: async () => {
      let [now, most] = [0, 0];
      const evict: Ports['kubernetes']['evict'] = async () => {
        now += 1;
        most = Math.max(most, now);
        await new Promise((done) => setImmediate(done));
        now -= 1;
        return { kind: 'gone', status: 404 };
      };
      await drain({ ...ports, kubernetes: { ...kubernetes, evict } }, 'n', AT_LEISURE);
      return most;
    },
    drain: async (deadlineMs: number | null = null, mayEvict = true) => {
      const { remaining, blocked } = await drain(ports, 'n', { ...AT_LEISURE, deadlineMs, mayEvict });
      return { remaining, blocked };
    },
    /** As where Azure takes the machine back. Answers when the next pod is to be deleted. */
    drainOnNotice: async (deadlineMs: number, allStay = false) => {
      const outcome = await drain(ports, 'n', { deadlineMs, mayEvict: true, notice: { allStay } });
      return outcome.nextForcedMs;
    },
    nextForcedMs: async (deadlineMs: number | null) =>
      (await drain(ports, 'n', { ...AT_LEISURE, deadlineMs, mayEvict: false })).nextForcedMs,
    leaving: () =>
      server
        .list('pods')
        .filter(({ metadata }) => metadata.deletionTimestamp !== undefined)
        .map(({ metadata }) => metadata.name),
    graceOf: (name: string) => server.get('pods', `default/${name}`)?.metadata.deletionGracePeriodSeconds,
  };
}

const ownedBy = (kind: string): Fields => ({ ownerReferences: [{ apiVersion: 'v1', kind, name: 'o', uid: 'u' }] });
const critical = { priorityClassName: 'system-cluster-critical' };

test('pods go before daemons, and all of those before critical pods, one tier at a time [K03]', async () => {
  const node = nodeWith({
    web: {},
    daemon: { metadata: ownedBy('DaemonSet') },
    dns: { spec: critical },
    proxy: { metadata: ownedBy('DaemonSet'), spec: critical },
  });
  const order: Array<ReadonlyArray<string>> = [];
  for (let pass = 0; pass < 4; pass++) {
    await node.drain();
    order.push(node.leaving());
    for (const name of node.leaving()) node.server.remove('pods', `default/${name}`);
  }
  expect(order).toEqual([['web'], ['daemon'], ['dns'], ['proxy']]);
  expect(await node.drain()).toEqual({ remaining: 0, blocked: null });
});

test('the largest pods of a tier go first', async () => {
  const asking = (cpu: string, memory: string): Fields => ({
    spec: { containers: [{ name: 'c', resources: { requests: { cpu, memory } } }] },
  });
  const node = nodeWith({ a: asking('1', '1Gi'), b: asking('3', '1Gi'), c: asking('1', '4Gi'), d: {} });
  const asked: Array<string> = [];
  node.onRequest.current = ({ path }) => void asked.push(...(/pods\/(\w+)\/eviction$/.exec(path)?.slice(1) ?? []));
  await node.drain();
  expect(asked).toEqual(['b', 'c', 'a', 'd']);
});

test('a tier that is still leaving holds the next one back, and is not asked again [K03]', async () => {
  const node = nodeWith({ web: { metadata: ownedBy('ReplicaSet') }, daemon: { metadata: ownedBy('DaemonSet') } });
  await node.drain();
  let evictions = 0;
  node.onRequest.current = ({ path }) => {
    if (path.endsWith('/eviction')) evictions += 1;
  };
  expect(await node.drain()).toEqual({ remaining: 2, blocked: null });
  expect([node.leaving(), evictions]).toEqual([['web'], 0]);
});

test('pods that have ended, static pods and pods that tolerate the disruption are not waited for [K02]', async () => {
  const node = nodeWith({
    done: { status: { phase: 'Succeeded' } },
    static: { metadata: ownedBy('Node') },
    agent: { spec: { tolerations: [{ operator: 'Exists' }] } },
    exact: { spec: { tolerations: [{ key: 'karpenter.sh/disrupted', operator: 'Exists', effect: 'NoSchedule' }] } },
  });
  expect(await node.drain()).toEqual({ remaining: 0, blocked: null });
  expect(node.leaving()).toEqual([]);
});

test('a pod whose kubelet has let its grace period pass by a minute is not waited for [K04]', async () => {
  const node = nodeWith({ web: { spec: { terminationGracePeriodSeconds: 10 } } });
  await node.drain();
  node.clock.advance(70_000);
  expect((await node.drain()).remaining).toBe(1);
  node.clock.advance(1_000);
  expect((await node.drain()).remaining).toBe(0);
});

test('a protected pod stays, and says why the drain is held', async () => {
  const node = nodeWith({ web: { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } } });
  expect(await node.drain()).toEqual({
    remaining: 1,
    blocked: 'pod default/web has karpenter.sh/do-not-disrupt',
  });
  expect(node.leaving()).toEqual([]);
});

test('protection for a while ends that long after the pod has started', async () => {
  const annotations = { 'karpenter.sh/do-not-disrupt': '1h' };
  const startTime = new Date(START).toISOString();
  const node = nodeWith({ web: { metadata: { annotations }, status: { startTime } } });
  node.clock.advance(3_599_000);
  await node.drain();
  expect(node.leaving()).toEqual([]);
  node.clock.advance(1_000);
  await node.drain();
  expect(node.leaving()).toEqual(['web']);
});

test('a disruption budget holds the drain [K03] [K08]', async () => {
  const node = nodeWith({ web: { metadata: { labels: { app: 'web' } } } });
  node.server.create('poddisruptionbudgets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  const outcome = await node.drain();
  expect(outcome.blocked).toMatch(/^pod default\/web: .*disruption budget/);
});

test('what a budget holds is deleted all the same when the deadline leaves no more time [K06] [K08]', async () => {
  const node = nodeWith({ web: { metadata: { labels: { app: 'web' } } } });
  node.server.create('poddisruptionbudgets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  node.clock.advance(30_000);
  await node.drain(START + 60_000);
  expect(node.leaving()).toEqual([]);
  node.clock.advance(1_000);
  expect(await node.drain(START + 60_000)).toEqual({ remaining: 1, blocked: null });
  expect([node.leaving(), node.graceOf('web')]).toEqual([['web'], 29]);
});

test('an earlier deadline hurries what was deleted for a later one, and a later one gives nothing back [K08]', async () => {
  const node = nodeWith({ web: { spec: { terminationGracePeriodSeconds: 300 } } });
  await node.drain(START + 120_000);
  expect(node.graceOf('web')).toBe(120);
  await node.drain(START + 60_000);
  expect(node.graceOf('web')).toBe(60);
  await node.drain(START + 200_000);
  expect(node.graceOf('web')).toBe(60);
});

test('when the deadline leaves a pod its grace period only, it is deleted, whatever protects it [K06]', async () => {
  const protectedPod = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
  const node = nodeWith({ web: protectedPod, quick: { ...protectedPod, spec: { terminationGracePeriodSeconds: 5 } } });
  const deadline = START + 60_000;
  node.clock.advance(30_000);
  await node.drain(deadline);
  expect(node.leaving()).toEqual([]);
  node.clock.advance(1_000);
  await node.drain(deadline);
  expect(node.leaving()).toEqual(['web']);
  expect(node.graceOf('web')).toBe(29);
});

test('the next pod to be deleted is the one that asks for most time, of those that still have theirs', async () => {
  const seconds = (terminationGracePeriodSeconds?: number): Fields => ({ spec: { terminationGracePeriodSeconds } });
  const node = nodeWith({ quick: seconds(5), usual: seconds(), slow: seconds(120) });
  const deadline = START + 200_000;
  expect(await node.nextForcedMs(null)).toBeNull();
  expect(await node.nextForcedMs(deadline)).toBe(deadline - 120_000);
  node.clock.advance(80_000);
  expect(await node.nextForcedMs(deadline)).toBe(deadline - 120_000);
  // That one is leaving.
  node.clock.advance(1_000);
  expect(await node.nextForcedMs(deadline)).toBe(deadline - 30_000);
  node.clock.advance(90_000);
  expect(await node.nextForcedMs(deadline)).toBe(deadline - 5_000);
  node.clock.advance(25_000);
  expect(await node.nextForcedMs(deadline)).toBeNull();
});

test('a daemon and a critical pod have all of their own grace period where no notice hurries them', async () => {
  const slow = { terminationGracePeriodSeconds: 300 };
  const deadline = START + 600_000;
  const daemon = nodeWith({ daemon: { metadata: ownedBy('DaemonSet'), spec: slow } });
  expect(await daemon.nextForcedMs(deadline)).toBe(deadline - 300_000);
  const dns = nodeWith({ dns: { spec: { ...critical, ...slow } } });
  expect(await dns.nextForcedMs(deadline)).toBe(deadline - 300_000);
});

test('which pods a node still has is read as it is now, and not as the API server may remember it', async () => {
  const node = nodeWith({ web: {} });
  const asked: Array<string> = [];
  node.onRequest.current = ({ method, path }) => void (method === 'GET' && asked.push(path));
  await node.drain();
  expect(asked).toEqual([expect.not.stringContaining('resourceVersion=')]);
});

test('a pod that is leaving too slowly for the deadline is hurried [K06] [K08]', async () => {
  const node = nodeWith({ web: { spec: { terminationGracePeriodSeconds: 300 } } });
  await node.drain();
  expect(node.graceOf('web')).toBe(300);
  await node.drain(START + 60_000);
  expect(node.graceOf('web')).toBe(60);
});

test('while replacements are on their way nothing is evicted, but what the deadline forces goes', async () => {
  const node = nodeWith({ slow: { spec: { terminationGracePeriodSeconds: 120 } }, quick: {} });
  expect((await node.drain(START + 60_000, false)).remaining).toBe(2);
  expect(node.leaving()).toEqual(['slow']);
});

describe('what tolerates the disruption [K02]', () => {
  const key = 'karpenter.sh/disrupted';

  test.each<readonly [string, Fields]>([
    ['everything', { operator: 'Exists' }],
    ['everything, with an empty key', { key: '', operator: 'Exists' }],
    ['everything that keeps pods from being scheduled', { operator: 'Exists', effect: 'NoSchedule' }],
    ['everything, with an empty effect', { operator: 'Exists', effect: '' }],
    ['its taint, with whatever value', { key, operator: 'Exists' }],
    ['its taint, which has no value', { key, operator: 'Equal', effect: 'NoSchedule' }],
    ['its taint, without an operator', { key }],
  ])('is not waited for: %s', async (_, toleration) => {
    const node = nodeWith({ web: { spec: { tolerations: [toleration] } } });
    expect([await node.drain(), node.leaving()]).toEqual([{ remaining: 0, blocked: null }, []]);
  });

  test.each<readonly [string, Fields]>([
    ['another taint', { key: 'other', operator: 'Exists' }],
    [
      'that nodes are unschedulable',
      { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' },
    ],
    ['another effect', { key, operator: 'Exists', effect: 'NoExecute' }],
    ['another effect of everything', { operator: 'Exists', effect: 'NoExecute' }],
    ['an empty key with no operator', { key: '', operator: 'Equal' }],
  ])('is not %s', async (_, toleration) => {
    const node = nodeWith({ web: { spec: { tolerations: [toleration] } } });
    await node.drain();
    expect(node.leaving()).toEqual(['web']);
  });
});

describe('a pod is asked to leave [K08]', () => {
  test.each(['0s', '-1h', 'often', ''])('when its protection says nothing that counts: %j', async (value) => {
    const node = nodeWith({ web: { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': value } } } });
    await node.drain();
    expect(node.leaving()).toEqual(['web']);
  });

  test('not while its protection for a time has not begun', async () => {
    const node = nodeWith({ web: { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': '1h' } } } });
    node.clock.advance(24 * 3_600_000);
    await node.drain();
    expect(node.leaving()).toEqual([]);
  });

  test('as the one that was meant: another that has taken its name stays [K05]', async () => {
    const node = nodeWith({ web: {} });
    node.onRequest.current = ({ method }) => {
      if (method !== 'POST') return;
      node.server.remove('pods', 'default/web');
      node.server.create('pods', { metadata: { name: 'web', namespace: 'default' }, spec: { nodeName: 'other' } });
    };
    expect(await node.drain()).toEqual({ remaining: 1, blocked: null });
    expect([node.leaving(), node.server.list('events')]).toEqual([[], []]);
  });

  test('and people are told', async () => {
    const node = nodeWith({ web: {} });
    await node.drain();
    expect(node.server.list('events')).toMatchObject([
      { type: 'Normal', reason: 'Evicted', message: 'Evicted from n', involvedObject: { name: 'web' } },
    ]);
  });

  test('of many sixteen at once', async () => {
    const node = nodeWith(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`p-${index}`, {}])));
    expect(await node.mostEvictionsAtOnce()).toBe(16);
  });

  test('whoever made it: nobody waits for one that nobody made [K02]', async () => {
    const node = nodeWith({ bare: {}, owned: { metadata: ownedBy('ReplicaSet') } });
    await node.drain();
    expect(node.leaving()).toEqual(['bare', 'owned']);
  });

  test('only where it is on this node', async () => {
    const node = nodeWith({ web: {}, other: { spec: { nodeName: 'other' } } });
    expect(await node.drain()).toEqual({ remaining: 1, blocked: null });
    expect(node.leaving()).toEqual(['web']);
  });

  test('not when it has failed already, and what has ended is not waited for', async () => {
    const node = nodeWith({ web: { status: { phase: 'Failed' } } });
    expect([await node.drain(), node.leaving()]).toEqual([{ remaining: 0, blocked: null }, []]);
  });
});

describe('what the deadline forces [K06] [K08]', () => {
  test('has at least a second, and people are told', async () => {
    const node = nodeWith({ web: {} });
    node.clock.advance(120_000);
    await node.drain(START + 60_000);
    expect([node.leaving(), node.graceOf('web')]).toEqual([['web'], 1]);
    expect(node.server.list('events')).toMatchObject([{ reason: 'Disrupted', involvedObject: { name: 'web' } }]);
  });

  test('is not forced again when it is leaving in time', async () => {
    const node = nodeWith({ web: { spec: { terminationGracePeriodSeconds: 60 } } });
    await node.drain();
    node.clock.advance(1_000);
    await node.drain(START + 60_000);
    expect(node.server.list('events')).toMatchObject([{ reason: 'Evicted' }]);
  });

  test('is of all tiers at once', async () => {
    const node = nodeWith({ web: {}, daemon: { metadata: ownedBy('DaemonSet') }, dns: { spec: critical } });
    node.clock.advance(50_000);
    await node.drain(START + 60_000);
    expect(node.leaving()).toEqual(['web', 'daemon', 'dns']);
  });

  test('is not asked for as well', async () => {
    const node = nodeWith({ web: {} });
    node.clock.advance(50_000);
    await node.drain(START + 60_000);
    expect(node.graceOf('web')).toBe(10);
    expect(node.server.list('events')).toHaveLength(1);
  });
});

describe('where Azure takes the machine back', () => {
  const grace = (terminationGracePeriodSeconds: number): Fields => ({ spec: { terminationGracePeriodSeconds } });
  const staying = { metadata: { annotations: { 'nodewright.dev/stay-until-deadline': 'true' } } };

  test('daemons and critical pods serve for 10 of 30 seconds, while other pods use all of them', async () => {
    const node = nodeWith({ web: {}, daemon: { metadata: ownedBy('DaemonSet') }, dns: { spec: critical } });
    node.clock.advance(1_000);
    expect(await node.drainOnNotice(START + 30_000)).toBe(START + 10_000);
    expect([node.leaving(), node.graceOf('web')]).toEqual([['web'], 29]);
    node.clock.advance(9_001);
    await node.drainOnNotice(START + 30_000);
    expect([node.leaving(), node.graceOf('dns')]).toEqual([['web', 'daemon', 'dns'], 19]);
  });

  test('a critical pod that needs less time is told so much later', async () => {
    const dns = { spec: { ...critical, terminationGracePeriodSeconds: 5 } };
    const node = nodeWith({ web: {}, dns });
    await node.drainOnNotice(START + 30_000);
    expect(await node.drainOnNotice(START + 30_000)).toBe(START + 25_000);
  });

  test('daemons go as soon as the others have gone', async () => {
    const node = nodeWith({ daemon: { metadata: ownedBy('DaemonSet') } });
    await node.drainOnNotice(START + 60_000);
    expect(node.leaving()).toEqual(['daemon']);
  });

  test('a pod that wants to stay is told when its grace period is left and a little, and the others at once', async () => {
    const node = nodeWith({ web: grace(5), game: { ...grace(5), ...staying } });
    expect(await node.drainOnNotice(START + 30_000)).toBe(START + 23_000);
    expect(node.leaving()).toEqual(['web']);
    node.clock.advance(23_001);
    await node.drainOnNotice(START + 30_000);
    expect([node.leaving(), node.graceOf('game')]).toEqual([['web', 'game'], 6]);
  });

  test('all of a pool stay that asks for it', async () => {
    const node = nodeWith({ a: grace(5), b: grace(10) });
    expect(await node.drainOnNotice(START + 30_000, true)).toBe(START + 18_000);
    expect(node.leaving()).toEqual([]);
  });

  test.each(['false', 'yes', ''])('a pod that says %j stays no longer', async (value) => {
    const node = nodeWith({ web: { metadata: { annotations: { 'nodewright.dev/stay-until-deadline': value } } } });
    await node.drainOnNotice(START + 60_000);
    expect(node.leaving()).toEqual(['web']);
  });

  test('a removal of our own choice knows no such wish', async () => {
    const node = nodeWith({ game: { ...grace(5), ...staying } });
    await node.drain(START + 60_000);
    expect(node.leaving()).toEqual(['game']);
  });
});

test('critical for the node counts as critical for the cluster does', async () => {
  const node = nodeWith({ web: {}, net: { spec: { priorityClassName: 'system-node-critical' } } });
  await node.drain();
  expect(node.leaving()).toEqual(['web']);
});

test('the first pod that holds the drain is named, and the others of its tier go', async () => {
  const held = { metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } } };
  const node = nodeWith({ a: {}, b: held, c: held });
  expect(await node.drain()).toEqual({ remaining: 3, blocked: 'pod default/b has karpenter.sh/do-not-disrupt' });
  expect(node.leaving()).toEqual(['a']);
});

describe('what fails of one pod', () => {
  test.each([
    ['a right that is missing', 403],
    ['a fault of the API server', 500],
    ['a webhook that does not answer', 504],
  ])('keeps no other from being told: %s', async (_, status) => {
    const names = Array.from({ length: 40 }, (__, index) => `web-${index}`);
    const node = nodeWith(Object.fromEntries(names.map((name) => [name, {}])));
    node.onRequest.current = ({ path }) => {
      if (path.includes('/web-0/') || path.includes('/web-7/')) throw new RetryableError(`eviction: ${status}`);
    };
    expect(await node.drain()).toEqual({ remaining: 40, blocked: `pod default/web-0: eviction: ${status}` });
    expect(node.leaving()).toEqual(names.filter((name) => name !== 'web-0' && name !== 'web-7'));
    node.onRequest.current = () => undefined;
    await node.drain();
    expect(node.leaving()).toHaveLength(40);
  });

  test('keeps no other from being deleted in time', async () => {
    const node = nodeWith({ first: {}, second: {}, spare: { spec: { terminationGracePeriodSeconds: 1 } } });
    node.onRequest.current = ({ method, path }) => {
      if (method === 'DELETE' && path.includes('/first')) throw new RetryableError('busy');
    };
    expect(await node.drain(START + 20_000)).toEqual({ remaining: 3, blocked: 'pod default/first: busy' });
    expect(node.leaving()).toEqual(['second', 'spare']);
  });

  test('is thrown where it is a mistake of ours', async () => {
    const node = nodeWith({ web: {} });
    node.onRequest.current = ({ path }) => {
      if (path.endsWith('/eviction')) throw new TypeError('a mistake');
    };
    await expect(node.drain()).rejects.toThrow('a mistake');
  });
});

test('all pods are told before people are told of the first', async () => {
  const node = nodeWith(Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`web-${index}`, {}])));
  const order: Array<string> = [];
  node.onRequest.current = ({ method, path }) => {
    if (method === 'POST') order.push(path.endsWith('/eviction') ? 'eviction' : 'event');
  };
  await node.drain();
  expect([order.lastIndexOf('eviction'), order.indexOf('event'), order.length]).toEqual([39, 40, 80]);
});
