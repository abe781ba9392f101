import { expect, test } from 'vitest';
import { ApiServer, type Fields } from '../../../sandbox/simulation/api-server.ts';
import { answer } from '../../../sandbox/simulation/api-transport.ts';
import { VirtualClock } from '../../../sandbox/world/clock.ts';
import { createKubernetes } from '../../../shared/adapters/kubernetes/kubernetes.ts';
import { drain } from '../../../shared/app/follow/drain.ts';
import type { Ports } from '../../../shared/app/ports.ts';

const START = Date.UTC(2026, 0, 1);

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
  const kubernetes = createKubernetes((request) => Promise.resolve(answer(server, request)));
  const ports = { kubernetes, now: () => clock.now() } as unknown as Ports;
  return {
    clock,
    server,
    drain: (deadlineMs: number | null = null, mayEvict = true) => drain(ports, 'n', deadlineMs, mayEvict),
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

test('pods go before daemons, and all of those before critical pods, one tier at a time', async () => {
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

test('a tier that is still leaving holds the next one back', async () => {
  const node = nodeWith({ web: {}, daemon: { metadata: ownedBy('DaemonSet') } });
  await node.drain();
  expect(await node.drain()).toEqual({ remaining: 2, blocked: null });
  expect(node.leaving()).toEqual(['web']);
});

test('pods that have ended, static pods and pods that tolerate the disruption are not waited for', async () => {
  const node = nodeWith({
    done: { status: { phase: 'Succeeded' } },
    static: { metadata: ownedBy('Node') },
    agent: { spec: { tolerations: [{ operator: 'Exists' }] } },
    exact: { spec: { tolerations: [{ key: 'karpenter.sh/disrupted', operator: 'Exists', effect: 'NoSchedule' }] } },
  });
  expect(await node.drain()).toEqual({ remaining: 0, blocked: null });
  expect(node.leaving()).toEqual([]);
});

test('a pod whose kubelet has let its grace period pass by a minute is not waited for', async () => {
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

test('a disruption budget holds the drain', async () => {
  const node = nodeWith({ web: { metadata: { labels: { app: 'web' } } } });
  node.server.create('poddisruptionbudgets', {
    metadata: { name: 'web', namespace: 'default' },
    spec: { minAvailable: 1, selector: { matchLabels: { app: 'web' } } },
  });
  const outcome = await node.drain();
  expect(outcome.blocked).toMatch(/^pod default\/web: .*disruption budget/);
});

test('when the deadline leaves a pod its grace period only, it is deleted, whatever protects it', async () => {
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

test('a pod that is leaving too slowly for the deadline is hurried', async () => {
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
