import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Relay } from '../../../relay/relay.ts';
import { connect, isApiError, type Connection } from '../../../sandbox/kubernetes/client/connection.ts';
import type { ObjectsHint, PodsHint, SignalHint } from '../../../shared/contract/messages/messages.ts';
import { pendingWindow } from '../../../shared/contract/snapshot/window.ts';
import { startAzurite, type StorageAccount } from './azurite.ts';
import { openRig, until, type Rig } from './rig.ts';

/** An API server to run the suite against. */
export interface ApiUnderTest {
  readonly kubeconfig: string;
  readonly close: () => Promise<void>;
}

const pods = '/api/v1/namespaces/default/pods';
const nodes = '/api/v1/nodes';

function pod(name: string): object {
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, labels: { app: 'web' } },
    // A scheduler that does not exist: the test decides what the scheduler would have found.
    spec: {
      schedulerName: 'nobody',
      automountServiceAccountToken: false,
      containers: [{ name: 'main', image: 'example.com/image', resources: { requests: { cpu: '1' } } }],
    },
  };
}

const unschedulable = {
  status: { conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message: 'no room' }] },
};

function node(name: string, extra: object = {}): object {
  return { apiVersion: 'v1', kind: 'Node', metadata: { name }, ...extra };
}

const ready = (status: string): object => ({
  status: { conditions: [{ type: 'Ready', status, reason: 'Test', lastTransitionTime: '2026-11-21T00:00:00Z' }] },
});

const claim = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'general-abc12', finalizers: ['karpenter.sh/termination'] },
  spec: {
    nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
    requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
  },
};

