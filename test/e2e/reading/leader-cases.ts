import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectConsistent } from '../kit/consistent.ts';
import {
  isReachable,
  listRelayPods,
  metricsPortOf,
  type RelayPod,
  readLeader,
  readLease,
  readMetrics,
  readThroughProxy,
  sumOf,
} from '../kit/karpenter-reads.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { conditionOf, isTrue } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

/** Where Karpenter's metrics are. */
const METRICS_PORT = 8080;
/** A leader that was killed is followed once its Lease has run out, after 15 s; the rest is for a busy machine. */
const FOLLOWED_WITHIN_MS = 60_000;

/** What a client with nothing but a kubeconfig finds out about who decides: the Lease, its Pod, and its metrics. */
export function leaderCases(mode: Mode): void {
  describe(`who leads, to a client with a kubeconfig (${mode})`, () => {
    let world: World;

    beforeAll(async () => {
      world = await startWorld(mode, { relays: 2 });
      await untilLed();
    });
    afterAll(() => world?.close());

    async function untilLed(): Promise<string> {
      await world.until('a relay leads, and shows what a leader shows', async () => {
        if (((await readLease(world)) ?? '') === '') return false;
        return sumOf(await readMetrics(world).catch(() => ''), 'karpenter_cluster_state_synced') === 1;
      });
      return (await readLease(world)) ?? '';
    }

    const podOf = async (name: string): Promise<RelayPod | undefined> =>
      (await listRelayPods(world)).find(({ metadata }) => metadata.name === name);

    it('the Lease of Karpenter names a Pod of the system namespace that runs and is ready', async () => {
      expect(await readLease(world)).toMatch(/^nodewright-relay-[12]_[0-9a-f-]{8,}$/);
      const leader = await readLeader(world);
      expect(leader.status.phase).toBe('Running');
      expect(isTrue(leader, 'Ready')).toBe(true);
    });

    it('each relay has a Pod, found by the labels of Karpenter', async () => {
      const names = (await listRelayPods(world)).map(({ metadata }) => metadata.name);
      expect(names.toSorted()).toEqual(['nodewright-relay-1', 'nodewright-relay-2']);
    });

    it('the leader’s metrics are read through the proxy of the API server', async ({ skip }) => {
      const leader = await readLeader(world);
      skip(
        !isReachable(leader),
        'this machine has no address but loopback, to which the API server connects for nobody',
      );
      const metrics = await readThroughProxy(world, leader, 'metrics');
      for (const metric of ['process_resident_memory_bytes', 'process_cpu_seconds_total', 'karpenter_build_info']) {
        expect(sumOf(metrics, metric), metric).toBeGreaterThan(0);
      }
      expect(metrics).toContain('# TYPE karpenter_nodeclaims_created_total counter');
    });

    it('the first relay’s metrics are at Karpenter’s port unless another program has it, and then a note says where', async () => {
      const first = await podOf('nodewright-relay-1');
      const notes = world.sandbox.notes.join('\n');
      if (first !== undefined && metricsPortOf(first) === METRICS_PORT)
        expect(notes).not.toContain('nodewright-relay-1');
      else expect(notes).toContain('nodewright-relay-1');
    });

    it('the pods of relays wait for no node and take no place: one pod of the user gets one node', async () => {
      await world.apply(nodeClass, nodePool('general'), deployment('inflate', 1));
      const { claims } = await expectConsistent(world, { pods: 1 });
      expect(claims).toHaveLength(1);
      for (const pod of await listRelayPods(world)) {
        expect(pod.spec.nodeName ?? '').toBe('');
        expect(conditionOf(pod, 'PodScheduled')?.status).toBe('True');
      }
    });

    it('when the leader is killed, its Pod is there and not ready, and the other leads under its own name', async () => {
      const before = await readLeader(world);
      const { name, uid } = before.metadata;
      const killed = world.sandbox.relays[name.endsWith('1') ? 0 : 1];
      await killed?.kill();
      await world.until('the Pod is not ready', async () => {
        const pod = await podOf(name);
        return pod !== undefined && !isTrue(pod, 'Ready');
      });
      await world.until(
        'the other leads',
        async () => !((await readLease(world)) ?? '_').startsWith(`${name}_`),
        FOLLOWED_WITHIN_MS,
      );
      expect(isTrue(await readLeader(world), 'Ready')).toBe(true);
      await untilLed();
      await killed?.start();
      await world.until('the first is ready again', async () => {
        const pod = await podOf(name);
        return pod !== undefined && isTrue(pod, 'Ready');
      });
      const after = await podOf(name);
      expect(after?.metadata.uid).toBe(uid);
      expect(after?.status.containerStatuses[0]?.restartCount).toBe(1);
    });

    it('who deletes the Pod of the leader restarts it, and gets another Pod of that name', async () => {
      const holder = await untilLed();
      const { name, uid } = (await readLeader(world)).metadata;
      await world.api.remove(`/api/v1/namespaces/kube-system/pods/${name}`, {});
      await world.until('another Pod is ready', async () => {
        const pod = await podOf(name);
        return pod !== undefined && pod.metadata.uid !== uid && isTrue(pod, 'Ready');
      });
      await world.until('another process leads', async () => {
        const now = (await readLease(world)) ?? '';
        return now !== '' && now !== holder;
      });
      await expectConsistent(world, { pods: 1 });
    });
  });
}
