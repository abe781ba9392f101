import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { devices, driver, startDriver } from './device-driver.ts';
import { deployment, nodeClass, nodePool } from '../kit/manifests.ts';
import { type State, conditionOf, isRunning } from '../kit/state.ts';
import { type Mode, type World, startWorld } from '../kit/world.ts';

const SIZE = 'Standard_D4als_v6';
const PER_NODE = 2;
const POOL = 'karpenter.sh/nodepool';

const oneSize = { requirements: [{ key: 'node.kubernetes.io/instance-type', operator: 'In', values: [SIZE] }] };

const deviceClass = {
  apiVersion: 'resource.k8s.io/v1',
  kind: 'DeviceClass',
  metadata: { name: 'gpu' },
  spec: { selectors: [{ cel: { expression: `device.driver == "${driver}"` } }] },
};

const selector = { cel: { expression: `device.attributes["${driver}"].model == "a100"` } };

const template = {
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaimTemplate',
  metadata: { name: 'one', namespace: 'default' },
  spec: {
    spec: { devices: { requests: [{ name: 'gpu', exactly: { deviceClassName: 'gpu', selectors: [selector] } }] } },
  },
};

/** Pods with a device each, on nodes of the pool. */
function asking(name: string, replicas: number, pool: string): object {
  const pod = {
    nodeSelector: { [POOL]: pool },
    resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one' }],
  };
  return deployment(name, replicas, { cpu: '500m', memory: '512Mi', pod });
}

/**
 * Nodes for pods whose devices no node has yet (DRA): what a new node brings is stated of its pool, or was seen before.
 */
export function deviceCases(mode: Mode): void {
  describe(`[I16] devices of nodes to come (${mode})`, () => {
    let world: World;
    let stopDriver: (() => Promise<void>) | null = null;

    beforeAll(async () => {
      world = await startWorld(mode, { settings: { IGNORE_DRA_REQUESTS: 'false' } });
      await world.apply(nodeClass, deviceClass, template);
      stopDriver = startDriver(world, new Set(['stated', 'seen']), PER_NODE);
    });
    afterAll(async () => {
      await stopDriver?.();
      await world?.close();
    });

    it('what a pool states brings nodes from zero, which are initialized once they have published it', async () => {
      const stated = JSON.stringify({ [SIZE]: [{ driver, devices: devices(PER_NODE) }] });
      const pool = nodePool('stated', oneSize) as { readonly metadata: object };
      const annotations = { 'nodewright.dev/resource-slices': stated };
      await world.apply({ ...pool, metadata: { ...pool.metadata, annotations } });
      await world.apply(asking('trainer', 3, 'stated'));
      const { nodes, claims } = await allRun(world, 3);
      expect(nodes.map(({ metadata }) => metadata.labels?.[POOL])).toEqual(['stated', 'stated']);
      expect(claims.map(({ metadata }) => metadata.annotations?.['karpenter.sh/requested-dra-drivers'])).toEqual([
        driver,
        driver,
      ]);
    });

    it('a statement with a mistake is told on the pool, with the field and the mend', async () => {
      const pool = nodePool('mistaken', oneSize) as { readonly metadata: object };
      const annotations = { 'nodewright.dev/resource-slices': `{"${SIZE}": [{"devices": []}]}` };
      await world.apply({ ...pool, metadata: { ...pool.metadata, annotations } });
      await world.until('the pool says what is wrong', async () => {
        const shown = await world.api.get<State['claims'][number]>('/apis/karpenter.sh/v1/nodepools/mistaken');
        const { status, message } = conditionOf(shown, 'ValidationSucceeded') ?? {};
        return status === 'False' && message?.includes(`[${SIZE}][0].driver: is missing (set it)`) === true;
      });
    });

    it('what a node has published brings the next one, also when none is left', async () => {
      await world.apply(nodePool('seen', oneSize));
      await world.apply(asking('learner', 1, 'seen'));
      await world.until('the pod waits, since nothing is known of the size', ({ pods }) =>
        pods.some(
          (pod) => pod.metadata.name.startsWith('learner') && conditionOf(pod, 'PodScheduled')?.status === 'False',
        ),
      );
      await world.apply(deployment('scout', 1, { pod: { nodeSelector: { [POOL]: 'seen' } } }));
      await allRun(world, 5);
      await world.apply(asking('learner', 2 * PER_NODE, 'seen'));
      const grown = await allRun(world, 4 + 2 * PER_NODE);
      expect(inPool(grown, 'seen')).toHaveLength(2);

      await world.apply(
        asking('learner', 0, 'seen'),
        deployment('scout', 0, { pod: { nodeSelector: { [POOL]: 'seen' } } }),
      );
      await world.until('their pods are gone', ({ pods }) => pods.filter(isRunning).length === 3);
      const { claims } = await world.state();
      for (const { metadata } of claims.filter((claim) => claim.metadata.labels?.[POOL] === 'seen')) {
        await world.api.remove(`/apis/karpenter.sh/v1/nodeclaims/${metadata.name}`);
      }
      await world.until('the pool has no node', (state) => inPool(state, 'seen').length === 0);
      await world.apply(asking('learner', 1, 'seen'));
      const again = await allRun(world, 4);
      expect(inPool(again, 'seen')).toHaveLength(1);
    });
  });
}

function allRun(world: World, count: number): Promise<State> {
  return world.until(`${count} pods run`, ({ pods }) => pods.length === count && pods.every(isRunning), 120_000);
}

function inPool({ nodes }: State, pool: string): State['nodes'] {
  return nodes.filter(({ metadata }) => metadata.labels?.[POOL] === pool);
}