/** The relay's promises, on any API server. */
export function relaySuite(start: () => Promise<ApiUnderTest>, crds: ReadonlyArray<unknown>): void {
  describe('the relay', { timeout: 120_000 }, () => {
    let api: ApiUnderTest;
    let storage: StorageAccount;
    let rig: Rig;
    let kube: Connection;

    beforeAll(async () => {
      [api, storage] = await Promise.all([start(), startAzurite()]);
      kube = connect(api.kubeconfig);
    });
    afterAll(async () => {
      kube?.close();
      await api?.close();
      await storage?.close();
    });
    beforeEach(async () => {
      await removeLeftBehind(kube);
      rig = await openRig(api.kubeconfig, storage);
    });
    afterEach(async () => {
      await rig.close();
    });

    const hints = (queue: string) => rig.messages.filter((one) => one.queue === queue);
    const objectHint = (name: string, reason: string) =>
      hints('claims').find(({ message }) => {
        const body = message.body as ObjectsHint;
        return body.objects.some((one) => one.name === name) && body.reason.split(', ').includes(reason);
      });

    test('without our custom resources a relay is ready, says which are missing, and sees them when they come', async () => {
      await removeCrds(kube);
      const relay = await rig.start();
      await until('readiness', () => relay.notReady() === null);
      const health = await fetch(`http://127.0.0.1:${relay.healthPort}/readyz`);
      expect([health.status, await health.text()]).toEqual([200, expect.stringContaining('nodeclaims')]);
      for (const crd of crds) await createCrd(kube, crd);
      await createWhenServed(kube, '/apis/karpenter.sh/v1/nodeclaims', claim);
      const seen = await until('the claim in a snapshot', async () => {
        const latest = await rig.latest();
        return latest?.snapshot.nodeClaims.find((one) => one.metadata.name === 'general-abc12');
      });
      expect(seen.spec.requirements).toEqual(claim.spec.requirements);
      const hint = await until('a hint', () => objectHint('general-abc12', 'claim-created'));
      expect(hint.message.sessionId).toBeUndefined();
    });

    test('a pod that the scheduler found no room for is in a snapshot before the hint that speaks of it', async () => {
      await rig.start();
      await until('a first snapshot', () => rig.latest());
      await kube.create(pods, pod('waits'));
      await kube.patch(`${pods}/waits/status`, 'merge', unschedulable);
      const { message } = await until('a hint', () => hints('pods').at(0));
      const body = message.body as PodsHint;
      const latest = await until('a snapshot', () => rig.latest());
      expect(body).toMatchObject({ kind: 'pods', cluster: rig.cluster, reason: 'pods-unschedulable' });
      expect(message.sessionId).toBe(rig.cluster);
      const [term, sequence] = (body.snapshot ?? '').split('-').map(Number);
      expect(Number(latest.metadata['term'])).toBe(term);
      expect(Number(latest.snapshot.version.split('-')[1])).toBeGreaterThanOrEqual(sequence ?? 0);
      const waiting = latest.snapshot.pods.filter((one) => one.unschedulable);
      expect(waiting.map((one) => one.name)).toEqual(['waits']);
      expect(['wait', 'elapsed']).toContain(pendingWindow(latest.snapshot, Date.now()).kind);
      await kube.remove(`${pods}/waits`, { gracePeriodSeconds: 0 });
      await until('the pod gone', async () => (await rig.latest())?.snapshot.pods.every((one) => one.name !== 'waits'));
    });

    test('a claim is told of its node: ready, tainted, gone', async () => {
      await rig.start();
      await until('a first snapshot', () => rig.latest());
      const name = 'aks-general-abc12';
      await kube.create(nodes, node(name));
      await kube.patch(`${nodes}/${name}/status`, 'strategic', ready('True'));
      await until('ready', () => objectHint('general-abc12', 'node-ready'));
      await kube.patch(`${nodes}/${name}`, 'merge', { metadata: { labels: { 'karpenter.sh/registered': 'true' } } });
      await kube.patch(`${nodes}/${name}`, 'merge', {
        spec: { taints: [{ key: 'example.com/a', effect: 'NoSchedule' }] },
      });
      await until('taints', () => objectHint('general-abc12', 'node-taints'));
      await kube.remove(`${nodes}/${name}`);
      await until('gone', () => objectHint('general-abc12', 'node-gone'));
    });

    test('a claim is told when a pod comes to its node, with the time, and metrics count it', async () => {
      const relay = await rig.start();
      await until('a first snapshot', () => rig.latest());
      const { nodeClassRef, requirements } = claim.spec;
      await createWhenServed(kube, '/apis/karpenter.sh/v1/nodepools', {
        apiVersion: 'karpenter.sh/v1',
        kind: 'NodePool',
        metadata: { name: 'general' },
        spec: {
          disruption: { consolidateAfter: '30s' },
          template: { spec: { nodeClassRef, requirements, expireAfter: 'Never' } },
        },
      });
      const metadata = { name: 'general-def34', labels: { 'karpenter.sh/nodepool': 'general' } };
      await createWhenServed(kube, '/apis/karpenter.sh/v1/nodeclaims', { ...claim, metadata });
      await until('the claim is known', () => objectHint('general-def34', 'claim-created'));
      await kube.create(nodes, node('aks-general-def34'));
      await kube.patch(`${nodes}/aks-general-def34/status`, 'strategic', ready('True'));
      await until('the node is known', () => objectHint('general-def34', 'node-ready'));
      const sinceMs = Date.now();
      await kube.create(pods, pod('comes'));
      await kube.create(`${pods}/comes/binding`, {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: { name: 'comes' },
        target: { apiVersion: 'v1', kind: 'Node', name: 'aks-general-def34' },
      });
      const hint = await until('a hint', () => objectHint('general-def34', 'pod-event'));
      const { objects } = hint.message.body as ObjectsHint;
      const { podEventMs = 0 } = objects.find(({ name }) => name === 'general-def34') ?? {};
      expect(podEventMs).toBeGreaterThanOrEqual(sinceMs);
      expect(podEventMs).toBeLessThanOrEqual(Date.now());
      expect(hint.message.sessionId).toBeUndefined();
      const text = await (await fetch(`http://127.0.0.1:${relay.metricsPort}/metrics`)).text();
      expect(text).toMatch(/^karpenter_nodeclaims_created_total\{[^}]*nodepool="general"[^}]*\} 1$/m);
      await kube.remove(`${pods}/comes`, { gracePeriodSeconds: 0 });
      await kube.remove(`${nodes}/aks-general-def34`);
    });

    test('a notice of preemption becomes a signal once, advice to rebalance none', async () => {
      await rig.start();
      await until('a first snapshot', () => rig.latest());
      const name = 'aks-spot';
      const providerID = `azure:///subscriptions/00000000-0000-0000-0000-000000000000/resourceGroups/nodes/providers/Microsoft.Compute/virtualMachines/${name}`;
      await kube.create(nodes, node(name, { spec: { providerID } }));
      const notice = (message: string): object => ({
        status: {
          conditions: [{ type: 'PreemptionScheduled', status: 'True', reason: 'SpotEvictionIncoming', message }],
        },
      });
      const status = `${nodes}/${name}/status`;
      await kube.patch(status, 'strategic', notice('SpotRebalanceRecommendation Advisory: risk is high. EventId: 1'));
      const preempt = 'Preempt Scheduled: Sat, 21 Nov 2026 05:41:02 GMT. EventId: 0D5A3F0A-1111-4222-8333-444455556666';
      await kube.patch(status, 'strategic', notice(preempt));
      await kube.patch(status, 'strategic', ready('False'));
      const { message } = await until('a signal', () => hints('signals').at(0));
      const body = message.body as SignalHint;
      expect(body).toEqual({
        kind: 'signal',
        version: 1,
        cluster: rig.cluster,
        vmId: providerID.slice('azure://'.length),
        nodeName: name,
        event: 'preempt',
        notBeforeMs: Date.parse('2026-11-21T05:41:02Z'),
        eventId: '0D5A3F0A-1111-4222-8333-444455556666',
        noticedMs: expect.any(Number) as number,
        source: 'node-condition',
      });
      await until('the node not ready in a snapshot', async () => {
        const found = (await rig.latest())?.snapshot.nodes.find((one) => one.metadata.name === name);
        return found?.status?.conditions?.some((one) => one.type === 'Ready' && one.status === 'False');
      });
      expect(hints('signals')).toHaveLength(1);
      await kube.remove(`${nodes}/${name}`);
    });

    test('an event of any namespace that announces the end of a node moves nothing: anybody may write one', async () => {
      await rig.start();
      await until('a first snapshot', () => rig.latest());
      const [told, real] = ['aks-told', 'aks-real'];
      for (const name of [told, real]) await kube.create(nodes, node(name));
      for (const namespace of ['default', 'kube-public']) {
        await kube.create(`/api/v1/namespaces/${namespace}/events`, {
          apiVersion: 'v1',
          kind: 'Event',
          metadata: { name: 'forged', namespace },
          // Core Kubernetes holds events about a cluster's objects in `default`; others name a namespace of their own.
          involvedObject: {
            apiVersion: 'v1',
            kind: 'Node',
            name: told,
            namespace: namespace === 'default' ? '' : namespace,
          },
          type: 'Warning',
          reason: 'PreemptScheduled',
          message: 'Preempt Scheduled: Thu, 01 Jan 1970 00:00:10 GMT. DurationInSeconds: -1.',
          source: { component: 'node-problem-detector' },
          firstTimestamp: new Date().toISOString(),
          lastTimestamp: new Date().toISOString(),
        });
      }
      const conditions = [
        { type: 'VMEventScheduled', status: 'True', reason: 'RebootScheduled', message: 'Reboot Scheduled: .' },
      ];
      await kube.patch(`${nodes}/${real}/status`, 'strategic', { status: { conditions } });
      await until('the notice of a node itself', () => hints('signals').at(0));
      expect(hints('signals').map(({ message }) => (message.body as SignalHint).nodeName)).toEqual([real]);
      for (const name of [told, real]) await kube.remove(`${nodes}/${name}`);
    });

    test('of two relays one publishes; when it stops the other takes over in a later term', async () => {
      const first = await rig.start({ identity: 'first' });
      const before = await until('a first snapshot', () => rig.latest());
      const second = await rig.start({ identity: 'second' });
      await until('readiness', () => second.notReady() === null);
      expect([first.isLeading(), second.isLeading()]).toEqual([true, false]);
      await first.stop();
      await until('the second to lead', () => second.isLeading());
      const after = await until('its snapshot', async () => {
        const latest = await rig.latest();
        return latest !== null && latest.metadata['term'] !== before.metadata['term'] ? latest : null;
      });
      expect(Number(after.metadata['term'])).toBeGreaterThan(Number(before.metadata['term']));
      const beat = await until('its heartbeat', async () => {
        const seen = await rig.heartbeat();
        return seen !== null && seen.term === Number(after.metadata['term']) ? seen : null;
      });
      expect(beat.version).toMatch(/^\d+-\d+$/);
    });

    test('a leader whose term is not the latest never overwrites; as holder of the lease it moves past it', async () => {
      const relay = await rig.start();
      await until('a first snapshot', () => rig.latest());
      const foreign = { version: '1000-1', term: '1000', takenAt: new Date(0).toISOString() };
      await rig.overwrite(foreign);
      await kube.create(nodes, node('aks-other'));
      const after = await until('a snapshot of a later term', async () => {
        const latest = await rig.latest();
        return latest !== null && latest.metadata['term'] !== '1000' ? latest : null;
      });
      expect(Number(after.metadata['term'])).toBeGreaterThan(1_000);
      expect(relay.isLeading()).toBe(true);
      await kube.remove(`${nodes}/aks-other`);
    });

    const metricsOf = async (relay: Relay): Promise<string> =>
      (await fetch(`http://127.0.0.1:${relay.metricsPort}/metrics`)).text();
    const depth = 'karpenter_scheduler_queue_depth{controller="provisioner"}';
    const plansMade = 'karpenter_scheduler_scheduling_duration_seconds_count{controller="provisioner"}';
    const decided = 'karpenter_pods_scheduling_decision_duration_seconds_count';

    test('figures that plans leave are shown by the relay that publishes, and by its successor in its place [I15]', async () => {
      const first = await rig.start({ identity: 'first' });
      await until('a first snapshot', () => rig.latest());
      const second = await rig.start({ identity: 'second' });
      await until('readiness', () => second.notReady() === null);
      expect(await metricsOf(first)).not.toContain('karpenter_scheduler_');
      const none = { pending: 0, unschedulable: 0, ignored: 0, zones: {} };
      await rig.functions().add({ id: '1', atMs: 1, tookMs: 30, decidedUpToMs: 0, waiting: none }, 'holds');

      await kube.create(pods, pod('waits'));
      await kube.patch(`${pods}/waits/status`, 'merge', unschedulable);
      await until('an undecided pod', async () => (await metricsOf(first)).includes(`${depth} 1`));
      const undecided = 'karpenter_pods_provisioning_scheduling_undecided_time_seconds{name="waits"';
      expect(await metricsOf(first)).toContain(undecided);
      const waiting = { pending: 1, unschedulable: 1, ignored: 0, zones: { none: 1 } };
      const plan = { id: '2', atMs: Date.now() + 50, tookMs: 30, decidedUpToMs: Date.now(), waiting };
      // Another instance of the functions, which knows nothing of the first; and told twice.
      for (const instance of [rig.functions(), rig.functions()]) await instance.add(plan, 'holds');
      const text = await until('its figures', async () => {
        const seen = await metricsOf(first);
        return seen.includes(`${plansMade} 2`) ? seen : null;
      });
      for (const line of [
        `${depth} 0`,
        `${decided} 1`,
        'karpenter_scheduler_unschedulable_pods_count{controller="provisioner"} 1',
        'karpenter_scheduler_pending_pods_by_effective_zone_count{controller="provisioner",zone="none"} 1',
      ]) {
        expect(text).toContain(`${line}\n`);
      }
      expect(text).not.toContain(undecided);
      expect(await metricsOf(second)).not.toContain('karpenter_scheduler_');

      await first.stop();
      const after = await until('the successor to show them', async () => {
        const seen = await metricsOf(second);
        return seen.includes(`${plansMade} 2`) ? seen : null;
      });
      expect(after).toContain(`${decided} 0\n`);
      await kube.remove(`${pods}/waits`, { gracePeriodSeconds: 0 });
      await until('no pod to be unschedulable', async () =>
        (await metricsOf(second)).includes(
          'karpenter_scheduler_unschedulable_pods_count{controller="provisioner"} 0\n',
        ),
      );
    });

    test('metrics have the names that dashboards look for', async () => {
      const relay = await rig.start();
      await until('a first snapshot', () => rig.latest());
      const text = await (await fetch(`http://127.0.0.1:${relay.metricsPort}/metrics`)).text();
      expect(text).toMatch(/^process_resident_memory_bytes \d+$/m);
      expect(text).toMatch(/^process_cpu_seconds_total [\d.]+$/m);
      expect(text).toMatch(/^nodewright_relay_publishes_total\{outcome="published"\} [1-9]/m);
      expect(text).toMatch(/^nodewright_relay_leading 1$/m);
      expect(text).toMatch(/^karpenter_build_info\{version="\d/m);
      expect(text).toMatch(/^karpenter_cluster_state_synced 1$/m);
    });
  });
}

