import { noFaults } from '../world/faults.ts';
import { Simulation } from './simulation.ts';
import type { Fields } from '../world/api-server.ts';

/**
 * A world in which nothing goes wrong, with disruption, and without what its seed draws: no pool, no pods, no release.
 */
export function quiet(seed: string): Simulation {
  const simulation = new Simulation(seed, noFaults, true);
  const { server } = simulation;
  simulation.heal();
  simulation.releases.cease();
  for (const resource of ['replicasets', 'nodepools', 'poddisruptionbudgets']) {
    for (const { metadata } of server.list(resource)) {
      const { name, namespace } = metadata;
      server.remove(resource, namespace === undefined ? name : `${namespace}/${name}`);
    }
  }
  return simulation;
}

interface PoolParts {
  readonly budgets?: ReadonlyArray<{ readonly nodes: string }>;
  readonly requirements?: ReadonlyArray<Fields>;
  readonly weight?: number;
  readonly limits?: Fields;
  /** Absent: its nodes stay unless they must go. */
  readonly consolidateAfter?: string;
}

/** A pool of on-demand nodes. */
export function createPool({ server }: Simulation, name: string, parts: PoolParts = {}): void {
  const { budgets = [{ nodes: '100%' }], requirements = [], consolidateAfter = 'Never', ...spec } = parts;
  server.create('nodepools', {
    metadata: { name },
    spec: {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.azure.com', kind: 'AKSNodeClass', name: 'default' },
          requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }, ...requirements],
          expireAfter: 'Never',
        },
      },
      disruption: { consolidateAfter, budgets },
      ...spec,
    },
  });
}

/** So many pods that are alike, of a ReplicaSet. */
export function createSet({ server }: Simulation, name: string, replicas: number, spec: Fields): void {
  server.create('replicasets', {
    metadata: { name, namespace: 'shop' },
    spec: {
      replicas,
      template: { metadata: { labels: { app: name } }, spec: { terminationGracePeriodSeconds: 5, ...spec } },
    },
  });
}

export function scale({ server }: Simulation, name: string, replicas: number): void {
  server.patch('replicasets', `shop/${name}`, { spec: { replicas } }, 'object');
}

/** What its pool's template says changes: all its nodes have drifted. */
export function driftPool({ server }: Simulation, name: string): void {
  server.patch('nodepools', name, { spec: { template: { metadata: { labels: { team: 'a' } } } } }, 'object');
}

const MINUTE = 60_000;

/** What a pod of `fullBeside` is. */
export const threeQuarters: Fields = {
  containers: [{ name: 'main', resources: { requests: { cpu: '750m', memory: '64Mi' } } }],
};

/** That a pool has only these sizes. */
export const sized = (...names: ReadonlyArray<string>): ReadonlyArray<Fields> => [
  { key: 'node.kubernetes.io/instance-type', operator: 'In', values: names },
];

/**
 * Five pods of one ReplicaSet fill a node of the pool `y`. Beside it the one large node of the pool `other` has
 * `staying` pods, and room for as many as have `left` it.
 */
export async function fullBeside(
  simulation: Simulation,
  other: string,
  { staying, left }: { readonly staying: number; readonly left: number },
): Promise<void> {
  createPool(simulation, other, { requirements: sized('Standard_D8s_v5'), weight: 20, limits: { cpu: '8' } });
  createSet(simulation, 'g', staying, threeQuarters);
  createSet(simulation, 'f', left, threeQuarters);
  await simulation.pass(3 * MINUTE);
  createPool(simulation, 'y', { requirements: sized('Standard_D4s_v5') });
  createSet(simulation, 'h', 5, threeQuarters);
  await simulation.pass(3 * MINUTE);
  scale(simulation, 'f', 0);
  await simulation.pass(MINUTE);
}
