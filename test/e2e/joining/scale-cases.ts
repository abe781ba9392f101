import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { Pod as SeenPod } from '../../../sandbox/kubernetes/client/objects.ts';
import { watchObjects } from '../../../sandbox/kubernetes/client/watch-objects.ts';
import { expectConsistent } from '../kit/consistent.ts';
import { deployment, nodeClass, nodePool, oneToANode } from '../kit/manifests.ts';
import { removeAll } from '../kit/remove-all.ts';
import { type State } from '../kit/state.ts';
import { type Mode, type World, startWorld, tell } from '../kit/world.ts';

/** Two slow cores run control plane, kubelets, Azure and the product at once, and other suites beside them. */
const WITHIN_MS = 200_000;

/** For a test: on a real control plane it waits for twice as long, and may have to say what is missing. */
const TEST_MS = 2 * WITHIN_MS + 60_000;

/** Many pods at once. */
export function scaleCases(mode: Mode, sizes: { readonly pods: number; readonly shy: number }): void {
  describe(`scale (${mode})`, { timeout: TEST_MS }, () => {
    let world: World;

    beforeAll(async () => {
      const quota = {
        totalRegionalCores: 50_000,
        lowPriorityCores: 50_000,
        virtualMachines: 25_000,
        familyCores: 50_000,
        families: {},
      };
      world = await startWorld(mode, { azure: { quota } });
      await world.apply(nodeClass, nodePool('general'));
    });
    afterAll(async () => {
      await world?.close();
    });
    afterEach(async () => {
      await removeAll(world, WITHIN_MS);
      await world.apply(nodePool('general'));
    }, TEST_MS);

    it(`${sizes.shy} pods that shun each other get ${sizes.shy} nodes`, async () => {
      await world.apply(deployment('shy', sizes.shy, { cpu: '100m', memory: '64Mi', pod: oneToANode('shy') }));
      const { claims } = await expectConsistent(world, { pods: sizes.shy, withinMs: WITHIN_MS });
      expect(claims).toHaveLength(sizes.shy);
    });

    it(`${sizes.pods} replicas come up`, async () => {
      const times = watchPods(world);
      await world.apply(deployment('inflate', sizes.pods));
      const state = await expectConsistent(world, { pods: sizes.pods, withinMs: WITHIN_MS });
      times.stop();
      tell(report(world, state, times));
    });
  });
}

interface PodTimes {
  /** First seen unschedulable and running, milliseconds since the epoch, by uid. */
  readonly unschedulable: ReadonlyMap<string, number>;
  readonly running: ReadonlyMap<string, number>;
  stop(): void;
}

function watchPods({ api }: World): PodTimes {
  const unschedulable = new Map<string, number>();
  const running = new Map<string, number>();
  const note = (map: Map<string, number>, uid: string): void => {
    if (!map.has(uid)) map.set(uid, Date.now());
  };
  const watch = watchObjects<SeenPod>({
    connection: api,
    path: '/api/v1/namespaces/default/pods',
    query: '',
    onChange: (pod) => {
      const waits = pod.status?.conditions?.some(({ type, status }) => type === 'PodScheduled' && status === 'False');
      if (waits === true) note(unschedulable, pod.metadata.uid);
      if (pod.status?.phase === 'Running') note(running, pod.metadata.uid);
    },
    onDelete: () => undefined,
  });
  return { unschedulable, running, stop: () => watch.close() };
}

function report(world: World, { pods, nodes }: State, times: PodTimes): string {
  const puts = new Map(world.sandbox.azure.counters().vms.map(({ name, firstPutAt }) => [name, firstPutAt]));
  const toPut = pods.flatMap(({ metadata, spec }) => {
    const [from, to] = [times.unschedulable.get(metadata.uid), puts.get(spec.nodeName ?? '')];
    return from === undefined || to === undefined ? [] : [to - from];
  });
  const toRunning = pods.flatMap(({ metadata }) => {
    const [from, to] = [times.unschedulable.get(metadata.uid), times.running.get(metadata.uid)];
    return from === undefined || to === undefined ? [] : [to - from];
  });
  return [
    `${pods.length} pods on ${nodes.length} nodes`,
    `unschedulable to VM PUT: p50 ${quantile(toPut, 0.5)} ms, p99 ${quantile(toPut, 0.99)} ms`,
    `unschedulable to running: p50 ${quantile(toRunning, 0.5)} ms, p99 ${quantile(toRunning, 0.99)} ms`,
  ].join('; ');
}

function quantile(values: ReadonlyArray<number>, share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