/** What a try of a test that failed may have left: the next starts where the first did. */
async function removeLeftBehind(kube: Connection): Promise<void> {
  const named = ['aks-general-abc12', 'aks-general-def34', 'aks-spot', 'aks-other'].map((name) => `${nodes}/${name}`);
  for (const path of [...named, `${pods}/waits`, `${pods}/comes`]) {
    await kube.remove(path, { gracePeriodSeconds: 0 }).catch(unlessGone);
  }
}

async function removeCrds(kube: Connection): Promise<void> {
  const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
  const { items } = await kube.get<{ items: ReadonlyArray<{ metadata: { name: string } }> }>(path);
  if (items.length === 0) return;
  const held = `/apis/karpenter.sh/v1/nodeclaims/${claim.metadata.name}`;
  await kube.patch(held, 'merge', { metadata: { finalizers: null } }).catch(unlessGone);
  for (const { metadata } of items) await kube.remove(`${path}/${metadata.name}`).catch(unlessGone);
  await until(
    'the definitions gone',
    async () => (await kube.get<{ items: ReadonlyArray<unknown> }>(path)).items.length === 0,
  );
}

function unlessGone(error: unknown): void {
  if (!isApiError(error, 404)) throw error;
}

async function createCrd(kube: Connection, crd: unknown): Promise<void> {
  try {
    await kube.create('/apis/apiextensions.k8s.io/v1/customresourcedefinitions', crd);
  } catch (error) {
    if (!isApiError(error, 409)) throw error;
  }
}

/** An API server serves a custom resource some moments after its definition was created. */
async function createWhenServed(kube: Connection, path: string, object: unknown): Promise<void> {
  await until(`${path} to be served`, async () => {
    try {
      await kube.create(path, object);
      return true;
    } catch (error) {
      if (isApiError(error, 404) || isApiError(error, 409)) return isApiError(error, 409);
      throw error;
    }
  });
}
