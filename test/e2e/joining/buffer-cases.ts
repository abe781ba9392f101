import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readExecutions } from '../kit/executions.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type Definition, conditionOf, isRunning, isTrue } from '../kit/state.ts';
import { type Mode, type World, readQueues, startWorld, tell } from '../kit/world.ts';

const BUFFER = '/apis/autoscaling.x-k8s.io/v1beta1/namespaces/default/capacitybuffers/spare';

/** Room for two pods of 1 CPU, on nodes that have no more than 1.9. */
const template = {
  apiVersion: 'v1',
  kind: 'PodTemplate',
  metadata: { name: 'room', namespace: 'default' },
  template: {
    metadata: { labels: { app: 'room' } },
    spec: { containers: [{ name: 'a', image: 'x', resources: { requests: { cpu: '1', memory: '1Gi' } } }] },
  },
};

const buffer = {
  apiVersion: 'autoscaling.x-k8s.io/v1beta1',
  kind: 'CapacityBuffer',
  metadata: { name: 'spare', namespace: 'default' },
  spec: { podTemplateRef: { name: 'room' }, replicas: 2 },
};

const smallest = [{ key: 'karpenter.azure.com/sku-cpu', operator: 'In', values: ['2'] }];

/**
 * Room that is kept for pods to come: it is made, taken at once, and made again; and costs nothing while it is there.
 * `restMs`: how long that is watched; 0 for not at all.
 */
export function bufferCases(mode: Mode, restMs: number): void {
  describe(`capacity buffers (${mode})`, () => {
    let world: World;

    beforeAll(async () => {
      world = await startWorld(mode, {
        settings: { FEATURE_GATES: 'CapacityBuffer=true' },
        // What the relay and the functions do by themselves is what is tested: no timer helps.
        sweepSchedule: '0 0 0 1 1 *',
      });
      await world.apply(nodeClass, nodePool('general', { requirements: smallest }), template);
    });
    afterAll(async () => {
      await world?.close();
    });

    it('a buffer gets its nodes without a pod, a pod takes the room at once, and the room is made again', async () => {
      await world.apply(buffer);
      const before = await filled(world, 2);
      expect(before.pods).toEqual([]);
      expect((await read(world)).status).toMatchObject({ replicas: 2, podTemplateRef: { name: 'room' } });

      if (restMs > 0) await atRest(world, restMs);

      const there = new Set(before.nodes.map(({ metadata }) => metadata.name));
      await world.apply(deployment('web', 1));
      const taken = await world.until('the pod runs', ({ pods }) => pods.some(isRunning));
      expect(taken.pods.map(({ spec }) => there.has(spec.nodeName ?? ''))).toEqual([true]);
      const after = await filled(world, 3);
      expect(after.pods.filter(isRunning)).toHaveLength(1);
    });

    it('a buffer that names what is not there says so, and is filled once it is', async () => {
      await world.apply({ ...buffer, spec: { scalableRef: { kind: 'Deployment', name: 'late' }, percentage: 100 } });
      await world.until('the buffer says what is missing', async () => {
        return conditionOf(await read(world), 'ReadyForProvisioning')?.reason === 'ScalableRefNotFound';
      });
      await world.apply(deployment('late', 1));
      await world.until('the buffer is for as many pods as the deployment has', async () => {
        const shown = await read(world);
        return isTrue(shown, 'Provisioning') && shown.status?.replicas === 1;
      });
    });
  });
}

type Buffer = Definition & {
  readonly status?: { readonly replicas?: number; readonly podTemplateRef?: { readonly name: string } };
};

function read(world: World): Promise<Buffer> {
  return world.api.get<Buffer>(BUFFER);
}

/** With so many nodes in use, and the buffer content. */
function filled(world: World, count: number) {
  return world.until(`the buffer has its room, on ${count} nodes`, async ({ nodes, claims }) => {
    const inUse = nodes.filter(({ metadata }) => metadata.labels?.['karpenter.sh/initialized'] === 'true');
    return inUse.length === count && claims.length === count && isTrue(await read(world), 'Provisioning');
  });
}

async function atRest(world: World, restMs: number): Promise<void> {
  await world.until('nothing is to be looked at', async () => {
    const { pods, claims } = await readQueues(world.sandbox);
    const waiting = [pods, claims].map((queue) => (queue?.active ?? 0) + (queue?.locked ?? 0));
    return waiting.every((count) => count === 0) && (pods?.scheduled ?? 0) + (claims?.scheduled ?? 0) <= 1;
  });
  const before = await readExecutions(world);
  await sleep(restMs);
  const after = await readExecutions(world);
  tell(
    `a full buffer, executions of provision in ${restMs} ms: ${(after['provision'] ?? 0) - (before['provision'] ?? 0)}`,
  );
  for (const name of ['provision', 'follow']) expect(after[name] ?? 0, name).toBe(before[name] ?? 0);
}
