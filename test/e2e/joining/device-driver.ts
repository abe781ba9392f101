import { setTimeout as sleep } from 'node:timers/promises';
import type { World } from '../kit/world.ts';

/** The driver whose devices the cases ask for. */
export const driver = 'gpu.example.com';

const LOOK_PAUSE_MS = 100;

/**
 * Plays the driver's daemonset: on each node of `pools` whose kubelet has registered it, `count` devices are published
 * in a slice that goes with the node. Returns what ends it.
 */
export function startDriver(world: World, pools: ReadonlySet<string>, count: number): () => Promise<void> {
  const ending = new AbortController();
  const published = new Set<string>();
  const publish = async (): Promise<void> => {
    const { nodes } = await world.state();
    for (const { metadata } of nodes) {
      const isOurs = pools.has(metadata.labels?.['karpenter.sh/nodepool'] ?? '');
      if (!isOurs || published.has(metadata.uid) || metadata.deletionTimestamp !== undefined) continue;
      await world.apply(sliceOf(metadata, count));
      published.add(metadata.uid);
    }
  };
  const run = async (): Promise<void> => {
    while (!ending.signal.aborted) {
      // A read that fails is a read to be done again, as a driver does it.
      await publish().catch(() => undefined);
      await sleep(LOOK_PAUSE_MS);
    }
  };
  const running = run();
  return async () => {
    ending.abort();
    await running;
  };
}

function sliceOf({ name, uid }: { readonly name: string; readonly uid: string }, count: number): object {
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: {
      name: `${name}-gpus`,
      ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name, uid, controller: true }],
    },
    spec: {
      driver,
      nodeName: name,
      pool: { name, generation: 1, resourceSliceCount: 1 },
      devices: devices(count, { uuid: { string: `${name}-board` } }),
    },
  };
}

/** `gpu-0`, `gpu-1` and so on, all of one model. */
export function devices(count: number, more: Readonly<Record<string, object>> = {}): ReadonlyArray<object> {
  return Array.from({ length: count }, (_, index) => ({
    name: `gpu-${index}`,
    attributes: { model: { string: 'a100' }, ...more },
    capacity: { memory: { value: '80Gi' } },
  }));
}
